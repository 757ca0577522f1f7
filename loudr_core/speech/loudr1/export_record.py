"""`export.json` beside the graphs: which checkpoint and algorithm they were exported from.

loudr-1 specification, section 3.6. Graphs of another checkpoint have the same inputs and outputs
and speak nonsense, so a record that disagrees is refused.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from loudr_core.errors import BundleError
from loudr_core.findings import Finding
from loudr_core.speech.files import is_there, read_whole
from loudr_core.speech.json_values import parse_object, shown

__all__ = ["RECORD_NAME", "check_export_record"]

RECORD_NAME: Final = "export.json"
_BLOCK: Final = "graphs"
_COMPARED: Final = (
    "checkpoint_sha256",
    "algorithm_fingerprint",
    "euler_steps",
    "estimator_sha256",
)
_MOST_BYTES: Final = 16 << 20
_AGAIN: Final = "get checkpoint and graphs of one release"


def check_export_record(
    folder: Path,
    members: Iterable[str],
    *,
    checkpoint_sha256: str,
    fingerprint: str,
    euler_steps: int,
    estimator_sha256: str | None = None,
) -> Finding | None:
    """Compare the record of the graphs with the checkpoint that they are to run with.

    Parameters
    ----------
    folder : Path
        The folder of the graphs.
    members : iterable of str
        File names of the graphs that are needed, such as `vocoder.onnx`.
    checkpoint_sha256, fingerprint, euler_steps
        Of the checkpoint file, and of its algorithm.
    estimator_sha256 : str, optional
        What the manifest says of the estimator; compared when both sides name one.

    Returns
    -------
    Finding or None
        A warning when there is no record to compare.

    Raises
    ------
    BundleError
        The record is no regular file, damaged, leaves a graph out, or is of another checkpoint or
        algorithm.
    """
    path = folder / RECORD_NAME
    if not is_there(path):
        return Finding(
            code="bundle-no-export-record",
            severity="warning",
            message=f"No {RECORD_NAME} says which checkpoint the graphs were exported from.",
            where={"path": str(folder)},
        )
    entries = _entries(path)
    for member in members:
        if member not in entries:
            raise _fault(path, member, f"is not recorded: {_AGAIN}")
    found = _common(path, entries)
    wanted: dict[str, object] = {
        "checkpoint_sha256": checkpoint_sha256,
        "algorithm_fingerprint": fingerprint,
        "euler_steps": euler_steps,
    }
    if found["estimator_sha256"] is not None and estimator_sha256 is not None:
        wanted["estimator_sha256"] = estimator_sha256
    for key, value in wanted.items():
        if found[key] != value:
            theirs, ours = _pair(found[key], value)
            raise _fault(path, key, f"is {theirs}, the checkpoint's is {ours}: {_AGAIN}")
    return None


def _entries(path: Path) -> dict[str, Mapping[str, object]]:
    text = read_whole(path, most_bytes=_MOST_BYTES, advice=_AGAIN)
    block = parse_object(text, what="export record", path=path).get(_BLOCK)
    if not isinstance(block, dict):
        raise _fault(path, _BLOCK, f"must be an object, found {shown(block)}")
    for name, entry in block.items():
        if not isinstance(entry, dict):
            raise _fault(path, _place(name), f"must be an object, found {shown(entry)}")
    return block


def _common(path: Path, entries: dict[str, Mapping[str, object]]) -> dict[str, object]:
    """Return the compared values that all entries share, stale extra graphs included."""
    common: dict[str, object] | None = None
    for name, entry in entries.items():
        values = {key: entry.get(key) for key in _COMPARED}
        for key, value in values.items():
            if isinstance(value, bool) or not isinstance(value, str | int | None):
                raise _fault(
                    path, _place(name, key), f"must be a string or integer, found {shown(value)}"
                )
        if common is None:
            common = values
        for key in _COMPARED:
            if values[key] != common[key]:
                this, other = _pair(values[key], common[key])
                raise _fault(
                    path,
                    _place(name, key),
                    f"is {this}, another graph's is {other}: "
                    f"the graphs are of several exports, {_AGAIN}",
                )
    return common or dict.fromkeys(_COMPARED)


def _place(name: str, *key: str) -> str:
    # Names are the file's own: one of a thousand letters or of several lines is shown escaped.
    return ".".join((_BLOCK, name if name.isprintable() and len(name) < 80 else shown(name), *key))


def _pair(found: object, wanted: object) -> tuple[str, str]:
    """Return two different values as an error shows them, with their types where these differ."""
    if None in (found, wanted) or isinstance(found, str) == isinstance(wanted, str):
        return _spelled(found), _spelled(wanted)
    return _typed(found), _typed(wanted)


def _typed(value: object) -> str:
    return f"the string {shown(value)}" if isinstance(value, str) else f"the number {shown(value)}"


def _spelled(value: object) -> str:
    # Digests are compared by eye: they are shown whole.
    return value[:80] if isinstance(value, str) else shown(value)


def _fault(path: Path, key: str, problem: str) -> BundleError:
    return BundleError(f"{path}: {key} {problem}", path=str(path), key=key)
