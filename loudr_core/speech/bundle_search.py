"""Which bundles lie in a folder, and whether their files are all there, without opening a model.

Names and sizes only, as `manifests/bundles/` declares them: a look at a shelf of models takes no
time. What the files hold is for `bundles.verify_bundle`.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from loudr_core.errors import BundleError
from loudr_core.speech.bundles import family_of
from loudr_core.speech.declared import (
    MANIFESTS,
    DeclaredFile,
    declared_files,
    manifest_of_family,
    size_difference,
)
from loudr_core.speech.files import entries, is_folder

__all__ = ["FoundBundle", "find_bundles", "look_at_bundle"]

_MOST_JSON_BYTES: Final = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBundle:
    """A folder that holds a model, as its names and sizes tell.

    Parameters
    ----------
    folder : Path
    engine : str
        That opens it.
    name : str
        Of the model, as the manifest of its family has it.
    version : str
        As far as it can be told; empty where it cannot.
    files : int
        Declared files that are there.
    missing : tuple of str
        Declared files that are not, and without which nothing is spoken.
    other_sizes : tuple of str
        Files of another size than in the release, each with both sizes: of another export, or cut.
    sized : int
        Files whose size is known of the release and the same here.
    """

    folder: Path
    engine: str
    name: str
    version: str
    files: int
    missing: tuple[str, ...]
    other_sizes: tuple[str, ...]
    sized: int

    @property
    def complete(self) -> bool:
        """Whether every file is there that speaking needs."""
        return not self.missing


def find_bundles(places: Iterable[Path]) -> Iterator[FoundBundle]:
    """Yield the bundles among some folders and the folders in them, each once.

    Parameters
    ----------
    places : iterable of Path
        Of a place that is no bundle, the folders in it are looked at; one that is not there is
        passed over.

    Raises
    ------
    BundleError
        A folder may not be read.
    """
    seen: set[Path] = set()
    for place in places:
        for folder in _candidates(place):
            real = folder.resolve()
            if real in seen:
                continue
            seen.add(real)
            if (found := _bundle_at(folder)) is not None:
                yield found


def look_at_bundle(folder: Path) -> FoundBundle:
    """Return what the names and sizes in a folder tell.

    Raises
    ------
    BundleError
        No family knows it, or it may not be read.
    """
    engine = family_of(folder)
    home = folder if is_folder(folder) else folder.parent
    manifest = _manifest_for(engine, home)
    family = str(manifest["family"])
    also_in = tuple(manifest.get("also_in", ()))
    here, missing, other, sized = 0, list[str](), list[str](), 0
    for file in declared_files(family):
        path = _place_of(home, file, also_in)
        if path is None:
            if not file.optional:
                missing.append(file.path)
            continue
        here += 1
        if file.bytes is None:
            continue
        difference = size_difference(path, file)
        sized += not difference
        if difference:
            other.append(f"{file.path}: {difference}")
    version = "" if other or not sized else str(manifest.get("version", ""))
    return FoundBundle(
        folder=home,
        engine=engine,
        name=str(manifest["name"]),
        version=version or _said_in(home, str(manifest.get("version_in", ""))),
        files=here,
        missing=tuple(missing),
        other_sizes=tuple(other),
        sized=sized,
    )


def _candidates(place: Path) -> Iterator[Path]:
    if not is_folder(place):
        return
    if _bundle_at(place) is not None:
        yield place
        return
    for each in sorted(entries(place)):
        if not each.name.startswith(".") and is_folder(each):
            yield each


def _bundle_at(folder: Path) -> FoundBundle | None:
    try:
        family_of(folder)
    except BundleError:
        return None
    return look_at_bundle(folder)


def _manifest_for(engine: str, folder: Path) -> dict[str, Any]:
    manifests = (manifest_of_family(name) for name in MANIFESTS)
    of_engine = [each for each in manifests if each.get("engine", each["family"]) == engine]
    for manifest in of_engine:
        if any((folder / mark).is_file() for mark in manifest.get("marks", ())):
            return manifest
    return next(each for each in of_engine if not each.get("marks"))


def _place_of(folder: Path, file: DeclaredFile, also_in: tuple[str, ...]) -> Path | None:
    """Return where a declared file lies, None when it is not there."""
    names = [file.path, *file.also]
    if file.named_in and (named := _said_in(folder, file.named_in)):
        names.insert(0, named)
    for name in names:
        last = PurePosixPath(name).name
        for path in (folder / name, *(folder / each / last for each in also_in)):
            if "*" in last:
                found = next(iter(sorted(path.parent.glob(last))), None)
                if found is not None and found.is_file():
                    return found
            elif path.is_file():
                return path
    return None


def _said_in(folder: Path, where: str) -> str:
    """Return the text at `FILE:KEY` of a JSON file, KEY with dots; empty when it is not there."""
    name, _, key = where.partition(":")
    path = folder / name
    try:
        if not name or not path.is_file() or path.stat().st_size > _MOST_JSON_BYTES:
            return ""
        value: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return ""
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value if isinstance(value, str) and value.isprintable() else ""
