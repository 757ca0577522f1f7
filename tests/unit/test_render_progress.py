"""The counts of a render add up, whatever mixture of answers comes."""

from dataclasses import replace

import pytest

from loudr_core.render.progress import Progress
from loudr_core.speech.orders import Choice, Outcome, TakeResult

CHOICE = Choice(
    job_key="k",
    status="ok",
    take_key="t",
    attempt=0,
    seed=1,
    n_samples=48_000,
    sample_rate_hz=24_000,
    pcm_sha256="p",
    findings=(),
)
RESULT = TakeResult(
    segment_id="c001-s0001",
    job_key="k",
    take_key="t",
    attempt=0,
    seed=1,
    status="ok",
    n_samples=48_000,
    sample_rate_hz=24_000,
    pcm_sha256="p",
    tokens=1,
    windows=1,
    findings=(),
    compute_s=0.5,
    worker="worker-0",
    fingerprint="f",
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def outcome(choice: Choice = CHOICE, *, rendered: int = 1, reused: int = 0) -> Outcome:
    return Outcome(
        id="c001-s0001",
        job_key="k",
        choice=choice,
        rendered=rendered,
        reused=reused,
        results=(RESULT,) * rendered,
    )


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def progress(clock: Clock) -> Progress:
    return Progress(clock)


def test_nothing_has_begun(progress: Progress) -> None:
    counts = progress.now()
    assert (counts.total, counts.done, counts.rtf, counts.eta_s) == (0, 0, 0.0, 0.0)


def test_spoken_audio_makes_rate_and_time_left(progress: Progress, clock: Clock) -> None:
    progress.begin(total=4, reused=1, audio_left_s=6.0)
    clock.now += 1.0
    progress.add(outcome(), segments=1, est_audio_s=2.0)
    counts = progress.now()
    assert (counts.done, counts.rendered, counts.reused) == (2, 1, 1)
    assert counts.audio_s == 2.0
    assert counts.compute_s == 0.5
    assert counts.rtf == pytest.approx(0.5)
    assert counts.eta_s == pytest.approx(4.0 * 0.5)


def test_equal_words_count_for_each_of_their_segments(progress: Progress) -> None:
    progress.begin(total=3, reused=0, audio_left_s=6.0)
    progress.add(outcome(), segments=3, est_audio_s=6.0)
    counts = progress.now()
    assert (counts.done, counts.rendered) == (3, 3)
    assert counts.audio_s == 2.0, "they share one take, which was spoken once"
    assert counts.audio_left_s == 0.0


def test_a_take_found_in_the_store_is_reused(progress: Progress) -> None:
    progress.begin(total=1, reused=0, audio_left_s=2.0)
    progress.add(outcome(rendered=0, reused=1), segments=1, est_audio_s=2.0)
    counts = progress.now()
    assert (counts.reused, counts.rendered, counts.audio_s) == (1, 0, 0.0)
    assert counts.rtf == 0.0


def test_retries_suspects_and_failures(progress: Progress) -> None:
    progress.begin(total=3, reused=0, audio_left_s=6.0)
    progress.add(outcome(replace(CHOICE, status="suspect"), rendered=3), segments=1, est_audio_s=2)
    failed = replace(CHOICE, status="failed", take_key="", n_samples=0, sample_rate_hz=0)
    progress.add(outcome(failed, rendered=3), segments=1, est_audio_s=2.0)
    progress.add(outcome(failed, rendered=0), segments=1, est_audio_s=2.0)
    counts = progress.now()
    assert (counts.rendered, counts.suspect, counts.failed, counts.retried) == (1, 1, 2, 4)
    assert counts.done == counts.total


def test_the_clock_stops_with_the_last_segment(progress: Progress, clock: Clock) -> None:
    progress.begin(total=1, reused=0, audio_left_s=2.0)
    clock.now += 3.0
    progress.add(outcome(), segments=1, est_audio_s=2.0)
    assert progress.now().wall_s == pytest.approx(3.0)
    clock.now += 60.0
    assert progress.now().wall_s == pytest.approx(3.0), "mastering is no part of speaking"


def test_an_estimate_that_was_too_low_leaves_nothing_to_do(progress: Progress) -> None:
    progress.begin(total=2, reused=0, audio_left_s=1.0)
    progress.add(outcome(), segments=1, est_audio_s=5.0)
    assert progress.now().audio_left_s == 0.0
