"""Model folders of any family: which family a folder is of, what it holds, whether it is whole.

A family is a module with the three functions of `BundleFamily`. Nothing of it is imported before a
folder is looked at.
"""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from loudr_core.errors import BundleError
from loudr_core.findings import Finding
from loudr_core.speech.files import is_file, is_there
from loudr_core.speech.protocol import VoiceInfo

__all__ = [
    "FAMILIES",
    "BundleCheck",
    "BundleDescription",
    "BundleFamily",
    "describe_bundle",
    "family_of",
    "verify_bundle",
]

FAMILIES = {
    "loudr1": "loudr_core.speech.loudr1.inspection",
    "koko": "loudr_core.speech.koko.inspection",
    "sanotts": "loudr_core.speech.sanotts.inspection",
    "bluetts": "loudr_core.speech.bluetts.inspection",
}
"""Family to module; the names are those of the engines that open the bundles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleCheck:
    """One thing about a bundle that was looked at.

    Parameters
    ----------
    what : str
        A file's name in the bundle, or what was compared: `graphs`, `weights`.
    state : str
        `ok`, or one word for what is not: `mismatch`, `absent`, `unlisted`.
    good : bool
        Whether the bundle may be used as far as this goes; an absent file may be allowed.
    detail : str
        One line; empty where there is nothing to add.
    """

    what: str
    state: str
    good: bool
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleDescription:
    """What a bundle is.

    Parameters
    ----------
    family, name : str
        The engine that opens it, and the model's own name.
    facts : dict
        What the family has to tell, in the order in which to show it; values that JSON can hold.
    files : dict of str to int
        The files that are needed to speak, in bytes, by their names in the bundle.
    voices : tuple of VoiceInfo
    findings : tuple of Finding
        What is unusual.
    """

    family: str
    name: str
    facts: dict[str, object]
    files: dict[str, int]
    voices: tuple[VoiceInfo, ...] = ()
    findings: tuple[Finding, ...] = ()


class BundleFamily(Protocol):
    """The functions of a family's module."""

    def recognises(self, path: Path) -> bool:
        """Say from the names of files whether a folder, or a file in it, may be of the family."""

    def verify(self, path: Path, *, official: bool) -> Iterator[BundleCheck]:
        """Yield every check; what is wrong is a check that is not good, not an exception."""

    def describe(self, path: Path) -> BundleDescription:
        """Describe a bundle that can be opened; raises `BundleError` where it cannot."""


def family_of(path: Path) -> str:
    """Return the family of a bundle.

    Raises
    ------
    BundleError
        Nothing is there, or no family knows it.
    """
    for name in FAMILIES:
        if _module(name).recognises(path):
            return name
    advice = "give the folder of a release"
    if not is_there(path):
        advice = f"nothing is there; {advice}"
    elif is_file(path):
        advice = f"it is a file; {advice}"
    # An empty path is this too, as a shell's unset variable gives it.
    where = "the current folder" if path == Path() else str(path)
    raise BundleError(
        f"{where} is no bundle of a family that loudr knows ({', '.join(FAMILIES)}): {advice}",
        path=str(path),
    )


def verify_bundle(path: Path, *, official: bool = False) -> Iterator[BundleCheck]:
    """Yield every check of a bundle, as it is made.

    Parameters
    ----------
    path : Path
        The folder, or the model file in it.
    official : bool
        Hold it to the rules of its family's official releases.

    Raises
    ------
    BundleError
        No family knows it.
    """
    yield from _module(family_of(path)).verify(path, official=official)


def describe_bundle(path: Path) -> BundleDescription:
    """Describe a bundle.

    Raises
    ------
    BundleError
        No family knows it, or it cannot be opened.
    """
    return _module(family_of(path)).describe(path)


def _module(name: str) -> BundleFamily:
    return cast(BundleFamily, importlib.import_module(FAMILIES[name]))
