"""Where every take stands in the finished book, to the sample.

A chapter starts on a whole AAC frame, so that its encoded pieces do not depend on the chapters
before it. To end on one too, its last pauses give or take up to 10 ms each, three of them at most
at 24 kHz; all others are exact. A chapter with too few pauses for that, such as a lone part title,
ends on the frame before and leaves what is missing to the beginning of the next.

The book has one sample rate. A take of another one is placed with the length that it has when it is
resampled, which is known without doing that.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from loudr_core.audio.resample import resampled_length, resampler_build
from loudr_core.canonical import digest
from loudr_core.jobs.plan import Plan, PlanChapter
from loudr_core.jobs.table import Job
from loudr_core.speech.orders import Choice, Order

__all__ = [
    "FRAME_SAMPLES",
    "BookLayout",
    "ChapterLayout",
    "Gap",
    "PlacedTake",
    "Placing",
    "layout_book",
    "layout_chapter",
]

FRAME_SAMPLES = 1024
"""Samples of an AAC-LC frame (ISO/IEC 14496-3, 4.5.1)."""

_BEND_MS = 10
"""What a pause may be off its setting."""

Placing: TypeAlias = tuple[Job, Choice | None]
"""A job and the take that counts for it, if there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedTake:
    """A take, where it starts in the book, and the silence after it; all in samples of the book.

    `source` is what the take itself has where its rate is another than the book's: its own number
    of samples, and its rate in Hz. `level_db` is the gain of its voice among the book's voices.
    """

    segment_id: str
    take_key: str
    start: int
    n_samples: int
    pause_samples: int
    source: tuple[int, int] | None = None
    level_db: float = 0.0

    @property
    def end(self) -> int:
        """First sample after the take, where its pause starts."""
        return self.start + self.n_samples

    def identity(self, origin: int) -> list[Any]:
        """Return what fixes the take's samples and their place after `origin`, as JSON holds it."""
        named: list[Any] = [self.take_key, self.start - origin]
        if self.source is not None:
            named += [*self.source, self.n_samples, resampler_build()]
        return [*named, {"level_db": self.level_db}] if self.level_db else named


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A segment without audio: where its speech is missing."""

    segment_id: str
    at_sample: int
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChapterLayout:
    """A chapter as a stretch of the book's samples."""

    number: int
    title: str
    start: int
    n_samples: int
    takes: tuple[PlacedTake, ...]
    owed_samples: int = 0
    """Silence of its last pause that the next chapter begins with."""

    @property
    def end(self) -> int:
        """First sample after the chapter."""
        return self.start + self.n_samples

    def moved(self, start: int) -> "ChapterLayout":
        """Return the same chapter starting at another sample of the book."""
        by = start - self.start
        takes = tuple(replace(take, start=take.start + by) for take in self.takes)
        return replace(self, start=start, takes=takes)

    def digest(self) -> str:
        """Return a hash of the chapter's samples, wherever it stands in the book."""
        return digest(
            [
                "chapter-1",
                self.n_samples,
                [take.identity(self.start) for take in self.takes],
            ]
        )

    def takes_in(self, start: int, end: int) -> Sequence[PlacedTake]:
        """Return the takes that have a sample in [start, end)."""
        first = max(0, bisect_right([take.start for take in self.takes], start) - 1)
        return [take for take in self.takes[first:] if take.start < end and take.end > start]


@dataclass(frozen=True, slots=True, kw_only=True)
class BookLayout:
    """The finished book as samples at one rate."""

    sample_rate_hz: int
    chapters: tuple[ChapterLayout, ...]
    gaps: tuple[Gap, ...]

    @property
    def n_samples(self) -> int:
        """Length of the book."""
        return self.chapters[-1].end if self.chapters else 0

    def levelled(self, levels: Mapping[int, float]) -> "BookLayout":
        """Return the same book with the takes of chapters, by number, at other levels, in dB."""
        return replace(
            self,
            chapters=tuple(
                replace(
                    chapter,
                    takes=tuple(
                        replace(take, level_db=levels[chapter.number]) for take in chapter.takes
                    ),
                )
                if levels[chapter.number]
                else chapter
                for chapter in self.chapters
            ),
        )

    @property
    def resampled(self) -> bool:
        """Whether a take of it has another rate than the book."""
        return any(take.source for chapter in self.chapters for take in chapter.takes)


def layout_book(
    plan: Plan,
    jobs: Sequence[Job],
    orders: Sequence[Order],
    choices: Mapping[str, Choice],
    *,
    lead_in_ms: int,
) -> BookLayout:
    """Place the chosen takes of a plan's jobs, chapter by chapter.

    Parameters
    ----------
    jobs, orders : sequences of equal length, in book order
        A chapter without a job is left out.
    choices : mapping of job key to Choice
        A job whose choice is missing or failed becomes a `Gap`, and its pause is kept.
    lead_in_ms : int
        Silence before the first word of the book.
    """
    by_chapter: dict[int, list[Placing]] = {}
    for job, order in zip(jobs, orders, strict=True):
        by_chapter.setdefault(job.chapter, []).append((job, choices.get(order.job_key)))
    chapters: list[ChapterLayout] = []
    gaps: list[Gap] = []
    start = owed = 0
    for chapter in plan.chapters:
        rows = by_chapter.get(chapter.number)
        if not rows:
            continue
        layout, missing = layout_chapter(
            chapter,
            rows,
            sample_rate_hz=plan.sample_rate_hz,
            lead_in_ms=0 if chapters else lead_in_ms,
            owed_samples=owed,
        )
        chapters.append(layout.moved(start))
        gaps += [replace(gap, at_sample=gap.at_sample + start) for gap in missing]
        start += layout.n_samples
        owed = layout.owed_samples
    return BookLayout(
        sample_rate_hz=plan.sample_rate_hz, chapters=tuple(chapters), gaps=tuple(gaps)
    )


def layout_chapter(
    chapter: PlanChapter,
    rows: Sequence[Placing],
    *,
    sample_rate_hz: int,
    lead_in_ms: int,
    owed_samples: int = 0,
) -> tuple[ChapterLayout, list[Gap]]:
    """Place one chapter's takes, the chapter starting at sample 0, and name what is missing."""
    at = _samples(lead_in_ms, sample_rate_hz) + owed_samples
    pauses, owed = _fitted_pauses(rows, sample_rate_hz, at)
    takes: list[PlacedTake] = []
    gaps: list[Gap] = []
    for (job, choice), pause in zip(rows, pauses, strict=True):
        if choice is None or choice.status == "failed":
            cause = choice.error if choice else "it was not rendered"
            gaps.append(Gap(segment_id=job.segment_id, at_sample=at, cause=cause))
            at += pause
            continue
        take = PlacedTake(
            segment_id=job.segment_id,
            take_key=choice.take_key,
            start=at,
            n_samples=_heard_samples(choice, sample_rate_hz),
            pause_samples=pause,
            source=None
            if choice.sample_rate_hz == sample_rate_hz
            else (choice.n_samples, choice.sample_rate_hz),
        )
        takes.append(take)
        at = take.end + pause
    layout = ChapterLayout(
        number=chapter.number,
        title=chapter.title,
        start=0,
        n_samples=at,
        takes=tuple(takes),
        owed_samples=owed,
    )
    return layout, gaps


def _fitted_pauses(
    rows: Sequence[Placing], sample_rate_hz: int, lead_samples: int
) -> tuple[list[int], int]:
    """Return pauses that end the chapter on a frame, and what the next one begins with.

    Only the last pauses bend, so that a new take leaves the sound before it where it was.
    """
    pauses = [_samples(job.pause_after_ms, sample_rate_hz) for job, _ in rows]
    spoken = sum(
        _heard_samples(choice, sample_rate_hz)
        for _, choice in rows
        if choice and choice.status != "failed"
    )
    over = (lead_samples + spoken + sum(pauses)) % FRAME_SAMPLES
    under = -over % FRAME_SAMPLES
    bends = [min(pause, sample_rate_hz * _BEND_MS // 1000) for pause in pauses]
    whole = lead_samples + spoken + sum(pauses) >= FRAME_SAMPLES
    if whole and over <= under and over <= sum(bends):
        return _bent(pauses, bends, -over), 0
    if under <= sum(bends):
        return _bent(pauses, bends, under), 0
    if whole and over <= pauses[-1]:
        return [*pauses[:-1], pauses[-1] - over], over
    return [*pauses[:-1], pauses[-1] + under], 0


def _bent(pauses: list[int], bends: list[int], by: int) -> list[int]:
    """Return pauses that are longer by `by` samples in all, the last ones first."""
    left, bent = abs(by), list(pauses)
    for index in reversed(range(len(bent))):
        part = min(left, bends[index])
        bent[index] += part if by > 0 else -part
        left -= part
    return bent


def _heard_samples(choice: Choice, sample_rate_hz: int) -> int:
    """Return the length of a take in the book, whose rate may be another."""
    return resampled_length(choice.n_samples, choice.sample_rate_hz, sample_rate_hz)


def _samples(milliseconds: int, sample_rate_hz: int) -> int:
    return _round_half_up(milliseconds * sample_rate_hz, 1000)


def _round_half_up(numerator: int, denominator: int) -> int:
    return (2 * numerator + denominator) // (2 * denominator)
