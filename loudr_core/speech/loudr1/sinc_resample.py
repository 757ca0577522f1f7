"""Change of sample rate by a windowed sinc, as enrolment needs it to the last bit.

The mastering chain resamples with soxr; here the specification fixes filter and order of sums.
"""

import math

import numpy as np

from loudr_core.arrays import Mono

__all__ = ["resample_sinc"]

_ZERO_CROSSINGS = 6
_ROLLOFF = 0.99


def resample_sinc(samples: Mono, from_hz: int, to_hz: int) -> Mono:
    """Return the samples at another rate.

    Parameters
    ----------
    samples : float32, shape (n,)
    from_hz, to_hz : int
        Positive.

    Returns
    -------
    float32, shape (ceil(n · to_hz / from_hz),)
        The input itself where the rates are equal.

    Raises
    ------
    ValueError
        A rate is not positive.

    Notes
    -----
    A sinc of six zero crossings on either side under a Hann window, cut off at 0.99 of the lower
    Nyquist frequency. Each output sample is a sum from left to right, every product and sum rounded
    to float32 (loudr-1 specification, section 21).

    References
    ----------
    J. O. Smith, "Digital Audio Resampling Home Page", Stanford CCRMA: band-limited interpolation.
    """
    if from_hz <= 0 or to_hz <= 0:
        raise ValueError(f"cannot resample from {from_hz} Hz to {to_hz} Hz: rates are positive")
    if from_hz == to_hz:
        return samples
    divisor = math.gcd(from_hz, to_hz)
    old, new = from_hz // divisor, to_hz // divisor
    length = -(-new * len(samples) // old)
    output = np.zeros(length, np.float32)
    first, kernels = _kernels(old, new)
    # Output sample i · new + p reads from input sample i · old + first[p] on.
    block, phase = np.divmod(np.arange(length), new)
    before = max(0, -int(first.min()))
    padded = np.pad(samples, (before, len(kernels)))
    start = block * old + first[phase] + before
    for tap, kernel in enumerate(kernels):
        output += padded[start + tap] * kernel[phase]
    return output


def _kernels(old: int, new: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first tap of each phase, int64 (new,), and the taps, float32 (taps, new).

    Taps beyond the window's edge are exactly zero in float32 and are left out: with a prime rate
    they would fill gigabytes.
    """
    base = min(old, new) * _ROLLOFF
    reach = _ZERO_CROSSINGS * old / base
    phase = np.arange(new)
    first = np.floor(phase * old / new - reach).astype(np.int64)
    taps = math.ceil(2 * reach) + 2
    kernels = np.empty((taps, new), np.float32)
    for tap in range(taps):
        t = (-phase / new + (first + tap) / old) * base
        t = np.clip(t, -_ZERO_CROSSINGS, _ZERO_CROSSINGS)
        window = np.cos(t * np.pi / _ZERO_CROSSINGS / 2) ** 2
        angle = t * np.pi
        with np.errstate(invalid="ignore"):
            sinc = np.where(angle == 0, 1.0, np.sin(angle) / angle)
        kernels[tap] = sinc * (window * (base / old))
    return first, kernels
