"""Cut the silence at a take's edges, so that the pauses between takes are ours.

The rule sees one take: frames of 5 ms are speech when they reach a threshold below the take's own
loud level. A guard stays before the first (a soft fricative or the burst of a plosive begins under
any threshold) and after the last (the room's decay, a final nasal), and both edges are faded to
zero, so that digital silence can follow without a step.
"""

from dataclasses import dataclass

import numpy as np

from loudr_core.arrays import Mono
from loudr_core.audio.levels import frame_levels_db, loud_level_db

__all__ = ["TrimRule", "trim_edges"]

_FRAME_S = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimRule:
    """How edges are found and faded. Levels in dB, times in seconds.

    The defaults were set on 230 takes of the embedded voice, where speech begins 185 to 350 ms into
    the take with its first aspiration 50 to 60 dB under the loud level.
    """

    version: int = 1
    """Raised when the code cuts differently at the same values: a take's key rests on the rule."""
    below_loud_db: float = 50.0
    """Threshold under the take's loud level."""
    floor_dbfs: float = -75.0
    """The threshold is never lower: what is under it cannot be heard at any listening level."""
    above_noise_db: float = 8.0
    """A noisy voice lifts the threshold this far over its quietest frames …"""
    at_most_below_loud_db: float = 35.0
    """… but never closer than this to the loud level, whatever the noise."""
    guard_before_s: float = 0.020
    guard_after_s: float = 0.060
    fade_in_s: float = 0.005
    fade_out_s: float = 0.015


DEFAULT_RULE = TrimRule()


def trim_edges(samples: Mono, sample_rate_hz: int, rule: TrimRule = DEFAULT_RULE) -> Mono:
    """Return the take without the silence at its edges, its first and last sample zero.

    Parameters
    ----------
    samples : float32, shape (n,)
    sample_rate_hz : int
    rule : TrimRule

    Returns
    -------
    float32, shape (m,), m <= n
        A new array. A take without a finite sample above the floor comes back as it is, for the
        detectors to condemn.
    """
    samples = np.asarray(samples, dtype=np.float32)
    bounds = _speech_bounds(samples, sample_rate_hz, rule)
    if bounds is None:
        return samples.copy()
    start, stop = bounds
    kept = samples[start:stop].copy()
    rise, fall = (
        _ramp(min(round(seconds * sample_rate_hz), len(kept) // 2))
        for seconds in (rule.fade_in_s, rule.fade_out_s)
    )
    kept[: len(rise)] *= rise
    kept[len(kept) - len(fall) :] *= fall[::-1]
    return kept


def _speech_bounds(samples: Mono, sample_rate_hz: int, rule: TrimRule) -> tuple[int, int] | None:
    if len(samples) == 0 or not np.isfinite(samples).all():
        return None
    frame = max(1, round(_FRAME_S * sample_rate_hz))
    levels = frame_levels_db(samples, frame)
    loud = loud_level_db(levels)
    noise = float(np.sort(levels)[len(levels) // 20])
    threshold = max(loud - rule.below_loud_db, noise + rule.above_noise_db)
    threshold = max(min(threshold, loud - rule.at_most_below_loud_db), rule.floor_dbfs)
    speech = np.flatnonzero(levels > threshold)
    if len(speech) == 0:
        return None
    start = int(speech[0]) * frame - round(rule.guard_before_s * sample_rate_hz)
    stop = (int(speech[-1]) + 1) * frame + round(rule.guard_after_s * sample_rate_hz)
    return max(start, 0), min(stop, len(samples))


def _ramp(n_samples: int) -> Mono:
    """Return a raised cosine that starts at exactly zero and ends below one."""
    return (0.5 - 0.5 * np.cos(np.pi * np.arange(n_samples) / max(n_samples, 1))).astype(np.float32)
