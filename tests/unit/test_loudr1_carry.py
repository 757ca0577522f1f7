"""Carried tokens: published cases, whole pairs, and what a caller may hand in."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loudr_core.speech.loudr1.algorithm import Algorithm
from loudr_core.speech.loudr1.carry import carry, check_speech_tokens, strip_specials

SINGLE = Algorithm()
PAIRS = Algorithm(decode_mode="fusion_mtp2")


def test_published_cases(test_data: Path) -> None:
    vectors = json.loads((test_data / "specs/loudr1/vectors/carry.json").read_text())
    for case in vectors["carry"]:
        algorithm = SINGLE if case["decode"] == "single" else PAIRS
        assert carry(algorithm, range(case["n"]), case["wanted"]) == case["result"], case
    for case in vectors["strip"]:
        assert strip_specials(SINGLE, case["in"]) == case["out"]
    for case in vectors["validate"]:
        if case["ok"]:
            assert check_speech_tokens(case["in"]) == [int(token) for token in case["in"]]
        else:
            with pytest.raises(ValueError, match=f"^{case['token']!r} is no speech token"):
                check_speech_tokens(case["in"], case["limit"])


def test_one_at_a_time_the_last_are_carried() -> None:
    assert carry(SINGLE, [4, 5, 6], 2) == [5, 6]
    assert carry(SINGLE, [4, 5, 6], 9) == [4, 5, 6]
    assert carry(SINGLE, [4, 5, 6], 0) == []
    assert carry(SINGLE, [], 6) == []


def test_in_pairs_an_odd_row_loses_its_last() -> None:
    assert carry(PAIRS, [1, 2, 3, 4, 5], 2) == [3, 4]
    assert carry(PAIRS, [1, 2, 3, 4, 5, 6], 3) == [3, 4, 5, 6], "the start moves down to a pair"
    assert carry(PAIRS, [1], 6) == []


def test_carried_tokens_are_plain_integers() -> None:
    found = carry(SINGLE, np.array([1, 2, 3]), 2)  # type: ignore[arg-type]
    assert [type(token) for token in found] == [int, int]


def test_a_negative_carry_is_refused() -> None:
    with pytest.raises(ValueError, match="-1 carried tokens"):
        carry(SINGLE, [1], -1)


@pytest.mark.parametrize(
    "token",
    [
        *(-1, 6561, 1.5, float("nan"), float("inf"), "7", None, [1], np.int64(9000)),
        *(np.array([5]), np.array([5, 6]), list(range(9999))),
    ],
)
def test_what_is_no_token_is_named(token: object) -> None:
    with pytest.raises(
        ValueError, match="no speech token: they are whole numbers from 0"
    ) as caught:
        check_speech_tokens([3, token])
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (np.ones((2, 3), np.int64), r"found an array of shape \(2, 3\)"),
        (np.int64(3), r"found an array of shape \(\)"),
        (np.array(3), r"found an array of shape \(\)"),
        (7, "found a int"),
    ],
)
def test_what_is_no_row_is_refused(tokens: Any, said: str) -> None:
    with pytest.raises(ValueError, match=f"^speech tokens are one row of whole numbers, {said}$"):
        check_speech_tokens(tokens)


def test_numbers_that_equal_integers_are_tokens() -> None:
    assert check_speech_tokens([True, 2.0, np.int16(3), np.float32(4)]) == [1, 2, 3, 4]
    assert check_speech_tokens(np.array([5, 6])) == [5, 6]
    assert check_speech_tokens([np.array(5)]) == [5]
    assert check_speech_tokens([8000], 8194) == [8000]
