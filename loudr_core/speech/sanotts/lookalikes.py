"""Folders that are handed to this loader by mistake, told apart so that the error can name them.

All of them come from the same project or carry the same voices (sanoTTS specification, section 1).
"""

import json
from pathlib import Path

from loudr_core.errors import BundleError
from loudr_core.speech.files import entries, is_file, is_folder, read_whole

__all__ = ["FORMAT", "MANIFEST", "look_alike", "manifest_of", "refuse_look_alike"]

FORMAT = "roota.raw-fp16.v1"
MANIFEST = "manifest.json"

_MOST_MANIFEST_BYTES = 16 << 20
_WANTED = f"a package with a {MANIFEST} of format {FORMAT!r}"


def manifest_of(folder: Path) -> bytes:
    """Return the bytes of a package's manifest.

    Raises
    ------
    BundleError
        It is missing, cannot be read, or is far too large.
    """
    path, advice = folder / MANIFEST, "give the folder of a package"
    if not is_file(path):  # opening a pipe would wait for somebody to write
        raise BundleError(f"{path} is not there, or no file: {advice}", path=str(path))
    return read_whole(path, most_bytes=_MOST_MANIFEST_BYTES, advice=advice)


def look_alike(path: Path) -> str:
    """Return what a path is, when it is something that is taken for a package; empty otherwise.

    Parameters
    ----------
    path : Path
        A folder or a file.
    """
    if is_file(path):
        if path.suffix == ".onnx" and is_file(path.with_name(f"{path.name}.json")):
            return f"a Piper voice ({path.name}), whose students are what this engine speaks"
        return ""
    if not is_folder(path):
        return ""
    names = {each.name for each in entries(path)}
    if "meta.json" in names:
        meta = _json(path / "meta.json")
        if meta.get("runtime") == "snt_nano":
            return "a sanoTTS nano voice (meta.json, runtime 'snt_nano'), which has another graph"
    if names & {"front_f32.bin", "front_f16.bin"} and any(n.startswith("dec_") for n in names):
        return "a sanoTTS web bundle (front_*.bin and dec_*.bin), which has no manifest of tensors"
    if MANIFEST in names and "tensor_index" in _json(path / MANIFEST):
        return (
            "an export of another program (manifest key 'tensor_index' with 'offset' and 'numel' "
            "where 'components' with 'offset_bytes' and 'nbytes' belongs)"
        )
    for name in sorted(names):
        if name.endswith(".onnx") and f"{name}.json" in names:
            return f"a Piper voice ({name}), whose students are what this engine speaks"
    return ""


def refuse_look_alike(path: Path) -> None:
    """Refuse what only looks like a package.

    Raises
    ------
    BundleError
        With a line that says what it is.
    """
    if kind := look_alike(path):
        raise BundleError(f"{path} is {kind}: give {_WANTED}", path=str(path))


def _json(path: Path) -> dict[str, object]:
    if not is_file(path):
        return {}
    try:
        value = json.loads(read_whole(path, most_bytes=_MOST_MANIFEST_BYTES, advice=""))
    except (ValueError, RecursionError, BundleError):
        return {}
    return value if isinstance(value, dict) else {}
