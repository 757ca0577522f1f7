"""Bring the voices of a book to one loudness, each by one linear gain.

Engines differ by several LU, and a listener would reach for the volume at every change of voice.
Chapters of one voice keep the levels that they have among one another. A book of one voice is left
alone.
"""

import math
from collections.abc import Mapping, Sequence

from loudr_core.audio.loudness import LoudnessState
from loudr_core.audio.master import plan_gain

__all__ = ["voice_levels"]


def voice_levels(
    spoken: Sequence[tuple[str, LoudnessState]], previous: Mapping[str, float]
) -> dict[str, float]:
    """Return the gain of each voice, in dB: what brings it to the loudness of the first one.

    Parameters
    ----------
    spoken : sequence of (str, LoudnessState)
        For each chapter in the order of the book, the name of its voice and what was measured.
    previous : mapping of str to float
        Gains of an earlier render, kept while they land within 0.2 LU, so that one new take does
        not touch every chapter of its voice.

    Returns
    -------
    dict of str to float
        Multiples of 0.1 dB; 0 for the first voice that has a loudness, and for one that has none,
        being silent or shorter than the 0.4 s that a loudness is measured over.
    """
    by_voice: dict[str, list[LoudnessState]] = {}
    for name, state in spoken:
        by_voice.setdefault(name, []).append(state)
    levels = dict.fromkeys(by_voice, 0.0)
    if len(by_voice) < 2:
        return levels
    wanted: float | None = None
    for name, states in by_voice.items():
        measured = LoudnessState.joined(states).loudness()
        if not math.isfinite(measured.integrated_lufs):
            continue
        if wanted is None:
            wanted = measured.integrated_lufs
            continue
        gain = plan_gain(
            measured,
            target_lufs=wanted,
            true_peak_limit_dbtp=0.0,  # peaks are looked at when all voices are together
            previous_gain_db=previous.get(name),
        )
        levels[name] = gain.gain_db + 0.0  # no minus zero
    return levels
