"""The decoder student in numpy: the reference that the graph of `decoder_graph` is held to.

`piperlite` of the sanoTTS specification, section 5: three upsamplings, each with a bank of residual
branches behind it, and no noise anywhere.
"""

from typing import Final

import numpy as np

from loudr_core.arrays import Mono
from loudr_core.speech.sanotts.configs import DecoderConfig
from loudr_core.speech.sanotts.layers import (
    Features,
    Tensors,
    conv1d,
    conv_transpose1d,
    leaky_relu,
)
from loudr_core.speech.sanotts.shapes import BRANCHES, STAGES

__all__ = ["END_SLOPE", "SLOPE", "decode"]

SLOPE: Final = 0.1
END_SLOPE: Final = 0.01
"""Before the last projection only, where the framework's default was left in place."""


def decode(z: Features, tensors: Tensors, config: DecoderConfig) -> Mono:
    """Return samples.

    Parameters
    ----------
    z : float32, shape (config.in_channels, n)
        Latent frames.
    tensors : mapping
        Of `decoder_shapes`.
    config : DecoderConfig

    Returns
    -------
    float32, shape (256 * n,)
        Inside (-1, 1), at 22,050 Hz.
    """
    x = conv1d(z, tensors["pre.weight"], tensors["pre.bias"])
    for stage, (_, stride, padding) in enumerate(STAGES):
        weight, bias = tensors[f"up{stage}.weight"], tensors[f"up{stage}.bias"]
        x = conv_transpose1d(leaky_relu(x, SLOPE), weight, bias, stride=stride, padding=padding)
        x = _bank(x, tensors, stage, config)
    w = np.tanh(conv1d(leaky_relu(x, END_SLOPE), tensors["post.weight"], tensors["post.bias"]))
    if config.filter_channels:
        w = _post_filter(w, tensors, config)
    samples: Mono = np.ascontiguousarray(w[0], np.float32)
    return samples


def _bank(x: Features, tensors: Tensors, stage: int, config: DecoderConfig) -> Features:
    kept = config.branches[stage]
    total = np.zeros_like(x)
    for place, branch in enumerate(kept):
        y = x
        for part, dilation in zip(("conv1", "conv2"), BRANCHES[branch][1:], strict=True):
            name = f"res{stage}.0.blocks.{place}.{part}"
            weight, bias = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
            y = conv1d(leaky_relu(y, SLOPE), weight, bias, dilation=dilation) + y
        total += y
    return total / total.dtype.type(len(kept) if config.averaged_over_kept else len(BRANCHES))


def _post_filter(w: Features, tensors: Tensors, config: DecoderConfig) -> Features:
    def conv(x: Features, name: str, dilation: int = 1) -> Features:
        name = f"post_filter.{name}"
        return conv1d(x, tensors[f"{name}.weight"], tensors[f"{name}.bias"], dilation=dilation)

    r = conv(w, "in_conv")
    for layer in range(config.filter_layers):
        inner = conv(leaky_relu(r, SLOPE), f"units.{layer}.conv1", 1 + layer)
        outer = conv(leaky_relu(inner, SLOPE), f"units.{layer}.conv2")
        r = r + tensors[f"post_filter.units.{layer}.scale"] * outer
    return np.tanh(w + w.dtype.type(config.filter_scale) * conv(r, "out_conv"))
