"""Voices of one book at one loudness: each by its own gain, the first one as it is."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.audio.loudness import LoudnessState, measure
from loudr_core.audio.takefile import encode_take
from loudr_core.jobs.casting import PlanVoice
from loudr_core.jobs.plan import Plan, PlanChapter
from loudr_core.render.finish import MasteredPcm, master_book
from loudr_core.render.layout import BookLayout, ChapterLayout, PlacedTake
from loudr_core.render.levels import voice_levels
from loudr_core.render.measure import measure_chapter
from loudr_core.render.pcm import BookPcm
from loudr_core.settings import LoudnessProfile
from loudr_core.speech.orders import audio_key
from loudr_core.testing import MemoryStore

RATE = 24_000
LENGTH = 96 * 1024


def speech(level_db: float, seed: int = 0, n_samples: int = LENGTH) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal(n_samples).astype(np.float32)
    return noise * np.float32(0.05 * 10 ** (level_db / 20))


def state(level_db: float, n_samples: int = LENGTH) -> LoudnessState:
    return measure([speech(level_db, n_samples=n_samples)], RATE)


def lufs(measured: LoudnessState) -> float:
    return measured.loudness().integrated_lufs


def test_each_voice_gets_what_it_lacks_to_the_first() -> None:
    spoken = [("", state(0)), ("a", state(-7.3)), ("", state(0)), ("b", state(4.1))]
    assert voice_levels(spoken, {}) == {"": 0.0, "a": 7.3, "b": -4.1}


def test_chapters_of_one_voice_keep_their_own_levels() -> None:
    """The voice is moved as a whole: what is quiet in it stays quieter."""
    loud, quiet = state(0), state(-5)
    levels = voice_levels([("", state(0)), ("a", loud), ("a", quiet)], {})
    both = LoudnessState.joined([loud, quiet])
    assert levels["a"] == pytest.approx(lufs(state(0)) - lufs(both), abs=0.051)


def test_a_book_of_one_voice_is_left_alone() -> None:
    assert voice_levels([("", state(0)), ("", state(-9))], {"": 3.0}) == {"": 0.0}
    assert voice_levels([("a", state(-9))], {}) == {"a": 0.0}


def test_a_gain_is_kept_while_it_is_right_within_a_fifth() -> None:
    spoken = [("", state(0)), ("a", state(-6.0))]
    assert voice_levels(spoken, {"a": 6.1})["a"] == 6.1
    assert voice_levels(spoken, {"a": 5.85})["a"] == 5.85
    assert voice_levels(spoken, {"a": 6.5})["a"] == 6.0


def test_what_has_no_loudness_moves_nothing() -> None:
    """Silence, and a chapter shorter than a loudness is measured over, be it the first."""
    silent = measure([np.zeros(LENGTH, np.float32)], RATE)
    short = state(0, n_samples=4 * 1024)
    spoken = [("s", silent), ("t", short), ("", state(0)), ("a", state(-3.0))]
    assert voice_levels(spoken, {}) == {"s": 0.0, "t": 0.0, "": 0.0, "a": 3.0}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(-20, 5)), min_size=2, max_size=7))
def test_afterwards_all_voices_are_as_loud(rows: list[tuple[str, float]]) -> None:
    spoken = [(name, state(level, n_samples=20 * 1024)) for name, level in rows]
    levels = voice_levels(spoken, {})
    found = []
    for name in dict.fromkeys(name for name, _ in spoken):
        own = [each.scaled(levels[name]) for each_name, each in spoken if each_name == name]
        found.append(lufs(LoudnessState.joined(own)))
    assert max(found) - min(found) <= 0.1 + 1e-6, "half a step of 0.1 dB each"


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    for number, level in enumerate((0.0, -8.0, 0.0)):
        store.put(audio_key(f"t{number}"), encode_take(speech(level, number), RATE, {}))
    return store


def chapter(number: int) -> ChapterLayout:
    take = PlacedTake(
        segment_id=f"s{number}", take_key=f"t{number}", start=number * LENGTH, n_samples=LENGTH,
        pause_samples=0,
    )  # fmt: skip
    return ChapterLayout(
        number=number + 1, title="", start=number * LENGTH, n_samples=LENGTH, takes=(take,)
    )


LAYOUT = BookLayout(sample_rate_hz=RATE, chapters=tuple(map(chapter, range(3))), gaps=())


def plan_of(*voices: str) -> Plan:
    chapters = tuple(
        PlanChapter(number=n, title="", role="body", level=0, segments=1, est_audio_s=1.0, voice=v)
        for n, v in enumerate(voices, 1)
    )
    aunt = PlanVoice(
        name="aunt", engine="other", voice="high", voice_sha256="", fingerprint="a",
        sample_rate_hz=RATE, speed=1.0,
    )  # fmt: skip
    return Plan(
        book_id="b", plan_id="p", source_sha256="", format="md", metadata={}, cover_key="",
        cover_media_type="", profile={}, engine="fake", voice="low", voice_sha256="",
        fingerprint="f", sample_rate_hz=RATE, speed=1.0, chapters=chapters, segments=3,
        generated=(), left_out=(), findings=(), audit={}, est_audio_s=3.0, cast=(aunt,),
    )  # fmt: skip


def mastered(store: MemoryStore, plan: Plan) -> tuple[MasteredPcm, list[float], dict[str, float]]:
    made = master_book(
        plan,
        LAYOUT,
        lambda each: measure_chapter(store, each, sample_rate_hz=RATE),
        store,
        LoudnessProfile(target_lufs=-23.0),
    )
    pcm = MasteredPcm(BookPcm(store, made.layout), made)
    return pcm, [lufs(each) for each in made.states], dict(made.levels)


def test_the_samples_are_at_the_levels_that_are_told(store: MemoryStore) -> None:
    pcm, told, levels = mastered(store, plan_of("", "aunt", ""))
    assert levels["low (fake)"] == 0.0
    assert levels["high (other)"] == pytest.approx(8.0, abs=0.15)
    heard = [lufs(measure([pcm.read(n * LENGTH, LENGTH)], RATE)) for n in range(3)]
    assert heard == pytest.approx(told, abs=0.01)
    assert max(heard) - min(heard) < 0.2
    assert heard == pytest.approx([-23.0] * 3, abs=0.3)


def test_one_voice_is_mastered_as_ever(store: MemoryStore) -> None:
    """No gain of its own, the names of its stretches and the kept document as they were."""
    pcm, told, levels = mastered(store, plan_of("", "", ""))
    assert levels == {}
    assert told[1] == pytest.approx(told[0] - 8.0, abs=0.15)
    kept = json.loads(store.get("books/b/plans/p/gain.json") or b"")
    assert set(kept) == {"gain_db", "target"}
    other, _, _ = mastered(store, plan_of("", "aunt", ""))
    assert pcm.identify(LENGTH, 1024) != other.identify(LENGTH, 1024)


def test_the_levels_are_kept_for_the_next_time(store: MemoryStore) -> None:
    first, _, levels = mastered(store, plan_of("", "aunt", ""))
    store.put(audio_key("t1"), encode_take(speech(-8.1, 1), RATE, {}))
    for key in list(store.list("loudness/")):
        store.delete(key)
    again, _, kept = mastered(store, plan_of("", "aunt", ""))
    assert kept == levels
    assert again.identify(0, LENGTH) == first.identify(0, LENGTH)
    store.put("books/b/plans/p/gain.json", b'{"levels": 7}')
    _, _, anew = mastered(store, plan_of("", "aunt", ""))
    assert anew == pytest.approx(levels, abs=0.2)


def test_a_level_is_part_of_a_takes_name() -> None:
    take = LAYOUT.chapters[0].takes[0]
    assert take.identity(0) == ["t0", 0]
    assert replace(take, level_db=1.5).identity(0) == ["t0", 0, {"level_db": 1.5}]
