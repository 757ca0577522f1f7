"""Tokens and end-of-speech peaks, exact against the reference sampler.

A case is a run of 20 draws. Logits are random, with ties, plateaus, infinities and NaN, far beyond
what a network gives; `seen` grows as in a decode loop.
"""

import math
from random import Random
from typing import Any

import numpy as np
import pytest
from distinct_cases import distinct_cases

from loudr_core.speech.loudr1.algorithm import Sampling
from loudr_core.speech.loudr1.sampler import Sampler

pytest.importorskip("loudkit", reason="the reference engine is not installed")

from loudkit.config import SamplingConfig
from loudkit.sampler import LRSamplerV1

STEPS = 20
SILENCE = (
    1731, 1821, 1822, 1824, 1975, 2058, 2068, 3190, 3377, 3918, 3927, 3928, 3930, 4008, 4009, 4011,
    4012, 4137, 4146, 4161, 4171, 4173, 4174, 4218, 4245, 4251, 4252, 4254, 4255, 4260, 4282,
)  # fmt: skip

KINDS = (
    "normal", "wide", "ties", "flat", "masked", "all -inf", "nan", "inf", "huge", "tiny",
)  # fmt: skip


def sampling_of(draws: Random) -> dict[str, Any]:
    """Return how tokens are drawn: half of the numbers are the published ones."""
    return {
        "temperature": draws.choice([0.8, draws.uniform(0.01, 4.0)]),
        "repetition_penalty": draws.choice([1.0, 1.2, draws.uniform(1.0, 5.0)]),
        "min_p": draws.choice([0.0, 0.05, draws.uniform(0.0, 0.99)]),
    }


def seed_of(draws: Random) -> int:
    return draws.getrandbits(draws.randint(1, 70)) * draws.choice([1, -1])


def logits_of(kind: str, rng: np.random.Generator, width: int) -> np.ndarray:
    """Return one row of logits, float32."""
    row = rng.standard_normal(width) * 3
    match kind:
        case "wide":
            row *= 10
        case "ties":
            row = np.round(row)
        case "flat":
            row[:] = row[0]
        case "masked":
            row[rng.random(width) < 0.5] = -math.inf
        case "all -inf":
            row[:] = -math.inf
        case "nan":
            row[rng.integers(0, width, 2)] = math.nan
            row[rng.random(width) < 0.3] = -math.inf
        case "inf":
            row[rng.integers(0, width, 2)] = math.inf
        case "huge":
            row *= 1e38
        case "tiny":
            row *= 1e-42
    with np.errstate(over="ignore"):
        return row.astype(np.float32)


def compare(
    options: dict[str, Any], *, seed: int, stop: int, floor: int, rows: list[np.ndarray],
    first_step: int, seen: np.ndarray, block: int,
) -> None:  # fmt: skip
    """Draw a run with both samplers; tokens and peaks must be equal at every step."""
    ours = Sampler(Sampling(**options), seed=seed, stop_token=stop, eos_floor=floor)
    theirs = LRSamplerV1(
        SamplingConfig(**options), seed=seed, block=block, stop_token=stop, eos_floor=floor
    )
    for step, row in enumerate(rows, first_step):
        token = ours.draw(row, step=step, seen=seen)
        with np.errstate(all="ignore"):
            wanted = theirs(row, step=step, seen=seen)
        assert type(token) is int
        assert token == wanted, f"step {step}"
        assert ours.eos_peak == theirs.eos_peak, f"step {step}"
        seen[token] = True


@distinct_cases(300, per_example=4)
def test_runs_of_small_vocabularies(draws: Random) -> tuple[Any, ...]:
    """6,000 draws."""
    rng = np.random.default_rng(draws.getrandbits(64))
    seed, width, kind = seed_of(draws), draws.randint(1, 70), draws.choice(KINDS)
    floor, first_step = draws.randint(-1, 12), draws.choice([0, 0, 0, 250, 2**32 - 10])
    silence = rng.permutation(width)[: rng.integers(0, min(width, 4) + 1)]
    options = {
        **sampling_of(draws),
        "silence_token_ids": tuple(int(token) for token in silence),
    }
    stop = int(rng.integers(0, width))
    rows = []
    for step in range(STEPS):
        # Runs mix, so that a peak of one kind of row meets another.
        row = logits_of(kind if rng.random() < 0.8 else "normal", rng, width)
        if step < floor:
            row[stop] = -math.inf
        rows.append(row)
    compare(
        options,
        seed=seed,
        stop=stop,
        floor=floor,
        rows=rows,
        first_step=first_step,
        seen=rng.random(width) < rng.choice([0.0, 0.2, 1.0]),
        block=8,
    )
    return ("run", options, seed, stop, floor, first_step, np.array(rows))


@distinct_cases(20, per_example=2)
def test_runs_of_the_whole_vocabulary(draws: Random) -> tuple[Any, ...]:
    """400 draws."""
    rng = np.random.default_rng(draws.getrandbits(64))
    kind = draws.choice(["normal", "wide", "ties", "masked", "flat"])
    seed, min_p = seed_of(draws), draws.choice([0.05, 0.05, 0.0])
    rows = [logits_of(kind, rng, 8194) for _ in range(STEPS)]
    for row in rows:
        row[6562] = np.float32(rng.normal(4, 3))
    compare(
        {"min_p": min_p, "silence_token_ids": SILENCE},
        seed=seed,
        stop=6562,
        floor=5,
        rows=rows,
        first_step=0,
        seen=rng.random(8194) < 0.01,
        block=STEPS,
    )
    return ("run", seed, min_p, np.array(rows))
