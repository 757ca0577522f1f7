"""From a measured book to delivery level: one linear gain, and peaks held under a limit.

Every sample gets the same gain, so a whisper stays a whisper. Only where that would carry the true
peak over the limit is the gain drawn down around the peak, for about 20 ms, by a curve that looks a
few milliseconds to either side and no further. A stretch can thus be mastered by itself, given its
margin, and is bit for bit what it is in the middle of the book.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loudr_core.arrays import Mono
from loudr_core.audio.loudness import Loudness
from loudr_core.audio.true_peak import L1_NORM, TAPS, interpolated_peaks

__all__ = ["Gain", "Master", "plan_gain"]

_STEP_DB = 0.1
_KEEP_WITHIN_LU = 0.2
_SMOOTH_S = 0.005
_UNDER_LIMIT_DB = 0.05  # the gain is not quite constant under the interpolating filter
_CHUNK = 12  # no less than the filter's history, or a peak in the chunk before last is missed


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What is done to the level of a book.

    Parameters
    ----------
    gain_db : float
        A multiple of 0.1 dB.
    limit_dbtp : float
        Highest true peak of the result.
    limited : bool
        Whether the gain alone would exceed it.
    """

    gain_db: float
    limit_dbtp: float
    limited: bool


def plan_gain(
    measured: Loudness,
    *,
    target_lufs: float,
    true_peak_limit_dbtp: float,
    previous_gain_db: float | None = None,
) -> Gain:
    """Return the gain that brings a measured book to its target.

    Parameters
    ----------
    measured : Loudness
        Of the whole book before any gain.
    target_lufs, true_peak_limit_dbtp : float
    previous_gain_db : float, optional
        Gain of an earlier render of the same plan. It is kept while it lands within 0.2 LU of the
        target, so that one new take does not touch every encoded piece.

    Returns
    -------
    Gain
        Of 0 dB when the book is silent.
    """
    if not math.isfinite(measured.integrated_lufs):
        return Gain(gain_db=0.0, limit_dbtp=true_peak_limit_dbtp, limited=False)
    wanted = target_lufs - measured.integrated_lufs
    gain_db = round(wanted / _STEP_DB) / round(1 / _STEP_DB)
    if previous_gain_db is not None and abs(previous_gain_db - wanted) <= _KEEP_WITHIN_LU:
        gain_db = previous_gain_db
    limited = measured.true_peak_dbtp + gain_db > true_peak_limit_dbtp
    return Gain(gain_db=gain_db, limit_dbtp=true_peak_limit_dbtp, limited=limited)


class Master:
    """Apply a `Gain` to any stretch of a book.

    Parameters
    ----------
    gain : Gain
    sample_rate_hz : int
    """

    def __init__(self, gain: Gain, sample_rate_hz: int) -> None:
        self._factor = np.float32(10 ** (gain.gain_db / 20))
        self._limited = gain.limited
        self._ceiling = 10 ** ((gain.limit_dbtp - _UNDER_LIMIT_DB) / 20)
        smooth = max(1, round(_SMOOTH_S * sample_rate_hz))
        kernel = np.hanning(2 * smooth + 3)[1:-1]
        self._kernel = kernel / kernel.sum()
        # Wider than the kernel by the interpolating filter: then the smoothed gain is low enough
        # under every tap that makes the peak.
        self._reach = smooth + TAPS
        self.margin_samples = (smooth + self._reach + 2 * TAPS) if gain.limited else 0
        """Samples on either side that a stretch's own samples depend on."""

    def apply(self, samples: Mono) -> Mono:
        """Return a stretch at its new level.

        Parameters
        ----------
        samples : float32, shape (margin + n + margin,)
            The stretch with its margin; zeros stand for what lies outside the book.

        Returns
        -------
        float32, shape (n,)
        """
        margin = self.margin_samples
        if len(samples) < 2 * margin:
            raise ValueError(f"a stretch needs {margin} samples on either side of it")
        gained = np.asarray(samples, np.float32) * self._factor
        if self._limited and float(np.abs(gained).max(initial=0.0)) * L1_NORM > self._ceiling:
            gained = gained * self._reduction(gained)
        return gained[margin : len(gained) - margin]

    def read(self, source: Callable[[int, int], Mono], start: int, n_samples: int) -> Mono:
        """Return mastered samples [start, start + n_samples) of a source with random access.

        Parameters
        ----------
        source : callable (start, n_samples) -> float32
            Gives zeros outside the book, before 0 too.
        """
        margin = self.margin_samples
        return self.apply(source(start - margin, n_samples + 2 * margin))

    def stream(self, blocks: Iterable[Mono]) -> Iterator[Mono]:
        """Yield the mastered samples of a book that comes block by block, as many in all."""
        margin = self.margin_samples
        pending = np.zeros(margin, np.float32)
        for block in blocks:
            pending = np.concatenate([pending, np.asarray(block, np.float32)])
            if len(pending) > 2 * margin:
                yield self.apply(pending)
                pending = pending[len(pending) - 2 * margin :]
        pending = np.concatenate([pending, np.zeros(margin, np.float32)])
        if len(pending) > 2 * margin:
            yield self.apply(pending)

    def _reduction(self, gained: Mono) -> Mono:
        """Return the factor at every sample, at most 1, that holds the peaks under the ceiling.

        Only the surroundings of peaks are worked on: elsewhere the factor is exactly 1.
        """
        peaks = self._peaks(gained)
        factor = np.ones(len(gained), np.float32)
        reach = self._reach + len(self._kernel)
        # Imported where a limiter is at work, which is long after a command has begun.
        from scipy.ndimage import correlate1d, minimum_filter1d

        for low, high in _surroundings(np.flatnonzero(peaks > self._ceiling), reach, len(gained)):
            near = peaks[low:high]
            wanted = np.where(near > self._ceiling, self._ceiling / np.maximum(near, 1e-30), 1.0)
            lowest = minimum_filter1d(wanted, 2 * self._reach + 1, mode="constant", cval=1.0)
            smooth: NDArray[np.float64] = 1.0 - correlate1d(
                1.0 - lowest, self._kernel, mode="constant", cval=0.0
            )
            factor[low:high] = smooth
        return factor

    def _peaks(self, gained: Mono) -> NDArray[np.float64]:
        """Return the magnitude at every sample, or between it and its neighbours if larger there.

        Exact wherever it exceeds the ceiling; elsewhere it may be 0, since nobody asks.
        """
        n_samples = len(gained)
        chunks = -(-n_samples // _CHUNK)
        padded = np.zeros(chunks * _CHUNK + TAPS, np.float32)
        padded[TAPS - 1 : TAPS - 1 + n_samples] = gained
        largest = np.abs(padded[TAPS - 1 : -1]).reshape(chunks, _CHUNK).max(axis=1)
        bound = np.maximum(largest, np.append(np.float32(0), largest[:-1])) * L1_NORM
        some = np.flatnonzero(bound > self._ceiling)
        at = some[:, None] * _CHUNK + np.arange(TAPS - 1 + _CHUNK)
        windows = padded[at].astype(np.float64)
        peaks = np.zeros(chunks * _CHUNK)
        peaks.reshape(chunks, _CHUNK)[some] = np.abs(windows[:, TAPS - 1 :])
        between = np.zeros_like(peaks)
        between.reshape(chunks, _CHUNK)[some] = interpolated_peaks(windows)
        peaks, between = peaks[:n_samples], between[:n_samples]
        # Output i stands between inputs i - 6 and i - 5: both are held down for it.
        for delay in (5, 6):
            if n_samples > delay:
                np.maximum(peaks[:-delay], between[delay:], out=peaks[:-delay])
        return peaks


def _surroundings(places: NDArray[np.intp], reach: int, length: int) -> Iterator[tuple[int, int]]:
    """Yield intervals that hold every place with `reach` on either side, joined where they meet."""
    if not len(places):
        return
    breaks = np.flatnonzero(np.diff(places) > 2 * reach)
    firsts = places[np.append(0, breaks + 1)]
    lasts = places[np.append(breaks, len(places) - 1)]
    for first, last in zip(firsts, lasts, strict=True):
        yield max(0, int(first) - reach), min(length, int(last) + reach + 1)
