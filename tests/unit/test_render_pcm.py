"""Reading a book's samples: few takes in memory, and a fault that names its segment."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from loudr_core.audio.takefile import encode_take
from loudr_core.errors import StoreError
from loudr_core.render.layout import BookLayout, ChapterLayout, PlacedTake
from loudr_core.render.pcm import BookPcm
from loudr_core.speech.orders import audio_key
from loudr_core.testing import MemoryStore

RATE = 24_000
LENGTH = 4096


class CountingStore(MemoryStore):
    """Remembers which keys were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def get(self, key: str) -> bytes | None:
        self.asked.append(key)
        return super().get(key)


@pytest.fixture
def store() -> CountingStore:
    store = CountingStore()
    for number in range(40):
        noise = np.random.default_rng(number).uniform(-0.5, 0.5, LENGTH).astype(np.float32)
        store.put(audio_key(f"{number:02d}"), encode_take(noise, RATE, {}))
    return store


@pytest.fixture
def layout() -> BookLayout:
    takes = tuple(
        PlacedTake(
            segment_id=f"c001-s{number:04d}",
            take_key=f"{number:02d}",
            start=number * LENGTH,
            n_samples=LENGTH,
            pause_samples=0,
        )
        for number in range(40)
    )
    chapter = ChapterLayout(number=1, title="", start=0, n_samples=40 * LENGTH, takes=takes)
    return BookLayout(sample_rate_hz=RATE, chapters=(chapter,), gaps=())


def test_reading_on_decodes_each_take_once(store: CountingStore, layout: BookLayout) -> None:
    pcm = BookPcm(store, layout)
    for start in range(0, pcm.n_samples, 1000):
        pcm.read(start, 1000)
    assert len(store.asked) == 40


def test_memory_does_not_grow_with_the_book(store: CountingStore, layout: BookLayout) -> None:
    pcm = BookPcm(store, layout)
    pcm.read(0, pcm.n_samples)
    store.asked.clear()
    pcm.read(0, 30 * LENGTH)
    assert len(store.asked) == 30, "takes far back were still held"


def test_threads_read_what_one_reads(store: CountingStore, layout: BookLayout) -> None:
    pcm = BookPcm(store, layout)
    whole = pcm.read(0, pcm.n_samples)
    starts = list(range(0, pcm.n_samples, 1700))
    with ThreadPoolExecutor(8) as threads:
        pieces = list(threads.map(lambda start: pcm.read(start, 1700), starts))
    np.testing.assert_array_equal(np.concatenate(pieces)[: len(whole)], whole)


def test_a_missing_take_is_named(store: CountingStore, layout: BookLayout) -> None:
    store.delete(audio_key("03"))
    with pytest.raises(StoreError, match=r"c001-s0003 is gone .*audio/03/03.flac.*render again"):
        BookPcm(store, layout).read(0, 8 * LENGTH)


@pytest.mark.parametrize("damage", [b"", b"fLaC", b"not audio at all"])
def test_a_damaged_take_is_named(store: CountingStore, layout: BookLayout, damage: bytes) -> None:
    store.put(audio_key("03"), damage)
    with pytest.raises(StoreError, match="c001-s0003"):
        BookPcm(store, layout).read(0, 8 * LENGTH)


@pytest.mark.parametrize(("length", "rate"), [(LENGTH - 1, RATE), (LENGTH, 16_000)])
def test_another_take_under_the_name_is_refused(
    store: CountingStore, layout: BookLayout, length: int, rate: int
) -> None:
    store.put(audio_key("03"), encode_take(np.full(length, 0.1, np.float32), rate, {}))
    with pytest.raises(StoreError, match=f"c001-s0003 .*{length} samples at {rate} Hz"):
        BookPcm(store, layout).read(3 * LENGTH, 10)
