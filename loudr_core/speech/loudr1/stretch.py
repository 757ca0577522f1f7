"""A change of speed that keeps the pitch, by waveform-similarity overlap-add (WSOLA).

Frames of 25 ms are laid down every 12.5 ms of output. Each is read near its place in the input,
where it resembles most what would have followed the frame before.

References
----------
Verhelst and Roelands: An overlap-add technique based on waveform similarity (WSOLA) for high
quality time-scale modification of speech (ICASSP 1993); the loudr-1 specification, section 16.
"""

import math
from typing import TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from loudr_core.arrays import Mono
from loudr_core.errors import SynthesisError

__all__ = ["SPEEDS", "check_speed", "stretched_length", "time_stretch"]

SPEEDS = (0.5, 2.0)
"""The slowest and the fastest."""

Samples: TypeAlias = NDArray[np.float64]

_FRAME_MS = 25
_SEARCH_MS = 10
_NEARLY_BEST = 1e-9
"""Part of the target's norm by which the scores of all places may differ from exact ones."""
_SMALLEST_WEIGHT = 1e-12


def check_speed(speed: float) -> float:
    """Return a speed that can be had.

    Raises
    ------
    ValueError
        It is no number from 0.5 to 2.0; none is rounded to the nearest that is.
    """
    low, high = SPEEDS
    if not (math.isfinite(speed) and low <= speed <= high):
        raise ValueError(f"speed {speed} is outside {low} to {high}")
    return float(speed)


def stretched_length(n: int, speed: float) -> int:
    """Return how many samples n samples become."""
    return math.floor(n / speed + 0.5)


def time_stretch(audio: Mono, *, sample_rate_hz: int, speed: float) -> Mono:
    """Return samples at another speed.

    Parameters
    ----------
    audio : float32, shape (n,)
    sample_rate_hz : int
    speed : float
        0.5 to 2.0; above 1 is faster.

    Returns
    -------
    float32, shape (stretched_length(n, speed),)
        The array itself at speed 1.

    Raises
    ------
    ValueError
        A speed out of range, or samples that are not one channel.
    SynthesisError
        Samples that are not finite, which resemble nothing.
    """
    speed = check_speed(speed)
    if audio.ndim != 1:
        raise ValueError(f"one channel of samples is stretched, not an array of {audio.shape}")
    if speed == 1.0:
        return audio
    if not np.isfinite(audio).all():
        raise SynthesisError(f"samples that are not finite cannot be played at speed {speed}")
    length = stretched_length(len(audio), speed)
    frame = math.floor(sample_rate_hz * _FRAME_MS / 1000 + 0.5)
    if len(audio) <= frame or length <= 0 or frame < 2:
        short = np.zeros(length, np.float32)
        kept = min(length, len(audio))
        short[:kept] = audio[:kept]
        return short
    reach = math.floor(sample_rate_hz * _SEARCH_MS / 1000 + 0.5)
    return _overlap_add(audio.astype(np.float64), speed, length, frame=frame, reach=reach)


def _overlap_add(x: Samples, speed: float, length: int, *, frame: int, reach: int) -> Mono:
    hop = frame // 2
    last_start = len(x) - frame
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(frame) / frame)
    total, weight = np.zeros(length + frame), np.zeros(length + frame)
    read = 0
    for k, write in enumerate(range(0, length, hop)):
        if k:
            # What would have followed the frame before, had it been copied on.
            after = read + hop if len(x) < frame + hop else min(read, last_start - hop) + hop
            ideal = math.floor(k * hop * speed + 0.5)
            read = _best_start(x, x[after : after + frame], ideal, frame=frame, reach=reach)
        total[write : write + frame] += window * x[read : read + frame]
        weight[write : write + frame] += window
    heard = weight[:length] > _SMALLEST_WEIGHT
    out = np.zeros(length)
    np.divide(total[:length], weight[:length], out=out, where=heard)
    return out.astype(np.float32)


def _best_start(x: Samples, target: Samples, ideal: int, *, frame: int, reach: int) -> int:
    """Return where in the input the frame begins that is most like the target."""
    last_start = len(x) - frame
    low, high = max(0, ideal - reach), min(last_start, ideal + reach)
    if high < low or len(target) < frame:
        return min(max(ideal, 0), last_start)
    if not target.any():
        return low  # after silence all places are alike
    frames = sliding_window_view(x[low : high + frame], frame)
    energies = np.vecdot(frames, frames)
    scores = np.zeros(len(frames))
    np.divide(np.vecdot(frames, target), np.sqrt(energies), out=scores, where=energies > 0)
    # The scores of all at once may differ from the reference's dot products by the order of their
    # sums. Those near the best are scored again, one by one, as the reference does.
    slack = _NEARLY_BEST * math.sqrt(np.dot(target, target))
    best, best_score = low, -math.inf
    for place in np.flatnonzero(scores >= np.max(scores) - slack).tolist():
        score = _similarity(frames[place], target)
        if score > best_score:
            best, best_score = low + place, score
    return best


def _similarity(candidate: Samples, target: Samples) -> float:
    energy = float(np.dot(candidate, candidate))
    return float(np.dot(candidate, target)) / math.sqrt(energy) if energy > 0 else 0.0
