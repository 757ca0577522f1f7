"""The folder of a BlueTTS bundle: where its files lie, and what their digests are.

Everything but the voices may lie in `onnx/` instead of at the folder's top, as in some mirrors. A
`manifest.json`, where there is one, names the digests of the files that belong together: tables of
another export fit by shape and ruin the voice (BlueTTS specification, sections 1 and 7).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from loudr_core.errors import BundleError
from loudr_core.speech.files import entries, file_sha256, is_file, is_folder, read_whole
from loudr_core.speech.graph_facts import side_files
from loudr_core.speech.json_values import parse_object

__all__ = ["GRAPHS", "TABLES", "BlueBundle", "bundle_folder", "find_file", "open_blue_bundle"]

GRAPHS: Final = ("text_encoder", "duration", "vector_estimator", "vocoder")
"""Our names of the graphs, in the order in which they run."""
TABLES: Final = ("vocab.json", "tts.json", "stats.npz", "uncond.npz")

_STEMS: Final[Mapping[str, tuple[str, ...]]] = {
    "duration": ("duration_predictor_style", "length_pred_style"),
}
_OPTIONAL: Final = frozenset({"stats.npz", "uncond.npz"})
"""Needed or not: the graphs tell."""
_MANIFEST: Final = "manifest.json"
_MOST_BYTES: Final = 16 << 20
_SHA256: Final = re.compile(r"[0-9a-fA-F]{64}")


@dataclass(frozen=True, kw_only=True)
class BlueBundle:
    """The files that speaking needs.

    Parameters
    ----------
    folder : Path
    graphs : dict of str to Path
        By the names of `GRAPHS`.
    tables : dict of str to Path
        By the names of `TABLES`, those that are there.
    voices : tuple of Path
        Voice files, names ascending; at least one.
    manifest : Path or None
    """

    folder: Path
    graphs: dict[str, Path]
    tables: dict[str, Path]
    voices: tuple[Path, ...]
    manifest: Path | None = None

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """Every file that is needed to speak, weights beside a graph included.

        Raises
        ------
        BundleError
            A graph cannot be read, or a file that it names is missing.
        """
        graphs = (each for path in self.graphs.values() for each in (path, *side_files(path)))
        return (*graphs, *self.tables.values(), *self.voices)

    @cached_property
    def digests(self) -> dict[str, str]:
        """SHA-256 of every file of `files`, by its name below the folder.

        Raises
        ------
        BundleError
            A file cannot be read.
        """
        return {self.name_of(path): file_sha256(path) for path in self.files}

    @cached_property
    def declared(self) -> dict[str, str]:
        """SHA-256 that the manifest declares, by a file's own name, lower case.

        Raises
        ------
        BundleError
            The manifest is no JSON object.
        """
        if self.manifest is None:
            return {}
        text = read_whole(self.manifest, most_bytes=_MOST_BYTES, advice="fetch the bundle again")
        document = parse_object(text, what="manifest", path=self.manifest)
        known = {path.name for path in self.files}
        return {name: sha for name, sha in _declared(document) if name in known}

    def name_of(self, path: Path) -> str:
        """Return a file's name below the folder, with slashes."""
        return path.relative_to(self.folder).as_posix()

    def check_manifest(self) -> None:
        """Hold every file that the manifest names to its digest.

        Raises
        ------
        BundleError
            A file is another one than the export's own.
        """
        for path in self.files:
            wanted, found = self.declared.get(path.name), self.digests[self.name_of(path)]
            if wanted is not None and wanted != found:
                raise BundleError(
                    f"{path} has SHA-256 {found[:12]}…, {_MANIFEST} has {wanted[:12]}…: it is of "
                    "another export; fetch the bundle again",
                    path=str(path),
                    key=path.name,
                    found=found,
                    expected=wanted,
                )


def open_blue_bundle(path: Path) -> BlueBundle:
    """Find the files of a bundle.

    Parameters
    ----------
    path : Path
        The folder, or a file in it.

    Raises
    ------
    BundleError
        The folder or a file is missing.
    """
    folder = bundle_folder(path)
    if not is_folder(folder):
        raise BundleError(f"no bundle folder {path}: give the folder of a release", path=str(path))
    graphs = {name: _graph(folder, name) for name in GRAPHS}
    tables = {name: find_file(folder, name) for name in TABLES}
    voices = _voices(folder)
    missing = [f"{_stems(name)[0]}.onnx" for name, found in graphs.items() if found is None]
    missing += [name for name, found in tables.items() if not found and name not in _OPTIONAL]
    missing += [] if voices else ["voices/*.json"]
    if missing:
        raise BundleError(
            f"{folder} has no {', no '.join(missing)}: {_advice(folder, missing)}",
            path=str(folder),
            key=missing[0],
        )
    return BlueBundle(
        folder=folder,
        graphs={name: found for name, found in graphs.items() if found is not None},
        tables={name: found for name, found in tables.items() if found is not None},
        voices=voices,
        manifest=find_file(folder, _MANIFEST),
    )


def bundle_folder(path: Path) -> Path:
    """Return the folder of a bundle, of which a file may have been named."""
    if not is_file(path):
        return path
    return path.parent.parent if path.parent.name in ("onnx", "voices") else path.parent


def find_file(folder: Path, name: str) -> Path | None:
    """Return a file at the top or below `onnx/`, None where it is in neither."""
    for place in (folder, folder / "onnx"):
        if is_file(place / name):
            return place / name
    return None


def _stems(name: str) -> tuple[str, ...]:
    return _STEMS.get(name, (name,))


def _graph(folder: Path, name: str) -> Path | None:
    found = (find_file(folder, f"{stem}.onnx") for stem in _stems(name))
    return next((path for path in found if path is not None), None)


def _voices(folder: Path) -> tuple[Path, ...]:
    place = folder / "voices"
    if not is_folder(place):
        return ()
    voices = tuple(path for path in entries(place) if path.suffix == ".json")
    for path in voices:
        if not is_file(path):
            raise BundleError(
                f"{path} is no file, or a link to none: copy the voice again, or remove it",
                path=str(path),
                key=path.name,
            )
    return voices


def _advice(folder: Path, missing: list[str]) -> str:
    if missing == ["duration_predictor_style.onnx"] and find_file(
        folder, "duration_predictor.onnx"
    ):
        return (
            "duration_predictor.onnx wants reference latents, and the release has no graph that "
            "makes them; fetch the missing file"
        )
    return "fetch the bundle again"


def _declared(value: object) -> Iterator[tuple[str, str]]:
    """Yield file names and digests, wherever in a manifest they stand."""
    if isinstance(value, Mapping):
        own = next((value[key] for key in ("path", "file", "name") if key in value), None)
        if isinstance(own, str) and (sha := _digest_of(value)):
            yield _last(own), sha
        for key, inner in value.items():
            sha = _digest_of(inner)
            if sha:
                yield _last(str(key)), sha
            yield from _declared(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _declared(inner)


def _digest_of(value: object) -> str:
    if isinstance(value, Mapping):
        value = value.get("sha256")
    return value.lower() if isinstance(value, str) and _SHA256.fullmatch(value) else ""


def _last(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2]
