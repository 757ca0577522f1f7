"""A checkpoint file: which one of a folder it is, and the manifest in its header.

loudr-1 specification, sections 3.2 and 3.8. The manifest inside the safetensors header is the
authority; `manifest.json` beside it is a mirror that nothing here reads.
"""

from pathlib import Path
from typing import Final

from loudr_core.errors import BundleError
from loudr_core.speech.files import entries, is_file, is_folder
from loudr_core.speech.json_values import parse_object, shown
from loudr_core.speech.loudr1.container import Header, read_header
from loudr_core.speech.loudr1.manifest import check_declaration

__all__ = ["CHECKPOINT_NAMES", "choose_checkpoint", "read_manifest"]

CHECKPOINT_NAMES: Final = ("loudr-1.safetensors", "loudr-1-turbo.safetensors")
_VOICE_ENCODER: Final = "ve.safetensors"
_SYNTHESIS: Final = "synthesis"
_ENROLMENT: Final = "enrollment"


def read_manifest(path: Path) -> tuple[dict[str, object], Header]:
    """Return a checkpoint's manifest and its whole header.

    Raises
    ------
    BundleError
        The file is damaged, has no manifest, or declares another format or version.
    """
    header = read_header(path)
    text = header.metadata.get("manifest")
    if text is None:
        raise BundleError(
            f"{path} has no manifest in its header, so it is not a loudr-1 checkpoint: "
            "name the bundle's own checkpoint",
            path=str(path),
            key="manifest",
        )
    manifest = parse_object(text, what="manifest", path=path)
    check_declaration(manifest, path=path)
    return manifest, header


def choose_checkpoint(path: Path) -> Path:
    """Return the synthesis checkpoint that a file or a folder stands for.

    Raises
    ------
    BundleError
        There is none, there are several, or the one named is for another purpose.
    """
    if is_file(path):
        return _for_synthesis(path)
    if not is_folder(path):
        raise BundleError(
            f"bundle {path} is not there: give the folder with the checkpoint", path=str(path)
        )
    known = [path / name for name in CHECKPOINT_NAMES if is_file(path / name)]
    if len(known) == 1:
        return _for_synthesis(known[0])
    return _only(path, known or _candidates(path))


def _only(folder: Path, candidates: list[Path]) -> Path:
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        raise BundleError(
            f"bundle {folder} has no synthesis checkpoint (*.safetensors at its top): "
            "give the folder of the release, or its checkpoint",
            path=str(folder),
        )
    names = ", ".join(each.name for each in candidates)
    raise BundleError(
        f"bundle {folder} has {len(candidates)} checkpoints ({names}): give the file you mean",
        path=str(folder),
    )


def _candidates(folder: Path) -> list[Path]:
    files = [
        each
        for each in entries(folder)
        if each.suffix == ".safetensors"
        and not each.name.startswith(".")
        and each.name != _VOICE_ENCODER
        and is_file(each)
    ]
    roles = {each: _role(each) for each in files}
    declared = [each for each in files if roles[each] == _SYNTHESIS]
    return declared or [each for each in files if roles[each] != _ENROLMENT]


def _for_synthesis(path: Path) -> Path:
    role = _role(path)
    if role is not None and role != _SYNTHESIS:
        raise BundleError(
            f"{path}: manifest key 'artifact_role' is {shown(role)}, not {_SYNTHESIS!r}: "
            "give the bundle's synthesis checkpoint",
            path=str(path),
            key="artifact_role",
        )
    return path


def _role(path: Path) -> str | None:
    """Return what a checkpoint says it is for; a file that cannot be read makes no claim."""
    try:
        role = read_manifest(path)[0].get("artifact_role")
    except BundleError:
        return None
    return role if isinstance(role, str) else None
