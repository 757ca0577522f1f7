"""The decoder student as an ONNX graph, emitted when a voice is loaded; four times as quick.

Node for node what `decoder.decode` computes (sanoTTS specification, sections 5 and 6).
"""

from pathlib import Path
from typing import Final

import numpy as np

from loudr_core.arrays import Mono
from loudr_core.errors import BundleError
from loudr_core.speech.graph_builder import GraphBuilder
from loudr_core.speech.sanotts.configs import HOP, DecoderConfig
from loudr_core.speech.sanotts.decoder import END_SLOPE, SLOPE
from loudr_core.speech.sanotts.layers import Features, Tensors
from loudr_core.speech.sanotts.shapes import BRANCHES, PRE_KERNEL, STAGES
from loudr_core.speech.session import open_session

__all__ = ["PIECE_FRAMES", "GraphDecoder", "context_frames", "decoder_model"]

PIECE_FRAMES: Final = 768
"""Frames decoded at once, 8.9 s: memory grows with them, 12 MiB a second."""

_INPUT: Final = "latent"
_OUTPUT: Final = "samples"


def decoder_model(tensors: Tensors, config: DecoderConfig) -> bytes:
    """Return an ONNX model with the weights inside.

    Input `latent`, float32, shape (1, in_channels, n); output `samples`, shape (1, 1, 256 * n).
    """
    return _Emitter(tensors, config).model()


def context_frames(config: DecoderConfig) -> int:
    """Return how many frames to each side of a frame its samples may depend on."""
    # Reach in samples of the stage, and how many of these a frame has.
    reach, samples = PRE_KERNEL // 2, 1
    for _, stride, _ in STAGES:
        # An upsampling reaches one sample further; the widest branch both of its dilations.
        bank = max((kernel // 2) * (first + second) for kernel, first, second in BRANCHES)
        reach, samples = (reach + 1) * stride + bank, samples * stride
    reach += PRE_KERNEL // 2
    if config.filter_channels:
        layers = sum(1 + layer + 1 for layer in range(config.filter_layers))
        reach += 2 * (config.filter_kernel // 2) + layers
    return -(-reach // samples)


class GraphDecoder:
    """The decoder in an onnxruntime session.

    Parameters
    ----------
    tensors : mapping
        Of `decoder_shapes`.
    config : DecoderConfig
    path : Path
        Of the weights, for errors.
    provider, threads
        As `open_session` takes them.

    Raises
    ------
    BundleError
        onnxruntime does not take the graph.
    DeviceError
        The provider is not there.
    """

    def __init__(
        self,
        tensors: Tensors,
        config: DecoderConfig,
        *,
        path: Path,
        provider: str = "cpu",
        threads: int = 1,
    ) -> None:
        self._context = context_frames(config)
        try:
            self._session = open_session(
                decoder_model(tensors, config),
                provider=provider,
                threads=threads,
                deterministic=True,
            )
        except BundleError as error:
            raise BundleError(
                f"{path}: the decoder cannot be opened: {error.message}", path=str(path)
            ) from None

    def decode(self, z: Features) -> Mono:
        """Return samples, float32, shape (256 * n,), of latent frames of shape (channels, n).

        Long rows are decoded in pieces, each with all the frames around it that it depends on.
        """
        count = z.shape[1]
        pieces: list[Mono] = []
        for start in range(0, count, PIECE_FRAMES):
            stop = min(start + PIECE_FRAMES, count)
            before = max(start - self._context, 0)
            samples = self._run(z[:, before : stop + self._context])
            pieces.append(samples[(start - before) * HOP : (stop - before) * HOP])
        joined: Mono = np.concatenate(pieces)
        return joined

    def _run(self, z: Features) -> Mono:
        feed = {_INPUT: np.ascontiguousarray(z[None], np.float32)}
        (samples,) = self._session.run([_OUTPUT], feed)
        # onnxruntime approximates tanh, and passes 1 by its last bit.
        out: Mono = np.clip(samples[0, 0], np.float32(-1), np.float32(1))
        return out


class _Emitter:
    def __init__(self, tensors: Tensors, config: DecoderConfig) -> None:
        self._tensors, self._config = tensors, config
        self._graph = GraphBuilder("piperlite")

    def model(self) -> bytes:
        config, graph = self._config, self._graph
        x = self._conv(_INPUT, "pre")
        for stage, (_, stride, padding) in enumerate(STAGES):
            x = graph.add(
                "ConvTranspose",
                [self._leaky(x), *self._weights(f"up{stage}")],
                strides=[stride],
                pads=[padding, padding],
            )
            x = self._bank(x, stage)
        w = graph.add("Tanh", [self._conv(self._leaky(x, END_SLOPE), "post")])
        if config.filter_channels:
            w = self._post_filter(w)
        graph.add("Identity", [w], output=_OUTPUT)
        shapes = (1, config.in_channels, None), (1, 1, None)
        return graph.model(inputs={_INPUT: shapes[0]}, outputs={_OUTPUT: shapes[1]})

    def _bank(self, x: str, stage: int) -> str:
        config, graph = self._config, self._graph
        kept = config.branches[stage]
        ends = []
        for place, branch in enumerate(kept):
            y = x
            for part, dilation in zip(("conv1", "conv2"), BRANCHES[branch][1:], strict=True):
                name = f"res{stage}.0.blocks.{place}.{part}"
                y = graph.add("Add", [self._conv(self._leaky(y), name, dilation), y])
            ends.append(y)
        total = graph.add("Sum", ends)
        count = len(kept) if config.averaged_over_kept else len(BRANCHES)
        return graph.add("Div", [total, graph.constant(np.float32(count))])

    def _post_filter(self, w: str) -> str:
        config, graph = self._config, self._graph
        r = self._conv(w, "post_filter.in_conv")
        for layer in range(config.filter_layers):
            unit = f"post_filter.units.{layer}"
            inner = self._conv(self._leaky(r), f"{unit}.conv1", 1 + layer)
            outer = self._conv(self._leaky(inner), f"{unit}.conv2")
            scale = graph.constant(self._tensors[f"{unit}.scale"])
            r = graph.add("Add", [r, graph.add("Mul", [scale, outer])])
        out = self._conv(r, "post_filter.out_conv")
        scaled = graph.add("Mul", [graph.constant(np.float32(config.filter_scale)), out])
        return graph.add("Tanh", [graph.add("Add", [w, scaled])])

    def _conv(self, x: str, name: str, dilation: int = 1) -> str:
        edge = dilation * (self._tensors[f"{name}.weight"].shape[2] // 2)
        return self._graph.add(
            "Conv", [x, *self._weights(name)], dilations=[dilation], pads=[edge, edge]
        )

    def _leaky(self, x: str, slope: float = SLOPE) -> str:
        return self._graph.add("LeakyRelu", [x], alpha=slope)

    def _weights(self, name: str) -> list[str]:
        parts = (f"{name}.weight", f"{name}.bias")
        return [self._graph.constant(self._tensors[part], name=part) for part in parts]
