"""The sampler against published decisions, and where there is little to choose from."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loudr_core.speech.loudr1.algorithm import Sampling
from loudr_core.speech.loudr1.philox import uniforms
from loudr_core.speech.loudr1.sampler import Sampler

STOP = 6562


@pytest.fixture(scope="module")
def vectors(test_data: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (test_data / "specs/loudr1/vectors/sampler.json").read_text()
    )
    return found


def sampler(seed: int = 7, *, stop: int = 0, floor: int = 0, **sampling: Any) -> Sampler:
    return Sampler(Sampling(**sampling), seed=seed, stop_token=stop, eos_floor=floor)


def nothing_seen(size: int) -> np.ndarray:
    return np.zeros(size, bool)


def test_published_decisions(vectors: dict[str, Any]) -> None:
    for case in vectors["decisions"]:
        options = dict(case["config"])
        options["silence_token_ids"] = tuple(options["silence_token_ids"])
        draws = sampler(int(case["seed"]), **options)
        logits = np.array(case["logits_f32"], np.float32)
        seen = nothing_seen(len(logits))
        seen[case["seen_start"]] = True
        for step, wanted in enumerate(case["tokens"]):
            assert draws.draw(logits, step=step, seen=seen) == wanted, case["name"]
            seen[wanted] = True


def test_published_edge_cases(vectors: dict[str, Any]) -> None:
    for case in vectors["edge_cases"]:
        draws = sampler(
            case["seed"],
            temperature=case["temperature"],
            min_p=case["min_p"],
            silence_token_ids=tuple(case["silence"]),
        )
        logits = np.array([float(value) for value in case["logits"]], np.float32)
        seen = nothing_seen(len(logits))
        seen[case["seen"]] = True
        assert draws.draw(logits, step=case["step"], seen=seen) == case["token"], case["name"]


def test_published_runs_over_the_whole_vocabulary(vectors: dict[str, Any]) -> None:
    silence = tuple(vectors["production_silence_token_ids"])
    for case in vectors["full_vocab"]:
        draws = sampler(
            int(case["seed"]),
            stop=STOP,
            floor=case["eos_floor"],
            silence_token_ids=silence if case["silence"] == "production list" else (),
        )
        seen = nothing_seen(8194)
        for step, wanted in enumerate(case["tokens"]):
            logits = (uniforms(777, 9, step, 1, 8194)[0] * 20.0 - 10.0).astype(np.float32)
            if "6562" in case["logits_recipe"]:
                logits[STOP] = np.float32(0.45 * step - 4)
            if step < case["stop_masked_while_step_lt"]:
                logits[STOP] = -math.inf
            assert draws.draw(logits, step=step, seen=seen) == wanted, case["name"]
            seen[wanted] = True
        at, probability = draws.eos_peak
        assert at == case["eos_peak_at"]
        assert probability == pytest.approx(case["eos_peak_prob"], rel=1e-9)


def test_draws_follow_the_softmax_of_what_is_kept() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.2, 0.001], np.float32))
    draws = sampler(temperature=1.0, repetition_penalty=1.0, min_p=0.05)
    seen = nothing_seen(4)
    counts = np.bincount(
        [draws.draw(logits, step=step, seen=seen) for step in range(4000)], minlength=4
    )
    np.testing.assert_allclose(counts[:3] / 4000, [0.5, 0.3, 0.2], atol=0.03)
    assert counts[3] == 0, "below the gate"


def test_the_gate_never_shuts_on_silence() -> None:
    logits = np.array([5.0, -20.0, -20.0], np.float32)
    seen = nothing_seen(3)
    draws = sampler(temperature=4.0, silence_token_ids=(2,), min_p=0.5)
    drawn = {draws.draw(logits, step=step, seen=seen) for step in range(3000)}
    assert drawn == {0, 2}


def test_seen_tokens_are_penalised_silence_too() -> None:
    logits = np.array([2.0, 2.2, -1.0], np.float32)
    cold = sampler(temperature=0.01, silence_token_ids=(1,))
    assert cold.draw(logits, step=0, seen=nothing_seen(3)) == 1
    assert cold.draw(logits, step=0, seen=np.array([False, True, False])) == 0


def test_the_peak_begins_above_the_floor_and_is_the_highest() -> None:
    draws = sampler(stop=1, floor=2, temperature=1.0, min_p=0.0)
    seen = nothing_seen(2)
    for step, stop_logit in enumerate([9.0, 9.0, 9.0, 0.0, 1.0, 0.5]):
        draws.draw(np.array([0.0, stop_logit], np.float32), step=step, seen=seen)
        assert draws.eos_peak[0] == [-1, -1, -1, 3, 4, 4][step]
    assert draws.eos_peak[1] == pytest.approx(math.e / (1 + math.e), rel=1e-12)


def test_the_peak_is_not_kept_unless_asked_for() -> None:
    logits = np.array([0.0, 1.0, 2.0], np.float32)
    options: dict[str, Any] = {"seed": 3, "stop_token": 1, "eos_floor": 0}
    blind = Sampler(Sampling(), observe=False, **options)
    sighted = Sampler(Sampling(), **options)
    for step in range(50):
        tokens = {s.draw(logits, step=step, seen=nothing_seen(3)) for s in (blind, sighted)}
        assert len(tokens) == 1
    assert blind.eos_peak == (-1, 0.0)
    assert sighted.eos_peak[1] > 0


def test_logits_and_seen_are_left_as_they_were() -> None:
    logits = np.array([0.0, 1.0, -2.0], np.float32)
    seen = np.array([True, False, True])
    sampler().draw(logits, step=0, seen=seen)
    np.testing.assert_array_equal(logits, np.array([0.0, 1.0, -2.0], np.float32))
    np.testing.assert_array_equal(seen, [True, False, True])


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="temperature"):
        sampler(temperature=0.0)
    with pytest.raises(ValueError, match="token -4"):
        sampler(silence_token_ids=(-4, 2))
    with pytest.raises(ValueError, match="token 3 is beyond the 3 logits"):
        sampler(stop=3).draw(np.zeros(3, np.float32), step=0, seen=nothing_seen(3))
    with pytest.raises(ValueError, match="shape"):
        sampler().draw(np.zeros(3, np.float32), step=0, seen=nothing_seen(4))
    with pytest.raises(ValueError, match="shape"):
        sampler().draw(np.zeros((1, 3), np.float32), step=0, seen=np.zeros((1, 3), bool))
