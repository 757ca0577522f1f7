"""The three graphs: opened, held to their signature, fed in the types that they declare.

A half-precision export may have half or single inputs; each feed is cast to what the graph says,
and every output comes back in single precision, so that the state of the flow never loses bits
between two steps (Koko specification, section 3).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loudr_core.errors import BundleError
from loudr_core.speech.koko.bundle import KokoBundle
from loudr_core.speech.session import Port, open_session, ports
from loudr_core.speech.signatures import OTHER_MODEL, Axes, check_axes, check_names, run_failure

__all__ = ["MEL_BINS", "SPEAKER_WIDTH", "KokoGraph", "open_koko_graphs"]

MEL_BINS = 100
SPEAKER_WIDTH = 256

_FLOATS: dict[str, type[np.floating[Any]]] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
}
_INTEGERS: dict[str, type[np.signedinteger[Any]]] = {
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
}

_IDS = frozenset({"input_ids", "spk_id"})
_MEL: Axes = (1, MEL_BINS, None)
_SIGNATURES: dict[str, tuple[str, dict[str, Axes], dict[str, Axes]]] = {
    "text_encoder": (
        "text encoder",
        {"input_ids": (1, None), "spk_id": (1,)},
        {"log_dur": (1, None), "mu_tok": (1, None, MEL_BINS), "spk_emb": (1, SPEAKER_WIDTH)},
    ),
    "flow_step": (
        "flow step",
        {"x": _MEL, "mu": _MEL, "spk_emb": (1, SPEAKER_WIDTH), "t": (1,), "dt": (1,), "cfg": (1,)},
        {"x_next": _MEL},
    ),
    "vocoder": ("vocoder", {"mel": _MEL}, {"audio": (1, None)}),
}


class KokoGraph:
    """A graph with the signature of its place.

    Parameters
    ----------
    name : str
        A name of `bundle.GRAPHS`.
    path : Path
    provider : str
    threads : int
        As `open_session` takes them.

    Raises
    ------
    BundleError
        The file is missing, cannot be loaded, or has other inputs, outputs, types or widths.
    DeviceError
        The provider is not there.
    """

    def __init__(self, name: str, path: Path, *, provider: str = "cpu", threads: int = 1) -> None:
        self.path = path
        self._session = open_session(path, provider=provider, threads=threads, deterministic=True)
        what, inputs, outputs = _SIGNATURES[name]
        there, made = ports(self._session)
        check_names(path, f"Koko {what}", "input", inputs, there)
        check_names(path, f"Koko {what}", "output", outputs, made)
        for port in there:
            check_axes(path, "input", port, inputs[port.name])
        for port in made:
            check_axes(path, "output", port, outputs[port.name])
        self._types = {port.name: _type_of(path, port) for port in there}
        self._outputs = tuple(outputs)

    def run(self, feeds: Mapping[str, NDArray[Any]]) -> list[NDArray[np.float32]]:
        """Return the outputs in the order of the signature, in single precision.

        Parameters
        ----------
        feeds : mapping of str to array
            Every input, in any number type.

        Raises
        ------
        SynthesisError
            The graph failed on these inputs.
        DeviceError
            The device has no memory left.
        """
        cast = {
            name: np.ascontiguousarray(array, dtype=self._types[name])
            for name, array in feeds.items()
        }
        try:
            made = self._session.run(self._outputs, cast)
        except Exception as error:  # onnxruntime's classes derive from Exception, privately
            raise run_failure(error, self.path.name) from error
        return [np.asarray(each, np.float32) for each in made]


def open_koko_graphs(
    bundle: KokoBundle, *, provider: str = "cpu", threads: int = 1
) -> dict[str, KokoGraph]:
    """Open every graph of a bundle, by name; raises as `KokoGraph` does."""
    _ = bundle.parts  # says which file of weights is missing, where onnxruntime says much more
    return {
        name: KokoGraph(name, path, provider=provider, threads=threads)
        for name, path in bundle.graphs.items()
    }


def _type_of(path: Path, port: Port) -> type[np.generic]:
    known: Mapping[str, type[np.generic]] = _INTEGERS if port.name in _IDS else _FLOATS
    kind = known.get(port.kind)
    if kind is None:
        raise BundleError(
            f"{path}: input {port.name!r} is {port.kind}, expected one of {', '.join(known)} "
            f"- {OTHER_MODEL}",
            path=str(path),
            key=port.name,
        )
    return kind
