"""Windows and mel filterbanks of enrolment, made from their published definitions.

Each table is float32, as the reference engine ships it, and equal to it bit for bit: the mel
filters of Slaney's scale are computed in float64 and rounded once before they are weighted by
area; the periodic windows and Kaldi's filters are computed in single precision throughout
(loudr-1 specification, section 21).
"""

from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from loudr_core.speech.loudr1.single_precision import cosine, logarithm, power

__all__ = ["hann_periodic", "hann_symmetric", "kaldi_filters", "povey", "slaney_filters"]

F32: TypeAlias = NDArray[np.float32]

_SLANEY_LINEAR_HZ = 200 / 3
"""Width of one mel below 1000 Hz."""
_SLANEY_BREAK_HZ = 1000.0
_SLANEY_BREAK_MEL = _SLANEY_BREAK_HZ / _SLANEY_LINEAR_HZ
_SLANEY_LOG_STEP = np.log(6.4) / 27
"""27 mels from 1000 to 6400 Hz."""


@cache
def hann_periodic(width: int) -> F32:
    """Return ½ - ½ cos(2πk / width) for k in 0 .. width - 1, float32, in single precision.

    References
    ----------
    F. J. Harris, "On the use of windows for harmonic analysis with the discrete Fourier
    transform", Proc. IEEE 66(1), 1978.
    """
    return _fixed(_single_hann(width, width))


@cache
def hann_symmetric(width: int) -> F32:
    """Return ½ - ½ cos(2πk / (width - 1)), computed in float64 and rounded to float32."""
    angles = 2 * np.pi * np.arange(width) / (width - 1)
    return _fixed(0.5 - 0.5 * np.cos(angles))


@cache
def povey(width: int) -> F32:
    """Return the symmetric Hann window to the power 0.85, float32, in single precision.

    References
    ----------
    D. Povey et al., "The Kaldi Speech Recognition Toolkit", ASRU 2011: `feature-window`.
    """
    return _fixed(power(_single_hann(width, width - 1), 0.85))


@cache
def slaney_filters(
    sample_rate_hz: int, fft_size: int, n_mels: int, *, fmin_hz: float, fmax_hz: float
) -> F32:
    """Return triangular mel filters of equal area, float32, shape (n_mels, fft_size // 2 + 1).

    Parameters
    ----------
    sample_rate_hz, fft_size, n_mels : int
    fmin_hz, fmax_hz : float
        Where the first filter begins and the last one ends.

    References
    ----------
    M. Slaney, "Auditory Toolbox, version 2", Technical Report 1998-010, Interval Research.
    """
    bins_hz = np.linspace(0, sample_rate_hz / 2, fft_size // 2 + 1)
    mels = np.linspace(_slaney_mel(fmin_hz), _slaney_mel(fmax_hz), n_mels + 2)
    corners_hz = _slaney_hz(mels)
    widths = np.diff(corners_hz)[:, None]
    ramps = corners_hz[:, None] - bins_hz
    rising, falling = -ramps[:-2] / widths[:-1], ramps[2:] / widths[1:]
    triangles = np.maximum(0, np.minimum(rising, falling)).astype(np.float32)
    area = 2 / (corners_hz[2:] - corners_hz[:-2])
    return _fixed(triangles * area[:, None])


@cache
def kaldi_filters(sample_rate_hz: int, fft_size: int, n_mels: int, *, fmin_hz: float) -> F32:
    """Return filters that are triangles over mel, up to half the sample rate.

    Returns
    -------
    float32, shape (n_mels, fft_size // 2)
        The bin at half the sample rate has no weight in any filter and is left out.

    References
    ----------
    D. Povey et al., "The Kaldi Speech Recognition Toolkit", ASRU 2011: `mel-computations`,
    mel = 1127 ln(1 + f / 700).
    """
    low, high = (1127 * np.log(1 + f / 700) for f in (fmin_hz, sample_rate_hz / 2))
    step = np.float32((high - low) / (n_mels + 1))
    low = np.float32(low)
    number = np.arange(n_mels, dtype=np.float32)[:, None]
    left, centre, right = (low + (number + np.float32(i)) * step for i in range(3))
    bins_hz = np.float32(sample_rate_hz / fft_size) * np.arange(fft_size // 2, dtype=np.float32)
    mels = np.float32(1127) * logarithm(np.float32(1) + bins_hz / np.float32(700))
    rising, falling = (mels - left) / (centre - left), (right - mels) / (right - centre)
    return _fixed(np.maximum(np.float32(0), np.minimum(rising, falling)))


def _single_hann(width: int, period: int) -> F32:
    angles = np.arange(width, dtype=np.float32) * np.float32(2 * np.pi / period)
    return cosine(angles) * np.float32(-0.5) + np.float32(0.5)


def _slaney_mel(hz: float) -> float:
    if hz < _SLANEY_BREAK_HZ:
        return hz / _SLANEY_LINEAR_HZ
    return float(_SLANEY_BREAK_MEL + np.log(hz / _SLANEY_BREAK_HZ) / _SLANEY_LOG_STEP)


def _slaney_hz(mels: NDArray[np.float64]) -> NDArray[np.float64]:
    above = _SLANEY_BREAK_HZ * np.exp(_SLANEY_LOG_STEP * (mels - _SLANEY_BREAK_MEL))
    result: NDArray[np.float64] = np.where(
        mels >= _SLANEY_BREAK_MEL, above, mels * _SLANEY_LINEAR_HZ
    )
    return result


def _fixed(table: NDArray[np.floating]) -> F32:
    """Return a float32 copy that nobody can write to, since it is shared."""
    fixed = np.array(table, np.float32, order="C")
    fixed.flags.writeable = False
    return fixed
