"""What `manifests/bundles/` declares of a family: the files of its releases, as far as known."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from loudr_core.speech.bundles import BundleCheck
from loudr_core.speech.files import file_sha256

__all__ = [
    "MANIFESTS",
    "DeclaredFile",
    "check_declared",
    "declared_files",
    "manifest_of_family",
    "size_difference",
]

MANIFESTS = ("loudr1-turbo", "loudr1", "koko", "sanotts", "bluetts")
"""Manifests of folders; of two for one engine, the one that `marks` its folders comes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredFile:
    """One file of a release.

    Parameters
    ----------
    path : str
        POSIX name in the bundle; `*` in its last part stands for at least one file.
    optional : bool
        Whether a bundle may be without it.
    bytes : int, optional
    sha256 : str, optional
        None where nobody has published it.
    also : tuple of str
        Names that do instead.
    named_in : str
        `FILE:KEY` of a JSON file that may name it; empty where none does.
    """

    path: str
    optional: bool = False
    bytes: int | None = None
    sha256: str | None = None
    also: tuple[str, ...] = ()
    named_in: str = ""

    @property
    def known(self) -> bool:
        """Whether there is anything to compare with."""
        return self.bytes is not None or self.sha256 is not None


def manifest_of_family(family: str) -> dict[str, Any]:
    """Return the manifest of a family, as its TOML file has it.

    Raises
    ------
    ValueError
        No manifest has that name.
    """
    name = f"{family}.toml"
    installed = resources.files("loudr_core") / "manifests" / "bundles" / name
    source = Path(__file__).parents[2] / "manifests" / "bundles" / name
    for place in (installed, source):
        if place.is_file():
            return tomllib.loads(place.read_text(encoding="utf-8"))
    raise ValueError(f"no manifest of a family {family!r}")


def declared_files(family: str) -> tuple[DeclaredFile, ...]:
    """Return the files that a family's manifest declares; raises as `manifest_of_family` does."""
    return tuple(
        DeclaredFile(
            path=str(file["path"]),
            optional=bool(file.get("optional", False)),
            bytes=file.get("bytes"),
            sha256=file.get("sha256"),
            also=tuple(file.get("also", ())),
            named_in=str(file.get("named_in", "")),
        )
        for file in manifest_of_family(family).get("files", ())
    )


def check_declared(
    folder: Path, files: tuple[DeclaredFile, ...], *, official: bool
) -> Iterator[BundleCheck]:
    """Compare the files that are there with what is known of them.

    Parameters
    ----------
    folder : Path
    files : tuple of DeclaredFile
        What is missing, and what nothing is known of, is passed over.
    official : bool
        A difference is a fault; otherwise the file may be of another export, and is told of.
    """
    for file in files:
        path = folder / file.path
        if not (file.known and path.is_file()):
            continue
        try:
            difference = size_difference(path, file) or _other_digest(path, file)
        except OSError as error:
            detail = f"cannot be read ({error.strerror})"
            yield BundleCheck(what=file.path, state="unreadable", good=False, detail=detail)
            continue
        if difference:
            yield BundleCheck(
                what=file.path, state="mismatch", good=not official, detail=difference
            )
        else:
            yield BundleCheck(what=file.path, state="ok", good=True, detail="as released")


def size_difference(path: Path, file: DeclaredFile) -> str:
    """Return how a file's size differs from the release's; empty when it does not.

    Raises
    ------
    OSError
        The file is not there.
    """
    size = path.stat().st_size
    if file.bytes is not None and size != file.bytes:
        return f"{size} bytes, {file.bytes} in the release"
    return ""


def _other_digest(path: Path, file: DeclaredFile) -> str:
    if file.sha256 is None:
        return ""
    found = file_sha256(path)
    return "" if found == file.sha256 else f"SHA-256 {found}, {file.sha256} in the release"
