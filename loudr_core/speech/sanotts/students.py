"""The duration and the acoustic student: phoneme ids to durations, and both to latent frames.

Section numbers are those of the sanoTTS specification.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loudr_core.speech.sanotts.configs import AcousticConfig, AdapterConfig, DurationConfig
from loudr_core.speech.sanotts.layers import (
    Features,
    Tensors,
    conv1d,
    ramp,
    residual_block,
)

__all__ = ["calibrate", "durations", "latent"]


def durations(
    ids: NDArray[np.int64], tensors: Tensors, config: DurationConfig, *, length_scale: float = 1.0
) -> NDArray[np.int64]:
    """Return the frames of each id, pads, start and end included (section 3).

    Parameters
    ----------
    ids : int64, shape (n,)
        Below `config.vocab_size`.
    tensors : mapping
        Of `duration_shapes`.
    config : DurationConfig
    length_scale : float
        Above 1 is slower. The student's answer is raised to a frame before it is scaled, and the
        product is clipped again.

    Returns
    -------
    int64, shape (n,)
        1 to `config.max_duration`; half frames round to even.

    Raises
    ------
    ValueError
        There is no id, or one that the student does not know.
    """
    _check(ids, config.vocab_size)
    count = len(ids)
    embedded = tensors["embedding.weight"][ids].T
    length = np.log1p(np.float32(count)) / np.log1p(np.float32(config.max_tokens))
    hints = np.stack([ramp(count), np.full(count, length), np.ones(count, np.float32)])
    x = _project(embedded, hints, tensors, "input_proj")
    for index in range(config.depth):
        x = residual_block(x, tensors, f"blocks.{index}")
    logs = conv1d(x, tensors["output.weight"], tensors["output.bias"])[0]
    with np.errstate(over="ignore"):  # an infinite duration is clipped like any that is too long
        frames = np.maximum(np.exp(logs), np.float32(1)) * np.float32(length_scale)
    whole: NDArray[np.int64] = np.clip(np.rint(frames), 1, config.max_duration).astype(np.int64)
    return whole


def latent(
    ids: NDArray[np.int64],
    frames: NDArray[np.int64],
    tensors: Tensors,
    config: AcousticConfig,
) -> Features:
    """Return the latent frames that the decoder makes audible (section 4).

    Parameters
    ----------
    ids : int64, shape (n,)
        Below `config.vocab_size`.
    frames : int64, shape (n,)
        Frames of each id, at least 1.
    tensors : mapping
        Of `acoustic_shapes`.
    config : AcousticConfig

    Returns
    -------
    float32, shape (config.out_channels, sum of frames)
        The length of the whole is an input of each frame: two rows of ids at once do not give what
        they give one after the other.

    Raises
    ------
    ValueError
        There is no id, one that the student does not know, or an id without a frame.
    """
    _check(ids, config.vocab_size)
    if frames.shape != ids.shape or frames.min() < 1:
        raise ValueError("each id needs a duration of at least one frame")
    prefix = config.prefix
    embedded = tensors[f"{prefix}embedding.weight"][ids].T
    x = _project(embedded, _token_hints(frames), tensors, f"{prefix}token_input_proj")
    for index in range(config.token_depth):
        x = residual_block(x, tensors, f"{prefix}token_blocks.{index}")
    spread = np.repeat(x, frames, axis=1)
    y = _project(spread, _frame_hints(frames), tensors, f"{prefix}frame_input_proj")
    for index in range(config.depth):
        y = residual_block(y, tensors, f"{prefix}frame_blocks.{index}")
    z = conv1d(y, tensors[f"{prefix}output.weight"], tensors[f"{prefix}output.bias"])
    return z if config.adapter is None else calibrate(z, tensors, config.adapter)


def calibrate(z: Features, tensors: Tensors, adapter: AdapterConfig) -> Features:
    """Return latent frames with the adapter's channels corrected (section 4, `calibrated`).

    Parameters
    ----------
    z : float32, shape (channels, n)
    tensors : mapping
        With the names `adapter.…`.
    adapter : AdapterConfig
    """
    part = z[adapter.start : adapter.end]
    if adapter.depthwise:
        part = _depthwise(part, tensors["adapter.depthwise.weight"])
    if adapter.lowrank:
        down = np.tanh(conv1d(part, tensors["adapter.down.weight"]))
        part = part + conv1d(down, tensors["adapter.up.weight"])
    changed = z.copy()
    changed[adapter.start : adapter.end] = (
        part * tensors["adapter.scale"][:, None] + tensors["adapter.bias"][:, None]
    )
    return changed


def _depthwise(x: Features, weight: NDArray[np.float32]) -> Features:
    length, kernel = x.shape[1], weight.shape[2]
    padded = np.pad(x, ((0, 0), (kernel // 2, kernel // 2)))
    out = weight[:, :, 0] * padded[:, :length]
    for tap in range(1, kernel):
        out += weight[:, :, tap] * padded[:, tap : tap + length]
    return out


def _project(x: Features, hints: NDArray[np.float32], tensors: Tensors, name: str) -> Features:
    joined = np.concatenate([x, hints]) if hints.size else x
    return conv1d(joined, tensors[f"{name}.weight"], tensors[f"{name}.bias"])


def _token_hints(frames: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return place in the row and log length of each id, shape (2, n)."""
    longest = np.log1p(np.float32(max(int(frames.max()), 1)))
    return np.stack([ramp(len(frames)), np.log1p(frames.astype(np.float32)) / longest])


def _frame_hints(frames: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return each frame's place in the whole, its id's place, its place in the id: (3, n)."""
    count = len(frames)
    ids = (np.arange(count, dtype=np.float32) / np.float32(max(count - 1, 1))).repeat(frames)
    starts = np.cumsum(frames) - frames
    within = (np.arange(int(frames.sum())) - starts.repeat(frames)).astype(np.float32)
    last = np.maximum(frames - 1, 1).astype(np.float32)
    return np.stack([ramp(int(frames.sum())), ids, within / last.repeat(frames)])


def _check(ids: NDArray[np.int64] | Sequence[int], vocab_size: int) -> None:
    row = np.asarray(ids)
    if row.ndim != 1 or not len(row):
        raise ValueError("no phoneme ids")
    if row.min() < 0 or row.max() >= vocab_size:
        raise ValueError(f"phoneme ids must be 0 to {vocab_size - 1}: {row.min()} to {row.max()}")
