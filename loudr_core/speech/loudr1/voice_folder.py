"""The voices of a bundle: names to profiles; loudr-1 specification, sections 3.1 and 19.3."""

import difflib
from pathlib import Path
from typing import Final

from loudr_core.errors import BundleError, ConfigError
from loudr_core.speech.files import entries, is_file, is_folder
from loudr_core.speech.loudr1.voice import VoiceProfile, read_voice

__all__ = ["voice_files", "voice_in_folder"]

_FOLDER: Final = "voices"
_SUFFIX: Final = ".safetensors"
_NEAR: Final = 0.6
_SHOWN_CHARACTERS: Final = 80


def voice_files(bundle: Path) -> dict[str, Path]:
    """Return the voices of a bundle's folder, names ascending.

    Raises
    ------
    BundleError
        The folder of voices cannot be listed.
    """
    voices = bundle / _FOLDER
    if not is_folder(voices):
        return {}
    files = {
        each.stem: each
        for each in entries(voices)
        if each.suffix == _SUFFIX and not each.name.startswith(".") and is_file(each)
    }
    return dict(sorted(files.items()))


def voice_in_folder(bundle: Path, name: str) -> VoiceProfile:
    """Return the profile of a voice of a bundle's folder.

    Only names that `voice_files` lists are found, so none can lead out of the folder.

    Raises
    ------
    ValueError
        The name is no text.
    ConfigError
        The bundle has no voice of that name; the error has the nearest one.
    BundleError
        The profile is damaged, or is a link that leads out of the bundle.
    """
    if not isinstance(name, str):
        raise ValueError(f"a voice is asked for by its name, found a {type(name).__name__}")
    files = voice_files(bundle)
    if name not in files:
        raise ConfigError(_unknown(name, tuple(files), bundle), voice=name)
    path = files[name]
    if not _inside(path, bundle):
        raise BundleError(
            f"voice {path} is a link that leads out of the bundle: put the file itself there",
            path=str(path),
        )
    return read_voice(path)


def _unknown(name: str, names: tuple[str, ...], bundle: Path) -> str:
    asked = repr(name if len(name) <= _SHOWN_CHARACTERS else name[:_SHOWN_CHARACTERS] + "…")
    if not names:
        return f"no voice {asked}: {bundle / _FOLDER} has no voice profile; enrol one"
    near = difflib.get_close_matches(name[:_SHOWN_CHARACTERS], names, n=1, cutoff=_NEAR)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
    return f"no voice {asked} in {bundle}: {hint}"


def _inside(path: Path, bundle: Path) -> bool:
    """Say whether a file lies in the bundle once links are followed.

    A hub's cache keeps a release as links in `snapshots/REVISION` to files in `blobs`; both are
    parts of the same release.
    """
    root = bundle.resolve()
    roots = [root]
    if root.parent.name == "snapshots":
        roots.append(root.parent.parent / "blobs")
    found = path.resolve()
    return any(found.is_relative_to(each) for each in roots)
