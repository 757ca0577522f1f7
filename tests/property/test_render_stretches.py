"""Any stretch read from a book equals that stretch of the whole, and equal names equal samples."""

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.arrays import Mono
from loudr_core.audio.master import Gain
from loudr_core.audio.takefile import encode_take, from_pcm24, to_pcm24
from loudr_core.render.finish import Mastered, MasteredPcm
from loudr_core.render.layout import FRAME_SAMPLES, BookLayout, ChapterLayout, PlacedTake
from loudr_core.render.pcm import BookPcm
from loudr_core.settings import LoudnessProfile
from loudr_core.speech.orders import audio_key
from loudr_core.testing import MemoryStore

RATE = 24_000
LENGTHS = (1, 700, 1024, 3001)


@dataclass(frozen=True)
class Shelf:
    """A store with a few takes, and what they hold."""

    store: MemoryStore
    takes: dict[str, Mono]


def shelf() -> Shelf:
    store, takes = MemoryStore(), {}
    for number, length in enumerate(LENGTHS):
        noise = np.random.default_rng(number).uniform(-0.9, 0.9, length).astype(np.float32)
        takes[f"aa{number}"] = from_pcm24(to_pcm24(noise))
        store.put(audio_key(f"aa{number}"), encode_take(noise, RATE, {}))
    return Shelf(store, takes)


SHELF = shelf()
TAKES = st.lists(
    st.tuples(st.sampled_from(sorted(SHELF.takes)), st.integers(0, 2000)), min_size=0, max_size=5
)


def laid_out(chapters: list[list[tuple[str, int]]]) -> tuple[BookLayout, Mono]:
    """Return a layout and all of its samples, made without the code under test."""
    placed, whole, start = [], [np.zeros(0, np.float32)], 0
    for number, rows in enumerate(chapters, 1):
        takes: list[PlacedTake] = []
        at, sound = start, [np.zeros(0, np.float32)]
        for name, pause in rows:
            length = len(SHELF.takes[name])
            takes.append(
                PlacedTake(
                    segment_id=f"c{number:03d}-s{len(takes):04d}",
                    take_key=name,
                    start=at,
                    n_samples=length,
                    pause_samples=pause,
                )
            )
            sound += [SHELF.takes[name], np.zeros(pause, np.float32)]
            at += length + pause
        frames = max(1, -(-(at - start) // FRAME_SAMPLES))
        pad = frames * FRAME_SAMPLES - (at - start)
        whole += [*sound, np.zeros(pad, np.float32)]
        placed.append(
            ChapterLayout(
                number=number,
                title=str(number),
                start=start,
                n_samples=frames * FRAME_SAMPLES,
                takes=tuple(takes),
            )
        )
        start += frames * FRAME_SAMPLES
    layout = BookLayout(sample_rate_hz=RATE, chapters=tuple(placed), gaps=())
    return layout, np.concatenate(whole)


def stretch(whole: Mono, start: int, n_samples: int) -> Mono:
    margin = 20_000
    padded = np.pad(whole, margin)
    return padded[margin + start : margin + start + n_samples]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(TAKES, min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(-3000, 15_000), st.integers(0, 4000)), max_size=6),
)
def test_a_read_is_a_slice_of_the_whole(
    chapters: list[list[tuple[str, int]]], reads: list[tuple[int, int]]
) -> None:
    layout, whole = laid_out(chapters)
    pcm = BookPcm(SHELF.store, layout)
    assert pcm.n_samples == len(whole)
    np.testing.assert_array_equal(pcm.read(0, len(whole)), whole)
    for start, n_samples in reads:
        got = pcm.read(start, n_samples)
        assert got.dtype == np.float32
        np.testing.assert_array_equal(got, stretch(whole, start, n_samples))


@settings(max_examples=60, deadline=None)
@given(TAKES, st.integers(0, 9000), st.integers(0, 4000))
def test_takes_in_finds_every_take_that_is_heard(
    rows: list[tuple[str, int]], start: int, length: int
) -> None:
    (chapter,) = laid_out([rows])[0].chapters
    heard = [t for t in chapter.takes if t.start < start + length and t.end > start]
    assert list(chapter.takes_in(start, start + length)) == heard


@settings(max_examples=60, deadline=None)
@given(TAKES, TAKES, st.booleans())
def test_one_name_is_one_sound(
    first: list[tuple[str, int]], second: list[tuple[str, int]], limited: bool
) -> None:
    """A stretch keeps its name wherever it stands, and no two sounds share one."""
    gain = Gain(gain_db=3.0, limit_dbtp=-3.0, limited=limited)
    seen: dict[str, bytes] = {}
    for chapters in ([first, second], [second, first], [first, first, second]):
        layout, _ = laid_out(chapters)
        mastered = Mastered(layout=layout, gain=gain, states=(), target=LoudnessProfile())
        pcm = MasteredPcm(BookPcm(SHELF.store, layout), mastered)
        for start in range(0, layout.n_samples, FRAME_SAMPLES):
            name = pcm.identify(start, FRAME_SAMPLES)
            sound = pcm.read(start, FRAME_SAMPLES).tobytes()
            assert seen.setdefault(name, sound) == sound


def test_a_chapter_keeps_its_names_when_it_moves() -> None:
    """What stands before a chapter does not change its encoded pieces, a limiter's reach apart."""
    rows = [("aa3", 500), ("aa1", 20_000)]
    gain = Gain(gain_db=0.0, limit_dbtp=-3.0, limited=False)
    names = []
    for chapters in ([rows], [[("aa2", 30_000)], rows]):
        layout, _ = laid_out(chapters)
        mastered = Mastered(layout=layout, gain=gain, states=(), target=LoudnessProfile())
        chapter = layout.chapters[-1]
        pcm = MasteredPcm(BookPcm(SHELF.store, layout), mastered)
        names.append(pcm.identify(chapter.start, chapter.n_samples))
    assert names[0] == names[1]
