"""`postprocess.json`, the official fixture of the token detectors: every case of every section."""

import json
from pathlib import Path
from typing import Any

import pytest

from loudr_core.speech.loudr1 import token_rules
from loudr_core.speech.loudr1.algorithm import Algorithm, Detectors
from loudr_core.speech.loudr1.detectors import inspect
from loudr_core.speech.loudr1.windowing import length_ceiling

SILENCE = frozenset(range(8))
DEAD, SIGH = 12, 13


@pytest.fixture(scope="module")
def fixture(test_data: Path) -> dict[str, Any]:
    """Return the fixture, or skip."""
    path = test_data / "fixtures" / "loudkit" / "postprocess.json"
    if not path.is_file():
        pytest.skip(f"no official fixture at {path}")
    data: dict[str, Any] = json.loads(path.read_text("utf-8"))
    assert frozenset(data["silence_token_ids"]) == SILENCE
    return data


def row(shape: list[list[Any]]) -> list[int]:
    """Return a row of tokens from its shape, as the fixture describes it."""
    tokens: list[int] = []
    for kind, *size in shape:
        n = size[-1]
        match kind:
            case "speech":
                tokens += [20 + i % 60 for i in range(n)]
            case "quiet":
                tokens += [i % 8 for i in range(n)]
            case "sil":
                tokens += [i % 4 for i in range(n)]
            case "breath":
                tokens += [4 + i % 4 for i in range(n)]
            case "dead":
                tokens += [DEAD] * n
            case "sigh":
                tokens += [SIGH] * n
            case _:
                tokens += cycle(kind, size[0]) * n
    return tokens


def cycle(kind: str, period: int) -> list[int]:
    """Return one period of a loop: speech, or speech and then a pause."""
    speech = [20 + i for i in range(period)]
    half = period // 2
    pauses = {
        "cycle": speech[half:],
        "cycle_mixed": [i % 8 for i in range(period - half)],
        "cycle_dead": [DEAD] * (period - half),
    }
    return speech[:half] + pauses[kind]


def verdict(case: dict[str, Any], detectors: Detectors) -> dict[str, Any]:
    """Return what is said of a case, as the fixture writes it."""
    found = inspect(
        row(case["shape"]),
        n_text=case["text_tokens"],
        floor=case["min_tokens"],
        eos_peak_at=case["eos_peak_at"],
        eos_peak_probability=case["eos_peak_prob"],
        ended=case["ended"],
        terminal=case["is_terminal"],
        hit_ceiling=case["hit_ceiling"],
        silence=SILENCE,
        detectors=detectors,
    )
    return {"keep": found.keep, "reason": found.reason, "suspect": found.suspect}


def censused(section: dict[str, Any]) -> Detectors:
    """Return detectors that know which ids render as silence and as breath."""
    return Detectors(
        silence_render_ids=tuple(section["silence_render_ids"]),
        quiet_render_ids=tuple(section["quiet_render_ids"]),
    )


def test_the_constants_are_the_defaults(fixture: dict[str, Any]) -> None:
    assert Detectors(**fixture["config"]) == Detectors()


def test_ceilings(fixture: dict[str, Any]) -> None:
    guard = fixture["language_guard"]["cases"]
    for case in fixture["ceiling"] + guard:
        assert case["window"] == Algorithm().window.max_speech_tokens
        assert length_ceiling(case["text_tokens"], Algorithm()) == case["expect"], case["name"]
    for case in guard:
        stopped = case["measured_speech_tokens"] >= case["expect"]
        assert stopped == case["expect_stopped_by_ceiling"], case["name"]


def test_filler(fixture: dict[str, Any]) -> None:
    for case in fixture["trailing_filler"]:
        found = token_rules.is_filler(
            row(case["shape"]), case["from"], silence=SILENCE, detectors=Detectors()
        )
        assert found == case["expect"], case["name"]


def test_desperation(fixture: dict[str, Any]) -> None:
    for case in fixture["desperation"]:
        found = token_rules.desperation_cut(
            row(case["shape"]),
            n_text=case["text_tokens"],
            floor=case["min_tokens"],
            eos_peak_at=case["eos_peak_at"],
            terminal=case["peak_allowed"],
            silence=SILENCE,
            detectors=Detectors(),
        )
        assert found == case["expect"], case["name"]


def test_ended_tail(fixture: dict[str, Any]) -> None:
    for case in fixture["ended_tail"]:
        found = token_rules.ended_tail_cut(
            row(case["shape"]),
            terminal=case["is_terminal"],
            silence=SILENCE,
            detectors=Detectors(),
        )
        assert found == case["expect"], case["name"]


def test_terminal_echo(fixture: dict[str, Any]) -> None:
    for case in fixture["terminal_echo"]:
        found = case["is_terminal"] and token_rules.is_echo(
            case["token_count"],
            floor=case["min_tokens"],
            eos_peak_at=case["eos_peak_at"],
            eos_peak_probability=case["eos_peak_prob"],
            hit_ceiling=case["hit_ceiling"],
            detectors=Detectors(),
        )
        assert (case["eos_peak_at"] if found else None) == case["expect"], case["name"]


def test_repetition(fixture: dict[str, Any]) -> None:
    for case in fixture["repetition"]:
        found = token_rules.loop_cut(row(case["shape"]), silence=SILENCE, detectors=Detectors())
        assert (found[0] if found else None) == case["expect"], case["name"]


def test_dropout(fixture: dict[str, Any]) -> None:
    for case in fixture["dropout"]["cases"]:
        found = token_rules.is_dropout(case["tokens"], case["text_tokens"], Detectors())
        assert found == case["expect"], case["name"]


def test_pacing(fixture: dict[str, Any]) -> None:
    for case in fixture["pacing"]["cases"]:
        assert token_rules.pacing_outliers(case["ratios"], Detectors()) == case["expect"]


def test_verdicts(fixture: dict[str, Any]) -> None:
    for case in fixture["resolve"]:
        detectors = Detectors(mode=case.get("mode", "trim"))
        assert verdict(case, detectors) == case["expect"], case["name"]
    for case in fixture["starved_rescue"]["cases"]:
        assert verdict(case, Detectors()) == case["expect"], case["name"]


def test_stalls(fixture: dict[str, Any]) -> None:
    section = fixture["stall"]
    for case in section["cases"]:
        detectors = censused(section) if case["render_ids"] else Detectors()
        stalled = token_rules.is_stalled(
            row(case["shape"]),
            hit_ceiling=case["hit_ceiling"],
            silence=SILENCE,
            detectors=detectors,
        )
        assert stalled == case["stalled"], case["name"]
        assert verdict(case, detectors) == case["expect"], case["name"]


@pytest.mark.parametrize("name", ["repetition_silence", "repetition_resume"])
def test_loops_and_pauses(fixture: dict[str, Any], name: str) -> None:
    section = fixture[name]
    detectors = censused(section) if "silence_render_ids" in section else Detectors()
    for case in section["cases"]:
        loop = token_rules.loop_cut(row(case["shape"]), silence=SILENCE, detectors=detectors)
        assert (loop[0] if loop else None) == case["loop"], case["name"]
        assert verdict(case, detectors) == case["expect"], case["name"]
