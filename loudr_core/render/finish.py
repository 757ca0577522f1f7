"""Master a book and write its file: one gain, encoded pieces, chapters, tags, delivery."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loudr_core.arrays import Mono
from loudr_core.audio.acx import acx_report
from loudr_core.audio.loudness import LoudnessState
from loudr_core.audio.master import Gain, Master, plan_gain
from loudr_core.canonical import digest
from loudr_core.errors import QualityError
from loudr_core.jobs.plan import Plan
from loudr_core.render.layout import BookLayout, ChapterLayout
from loudr_core.render.levels import voice_levels
from loudr_core.render.pcm import BookPcm
from loudr_core.settings import LoudnessProfile
from loudr_core.store.protocol import ObjectStore

__all__ = [
    "Mastered",
    "MasteredPcm",
    "levels_json",
    "loudness_curve",
    "master_book",
    "refuse_gaps",
    "refuse_unreadable",
]

CODEC_HEADROOM_DB = 0.3
"""Room under the true-peak limit for what AAC adds to a peak: 0.2 dB at most over a novel."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mastered:
    """A book laid out, measured and given its gain.

    Parameters
    ----------
    layout : BookLayout
    gain : Gain
    states : tuple of LoudnessState
        Of each chapter of the layout, after the gain.
    target : LoudnessProfile
    levels : mapping of str to float
        Gain of each voice among the others, in dB, by its label; empty for a book of one voice.
    """

    layout: BookLayout
    gain: Gain
    states: tuple[LoudnessState, ...]
    target: LoudnessProfile
    levels: Mapping[str, float] = field(default_factory=dict)

    def loudness(self) -> dict[str, Any]:
        """Return integrated loudness, true peak and gain of the book, rounded for people."""
        whole = LoudnessState.joined(self.states).loudness()
        peak = whole.true_peak_dbtp
        if self.gain.limited:
            peak = min(peak, self.gain.limit_dbtp)
        return {
            "integrated_lufs": _rounded(whole.integrated_lufs),
            "true_peak_dbtp": _rounded(peak),
            "gain_db": self.gain.gain_db,
            "limited": self.gain.limited,
            **({"voice_levels_db": dict(self.levels)} if self.levels else {}),
        }

    def chapter_levels(self) -> list[dict[str, Any]]:
        """Return place, loudness and ACX numbers of each chapter."""
        rate = self.layout.sample_rate_hz
        return [
            {
                "number": chapter.number,
                "title": chapter.title,
                "start_s": round(chapter.start / rate, 3),
                "end_s": round(chapter.end / rate, 3),
                "segments": len(chapter.takes),
                "integrated_lufs": _rounded(state.loudness().integrated_lufs),
                "acx": acx_report(state).as_dict(),
            }
            for chapter, state in zip(self.layout.chapters, self.states, strict=True)
        ]

    def segment_places(self) -> list[tuple[str, float, float]]:
        """Return id, start and end in seconds of every take, in book order."""
        rate = self.layout.sample_rate_hz
        return [
            (take.segment_id, round(take.start / rate, 3), round(take.end / rate, 3))
            for chapter in self.layout.chapters
            for take in chapter.takes
        ]


def refuse_gaps(layout: BookLayout, *, plan: Plan) -> None:
    """Raise when a segment has no audio.

    Raises
    ------
    QualityError
        It names the first such segment and its cause, and what can help.
    """
    if layout.gaps:
        first = layout.gaps[0]
        more = f" and {len(layout.gaps) - 1} more" if len(layout.gaps) > 1 else ""
        hopeless = all(gap.segment_id in plan.unreadable for gap in layout.gaps)
        again = "" if hopeless else "Run again to try once more, or "
        finish = "finish without it by --allow-gaps"
        raise QualityError(
            f"{plan.book_id}: segment {first.segment_id}{more} has no audio: {first.cause}. "
            f"{again}{finish if again else finish.capitalize()}",
            book=plan.book_id,
            segments=[gap.segment_id for gap in layout.gaps],
        )


def refuse_unreadable(plan: Plan, segments: Sequence[str]) -> None:
    """Raise, before anything is spoken, when the voice cannot read some of it.

    Parameters
    ----------
    segments : sequence of str
        Ids of those that are wanted.

    Raises
    ------
    QualityError
        It names the first such segment, and what can help.
    """
    silent = [segment for segment in segments if segment in plan.unreadable]
    if silent:
        more = f" and {len(silent) - 1} more" if len(silent) > 1 else ""
        raise QualityError(
            f"{plan.book_id}: the voice cannot say segment {silent[0]}{more}, with any seed: "
            f"{plan.unreadable[silent[0]]}. Give the words a reading in [lexicon], choose another "
            "engine, or leave them out by --allow-gaps",
            book=plan.book_id,
            segments=silent,
        )


def master_book(
    plan: Plan,
    layout: BookLayout,
    measure: Callable[[ChapterLayout], LoudnessState],
    store: ObjectStore,
    profile: LoudnessProfile,
    *,
    part: str = "",
) -> Mastered:
    """Choose the gains of a book and its voices, and keep them for the next render of the plan.

    Parameters
    ----------
    measure : callable
        Gives a chapter's state before any gain.
    part : str
        Name of the part of the book that this is, empty for the whole; each keeps its own gain.
    """
    states = [measure(chapter) for chapter in layout.chapters]
    key = f"{plan.folder}/gain{'-' + part if part else ''}.json"
    target = [profile.target_lufs, profile.true_peak_dbtp]
    kept = _kept(store.get(key))
    layout, spoken, levels = _levelled(plan, layout, states, kept.get("levels", {}))
    gain = plan_gain(
        LoudnessState.joined(spoken).loudness(),
        target_lufs=profile.target_lufs,
        true_peak_limit_dbtp=profile.true_peak_dbtp - CODEC_HEADROOM_DB,
        previous_gain_db=kept.get("gain_db") if kept.get("target") == target else None,
    )
    document = {"gain_db": gain.gain_db, "target": target}
    if len(levels) > 1:
        document["levels"] = levels
    store.put(key, json.dumps(document).encode())
    voices = plan.voices
    return Mastered(
        layout=layout,
        gain=gain,
        states=tuple(state.scaled(gain.gain_db) for state in spoken),
        target=profile,
        levels={voices[name].label: db for name, db in levels.items()} if len(levels) > 1 else {},
    )


def _levelled(
    plan: Plan,
    layout: BookLayout,
    states: Sequence[LoudnessState],
    previous: Mapping[str, float],
) -> tuple[BookLayout, Sequence[LoudnessState], dict[str, float]]:
    """Return layout and states with every voice at one loudness, and the gain of each voice."""
    speaks = plan.chapter_voices
    names = [speaks[chapter.number].name for chapter in layout.chapters]
    levels = voice_levels(list(zip(names, states, strict=True)), previous)
    if not any(levels.values()):
        return layout, states, levels
    moved = [levels[name] for name in names]
    numbers = [chapter.number for chapter in layout.chapters]
    scaled = [state.scaled(db) for state, db in zip(states, moved, strict=True)]
    return layout.levelled(dict(zip(numbers, moved, strict=True))), scaled, levels


class MasteredPcm:
    """The samples of the finished book, read anywhere, and a name for any stretch of them."""

    def __init__(self, pcm: BookPcm, mastered: Mastered) -> None:
        self._pcm = pcm
        self._layout = mastered.layout
        self._gain = mastered.gain
        self._master = Master(mastered.gain, mastered.layout.sample_rate_hz)

    def read(self, start: int, n_samples: int) -> Mono:
        """Return samples [start, start + n_samples) after the gain; silence outside the book."""
        return self._master.read(self._pcm.read, start, n_samples)

    def identify(self, start: int, n_samples: int) -> str:
        """Return a name that no other samples share, without reading them."""
        margin = self._master.margin_samples
        low, high = start - margin, start + n_samples + margin
        gain = [self._gain.gain_db, self._gain.limit_dbtp if self._gain.limited else None]
        takes = [
            take.identity(start)
            for chapter in self._layout.chapters
            if chapter.start < high and chapter.end > low
            for take in chapter.takes_in(low, high)
        ]
        return digest(["stretch-1", n_samples, gain, takes])


def levels_json(mastered: Mastered) -> Mapping[str, Any]:
    """Return the numbers of the report page: per chapter, and the loudness curve of the book."""
    return {
        "loudness": mastered.loudness(),
        "target_lufs": mastered.target.target_lufs,
        "peak_limit_dbtp": mastered.target.true_peak_dbtp,
        "chapters": mastered.chapter_levels(),
        "segments": mastered.segment_places(),
        "curve": loudness_curve(mastered.states),
    }


def loudness_curve(states: Sequence[LoudnessState], *, points: int = 600) -> list[list[float]]:
    """Return at most about `points` pairs of seconds and short-term LUFS over the book."""
    whole = LoudnessState.joined(list(states))
    hop_s = max(1.0, whole.n_samples / whole.sample_rate_hz / points)
    curve = whole.short_term_lufs(hop_s)
    return [
        [round(3.0 + place * hop_s, 1), round(float(value), 1)]
        for place, value in enumerate(curve)
        if math.isfinite(value)
    ]


def _kept(data: bytes | None) -> dict[str, Any]:
    """Return what an earlier render has kept; nothing where that cannot be read."""
    try:
        kept = json.loads(data) if data else {}
        if "gain_db" in kept:
            kept["gain_db"] = float(kept["gain_db"])
        kept["levels"] = {name: float(db) for name, db in kept.get("levels", {}).items()}
    except (ValueError, TypeError, AttributeError):
        return {}
    return dict(kept)


def _rounded(value: float) -> float | None:
    return round(value, 2) if math.isfinite(value) else None
