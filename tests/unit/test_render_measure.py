"""A chapter is measured once, and its loudness is the loudness of its samples."""

import numpy as np
import pytest

from loudr_core.audio.loudness import measure
from loudr_core.audio.takefile import encode_take
from loudr_core.errors import StoreError
from loudr_core.render.layout import BookLayout, ChapterLayout, PlacedTake
from loudr_core.render.measure import measure_chapter
from loudr_core.render.pcm import BookPcm
from loudr_core.speech.orders import audio_key
from loudr_core.testing import MemoryStore

RATE = 24_000
SECOND = np.sin(np.arange(RATE) * 0.2).astype(np.float32) * 0.3


def chapter(*takes: str, start: int = 0) -> ChapterLayout:
    placed = tuple(
        PlacedTake(
            segment_id=f"c001-s{place:04d}",
            take_key=take,
            start=start + place * 2 * RATE,
            n_samples=RATE,
            pause_samples=RATE,
        )
        for place, take in enumerate(takes)
    )
    n_samples = len(takes) * 2 * RATE // 1024 * 1024
    return ChapterLayout(number=1, title="", start=start, n_samples=n_samples, takes=placed)


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    for name, level in (("aa", 1.0), ("bb", 0.25)):
        store.put(audio_key(name), encode_take(SECOND * level, RATE, {}))
    return store


def test_it_is_the_loudness_of_the_samples(store: MemoryStore) -> None:
    layout = chapter(*["aa", "bb"] * 8)  # longer than one block of reading
    whole = BookPcm(store, BookLayout(sample_rate_hz=RATE, chapters=(layout,), gaps=()))
    want = measure([whole.read(0, whole.n_samples)], RATE).loudness()
    got = measure_chapter(store, layout, sample_rate_hz=RATE).loudness()
    assert got.integrated_lufs == pytest.approx(want.integrated_lufs, abs=1e-6)
    assert got.true_peak_dbtp == pytest.approx(want.true_peak_dbtp, abs=1e-6)


def test_it_is_kept_wherever_the_chapter_stands(store: MemoryStore) -> None:
    first = measure_chapter(store, chapter("aa", "bb"), sample_rate_hz=RATE)
    for name in ("aa", "bb"):
        store.delete(audio_key(name))
    moved = measure_chapter(store, chapter("aa", "bb", start=4096), sample_rate_hz=RATE)
    assert moved.loudness() == first.loudness()
    assert moved.n_samples == first.n_samples


def test_another_take_is_measured_anew(store: MemoryStore) -> None:
    loud = measure_chapter(store, chapter("aa", "aa"), sample_rate_hz=RATE).loudness()
    quiet = measure_chapter(store, chapter("bb", "bb"), sample_rate_hz=RATE).loudness()
    assert loud.integrated_lufs - quiet.integrated_lufs == pytest.approx(12.04, abs=0.1)


@pytest.mark.parametrize("damage", [b"", b"PK", b"not an archive"])
def test_a_damaged_measurement_is_made_again(store: MemoryStore, damage: bytes) -> None:
    first = measure_chapter(store, chapter("aa"), sample_rate_hz=RATE)
    (key,) = store.list("loudness/")
    good = store.get(key)
    store.put(key, damage)
    assert measure_chapter(store, chapter("aa"), sample_rate_hz=RATE).loudness() == first.loudness()
    assert store.get(key) == good


def test_a_missing_take_is_an_error_and_leaves_nothing(store: MemoryStore) -> None:
    store.delete(audio_key("bb"))
    with pytest.raises(StoreError, match="c001-s0001 is gone"):
        measure_chapter(store, chapter("aa", "bb"), sample_rate_hz=RATE)
    assert list(store.list("loudness/")) == []


def test_a_chapter_of_silence_has_no_loudness(store: MemoryStore) -> None:
    silent = ChapterLayout(number=1, title="", start=0, n_samples=1024 * 40, takes=())
    state = measure_chapter(store, silent, sample_rate_hz=RATE)
    assert state.loudness().integrated_lufs == float("-inf")
