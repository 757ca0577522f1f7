"""Where every take stands in the finished book, to the sample.

A chapter starts on a whole AAC frame, so that its encoded pieces do not depend on the chapters before
it. Pauses inside a chapter are exact; the silence between two chapters is the set pause rounded to
the frame grid, at most half a frame (21 ms at 24 kHz) off.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loudr_core.canonical import digest
from loudr_core.jobs.plan import Plan
from loudr_core.jobs.table import Job
from loudr_core.speech.orders import Choice, Order

__all__ = ["FRAME_SAMPLES", "BookLayout", "ChapterLayout", "Gap", "PlacedTake", "layout_book"]

FRAME_SAMPLES = 1024
"""Samples of an AAC-LC frame (ISO/IEC 14496-3, 4.5.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedTake:
    """A take, where it starts in the book, and the silence after it; all in samples."""

    segment_id: str
    take_key: str
    start: int
    n_samples: int
    pause_samples: int

    @property
    def end(self) -> int:
        """First sample after the take, where its pause starts."""
        return self.start + self.n_samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A segment without audio: where its speech is missing."""

    segment_id: str
    chapter: int
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

    @property
    def end(self) -> int:
        """First sample after the chapter."""
        return self.start + self.n_samples

    def digest(self) -> str:
        """Return a hash of the chapter's samples, wherever it stands in the book."""
        return digest(
            [
                "chapter-1",
                self.n_samples,
                [[take.take_key, take.start - self.start] for take in self.takes],
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
    rate = plan.sample_rate_hz
    by_chapter: dict[int, list[tuple[Job, Choice | None]]] = {}
    for job, order in zip(jobs, orders, strict=True):
        by_chapter.setdefault(job.chapter, []).append((job, choices.get(order.job_key)))
    chapters: list[ChapterLayout] = []
    gaps: list[Gap] = []
    start = 0
    for chapter in plan.chapters:
        rows = by_chapter.get(chapter.number)
        if not rows:
            continue
        at = start + (0 if chapters else _samples(lead_in_ms, rate))
        takes: list[PlacedTake] = []
        for job, choice in rows:
            pause = _samples(job.pause_after_ms, rate)
            if choice is None or choice.status == "failed":
                cause = choice.error if choice else "it was not rendered"
                gaps.append(
                    Gap(segment_id=job.segment_id, chapter=job.chapter, at_sample=at, cause=cause)
                )
                at += pause
                continue
            takes.append(
                PlacedTake(
                    segment_id=job.segment_id,
                    take_key=choice.take_key,
                    start=at,
                    n_samples=choice.n_samples,
                    pause_samples=pause,
                )
            )
            at += choice.n_samples + pause
        frames = max(1, _round_half_up(at - start, FRAME_SAMPLES))
        last = takes[-1].end - start if takes else 0
        n_samples = max(frames, -(-last // FRAME_SAMPLES)) * FRAME_SAMPLES
        chapters.append(
            ChapterLayout(
                number=chapter.number,
                title=chapter.title,
                start=start,
                n_samples=n_samples,
                takes=tuple(takes),
            )
        )
        start += n_samples
    return BookLayout(sample_rate_hz=rate, chapters=tuple(chapters), gaps=tuple(gaps))


def _samples(milliseconds: int, sample_rate_hz: int) -> int:
    return _round_half_up(milliseconds * sample_rate_hz, 1000)


def _round_half_up(numerator: int, denominator: int) -> int:
    return (2 * numerator + denominator) // (2 * denominator)
