"""The pitch of a voice by autocorrelation, to notice a bundle that speaks at another one."""

from typing import Final

import numpy as np
from scipy import fft, signal

from loudr_core.arrays import Mono

__all__ = ["median_pitch_hz"]

_RANGE_HZ: Final = (60.0, 400.0)
_FRAME_S: Final = 0.05
_LEAST_LEVEL: Final = 0.01
_VOICED: Final = 0.5
_RATE_HZ: Final = 11_025


def median_pitch_hz(samples: Mono, sample_rate_hz: int) -> float | None:
    """Return the median fundamental frequency of the voiced frames.

    Parameters
    ----------
    samples : float32, shape (n,)
    sample_rate_hz : int

    Returns
    -------
    float or None
        Between 60 and 400 Hz; None where fewer than three frames are voiced.

    References
    ----------
    Normalised autocorrelation, as in Boersma: Accurate short-term analysis of the fundamental
    frequency (1993), without its path finder.
    """
    step = max(1, sample_rate_hz // _RATE_HZ)
    audio = signal.decimate(samples, step) if step > 1 else samples
    rate = sample_rate_hz / step
    size = round(_FRAME_S * rate)
    low, high = (round(rate / each) for each in reversed(_RANGE_HZ))
    found = []
    for start in range(0, len(audio) - size, size // 2):
        frame = audio[start : start + size].astype(np.float64)
        frame -= frame.mean()
        energy = float(frame @ frame)
        if energy < _LEAST_LEVEL**2 * size:
            continue
        spectrum = fft.rfft(frame, 2 * size)
        lags = fft.irfft(np.abs(spectrum) ** 2)[:size]
        unbiased = lags / np.arange(size, 0, -1) * size / energy
        best = float(unbiased[low : high + 1].max())
        if best < _VOICED:
            continue
        # The first peak near the best: twice a period correlates as well as one.
        peaks, _ = signal.find_peaks(unbiased[: high + 2], height=0.9 * best)
        peaks = peaks[peaks >= low]
        lag = int(peaks[0]) if len(peaks) else low + int(unbiased[low : high + 1].argmax())
        found.append(rate / lag)
    return float(np.median(found)) if len(found) >= 3 else None
