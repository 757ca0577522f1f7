"""The tokenizer of a bundle: what it is given, and what is refused of a file."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loudr_core.errors import BundleError, SynthesisError
from loudr_core.speech.loudr1.text_tokens import LANGUAGES, TextTokenizer

MARKS = ["[STOP]", "[UNK]", "[SPACE]", "[START]", "[en]", "[pl]"]
LETTERS = [*"abcdehlowxß.!", "\u0301", "he", "ll"]


def document(**changes: Any) -> dict[str, Any]:
    """Return a small tokenizer in the form of the released one."""
    vocabulary = {token: number for number, token in enumerate(MARKS + LETTERS)}
    added = [
        {
            "id": vocabulary[mark],
            "content": mark,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for mark in MARKS
    ]
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": "[UNK]",
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "vocab": vocabulary,
        "merges": ["h e", "l l"],
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": model,
        **changes,
    }


def tokenizer(**changes: Any) -> TextTokenizer:
    return TextTokenizer(json.dumps(document(**changes)).encode())


def spelled(text: str, language: str = "en") -> list[str]:
    """Return the tokens of a text as strings."""
    names = MARKS + LETTERS
    return [names[each] for each in tokenizer().encode(text, language)]


def test_the_tag_comes_first_and_spaces_are_spelled_out() -> None:
    expected = ["[en]", "he", "ll", "o", "[SPACE]", "[SPACE]", "w", "."]
    assert spelled("Hello  W.") == expected
    assert spelled("", "PL") == ["[pl]"]
    assert tokenizer().encode("a", "en").dtype == np.int64


def test_accents_stand_alone_and_brackets_are_spaces() -> None:
    assert spelled("é[b]") == ["[en]", "e", "\u0301", "[SPACE]", "b", "[SPACE]"]


def test_a_text_cannot_smuggle_marks_in() -> None:
    assert "[STOP]" not in spelled("a [STOP] b")
    assert "[pl]" not in spelled("[pl]")


def test_what_has_no_token_is_told() -> None:
    found = tokenizer().unread("Hello, żółw 😀 q", "en")
    assert found == (",", "q", "z", "ł", "\u0307", "😀")
    assert tokenizer().unread("hello", "en") == ()


def test_the_languages_are_those_of_the_vectors(test_data: Path) -> None:
    vectors = json.loads((test_data / "specs/loudr1/vectors/text.json").read_text("utf-8"))
    assert list(LANGUAGES) == vectors["languages"]


@pytest.mark.parametrize("language", ["xx", "", "en-US", " en"])
def test_an_unknown_language_is_refused(language: str) -> None:
    with pytest.raises(SynthesisError, match="it speaks da, de, en") as caught:
        tokenizer().encode("a", language)
    assert "\n" not in caught.value.message


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(SynthesisError, match="half a surrogate pair"):
        tokenizer().encode("a\ud800", "en")


def test_a_language_of_the_roster_without_a_tag_is_the_bundles_fault() -> None:
    with pytest.raises(BundleError, match="no tag for language 'de'"):
        tokenizer().encode("a", "de")


@pytest.mark.parametrize("token", ["[START]", "[STOP]", "[SPACE]"])
def test_a_file_without_a_needed_token_is_refused(token: str) -> None:
    text = json.dumps(document()).replace(token, "[OTHER]")
    with pytest.raises(BundleError, match="the tokenizer has no token") as caught:
        TextTokenizer(text.encode())
    assert caught.value.context["expected"] == token


@pytest.mark.parametrize("broken", [b"", b"{}", b"\xff\xfe", b"[1, 2]", b'{"model": null}'])
def test_a_file_that_is_none_is_refused_in_one_line(broken: bytes) -> None:
    with pytest.raises(BundleError, match=r"tokenizer\.json cannot be read") as caught:
        TextTokenizer(broken)
    assert "\n" not in caught.value.message


def test_a_file_that_cuts_or_pads_is_refused() -> None:
    cut = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    pad = {
        "strategy": {"Fixed": 10**12},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "[STOP]",
    }
    for changes in ({"truncation": cut}, {"padding": pad}):
        with pytest.raises(BundleError, match="cuts or pads"):
            tokenizer(**changes)


def test_ids_without_an_embedding_are_refused() -> None:
    data = json.dumps(document()).encode()
    n = len(MARKS + LETTERS)
    assert TextTokenizer(data, n_embeddings=n).encode("a", "en").tolist() == [4, 6]
    with pytest.raises(BundleError, match=f"ids up to {n - 1}, the model has {n - 1}"):
        TextTokenizer(data, n_embeddings=n - 1)


def mutated(source: random.Random) -> bytes:
    """Return the file with up to three values gone or replaced, or cut off."""
    data: Any = document()
    for _ in range(source.randrange(1, 4)):
        place: Any = data
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = source.choice(keys)
            if isinstance(place[key], dict | list) and source.random() < 0.7:
                place = place[key]
                continue
            if source.random() < 0.3:
                del place[key]
            else:
                place[key] = source.choice(
                    [None, 0, -1, 2**40, 1.5, "", "x", [], {}, True, "[en]", "BPE", "Unigram"]
                )
            break
    text = json.dumps(data).encode()
    return text[: source.randrange(len(text))] if source.random() < 0.1 else text


def test_any_broken_file_is_refused_or_works(capfd: pytest.CaptureFixture[str]) -> None:
    """Among these are files at which the library's Rust side panics."""
    source = random.Random(3)
    refused = 0
    for _ in range(1500):
        try:
            given = TextTokenizer(mutated(source))
            given.encode("Hello [é] 😀", "en")
            given.unread("Hello [é] 😀", "en")
        except (BundleError, SynthesisError) as error:
            refused += 1
            assert "\n" not in error.message
    assert 300 < refused < 1500
    capfd.readouterr()  # a panic prints its place
