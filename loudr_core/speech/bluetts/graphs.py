"""The four graphs: opened, held to their signature, and asked which generation they are of.

Whether guidance is baked into the vector estimator, and whether the vocoder folds by itself, is
read from the graphs and never from names (BlueTTS specification, section 2).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from loudr_core.errors import BundleError
from loudr_core.speech.bluetts.bundle import BlueBundle
from loudr_core.speech.bluetts.tables import CHANNELS, STYLE_SHAPE, TEXT_WIDTH
from loudr_core.speech.session import Port, open_session, ports
from loudr_core.speech.signatures import (
    OTHER_MODEL,
    Axes,
    check_axes,
    check_names,
    run_failure,
    shown_axes,
)

__all__ = ["BlueGraph", "BlueGraphs", "open_blue_graphs"]

_ONE: Axes = (1,)
_IDS: Axes = (1, None)
_MASK: Axes = (1, 1, None)
_TEXT: Axes = (1, TEXT_WIDTH, None)
_LATENT: Axes = (1, CHANNELS, None)
_GUIDANCE: Final = "cfg_scale"
_WANTED: Final[Mapping[str, tuple[str, dict[str, Axes], Axes]]] = {
    "text_encoder": (
        "text encoder",
        {"text_ids": _IDS, "style_ttl": STYLE_SHAPE, "text_mask": _MASK},
        _TEXT,
    ),
    "duration": (
        "duration predictor",
        {"text_ids": _IDS, "style_dp": (1, 8, 16), "text_mask": _MASK},
        _ONE,
    ),
    "vector_estimator": (
        "vector estimator",
        {
            "noisy_latent": _LATENT,
            "text_emb": _TEXT,
            "style_ttl": STYLE_SHAPE,
            "latent_mask": _MASK,
            "text_mask": _MASK,
            "current_step": _ONE,
            "total_step": _ONE,
        },
        _LATENT,
    ),
    "vocoder": ("vocoder", {"latent": (1, 24, None)}, ()),
}


class BlueGraph:
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
        The file is missing, cannot be loaded, or has other inputs, types or widths.
    DeviceError
        The provider is not there.
    """

    def __init__(self, name: str, path: Path, *, provider: str = "cpu", threads: int = 1) -> None:
        self.path = path
        self._session = open_session(path, provider=provider, threads=threads, deterministic=True)
        inputs, outputs = ports(self._session)
        what, wanted, made = _WANTED[name]
        self.inputs = {port.name: port for port in inputs}
        if name == "duration":
            _check_usable(path, self.inputs)
        if name == "vector_estimator" and _GUIDANCE in self.inputs:
            wanted = {**wanted, _GUIDANCE: _ONE}
        check_names(path, f"BlueTTS {what}", "input", wanted, inputs)
        for port in inputs:
            _check_type(path, port)
            if port.name != "latent":
                check_axes(path, "input", port, wanted[port.name])
        if made:
            check_axes(path, "output", outputs[0], made)
        self._output = outputs[0].name

    def run(self, feeds: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        """Return the first output.

        Parameters
        ----------
        feeds : mapping of str to array
            Every input: ids in int64, all else in float32.

        Raises
        ------
        SynthesisError
            The graph failed on these inputs.
        DeviceError
            The device has no memory left.
        """
        try:
            (made,) = self._session.run([self._output], dict(feeds))
        except Exception as error:  # onnxruntime's classes derive from Exception, privately
            raise run_failure(error, self.path.name) from error
        return np.asarray(made, np.float32)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlueGraphs:
    """The graphs of a bundle, and what they do by themselves.

    Parameters
    ----------
    text_encoder, duration, vector_estimator, vocoder : BlueGraph
    guidance_inside : bool
        The vector estimator takes `cfg_scale`, and its output is not to be blended again.
    folds_inside : bool
        The vocoder takes 144 channels: it undoes the normalisation and folds.
    """

    text_encoder: BlueGraph
    duration: BlueGraph
    vector_estimator: BlueGraph
    vocoder: BlueGraph
    guidance_inside: bool
    folds_inside: bool


def open_blue_graphs(bundle: BlueBundle, *, provider: str = "cpu", threads: int = 1) -> BlueGraphs:
    """Open every graph of a bundle.

    Raises
    ------
    BundleError
        As `BlueGraph`; or the vocoder has another number of channels than 24 or 144.
    DeviceError
        The provider is not there.
    """
    graphs = {
        name: BlueGraph(name, path, provider=provider, threads=threads)
        for name, path in bundle.graphs.items()
    }
    return BlueGraphs(
        **graphs,
        guidance_inside=_GUIDANCE in graphs["vector_estimator"].inputs,
        folds_inside=_folds(graphs["vocoder"]),
    )


def _folds(vocoder: BlueGraph) -> bool:
    port = vocoder.inputs["latent"]
    channels = port.shape[1] if len(port.shape) == 3 else -1
    if channels not in (24, CHANNELS, None):
        raise BundleError(
            f"{vocoder.path}: input 'latent' has shape {shown_axes(port.shape)}, expected "
            f"[1, 24, any] or [1, {CHANNELS}, any] - {OTHER_MODEL}",
            path=str(vocoder.path),
            key="latent",
        )
    return channels == CHANNELS


def _check_usable(path: Path, inputs: Mapping[str, Port]) -> None:
    if "z_ref" in inputs:
        raise BundleError(
            f"{path}: it wants reference latents (z_ref), and the release has no graph that makes "
            "them: fetch duration_predictor_style.onnx",
            path=str(path),
            key="z_ref",
        )


def _check_type(path: Path, port: Port) -> None:
    wanted = "tensor(int64)" if port.name == "text_ids" else "tensor(float)"
    if port.kind != wanted:
        raise BundleError(
            f"{path}: input {port.name!r} is {port.kind}, expected {wanted} - {OTHER_MODEL}",
            path=str(path),
            key=port.name,
        )
