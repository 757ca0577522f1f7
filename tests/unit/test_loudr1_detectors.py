"""Verdicts against the published vectors, and how they are told."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from loudr_core.speech.loudr1.algorithm import Detectors
from loudr_core.speech.loudr1.detectors import CODES, Verdict, dead_air, finding_for, inspect
from loudr_core.speech.loudr1.token_rules import is_filler, pacing_outliers

SPEECH = [100 + (i * 7) % 900 for i in range(300)]
SILENCE = frozenset({1, 2})
GOOD: dict[str, Any] = {
    "n_text": 30,
    "floor": 36,
    "eos_peak_at": -1,
    "eos_peak_probability": 0.0,
    "ended": True,
    "terminal": True,
    "hit_ceiling": False,
    "silence": SILENCE,
    "detectors": Detectors(),
}


@pytest.fixture(scope="module")
def vectors(test_data: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(
        (test_data / "specs/loudr1/vectors/postprocess.json").read_text("utf-8")
    )
    return data


def segment(kind: str, n: int, *, production: bool) -> list[int]:
    """Return a stretch of a row by the rule of the vectors."""
    if not production:
        rules = {
            "speech": lambda i: 20 + i % 60,
            "sil": lambda i: i % 4,
            "breath": lambda i: 4 + i % 4,
            "listed": lambda i: i % 8,
        }
    else:
        rules = {
            "speech": lambda i: 100 + (i * 7) % 900,
            "sil": lambda i: (6405, 6486, 4218)[i % 3],
            "breath": lambda i: (5838, 6081)[i % 2],
            "listed": lambda i: (4254, 4008)[i % 2],
        }
    return [rules[kind](i) for i in range(n)]


def row_of(vectors: dict[str, Any], name: str, *, production: bool) -> list[int]:
    """Return a named row of the vectors."""
    if name in vectors["loops"]:
        return list(vectors["loops"][name])
    parts = (segment(kind, n, production=production) for kind, n in vectors["shapes"][name])
    return list(itertools.chain.from_iterable(parts))


def test_published_verdicts(vectors: dict[str, Any]) -> None:
    configs = {
        name: (
            frozenset(config["silence"]),
            Detectors(
                silence_render_ids=tuple(config["silence_render_ids"]),
                quiet_render_ids=tuple(config["quiet_render_ids"]),
            ),
        )
        for name, config in vectors["configs"].items()
    }
    reasons = set()
    for case in vectors["cases"] + vectors["random"]:
        silence, detectors = configs[case["config"]]
        row = case["tokens"]
        if row is None:
            row = row_of(vectors, case["row"], production=case["config"] == "production")
        found = inspect(
            row,
            n_text=case["text_token_count"],
            floor=case["min_tokens"],
            eos_peak_at=case["eos_peak_at"],
            eos_peak_probability=case["eos_peak_prob"],
            ended=case["ended"],
            terminal=case["is_terminal"],
            hit_ceiling=case["hit_ceiling"],
            silence=silence,
            detectors=detectors,
        )
        assert found == Verdict(case["keep"], case["reason"], case["suspect"])
        reasons.add((found.reason, found.suspect))
    assert len(reasons) >= 9


def test_published_fillers_and_paces(vectors: dict[str, Any]) -> None:
    silence = frozenset(vectors["configs"]["toy_no_census"]["silence"])
    for case in vectors["trailing_filler"]:
        row = row_of(vectors, case["row"], production=False)
        assert len(row) == case["n_tokens"]
        found = is_filler(row, case["index"], silence=silence, detectors=Detectors())
        assert found == case["filler"]
    for case in vectors["pacing"]:
        assert pacing_outliers(case["ratios"], Detectors()) == case["flagged"]


def judge(row: list[int], **changes: Any) -> Verdict:
    return inspect(row, **{**GOOD, **changes})


def test_a_good_row_is_kept_whole_and_nothing_is_said() -> None:
    verdict = judge(SPEECH[:60])
    assert verdict == Verdict(60, "clean", False)
    assert not verdict.condemned
    assert finding_for(verdict, n_tokens=60, n_text=30) is None


SITUATIONS: list[tuple[str, str, list[int], dict[str, Any]]] = [
    ("speech-dropout", "error", SPEECH[:9], {}),
    ("speech-repetition", "error", [*SPEECH[:30], *[7] * 40, *SPEECH[30:60]], {}),
    ("speech-repetition", "info", [*SPEECH[:30], *[7] * 40], {}),
    ("speech-stall", "error", [*SPEECH[:30], *[1, 2] * 15, *SPEECH[30:60]], {}),
    (
        "speech-silence-tail",
        "info",
        [*SPEECH[:60], *[1, 2] * 9, *SPEECH[60:63]],
        {"eos_peak_at": 60, "eos_peak_probability": 0.2, "ended": False},
    ),
    (
        "speech-terminal-echo",
        "info",
        SPEECH[:80],
        {"eos_peak_at": 70, "eos_peak_probability": 0.2},
    ),
    (
        "speech-desperation",
        "info",
        [*SPEECH[:52], *[1, 2] * 7, *SPEECH[52:82]],
        {"n_text": 18, "floor": 21},
    ),
    (
        "speech-starved",
        "error",
        [*SPEECH[:36], *[1, 2] * 7, *SPEECH[36:118]],
        {"n_text": 23, "floor": 27, "ended": False, "hit_ceiling": True},
    ),
    ("speech-overlong", "error", SPEECH[:100], {"n_text": 12, "floor": 14, "terminal": False}),
    ("speech-ended-tail", "info", [*SPEECH[:60], *[1, 2] * 8], {}),
]


@pytest.mark.parametrize(("code", "severity", "row", "changes"), SITUATIONS)
def test_each_rule_has_its_finding(
    code: str, severity: str, row: list[int], changes: dict[str, Any]
) -> None:
    verdict = judge(row, **changes)
    n_text = changes.get("n_text", 30)
    finding = finding_for(verdict, n_tokens=len(row), n_text=n_text, where={"window": 3})
    assert finding is not None
    assert (finding.code, finding.severity) == (code, severity)
    assert finding.message.endswith(".")
    assert "\n" not in finding.message
    assert finding.where == {"window": 3, "tokens": len(row), "kept": verdict.keep}
    assert verdict.condemned == (severity == "error")
    if severity == "info":
        assert f"{len(row) - verdict.keep} of {len(row)} tokens cut" in finding.message


def test_each_code_has_a_situation() -> None:
    assert {code for code, *_ in SITUATIONS} == set(CODES)


def test_a_report_says_what_would_be_cut_and_that_it_was_not() -> None:
    row = [*SPEECH[:30], *[7] * 40]
    verdict = judge(row, detectors=Detectors(mode="report"))
    assert verdict.keep < len(row)
    finding = finding_for(verdict, n_tokens=len(row), n_text=30, trimmed=False)
    assert finding is not None
    assert "would be cut" in finding.message
    assert finding.where["kept"] == len(row)


def test_detectors_that_are_off_keep_everything() -> None:
    assert judge([7] * 200, detectors=Detectors(mode="off")) == Verdict(200, "clean", False)
    assert judge([]) == Verdict(0, "clean", False)


def test_a_loop_may_be_cut_although_the_row_goes_on() -> None:
    row = [*SPEECH[:30], *[7] * 40, *SPEECH[30:60]]
    cut = judge(row, detectors=Detectors(repetition_resume="cut"))
    assert cut == Verdict(31, "repetition", False)


def test_dead_air_is_what_renders_as_silence_or_else_the_samplers_silence() -> None:
    row = [1, 2, 9, 9, 9]
    assert dead_air(row, silence=SILENCE, detectors=Detectors()) == 2
    assert dead_air(row, silence=SILENCE, detectors=Detectors(silence_render_ids=(9,))) == 3
