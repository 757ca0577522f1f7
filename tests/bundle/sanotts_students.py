"""Tensors of stand-in students: random ones, and ones that sing.

The singing voice has four carriers, whole multiples of the frame rate, so that each keeps its phase
from frame to frame. A phoneme has a loudness on each carrier; the acoustic student hands these on
as latent channels, and every upsampling turns a carrier by the angle that its step is long, as a
real and an imaginary channel, each beside its negative: the difference of a leaky ReLU and that of
the negative is linear. All weights that the tune does not need are small and random, none is zero.
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loudr_core.speech.sanotts.configs import AcousticConfig, DecoderConfig, DurationConfig
from loudr_core.speech.sanotts.shapes import (
    STAGES,
    Shapes,
    acoustic_shapes,
    decoder_shapes,
    duration_shapes,
)

__all__ = ["CARRIERS", "HOP", "Tensors", "random_students", "singing_students"]

Tensors = dict[str, NDArray[np.float32]]
HOP = 256
CARRIERS = (2, 3, 4, 6)
"""Cycles a frame of 256 samples: 172, 258, 345 and 517 Hz."""

_SLOPE, _END_SLOPE = 0.1, 0.01
_PAUSES = ",.:;?!"


def random_students(
    rng: np.random.Generator,
    duration: DurationConfig,
    acoustic: AcousticConfig,
    decoder: DecoderConfig,
) -> dict[str, Tensors]:
    """Return seeded random tensors of usual size, and durations around four frames."""
    tensors = {
        "duration": _random(rng, duration_shapes(duration)),
        "acoustic": _random(rng, acoustic_shapes(acoustic)),
        "decoder": _random(rng, decoder_shapes(decoder)),
    }
    tensors["duration"]["output.bias"][:] = np.log(4.0)
    return tensors


def singing_students(
    rng: np.random.Generator,
    duration: DurationConfig,
    acoustic: AcousticConfig,
    decoder: DecoderConfig,
    ids: Mapping[str, int],
) -> dict[str, Tensors]:
    """Return tensors of a voice whose pitch and length follow the phonemes.

    Parameters
    ----------
    rng : Generator
    duration, acoustic, decoder
        Hidden sizes of at least 8; channels [8, 16, 16, 8].
    ids : mapping of str to int
        Phonemes and their ids.
    """
    tensors = random_students(rng, duration, acoustic, decoder)
    for component, names in (
        ("duration", ("input_proj",)),
        ("acoustic", ("token_input_proj", "frame_input_proj")),
    ):
        for name in names:
            _pass_on(tensors[component], name)
    _set_durations(tensors["duration"], ids)
    _set_loudness(tensors["acoustic"], ids)
    _set_carriers(tensors["decoder"], decoder)
    return tensors


def _random(rng: np.random.Generator, shapes: Shapes) -> Tensors:
    tensors: Tensors = {}
    for name, shape in shapes.items():
        values = rng.standard_normal(shape).astype(np.float32)
        if name.endswith("embedding.weight"):
            tensors[name] = values
        elif name.endswith("adapter.scale"):
            tensors[name] = 1 + 0.1 * values
        elif name.endswith("scale"):
            tensors[name] = np.full(shape, 0.1, np.float32)
        elif len(shape) > 1:
            fan_in = np.prod(shape[1:]) if not name.startswith("up") else shape[0] * shape[2] / 4
            tensors[name] = (values / np.sqrt(fan_in)).astype(np.float32)
        else:
            tensors[name] = 0.05 * values
    return {name: np.asarray(array, np.float32) for name, array in tensors.items()}


def _pass_on(tensors: Tensors, name: str) -> None:
    """Make a projection the identity, with a little of the hints."""
    weight, bias = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
    width = weight.shape[0]
    weight[:, :, 0] *= 0.002
    weight[:, :width, 0] += np.eye(width, dtype=np.float32)
    bias *= 0.01


def _set_durations(tensors: Tensors, ids: Mapping[str, int]) -> None:
    logs = {"_": 2.0, "^": 4.0, "$": 6.0, " ": 3.0}
    for symbol, number in ids.items():
        if number < len(tensors["embedding.weight"]):
            frames = logs.get(symbol, 14.0 if symbol in _PAUSES else 5.0 if symbol.isalpha() else 2)
            tensors["embedding.weight"][number, 0] = np.log(frames / 4.0)
    tensors["output.weight"] *= 0.03
    tensors["output.weight"][0, 0, 0] = 1.0


def _set_loudness(tensors: Tensors, ids: Mapping[str, int]) -> None:
    embedding = tensors["embedding.weight"]
    embedding *= 0.01  # so that pauses are quiet, and yet no silence
    embedding[:, : len(CARRIERS)] = 0.0
    for name in tensors:
        if name.endswith(("bias", "net.2.weight")):
            tensors[name] *= 0.02
    for symbol, number in ids.items():
        if number < len(embedding) and symbol not in "^$" + _PAUSES:
            loud = 0.25 if symbol == "_" else 0.05 if symbol == " " else 1.0
            place = zlib.crc32(symbol.encode())
            embedding[number, place % 4] += 0.8 * loud
            embedding[number, place // 4 % 4] += 0.4 * loud
    weight = tensors["output.weight"]
    weight *= 0.1
    for carrier in range(len(CARRIERS)):
        weight[carrier] = 0.0
        weight[carrier, carrier, 0] = 1.0


def _set_carriers(tensors: Tensors, config: DecoderConfig) -> None:
    count = len(CARRIERS)
    if config.channels != (2 * count, 4 * count, 4 * count, 2 * count):
        raise ValueError(f"a singing decoder has other channels than {config.channels}")
    for name, array in tensors.items():
        array *= 0.01 if name.endswith("weight") else 0.002
    for carrier in range(count):
        for sign, channel in ((1, 2 * carrier), (-1, 2 * carrier + 1)):
            tensors["pre.weight"][channel, carrier, 3] += sign
            tensors["post.weight"][0, channel, 3] += sign * 0.35 / (1 + _END_SLOPE)
    step = HOP
    for stage, (_, stride, padding) in enumerate(STAGES):
        step //= stride
        weight = tensors[f"up{stage}.weight"]
        for carrier, cycles in enumerate(CARRIERS):
            for place in range(stride):
                angle = 2 * np.pi * cycles * place * step / HOP
                _turn(weight[:, :, place + padding], stage, carrier, angle)


def _turn(weight: NDArray[np.float32], stage: int, carrier: int, angle: float) -> None:
    """Add to one tap of an upsampling the turn of a carrier; weight has shape (inputs, outputs)."""
    cos, sin = np.cos(angle), np.sin(angle)
    # Channels of a carrier: positive and negative loudness, or re, im, -re, -im, or re and -re.
    inputs = _inputs(stage, carrier)
    outputs: Sequence[tuple[int, Any]]
    if stage < 2:
        base = 4 * carrier
        outputs = [
            (base, (cos, -sin)),
            (base + 1, (sin, cos)),
            (base + 2, (-cos, sin)),
            (base + 3, (-sin, -cos)),
        ]
    else:
        outputs = [(2 * carrier, (cos, -sin)), (2 * carrier + 1, (-cos, sin))]
    for output, factors in outputs:
        for (plus, minus), factor in zip(inputs, factors, strict=False):
            weight[plus, output] += factor / (1 + _SLOPE)
            weight[minus, output] -= factor / (1 + _SLOPE)


def _inputs(stage: int, carrier: int) -> list[tuple[int, int]]:
    """Return the channels of a carrier's real and imaginary part, each with its negative."""
    if stage == 0:
        return [(2 * carrier, 2 * carrier + 1)]
    return [(4 * carrier, 4 * carrier + 2), (4 * carrier + 1, 4 * carrier + 3)]
