"""True peak: the highest value of the waveform between the samples as well as on them.

Samples are interpolated four times by the 48-tap filter of the recommendation. An interpolated
value cannot exceed the largest sample under the filter times the L1 norm of the filter, so a
stretch whose samples are too small to beat the peak already found needs no interpolation. On speech
that leaves a few stretches in a hundred, and the result is the same.

References
----------
ITU-R BS.1770-5, Annex 2 (order 48, 4-phase FIR interpolating filter).
"""

import numpy as np
from numpy.typing import NDArray

from loudr_core.arrays import Mono

__all__ = ["TAPS", "TruePeakMeter", "interpolated_peaks", "true_peak"]

TAPS = 12
"""Samples under one phase of the filter."""

_PHASE_0 = (
    0.0017089843750, 0.0109863281250, -0.0196533203125, 0.0332031250000, -0.0594482421875,
    0.1373291015625, 0.9721679687500, -0.1022949218750, 0.0476074218750, -0.0266113281250,
    0.0148925781250, -0.0083007812500,
)  # fmt: skip
_PHASE_1 = (
    -0.0291748046875, 0.0292968750000, -0.0517578125000, 0.0891113281250, -0.1665039062500,
    0.4650878906250, 0.7797851562500, -0.2003173828125, 0.1015625000000, -0.0582275390625,
    0.0330810546875, -0.0189208984375,
)  # fmt: skip
_PHASES = (_PHASE_0, _PHASE_1, _PHASE_1[::-1], _PHASE_0[::-1])
L1_NORM = max(sum(abs(tap) for tap in phase) for phase in _PHASES)
"""No interpolated value exceeds this times the largest sample under the filter."""

_HISTORY = TAPS - 1
_CHUNK = 64
_FIRST = 8


def interpolated_peaks(windows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest magnitude among the four phases at every sample of every row.

    Parameters
    ----------
    windows : float64, shape (rows, 11 + n)
        Each row begins with the 11 samples before its first output.

    Returns
    -------
    float64, shape (rows, n)
        The filter delays by 5.5 samples: output i stands between inputs i - 6 and i - 5.
    """
    n_out = windows.shape[1] - _HISTORY
    peaks = np.zeros((windows.shape[0], n_out))
    for phase in _PHASES:
        # Tap by tap, not as a matrix product: the sum's order, and so its last bit, must not
        # depend on where a sample lies in its row.
        total = np.zeros_like(peaks)
        for k, tap in enumerate(phase):
            total += tap * windows[:, _HISTORY - k : _HISTORY - k + n_out]
        np.maximum(peaks, np.abs(total), out=peaks)
    return peaks


class TruePeakMeter:
    """Running true peak of a stream of blocks."""

    def __init__(self) -> None:
        self._history = np.zeros(_HISTORY, np.float32)
        self.sample_peak = 0.0
        """Largest magnitude of a sample so far."""
        self.peak = 0.0
        """Largest magnitude on or between samples so far, linear; 1 is full scale."""

    @classmethod
    def continued(cls, other: "TruePeakMeter") -> "TruePeakMeter":
        """Return a meter that goes on from where another stands."""
        meter = cls()
        meter._history = other._history.copy()
        meter.sample_peak, meter.peak = other.sample_peak, other.peak
        return meter

    def push(self, block: Mono) -> None:
        """Take the next samples; float32, shape (n,), finite."""
        if len(block) == 0:
            return
        chunks = -(-len(block) // _CHUNK)
        padded = np.zeros(_HISTORY + chunks * _CHUNK, np.float32)
        padded[:_HISTORY] = self._history
        padded[_HISTORY : _HISTORY + len(block)] = block
        own = np.abs(padded[_HISTORY:]).reshape(chunks, _CHUNK).max(axis=1)
        self.sample_peak = max(self.sample_peak, float(own.max()))
        self.peak = max(self.peak, self.sample_peak)
        before = np.append(np.abs(self._history).max(), own[:-1])
        bound = np.maximum(own, before) * L1_NORM
        order = np.argsort(-bound, kind="stable")
        # The loudest chunks first: they raise the bar for the rest.
        for some in (order[:_FIRST], order[_FIRST:]):
            self._interpolate(padded, some[bound[some] > self.peak], len(block))
        self._history = padded[len(block) : len(block) + _HISTORY].copy()

    def finish(self) -> float:
        """Flush the filter with silence and return the true peak, linear."""
        self.push(np.zeros(_HISTORY, np.float32))
        return self.peak

    def _interpolate(self, padded: Mono, chunks: NDArray[np.intp], n_samples: int) -> None:
        if len(chunks) == 0:
            return
        columns = np.arange(_HISTORY + _CHUNK)
        windows = padded[chunks[:, None] * _CHUNK + columns].astype(np.float64)
        peaks = interpolated_peaks(windows)
        # What follows the block is not known to be the zeros that fill its last chunk.
        unknown = chunks[:, None] * _CHUNK + np.arange(_CHUNK) >= n_samples
        peaks[unknown] = 0
        self.peak = max(self.peak, float(peaks.max()))


def true_peak(samples: Mono) -> float:
    """Return the true peak of whole samples, linear: 1 is full scale."""
    meter = TruePeakMeter()
    meter.push(np.asarray(samples, np.float32))
    return meter.finish()
