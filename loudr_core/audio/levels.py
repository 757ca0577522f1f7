"""Short-time level of samples: the measure that trimming and the detectors share."""

import numpy as np
from numpy.typing import NDArray

from loudr_core.arrays import Mono

__all__ = ["SILENCE_DBFS", "frame_levels_db", "loud_level_db"]

SILENCE_DBFS = -140.0
"""Level given to digital silence; 24 bits end at -144 dBFS."""


def frame_levels_db(samples: Mono, frame_samples: int) -> NDArray[np.float32]:
    """Return the RMS level of consecutive frames, in dB re full scale.

    Parameters
    ----------
    samples : float32, shape (n,)
    frame_samples : int
        Length of a frame; a last, shorter frame counts by its own length.

    Returns
    -------
    float32, shape (ceil(n / frame_samples),)
        20·log10(RMS), at least `SILENCE_DBFS`.
    """
    whole = len(samples) // frame_samples
    head = samples[: whole * frame_samples].reshape(whole, frame_samples)
    power = np.einsum("ij,ij->i", head, head) / np.float32(frame_samples)
    tail = samples[whole * frame_samples :]
    if len(tail):
        power = np.append(power, np.dot(tail, tail) / np.float32(len(tail)))
    floor = np.float32(10 ** (SILENCE_DBFS / 10))
    levels: NDArray[np.float32] = np.float32(10) * np.log10(np.maximum(power, floor))
    return levels


def loud_level_db(levels: NDArray[np.float32]) -> float:
    """Return the level of a take's loud parts.

    The 90th percentile of the frames within 60 dB of the loudest: independent of how much silence
    surrounds the speech.
    """
    if len(levels) == 0:
        return SILENCE_DBFS
    top = float(levels.max())
    near = np.sort(levels[levels > top - 60])
    return float(near[int(0.9 * (len(near) - 1))]) if len(near) else top
