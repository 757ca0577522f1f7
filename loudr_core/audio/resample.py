"""Samples at another rate; the only importer of soxr.

Used for what a user brings along and for voices of another rate. The result depends on the samples
and the two rates alone: one thread, dither off, linear phase, the whole of a take at once.
"""

import numpy as np
import soxr

from loudr_core.arrays import Mono

__all__ = ["resample", "resampled_length", "resampler_build"]

_QUALITY = "VHQ"


def resampled_length(n_samples: int, from_hz: int, to_hz: int) -> int:
    """Return how many samples `resample` gives: n · to / from, halves up.

    Parameters
    ----------
    n_samples : int
        At least 0.
    from_hz, to_hz : int
        Positive.

    Raises
    ------
    ValueError
        A rate is not positive, or the length is negative.
    """
    if n_samples < 0 or from_hz <= 0 or to_hz <= 0:
        raise ValueError(
            f"cannot resample {n_samples} samples from {from_hz} Hz to {to_hz} Hz: rates are "
            "positive, and a length is not negative"
        )
    return (2 * n_samples * to_hz + from_hz) // (2 * from_hz)


def resample(samples: Mono, from_hz: int, to_hz: int) -> Mono:
    """Return the samples at another rate, in time with the input.

    Sample k of the result stands for the instant k / to_hz, as that of the input does for
    k / from_hz. Outside the input there is silence. Peaks between the samples of the input come
    out as what they are, so the result may go beyond the input's own largest sample.

    Parameters
    ----------
    samples : float32, shape (n,)
    from_hz, to_hz : int
        Positive.

    Returns
    -------
    float32, shape (m,)
        m is `resampled_length`. The input itself when the rates are equal.

    Raises
    ------
    ValueError
        A rate is not positive.
    """
    samples = np.ascontiguousarray(samples, np.float32)
    length = resampled_length(len(samples), from_hz, to_hz)
    if from_hz == to_hz or len(samples) == 0:
        return samples
    made = _resampled(samples, from_hz, to_hz)
    if len(made) < length:  # soxr rounds by a rule of its own: with silence behind, it goes on
        silence = np.zeros(1 + from_hz // to_hz, np.float32)
        made = _resampled(np.concatenate([samples, silence]), from_hz, to_hz)
    return made[:length]


def resampler_build() -> str:
    """Return what resamples: soxr's two versions and the quality, on which the bits depend."""
    return f"soxr {soxr.__version__}, libsoxr {soxr.__libsoxr_version__}, {_QUALITY}"


def _resampled(samples: Mono, from_hz: int, to_hz: int) -> Mono:
    return np.asarray(soxr.resample(samples, from_hz, to_hz, quality=_QUALITY), np.float32)
