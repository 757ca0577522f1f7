"""Where every take stands in the book, to the sample."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loudr_core.jobs.plan import Plan, PlanChapter
from loudr_core.jobs.table import Job
from loudr_core.render.layout import (
    FRAME_SAMPLES,
    ChapterLayout,
    Placing,
    layout_book,
    layout_chapter,
)
from loudr_core.speech.orders import Choice, Order

JOB = Job(
    segment_id="c001-s0001",
    chapter=1,
    ordinal=1,
    kind="paragraph",
    role="body",
    origin="source",
    text="One.",
    spoken="One.",
    phonemes=None,
    spans=(),
    inner=(),
    language="en",
    voice="low",
    engine="fake",
    seed=1,
    pause_after_ms=300,
    est_audio_s=1.0,
    job_key="k1",
)
CHOICE = Choice(
    job_key="k1",
    status="ok",
    take_key="t1",
    attempt=0,
    seed=1,
    n_samples=10_000,
    sample_rate_hz=24_000,
    pcm_sha256="",
    findings=(),
)
FAILED = replace(CHOICE, status="failed", take_key="", n_samples=0, error="the engine gave up")


def chapter(number: int = 1) -> PlanChapter:
    return PlanChapter(
        number=number, title=f"Chapter {number}", role="body", level=0, segments=1, est_audio_s=1.0
    )


def row(name: str, *, pause_ms: int = 300, n_samples: int = 10_000, number: int = 1) -> Placing:
    job = replace(JOB, segment_id=name, job_key=name, pause_after_ms=pause_ms, chapter=number)
    return job, replace(CHOICE, job_key=name, take_key=f"take-{name}", n_samples=n_samples)


def order(job: Job) -> Order:
    return Order(
        id=job.segment_id,
        job_key=job.job_key,
        choice_key=f"choice/{job.job_key}",
        text=job.spoken,
        language="en",
        voice="low",
        attempts=(),
    )


def plan_of(*numbers: int, rate: int = 24_000) -> Plan:
    return Plan(
        book_id="b",
        plan_id="p",
        source_sha256="",
        format="markdown",
        metadata={"title": "B"},
        cover_key="",
        cover_media_type="",
        profile={},
        engine="fake",
        voice="low",
        voice_sha256="",
        fingerprint="",
        sample_rate_hz=rate,
        speed=1.0,
        chapters=tuple(chapter(number) for number in numbers),
        segments=1,
        generated=(),
        left_out=(),
        findings=(),
        audit={},
        est_audio_s=1.0,
    )


def silences(layout: ChapterLayout) -> list[int]:
    """Return the samples between each take and the next, and from the last to the end."""
    nexts = [*(take.start for take in layout.takes[1:]), layout.end]
    return [after - take.end for take, after in zip(layout.takes, nexts, strict=True)]


@pytest.mark.parametrize("rate", [16_000, 22_050, 24_000, 44_100, 48_000])
def test_pauses_are_exact_to_the_sample_but_for_the_last_few(rate: int) -> None:
    rows = [row("a", pause_ms=333), row("b", pause_ms=1), row("c", pause_ms=0)]
    rows += [row(f"d{n}") for n in range(8)]
    layout, gaps = layout_chapter(chapter(), rows, sample_rate_hz=rate, lead_in_ms=501)
    assert gaps == []
    assert layout.takes[0].start == (501 * rate + 500) // 1000
    set_ms = (333, 1, 0, 300, 300, 300)
    assert silences(layout)[:6] == [(ms * rate + 500) // 1000 for ms in set_ms]
    assert silences(layout) == [take.pause_samples for take in layout.takes]


@given(
    st.lists(st.tuples(st.integers(1, 60_000), st.integers(0, 2500)), min_size=1, max_size=6),
    st.sampled_from([16_000, 22_050, 24_000, 44_100, 48_000]),
)
def test_every_pause_is_within_ten_milliseconds_and_every_chapter_on_a_frame(
    pieces: list[tuple[int, int]], rate: int
) -> None:
    rows = [
        row(f"s{n}", n_samples=n_samples, pause_ms=ms) for n, (n_samples, ms) in enumerate(pieces)
    ]
    last = [row("z", number=2)]
    layout = layout_book(
        plan_of(1, 2, rate=rate),
        [job for job, _ in rows + last],
        [order(job) for job, _ in rows + last],
        {job.job_key: choice for job, choice in rows + last if choice},
        lead_in_ms=0,
    )
    first, second = layout.chapters
    assert first.n_samples % FRAME_SAMPLES == second.n_samples % FRAME_SAMPLES == 0
    heard = [*silences(first)[:-1], second.takes[0].start - first.takes[-1].end]
    wanted = [(ms * rate + 500) // 1000 for _, ms in pieces]
    off = [abs(a - b) for a, b in zip(heard, wanted, strict=True)]
    if pieces[-1][1] * rate >= 1000 * FRAME_SAMPLES:
        assert max(off) <= rate // 100
    else:  # a chapter that ends without a pause to speak of is filled up to its frame
        assert max(off) <= FRAME_SAMPLES


def test_a_chapter_is_whole_frames_and_holds_its_last_sample() -> None:
    for n_samples in (1, 1023, 1024, 1025, 23_456):
        rows = [row("a", n_samples=n_samples, pause_ms=0)]
        layout, _ = layout_chapter(chapter(), rows, sample_rate_hz=24_000, lead_in_ms=0)
        assert layout.n_samples % FRAME_SAMPLES == 0
        assert 0 <= layout.n_samples - n_samples < FRAME_SAMPLES


def test_a_lone_title_leaves_the_rest_of_its_pause_to_the_next_chapter() -> None:
    rows = [row("a", pause_ms=2000, n_samples=10_868)]
    layout, _ = layout_chapter(chapter(), rows, sample_rate_hz=24_000, lead_in_ms=0)
    assert layout.owed_samples == (10_868 + 48_000) % FRAME_SAMPLES > 240
    assert layout.n_samples - layout.takes[-1].end + layout.owed_samples == 48_000


def test_a_new_take_moves_nothing_before_it() -> None:
    rows = [row(f"s{n}") for n in range(12)]
    other = [*rows[:8], row("s8", n_samples=9_000), *rows[9:]]
    before, _ = layout_chapter(chapter(), rows, sample_rate_hz=24_000, lead_in_ms=0)
    after, _ = layout_chapter(chapter(), other, sample_rate_hz=24_000, lead_in_ms=0)
    assert [t.start for t in before.takes[:9]] == [t.start for t in after.takes[:9]]


def test_the_lead_in_is_before_the_first_chapter_that_is_there() -> None:
    rows = [row("a", number=2), row("b", number=3)]
    layout = layout_book(
        plan_of(1, 2, 3),
        [job for job, _ in rows],
        [order(job) for job, _ in rows],
        {job.job_key: choice for job, choice in rows if choice},
        lead_in_ms=500,
    )
    assert [each.number for each in layout.chapters] == [2, 3]
    first, second = layout.chapters
    assert first.start == 0
    assert first.takes[0].start == 12_000
    assert second.start == first.end
    assert second.takes[0].start == second.start + first.owed_samples
    assert layout.n_samples == second.end


def test_the_digest_does_not_depend_on_the_place_in_the_book() -> None:
    rows = [row("a"), row("b")]
    layout, _ = layout_chapter(chapter(), rows, sample_rate_hz=24_000, lead_in_ms=0)
    moved = layout.moved(7 * FRAME_SAMPLES)
    assert moved.start == 7 * FRAME_SAMPLES
    assert [take.start for take in moved.takes] == [
        take.start + 7 * FRAME_SAMPLES for take in layout.takes
    ]
    assert moved.moved(0) == layout
    assert moved.digest() == layout.digest()


@pytest.mark.parametrize(
    "changed",
    [
        [row("a", pause_ms=360), row("b")],
        [row("a"), row("c")],
        [row("a"), row("b", pause_ms=2300)],
        [row("a")],
    ],
)
def test_the_digest_tells_other_samples(changed: list[Placing]) -> None:
    first, _ = layout_chapter(chapter(), [row("a"), row("b")], sample_rate_hz=24_000, lead_in_ms=0)
    second, _ = layout_chapter(chapter(), changed, sample_rate_hz=24_000, lead_in_ms=0)
    assert first.digest() != second.digest()


def test_a_segment_without_audio_is_a_gap_that_keeps_its_pause() -> None:
    failed = (replace(JOB, segment_id="b", job_key="b"), FAILED)
    never = (replace(JOB, segment_id="c", job_key="c", pause_after_ms=100), None)
    layout, gaps = layout_chapter(
        chapter(), [row("a"), failed, never, row("d")], sample_rate_hz=24_000, lead_in_ms=0
    )
    assert [(gap.segment_id, gap.cause) for gap in gaps] == [
        ("b", "the engine gave up"),
        ("c", "it was not rendered"),
    ]
    assert gaps[0].at_sample == 10_000 + 7_200
    assert layout.takes[1].start == 10_000 + 7_200 + 7_200 + 2_400
    assert [take.segment_id for take in layout.takes] == ["a", "d"]


def test_gaps_are_placed_in_the_book_not_in_their_chapter() -> None:
    rows = [row("a", number=1), row("b", number=2)]
    layout = layout_book(
        plan_of(1, 2),
        [job for job, _ in rows],
        [order(job) for job, _ in rows],
        {"a": rows[0][1]},  # type: ignore[dict-item]
        lead_in_ms=0,
    )
    (gap,) = layout.gaps
    assert gap.at_sample == layout.chapters[1].start > 0
    assert layout.chapters[1].takes == ()
    assert layout.chapters[1].n_samples >= FRAME_SAMPLES


def test_no_chapters_is_no_samples() -> None:
    layout = layout_book(plan_of(1), [], [], {}, lead_in_ms=500)
    assert layout.chapters == ()
    assert layout.n_samples == 0
