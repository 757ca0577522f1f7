"""What a graph declares, held to what its place needs; and the error of one that fails in a run."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from loudr_core.errors import BundleError, DeviceError, SynthesisError
from loudr_core.speech.session import Port

__all__ = ["OTHER_MODEL", "Axes", "check_axes", "check_names", "run_failure", "shown_axes"]

Axes: TypeAlias = tuple[int | None, ...]
"""Lengths of axes; None is one that must take any length."""

OTHER_MODEL = "is this another model's export?"
"""How the error of a graph with another signature ends."""

_LONGEST_REASON = 300


def check_names(
    path: Path, what: str, side: str, wanted: Iterable[str], found: Sequence[Port]
) -> None:
    """Refuse a graph whose inputs or outputs are not those that are wanted.

    Parameters
    ----------
    path : Path
    what : str
        The graph in words, for the error: `Koko vocoder`.
    side : str
        `input` or `output`.
    wanted : iterable of str
        In any order.
    found : sequence of Port

    Raises
    ------
    BundleError
        A name is missing, or there is one more.
    """
    names, expected = [port.name for port in found], list(wanted)
    if set(names) != set(expected):
        raise BundleError(
            f"{path}: {side}s are [{', '.join(names)}]; a {what} needs [{', '.join(expected)}] "
            f"- {OTHER_MODEL}",
            path=str(path),
            key=side,
            found=names,
            expected=expected,
        )


def check_axes(path: Path, side: str, port: Port, wanted: Axes) -> None:
    """Refuse declared lengths that differ; an output may be declared without any.

    Raises
    ------
    BundleError
        The number of axes or a length differs, or an input has a fixed length where it must take
        any.
    """
    if side == "output" and not port.shape:
        return
    fits = len(port.shape) == len(wanted) and all(
        # An axis that must be free may not be fixed, or only texts of one length could be said.
        there is None or there == length or (length is None and side == "output")
        for there, length in zip(port.shape, wanted, strict=True)
    )
    if not fits:
        raise BundleError(
            f"{path}: {side} {port.name!r} has shape {shown_axes(port.shape)}, expected "
            f"{shown_axes(wanted)} - {OTHER_MODEL}",
            path=str(path),
            key=port.name,
        )


def shown_axes(axes: Axes) -> str:
    """Return lengths of axes as an error shows them: `[1, any, 100]`."""
    return "[" + ", ".join("any" if axis is None else str(axis) for axis in axes) + "]"


def run_failure(error: Exception, graph: str, *, called: str = "") -> SynthesisError | DeviceError:
    """Return the error that onnxruntime's in a run comes to.

    Parameters
    ----------
    error : Exception
        onnxruntime's classes derive from it privately, so only the words tell them apart.
    graph : str
        Its name.
    called : str
        The graph in words; its name when empty.
    """
    reason = " ".join(str(error).split())[:_LONGEST_REASON]
    called = called or graph
    if "allocate memory" in reason or "out of memory" in reason.lower():
        return DeviceError(f"{called} found no memory: {reason}", graph=graph)
    return SynthesisError(f"{called} failed: {reason}", graph=graph)
