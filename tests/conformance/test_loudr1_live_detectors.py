"""Verdicts and single rules of the token detectors against the reference engine."""

from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.speech.loudr1 import token_rules
from loudr_core.speech.loudr1.algorithm import Detectors
from loudr_core.speech.loudr1.detectors import inspect

pytest.importorskip("loudkit", reason="the reference engine is not installed")

from loudkit import postprocess as reference
from loudkit.postprocess import PostprocessConfig

BATCH = 20
DIGITAL, BREATH, LISTED = (6405, 6486, 4218, 4137), (5838, 6081), (4254, 4008)
SILENCE = frozenset((*LISTED, 4218, 4137))

_counts = st.integers(0, 40)
SEGMENTS = st.one_of(
    st.tuples(st.just("speech"), st.integers(0, 70)),
    st.tuples(st.sampled_from(["digital", "breath", "listed"]), st.integers(0, 32)),
    st.tuples(st.sampled_from([4254, 6405, 5838, 77, 7000]), st.integers(1, 50)),
    st.tuples(
        st.lists(st.sampled_from([4254, 6405, 5838, 50, 51, 6561]), min_size=1, max_size=14).map(
            tuple
        ),
        st.integers(0, 60),
    ),
)


def segment(kind: str | int | tuple[int, ...], n: int) -> list[int]:
    """Return a stretch of a row: speech that never repeats, silence of a kind, or a loop."""
    if kind == "speech":
        return [100 + (i * 7) % 900 for i in range(n)]
    named = {"digital": DIGITAL, "breath": BREATH, "listed": LISTED}
    cycle = named[kind] if isinstance(kind, str) else (kind,) if isinstance(kind, int) else kind
    return [cycle[i % len(cycle)] for i in range(n)]


ROWS = st.lists(SEGMENTS, max_size=7).map(
    lambda parts: list(chain.from_iterable(segment(*part) for part in parts))[:255]
)


@st.composite
def situations(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a row and what is known of it; half of the peaks lie near its end."""
    row = draw(ROWS)
    n = len(row)
    n_text = draw(st.sampled_from([n // 6, n // 5, n // 3, n // 2, n + 1, 0, 9, 10, 23]))
    return {
        "row": row,
        "n_text": n_text,
        "floor": draw(st.sampled_from([0, 10, int(1.2 * n_text), n // 2, n])),
        "eos_peak_at": draw(st.one_of(st.integers(-1, n + 2), st.integers(n - 32, n - 1))),
        "probability": draw(
            st.sampled_from([0.0, 0.002, 0.003, 0.004, 0.05, 0.051, 0.1, 0.3, 1.0])
        ),
        "ended": draw(st.booleans()),
        "terminal": draw(st.sampled_from([True, True, False])),
        "hit_ceiling": draw(st.booleans()),
    }


CONSTANTS: dict[str, st.SearchStrategy[Any]] = {
    "mode": st.sampled_from(["trim", "report", "off"]),
    "trailing_filler_threshold": st.sampled_from([0.1, 0.5, 1.0]),
    "trailing_silence_run_tokens": st.integers(0, 30),
    "desperation_band_ratio": st.sampled_from([2.0, 3.1, 5.5]),
    "desperation_band_floor": _counts,
    "filler_min_eos_probability": st.sampled_from([0.0, 0.3]),
    "desperation_speech_per_text_token": st.sampled_from([4.1, 6.0]),
    "desperation_min_text_tokens": _counts,
    "desperation_min_keep_per_text_token": st.sampled_from([0.0, 1.0, 2.0]),
    "ended_tail_silence_run": _counts,
    "ended_tail_blip_max": _counts,
    "ended_tail_word_max": _counts,
    "filler_max_speech_after_run": _counts,
    "ended_tail_keep": _counts,
    "echo_strong_eos_probability": st.sampled_from([0.0, 0.05, 0.5]),
    "echo_strong_max_tail": _counts,
    "echo_strong_min_position_pct": st.integers(0, 100),
    "echo_weak_eos_probability": st.sampled_from([0.0, 0.05, 0.5]),
    "echo_weak_max_tail": _counts,
    "echo_weak_min_position_pct": st.integers(0, 100),
    "repetition_max_period": st.integers(1, 20),
    "repetition_min_cycles": st.integers(2, 6),
    "repetition_min_span": st.integers(6, 50),
    "dropout_min_tokens": _counts,
    "stall_run_tokens": st.integers(1, 40),
    "repetition_resume": st.sampled_from(["condemn", "cut"]),
    "repetition_silence": st.sampled_from(["acoustic", "sampling"]),
    "silence_render_ids": st.sampled_from([(), DIGITAL]),
    "quiet_render_ids": st.sampled_from([(), BREATH]),
}
PUBLISHED = {"silence_render_ids": DIGITAL, "quiet_render_ids": BREATH}
CONFIGS = st.one_of(
    st.just(PUBLISHED),
    st.just(PUBLISHED),
    st.just({}),
    st.fixed_dictionaries({}, optional=CONSTANTS),
)
CASES = st.lists(situations(), min_size=BATCH, max_size=BATCH)


@settings(max_examples=100, deadline=None)
@given(CONFIGS, CASES)
def test_verdicts(config: dict[str, Any], cases: list[dict[str, Any]]) -> None:
    """2,000 rows."""
    ours, theirs = Detectors(**config), PostprocessConfig(**config)
    for case in cases:
        row = case["row"]
        found = inspect(
            row,
            n_text=case["n_text"],
            floor=case["floor"],
            eos_peak_at=case["eos_peak_at"],
            eos_peak_probability=case["probability"],
            ended=case["ended"],
            terminal=case["terminal"],
            hit_ceiling=case["hit_ceiling"],
            silence=SILENCE,
            detectors=ours,
        )
        expected = reference.inspect(
            row,
            text_token_count=case["n_text"],
            min_tokens=case["floor"],
            eos_peak_at=case["eos_peak_at"],
            eos_peak_prob=case["probability"],
            ended=case["ended"],
            is_terminal=case["terminal"],
            hit_ceiling=case["hit_ceiling"],
            silence=SILENCE,
            config=theirs,
        )
        assert (found.keep, found.reason, found.suspect) == (
            expected.keep,
            expected.reason,
            expected.suspect,
        )


@settings(max_examples=60, deadline=None)
@given(CONFIGS, CASES)
def test_single_rules(config: dict[str, Any], cases: list[dict[str, Any]]) -> None:
    """1,200 rows, seven rules each: what an earlier rule would hide is compared too."""
    ours, theirs = Detectors(**config), PostprocessConfig(**config)
    both: dict[str, Any] = {"silence": SILENCE}
    for case in (each for each in cases if each["row"]):
        row, n_text, floor, at = case["row"], case["n_text"], case["floor"], case["eos_peak_at"]
        capped, last = case["hit_ceiling"], case["terminal"]
        found = (
            token_rules.is_dropout(len(row), n_text, ours),
            token_rules.loop_cut(row, detectors=ours, **both),
            token_rules.is_stalled(row, hit_ceiling=capped, detectors=ours, **both),
            token_rules.is_filler(row, at, detectors=ours, **both),
            token_rules.is_echo(
                len(row),
                floor=floor,
                eos_peak_at=at,
                eos_peak_probability=case["probability"],
                hit_ceiling=capped,
                detectors=ours,
            ),
            token_rules.desperation_cut(
                row,
                n_text=n_text,
                floor=floor,
                eos_peak_at=at,
                terminal=last,
                detectors=ours,
                **both,
            ),
            token_rules.ended_tail_cut(row, terminal=last, detectors=ours, **both),
        )
        echo = reference.terminal_echo_cut(
            token_count=len(row),
            eos_peak_at=at,
            eos_peak_prob=case["probability"],
            min_tokens=floor,
            is_terminal=True,
            hit_ceiling=capped,
            config=theirs,
        )
        expected = (
            reference._is_dropout(len(row), n_text, theirs),
            reference._loop_candidate(row, config=theirs, **both),
            reference.is_stalled(row, hit_ceiling=capped, config=theirs, **both),
            reference.is_trailing_filler(row, at, config=theirs, **both),
            echo == at if echo is not None else False,
            reference.desperation_cut(
                row,
                text_token_count=n_text,
                min_tokens=floor,
                eos_peak_at=at,
                peak_allowed=last,
                config=theirs,
                **both,
            ),
            reference.ended_tail_trim(row, is_terminal=last, config=theirs, **both),
        )
        assert found == expected


RATIOS = st.lists(
    st.one_of(
        st.floats(0, 12),
        st.sampled_from([0.0, 1.0, 1.6, 2.5, 2.56, 4.0]),
    ),
    max_size=9,
)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([1.0, 1.6, 2.5]), st.lists(RATIOS, min_size=BATCH, max_size=BATCH))
def test_pacing(tolerance: float, rows: list[list[float]]) -> None:
    """800 passages."""
    ours = Detectors(pacing_tolerance=tolerance)
    theirs = PostprocessConfig(pacing_tolerance=tolerance)
    for ratios in rows:
        expected = list(reference.pacing_outliers(ratios, config=theirs))
        assert token_rules.pacing_outliers(ratios, ours) == expected
