"""Chunks and halves against the published vectors, and what holds at the edges."""

import json
from pathlib import Path
from typing import Any

import pytest

from loudr_core.speech.loudr1.algorithm import Chunking
from loudr_core.speech.loudr1.chunking import (
    character_budget,
    estimate_tokens,
    split_in_half,
    split_text,
)


@pytest.fixture(scope="module")
def vectors(test_data: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(
        (test_data / "specs/loudr1/vectors/chunking.json").read_text("utf-8")
    )
    return data


def chunking_of(config: dict[str, Any]) -> Chunking:
    lists = {name: tuple(config[name]) for name in ("split_on", "abbreviations")}
    return Chunking(**{**config, **lists})


def test_published_chunks(vectors: dict[str, Any]) -> None:
    configs = {name: chunking_of(config) for name, config in vectors["configs"].items()}
    for case in vectors["split"]:
        assert estimate_tokens(case["text"]) == case["estimate"]
        for name, chunking in configs.items():
            assert split_text(case["text"], chunking) == case[name], name
    for case in vectors["random_default"]:
        assert split_text(case["text"], configs["default"]) == case["chunks"]


def test_published_halves(vectors: dict[str, Any]) -> None:
    for case in vectors["halves"]:
        found = split_in_half(case["text"])
        assert (list(found) if found else None) == case["halves"]


def test_a_text_of_one_window_stays_whole() -> None:
    text = "One. Two. " + "x" * 117
    assert len(text) == character_budget(255) == 127
    assert split_text(f"  {text}\n", Chunking()) == [text]
    assert len(split_text(text + "y", Chunking())) > 1


def test_the_strongest_mark_wins_over_a_later_weaker_one() -> None:
    text = "He came; he saw, " + "and so it went on " * 5 + "to the end. Then, " + "x" * 60
    assert split_text(text, Chunking())[0].endswith("to the end.")


@pytest.mark.parametrize("inside", ["Dr. Lund", "prof. Lund", "the end. then", "Vitamin A. Zinc"])
def test_a_full_stop_that_ends_no_sentence_is_passed_over(inside: str) -> None:
    text = f"It was so! And {inside} " + "word " * 30
    assert split_text(text, Chunking())[0] == "It was so!"
    loose = Chunking(mid_sentence_period="break")
    assert split_text(text, loose)[0] == f"It was so! And {inside.partition('.')[0]}."


def test_a_text_without_boundaries_is_cut_at_the_budget() -> None:
    assert list(map(len, split_text("x" * 300, Chunking()))) == [127, 127, 46]


def test_a_first_chunk_of_one_token_takes_one_character() -> None:
    assert split_text("abc def", Chunking(first_chunk_max_tokens=1)) == ["a", "bc def"]


def test_white_space_alone_is_no_chunk() -> None:
    assert split_text(" \n\u2007\u00a0", Chunking()) == []
    assert split_in_half(" \n ") is None


def test_a_long_text_is_cut_in_linear_time() -> None:
    chunks = split_text("word, " * 20_000, Chunking())
    assert sum(map(len, chunks)) > 100_000


def test_a_chunk_that_holds_no_character_is_a_callers_mistake() -> None:
    with pytest.raises(ValueError, match="a chunk of 1 speech tokens holds no character"):
        split_text("abc", Chunking(max_tokens=1))


@pytest.mark.parametrize(
    ("text", "halves"),
    [
        ("one two three four", ("one two", "three four")),
        ("a b", ("a", "b")),
        ("abc d ef", ("abc", "d ef")),
        ("one\u202ftwo", ("one", "two")),
        ("one\u2009two", None),
        ("word", None),
        (" x", None),
        ("", None),
    ],
)
def test_halves(text: str, halves: tuple[str, str] | None) -> None:
    assert split_in_half(text) == halves
