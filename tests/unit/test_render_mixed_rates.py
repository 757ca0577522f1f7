"""Takes of several rates in one book: placed by a rule, read the same in every pass."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.arrays import Mono
from loudr_core.audio.loudness import measure
from loudr_core.audio.master import Gain
from loudr_core.audio.resample import resample, resampled_length, resampler_build
from loudr_core.audio.takefile import encode_take, from_pcm24, to_pcm24
from loudr_core.canonical import digest
from loudr_core.errors import StoreError
from loudr_core.jobs.plan import PlanChapter
from loudr_core.render.finish import Mastered, MasteredPcm
from loudr_core.render.layout import (
    FRAME_SAMPLES,
    BookLayout,
    ChapterLayout,
    layout_chapter,
)
from loudr_core.render.measure import measure_chapter
from loudr_core.render.pcm import BookPcm
from loudr_core.settings import LoudnessProfile
from loudr_core.speech.orders import Choice, audio_key
from loudr_core.testing import MemoryStore

CHAPTER = PlanChapter(number=1, title="One", role="body", level=0, segments=1, est_audio_s=1.0)
RATES = (22_050, 24_000, 44_100)


def tone(n_samples: int, rate: int, hz: float) -> Mono:
    made = 0.4 * np.sin(2 * np.pi * hz * np.arange(n_samples) / rate)
    return from_pcm24(to_pcm24((made * np.hanning(n_samples)).astype(np.float32)))


def chapter_of(
    store: MemoryStore, takes: list[tuple[int, int, int]], rate: int
) -> tuple[ChapterLayout, list[Mono]]:
    """Store takes of (samples, rate, pause in ms), lay them out; return what each sounds like."""
    rows: list[Any] = []
    heard = []
    for number, (n_samples, own, pause_ms) in enumerate(takes):
        samples = tone(n_samples, own, 200.0 + 30 * number)
        key = f"{number:02d}{own}"
        store.put(audio_key(key), encode_take(samples, own, {}))
        choice = Choice(
            job_key=key, status="ok", take_key=key, attempt=0, seed=1, n_samples=n_samples,
            sample_rate_hz=own, pcm_sha256="", findings=(),
        )  # fmt: skip
        job = type("Job", (), {"segment_id": f"s{number}", "pause_after_ms": pause_ms})()
        rows.append((job, choice))
        heard.append(resample(samples, own, rate))
    layout, gaps = layout_chapter(CHAPTER, rows, sample_rate_hz=rate, lead_in_ms=100)
    assert not gaps
    return layout, heard


takes_of = st.lists(
    st.tuples(st.integers(2, 9_000), st.sampled_from(RATES), st.integers(20, 700)),
    min_size=4,
    max_size=9,
)


@settings(max_examples=40, deadline=None)
@given(takes=takes_of, rate=st.sampled_from((24_000, 44_100)), block=st.integers(300, 20_000))
def test_a_chapter_of_several_rates_is_what_its_takes_are(
    takes: list[tuple[int, int, int]], rate: int, block: int
) -> None:
    """Pauses exact but for the last ones, and the same samples however they are read."""
    store = MemoryStore()
    layout, heard = chapter_of(store, takes, rate)
    wanted = np.zeros(layout.n_samples, np.float32)
    at, exact = rate // 10, True
    for (n_samples, own, pause_ms), placed, samples in zip(takes, layout.takes, heard, strict=True):
        assert placed.n_samples == len(samples) == resampled_length(n_samples, own, rate)
        assert placed.source == (None if own == rate else (n_samples, own))
        assert placed.start == at
        wanted[at : at + len(samples)] = samples
        pause = (2 * pause_ms * rate + 1000) // 2000
        assert abs(placed.pause_samples - pause) <= FRAME_SAMPLES
        exact = exact and placed.pause_samples == pause
        at = placed.end + placed.pause_samples
    assert layout.n_samples == at
    assert layout.n_samples % FRAME_SAMPLES == 0
    pcm = BookPcm(store, BookLayout(sample_rate_hz=rate, chapters=(layout,), gaps=()))
    read = [pcm.read(start, block) for start in range(0, layout.n_samples, block)]
    assert np.concatenate(read)[: layout.n_samples].tobytes() == wanted.tobytes()
    assert pcm.read(0, layout.n_samples).tobytes() == wanted.tobytes()


def test_names_of_samples_tell_the_rates_and_what_resampled() -> None:
    """A chapter of its engine's own rate is called as before there were others."""
    takes = [(5_000, 24_000, 300), (4_000, 24_000, 300)]
    own, _ = chapter_of(MemoryStore(), takes, 24_000)
    assert own.digest() == digest(
        ["chapter-1", own.n_samples, [[t.take_key, t.start] for t in own.takes]]
    )
    mixed, _ = chapter_of(MemoryStore(), [(5_000, 22_050, 300), *takes[1:]], 24_000)
    first = mixed.takes[0]
    assert first.identity(0) == [
        "0022050", 2400, 5_000, 22_050, resampled_length(5_000, 22_050, 24_000), resampler_build()
    ]  # fmt: skip
    assert BookLayout(sample_rate_hz=24_000, chapters=(mixed,), gaps=()).resampled
    assert not BookLayout(sample_rate_hz=24_000, chapters=(own,), gaps=()).resampled
    other = replace(first, source=(5_000, 22_051))
    assert replace(mixed, takes=(other, *mixed.takes[1:])).digest() != mixed.digest()


def test_a_stretch_of_another_rate_has_a_name_of_its_own() -> None:
    store = MemoryStore()
    layout, _ = chapter_of(store, [(30_000, 22_050, 300)], 24_000)
    plain = replace(layout, takes=tuple(replace(t, source=None) for t in layout.takes))
    names = set()
    for each in (layout, plain):
        book = BookLayout(sample_rate_hz=24_000, chapters=(each,), gaps=())
        gain = Gain(gain_db=0.0, limited=False, limit_dbtp=-3.3)
        mastered = Mastered(layout=book, gain=gain, states=(), target=LoudnessProfile())
        names.add(MasteredPcm(BookPcm(store, book), mastered).identify(0, 20_000))
    assert len(names) == 2


def test_a_take_that_is_not_the_one_laid_out_is_named() -> None:
    store = MemoryStore()
    layout, _ = chapter_of(store, [(5_000, 22_050, 300)], 24_000)
    store.put(audio_key("0022050"), encode_take(tone(5_000, 24_000, 200.0), 24_000, {}))
    pcm = BookPcm(store, BookLayout(sample_rate_hz=24_000, chapters=(layout,), gaps=()))
    with pytest.raises(StoreError, match="5000 samples at 24000 Hz, expected 5000 at 22050"):
        pcm.read(0, 4_000)


def test_loudness_is_that_of_the_resampled_takes_and_kept_by_rate() -> None:
    store = MemoryStore()
    takes = [(60_000, 22_050, 300), (60_000, 44_100, 300)]
    for rate in (24_000, 44_100):
        layout, heard = chapter_of(store, takes, rate)
        state = measure_chapter(store, layout, sample_rate_hz=rate)
        assert state.sample_rate_hz == rate
        whole = np.zeros(layout.n_samples, np.float32)
        for placed, samples in zip(layout.takes, heard, strict=True):
            whole[placed.start : placed.end] = samples
        wanted = measure([whole], rate).loudness()
        assert state.loudness().integrated_lufs == pytest.approx(wanted.integrated_lufs, abs=1e-6)
        assert state.loudness().true_peak_dbtp == pytest.approx(wanted.true_peak_dbtp, abs=1e-6)
    assert len(list(store.list("loudness/"))) == 2


def test_a_chapter_without_a_take_is_measured_at_each_rate() -> None:
    store = MemoryStore()
    empty = ChapterLayout(number=1, title="", start=0, n_samples=40 * FRAME_SAMPLES, takes=())
    for rate in (24_000, 44_100):
        assert measure_chapter(store, empty, sample_rate_hz=rate).sample_rate_hz == rate
