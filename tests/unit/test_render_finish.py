"""One gain for the book, kept while it does; no hole in a book unless that was allowed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from loudr_core.audio.loudness import LoudnessState, measure
from loudr_core.book.read import read_book
from loudr_core.errors import QualityError
from loudr_core.findings import Finding
from loudr_core.jobs.plan import Plan, PlanRequest, Speaker, plan_book
from loudr_core.render.finish import (
    levels_json,
    loudness_curve,
    master_book,
    refuse_gaps,
    refuse_unreadable,
)
from loudr_core.render.layout import BookLayout, ChapterLayout, Gap, PlacedTake
from loudr_core.settings import LoudnessProfile
from loudr_core.testing import MemoryStore
from loudr_core.text.lexicon import Lexicon
from loudr_core.text.model import TextOptions

RATE = 24_000
TONE = np.sin(np.arange(4 * RATE) * 0.26).astype(np.float32)
TAKE = PlacedTake(
    segment_id="c001-s0001", take_key="aa", start=0, n_samples=90_000, pause_samples=500
)
CHAPTER = ChapterLayout(number=1, title="One", start=0, n_samples=94_208, takes=(TAKE,))
LAYOUT = BookLayout(sample_rate_hz=RATE, chapters=(CHAPTER,), gaps=())
Measure = Callable[[ChapterLayout], LoudnessState]


def at(level: float) -> Measure:
    """Return a measurement that finds a tone of this amplitude in every chapter."""
    state = measure([TONE * np.float32(level)], RATE)
    return lambda chapter: state


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    path = tmp_path / "b.md"
    path.write_text("# B\n\nThe lamp was lit at dusk, and nobody came.\n", encoding="utf-8")
    request = PlanRequest(
        profile={},
        text=TextOptions(max_characters=400, target_characters=120),
        lexicon=Lexicon({}),
        speaker=Speaker(
            engine="fake",
            voice="low",
            voice_sha256="v",
            fingerprint="f",
            sample_rate_hz=RATE,
            languages=frozenset({"en"}),
            max_characters=400,
            target_characters=120,
            seconds_per_character=(0.04, 0.09),
        ),
        book_seed=7,
        speed=1.0,
    )
    return plan_book(read_book(path), request, MemoryStore())[0]


def test_the_gain_brings_the_book_to_its_target(plan: Plan, store: MemoryStore) -> None:
    for level in (0.02, 0.1, 0.3):
        mastered = master_book(plan, LAYOUT, at(level), MemoryStore(), LoudnessProfile())
        assert mastered.loudness()["integrated_lufs"] == pytest.approx(-19.0, abs=0.06)
        assert mastered.gain.gain_db == round(mastered.gain.gain_db, 1)


def test_a_book_nearly_as_loud_keeps_its_gain(plan: Plan, store: MemoryStore) -> None:
    first = master_book(plan, LAYOUT, at(0.1), store, LoudnessProfile())
    near = master_book(plan, LAYOUT, at(0.1 * 10 ** (0.15 / 20)), store, LoudnessProfile())
    assert near.gain.gain_db == first.gain.gain_db
    far = master_book(plan, LAYOUT, at(0.1 * 10 ** (0.4 / 20)), store, LoudnessProfile())
    assert far.gain.gain_db == pytest.approx(first.gain.gain_db - 0.4, abs=0.11)


def test_another_target_takes_no_gain_over(plan: Plan, store: MemoryStore) -> None:
    master_book(plan, LAYOUT, at(0.1), store, LoudnessProfile(target_lufs=-19.1))
    mastered = master_book(plan, LAYOUT, at(0.1), store, LoudnessProfile())
    alone = master_book(plan, LAYOUT, at(0.1), MemoryStore(), LoudnessProfile())
    assert mastered.gain == alone.gain


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'"a"', b'{"gain_db": null, "target": 1}'])
def test_a_damaged_gain_is_chosen_anew(plan: Plan, store: MemoryStore, damage: bytes) -> None:
    store.put(f"{plan.folder}/gain.json", damage)
    mastered = master_book(plan, LAYOUT, at(0.1), store, LoudnessProfile())
    assert mastered.gain == master_book(plan, LAYOUT, at(0.1), store, LoudnessProfile()).gain


def test_peaks_over_the_limit_are_limited_and_said(plan: Plan, store: MemoryStore) -> None:
    profile = LoudnessProfile(target_lufs=-9.0, true_peak_dbtp=-6.0)
    mastered = master_book(plan, LAYOUT, at(0.1), store, profile)
    assert mastered.gain.limited
    loudness = mastered.loudness()
    assert loudness["limited"] is True
    assert loudness["true_peak_dbtp"] <= -6.0


def test_a_silent_book_is_left_as_it_is(plan: Plan, store: MemoryStore) -> None:
    mastered = master_book(plan, LAYOUT, at(0.0), store, LoudnessProfile())
    assert mastered.gain.gain_db == 0.0
    assert mastered.loudness()["integrated_lufs"] is None
    assert levels_json(mastered)["curve"] == []


def test_a_gap_is_refused_by_name(plan: Plan) -> None:
    gaps = tuple(
        Gap(segment_id=f"c001-s{number:04d}", at_sample=0, cause="the engine died")
        for number in (3, 5, 9)
    )
    with pytest.raises(
        QualityError,
        match=r"b-.*: segment c001-s0003 and 2 more .*the engine died\. Run again .*--allow-gaps",
    ) as caught:
        refuse_gaps(replace(LAYOUT, gaps=gaps), plan=plan)
    assert caught.value.context["segments"] == ["c001-s0003", "c001-s0005", "c001-s0009"]
    refuse_gaps(LAYOUT, plan=plan)


def test_nobody_is_told_to_try_again_what_no_seed_can_change(plan: Plan) -> None:
    finding = Finding(
        code="plan-unreadable",
        severity="error",
        message="no letter of it is Latin",
        where={"segment_id": "c001-s0003", "chapter": 1},
    )
    silent = replace(plan, findings=(finding,))
    gap = Gap(segment_id="c001-s0003", at_sample=0, cause="no letter of it is Latin")
    with pytest.raises(QualityError, match=r"Latin\. Finish without it by --allow-gaps$"):
        refuse_gaps(replace(LAYOUT, gaps=(gap,)), plan=silent)
    with pytest.raises(QualityError, match="with any seed: no letter"):
        refuse_unreadable(silent, ["c001-s0001", "c001-s0003"])
    refuse_unreadable(silent, ["c001-s0001"])


def test_levels_name_every_chapter_and_take(plan: Plan, store: MemoryStore) -> None:
    levels = levels_json(master_book(plan, LAYOUT, at(0.1), store, LoudnessProfile()))
    (chapter,) = levels["chapters"]
    assert (chapter["start_s"], chapter["end_s"], chapter["segments"]) == (0.0, 3.925, 1)
    assert levels["segments"] == [("c001-s0001", 0.0, 3.75)]
    assert levels["target_lufs"] == -19.0


@pytest.mark.parametrize("minutes", [0.1, 30, 900])
def test_the_loudness_curve_stays_short(minutes: float) -> None:
    blocks = round(minutes * 600)
    state = replace(
        measure([TONE * np.float32(0.1)], RATE),
        n_samples=blocks * RATE // 10,
        weighted=np.full(blocks, 0.01),
        plain=np.full(blocks, 0.01),
    )
    curve = loudness_curve([state])
    assert 1 <= len(curve) <= 610
    assert curve[0][0] == 3.0
    assert curve[-1][0] == pytest.approx(minutes * 60, rel=0.05, abs=2)
