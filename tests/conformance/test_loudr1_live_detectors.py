"""Verdicts and single rules of the token detectors against the reference engine."""

from random import Random
from typing import Any

import pytest
from distinct_cases import distinct_cases

from loudr_core.speech.loudr1 import token_rules
from loudr_core.speech.loudr1.algorithm import Detectors
from loudr_core.speech.loudr1.detectors import inspect

pytest.importorskip("loudkit", reason="the reference engine is not installed")

from loudkit import postprocess as reference
from loudkit.postprocess import PostprocessConfig

DIGITAL, BREATH, LISTED = (6405, 6486, 4218, 4137), (5838, 6081), (4254, 4008)
SILENCE = frozenset((*LISTED, 4218, 4137))


def segment(kind: str | int | tuple[int, ...], n: int) -> list[int]:
    """Return a stretch of a row: speech that never repeats, silence of a kind, or a loop."""
    if kind == "speech":
        return [100 + (i * 7) % 900 for i in range(n)]
    named = {"digital": DIGITAL, "breath": BREATH, "listed": LISTED}
    cycle = named[kind] if isinstance(kind, str) else (kind,) if isinstance(kind, int) else kind
    return [cycle[i % len(cycle)] for i in range(n)]


def row_of(draws: Random) -> list[int]:
    """Return a row of up to seven stretches; most begin with speech, as real ones do."""
    parts: list[tuple[str | int | tuple[int, ...], int]] = []
    if draws.random() < 0.7:
        parts.append(("speech", draws.randrange(40, 160)))
    for _ in range(draws.randrange(7)):
        match draws.randrange(10):
            case 0 | 1 | 2 | 3:
                parts.append(("speech", draws.randrange(70)))
            case 4 | 5 | 6 | 7:
                parts.append((draws.choice(["digital", "breath", "listed"]), draws.randrange(33)))
            case 8:
                parts.append((draws.choice([4254, 6405, 5838, 77, 7000]), draws.randint(1, 50)))
            case _:
                length = draws.randint(1, 14)
                some = draws.choices([4254, 6405, 5838, 50, 51, 6561], k=length)
                parts.append((tuple(some), draws.randrange(61)))
    return [token for part in parts for token in segment(*part)][: draws.choice([255, 255, 200])]


def situation_of(draws: Random) -> dict[str, Any]:
    """Return a row and what is known of it; most peaks lie near its end or before a silence."""
    if draws.random() < 0.15:
        return rare_situation_of(draws)
    row = row_of(draws)
    at = len(row) + draws.randrange(3)  # where it should have ended
    if draws.random() < 0.3:
        row += segment(draws.choice(["digital", "listed"]), draws.randint(12, 60))
        row += segment("speech", draws.randrange(20))
        row = row[:255]
    n = len(row)
    n_text = draws.choice([n // 6, n // 5, n // 3, n // 2, n + 1, 2 * n, 0, 9, 10, 23])
    return {
        "row": row,
        "n_text": n_text,
        "floor": draws.choice([0, 10, int(1.2 * n_text), n // 2, n]),
        "eos_peak_at": draws.choice([draws.randint(-1, n + 2), n - draws.randint(1, 32), at]),
        "probability": draws.choice([0.0, 0.002, 0.003, 0.004, 0.05, 0.051, 0.1, 0.3, 1.0]),
        "ended": draws.random() < 0.5,
        "terminal": draws.random() < 0.7,
        "hit_ceiling": draws.random() < 0.5,
    }


def rare_situation_of(draws: Random) -> dict[str, Any]:
    """Return one of the two that a row hardly comes to by chance."""
    ending = draws.random() < 0.5
    n_text = draws.randint(12, 30)
    n_speech = int(n_text * (draws.uniform(2, 3.5) if ending else draws.uniform(0.9, 1.8)))
    silence = segment(draws.choice(["digital", "listed"]), draws.randint(10, 20))
    # It nearly ended, was silent for a while, and perhaps said one more word; or it stopped early,
    # then went on and on.
    rest = draws.randrange(13) if ending else int(4.5 * n_text) + draws.randrange(60)
    row = (segment("speech", n_speech) + silence + segment("speech", rest))[:255]
    return {
        "row": row,
        "n_text": n_text,
        "floor": draws.choice([0, 10, int(1.2 * n_text)]),
        "eos_peak_at": n_speech + draws.randint(-1, 2),
        "probability": draws.choice([0.05, 0.051, 0.1, 0.3, 1.0]),
        "ended": draws.random() < 0.5,
        "terminal": draws.random() < (0.9 if ending else 0.5),
        "hit_ceiling": draws.random() < (0.2 if ending else 0.9),
    }


COUNT = range(41)
CONSTANTS: dict[str, Any] = {
    "mode": ["trim", "report", "off"],
    "trailing_filler_threshold": [0.1, 0.5, 1.0],
    "trailing_silence_run_tokens": range(31),
    "desperation_band_ratio": [2.0, 3.1, 5.5],
    "desperation_band_floor": COUNT,
    "filler_min_eos_probability": [0.0, 0.3],
    "desperation_speech_per_text_token": [4.1, 6.0],
    "desperation_min_text_tokens": COUNT,
    "desperation_min_keep_per_text_token": [0.0, 1.0, 2.0],
    "ended_tail_silence_run": COUNT,
    "ended_tail_blip_max": COUNT,
    "ended_tail_word_max": COUNT,
    "filler_max_speech_after_run": COUNT,
    "ended_tail_keep": COUNT,
    "echo_strong_eos_probability": [0.0, 0.05, 0.5],
    "echo_strong_max_tail": COUNT,
    "echo_strong_min_position_pct": range(101),
    "echo_weak_eos_probability": [0.0, 0.05, 0.5],
    "echo_weak_max_tail": COUNT,
    "echo_weak_min_position_pct": range(101),
    "repetition_max_period": range(1, 21),
    "repetition_min_cycles": range(2, 7),
    "repetition_min_span": range(6, 51),
    "dropout_min_tokens": COUNT,
    "stall_run_tokens": range(1, 41),
    "repetition_resume": ["condemn", "cut"],
    "repetition_silence": ["acoustic", "sampling"],
    "silence_render_ids": [(), DIGITAL],
    "quiet_render_ids": [(), BREATH],
}
"""What a manifest may say of each constant."""
PUBLISHED = {"silence_render_ids": DIGITAL, "quiet_render_ids": BREATH}


def config_of(draws: Random) -> dict[str, Any]:
    """Return the constants: as published, the defaults, or some of them changed."""
    match draws.randrange(4):
        case 0 | 1:
            return PUBLISHED
        case 2:
            return {}
        case _:
            changed = draws.sample(sorted(CONSTANTS), draws.randint(1, 12))
            return {name: draws.choice(CONSTANTS[name]) for name in changed}


REASONS = {
    "clean": 800,
    "clean, suspect": 200,
    "desperation": 80,
    "desperation, suspect": 30,
    "dropout, suspect": 4,
    "ended_tail": 40,
    "repetition": 100,
    "repetition, suspect": 300,
    "silence_tail": 20,
    "stall, suspect": 200,
    "terminal_echo": 70,
}
"""How many rows, at least, must come to each verdict that there is."""


@distinct_cases(3500, kinds=REASONS)
def test_verdicts(draws: Random) -> tuple[Any, ...]:
    """Each verdict is reached often."""
    config, case = config_of(draws), situation_of(draws)
    ours, theirs = Detectors(**config), PostprocessConfig(**config)
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
    kind = f"{found.reason}, suspect" if found.suspect else found.reason
    return (kind, sorted(config.items()), case)


@distinct_cases(1500)
def test_single_rules(draws: Random) -> tuple[Any, ...]:
    """Seven rules each: what an earlier rule would hide is compared too."""
    config, case = config_of(draws), situation_of(draws)
    if not case["row"]:
        return ("empty", [])
    ours, theirs = Detectors(**config), PostprocessConfig(**config)
    both: dict[str, Any] = {"silence": SILENCE}
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
    return ("row", sorted(config.items()), case)


@distinct_cases(800, kinds={"outliers": 200, "none": 100})
def test_pacing(draws: Random) -> tuple[Any, ...]:
    """Passages of one to nine windows."""
    tolerance = draws.choice([1.0, 1.6, 2.5])
    known = [0.0, 1.0, 1.6, 2.5, 2.56, 4.0]
    ratios = [
        draws.choice([draws.uniform(0, 12), draws.uniform(2, 4), draws.choice(known)])
        for _ in range(draws.randint(1, 9))
    ]
    expected = list(
        reference.pacing_outliers(ratios, config=PostprocessConfig(pacing_tolerance=tolerance))
    )
    assert token_rules.pacing_outliers(ratios, Detectors(pacing_tolerance=tolerance)) == expected
    return ("outliers" if expected else "none", tolerance, ratios)
