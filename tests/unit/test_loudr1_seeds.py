"""Every draw of a passage has a seed of its own, fixed by its place."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loudr_core.jobs import keys
from loudr_core.speech.loudr1 import seeds


def test_published_seeds(test_data: Path) -> None:
    vectors = json.loads((test_data / "specs/loudr1/vectors/seeds.json").read_text())
    for case in vectors["derive"]:
        assert seeds.derive(int(case["seed"]), case["stream"]) == int(case["derived"])
    gaussian = json.loads((test_data / "specs/loudr1/vectors/gaussian.json").read_text())
    for case in gaussian["engine_draws"]:
        assert seeds.flow_seed(int(case["user_seed"])) == int(case["flow_seed"])
        assert seeds.vocoder_seed(int(case["user_seed"])) == int(case["vocoder_seed"])


def test_each_use_has_its_stream() -> None:
    assert seeds.flow_seed(5) == seeds.derive(5, 1)
    assert seeds.vocoder_seed(5) == seeds.derive(5, 2)
    assert [seeds.attempt_seed(5, a) for a in (1, 2)] == [seeds.derive(5, s) for s in (9, 10)]
    assert [seeds.chunk_seed(5, k) for k in (1, 2)] == [seeds.derive(5, s) for s in (17, 18)]
    assert seeds.second_half_seed(5) == seeds.derive(5, 4096)


def test_the_chunks_of_the_published_passage() -> None:
    found = [seeds.chunk_seed(1234, k) for k in range(3)]
    assert found == [0x4D2, 0x5C457E66803D5E83, 0x1B9DC5D39D22443C]


def test_the_first_of_each_keeps_its_seed() -> None:
    assert seeds.chunk_seed(42, 0) == seeds.attempt_seed(42, 0) == 42
    assert seeds.chunk_seed(-1, 0) == seeds.attempt_seed(-1, 0) == 2**64 - 1
    assert seeds.chunk_seed(2**64 + 7, 0) == 7


def test_numpy_seeds_do_not_overflow() -> None:
    low: Any = np.int64(-1)
    top: Any = np.uint64(2**64 - 1)
    assert seeds.derive(low, 3) == seeds.derive(top, 3) == seeds.derive(-1, 3)


def test_places_are_counted_from_zero() -> None:
    with pytest.raises(ValueError, match="chunk -1"):
        seeds.chunk_seed(1, -1)
    with pytest.raises(ValueError, match="attempt -1"):
        seeds.attempt_seed(1, -1)


def test_jobs_and_engines_derive_alike() -> None:
    assert keys.derive is seeds.derive
