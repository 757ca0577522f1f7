import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from koko import CHARACTERS, LAYOUTS, tokenizer_document

from loudr_core.errors import BundleError
from loudr_core.speech.koko.vocabulary import read_vocabulary, vocabulary_from

LETTERS = {symbol: place for place, symbol in enumerate(" abcdefghijklmnopqrstuvwxyz", start=5)}


def written(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document, ensure_ascii=False), "utf-8")
    return path


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_ids(layout: str, tmp_path: Path) -> None:
    found = read_vocabulary(written(tmp_path / "tokenizer.json", tokenizer_document(layout)))
    assert found.ids == {symbol: place for place, symbol in enumerate(CHARACTERS, start=2)}
    assert (found.unknown_id, found.largest_id) == (1, len(CHARACTERS) + 1)


def test_one_id_a_character_and_nothing_between() -> None:
    vocabulary = vocabulary_from(tokenizer_document(), path=Path("tokenizer.json"))
    found = vocabulary.encode("Ab, ☃b")
    wanted = [2 + CHARACTERS.index(each) if each in CHARACTERS else 1 for each in "Ab, ☃b"]
    assert found.dtype == np.int64
    assert found.tolist() == wanted
    assert "A" in vocabulary
    assert "☃" not in vocabulary
    assert "<unk>" not in vocabulary


def test_trap_a_normaliser_in_the_file_is_left_alone() -> None:
    document = tokenizer_document()
    assert document["normalizer"] == {"type": "Lowercase"}
    vocabulary = vocabulary_from(document, path=Path("t"))
    assert vocabulary.encode("A") != vocabulary.encode("a")


@pytest.mark.parametrize(
    ("document", "unknown"),
    [
        ({"model": {"vocab": {**LETTERS, "[UNK]": 40, "<unk>": 41}, "unk_token": "[UNK]"}}, 40),
        ({"model": {"vocab": {**LETTERS, "<unk>": 41}, "unk_token": "[GONE]"}}, 41),
        ({"model": {"vocab": {**LETTERS, "<unk>": 41}, "unk_token": None}}, 41),
        ({"vocab": {**LETTERS, "<unk>": 3}}, 3),
        ({"vocab": LETTERS}, 1),
        ({**LETTERS, "added_tokens": [{"content": "<unk>", "id": 77, "special": True}]}, 77),
        (LETTERS, 1),
    ],
)
def test_the_unknown_id_is_found_in_order(document: dict[str, Any], unknown: int) -> None:
    assert vocabulary_from(document, path=Path("t")).unknown_id == unknown


def test_added_tokens_join_the_table_and_words_do_not_count() -> None:
    added = [{"content": "É", "id": 90}, {"content": "the", "id": 91}]
    found = vocabulary_from(
        {"vocab": {**LETTERS, "ing": 50}, "added_tokens": added}, path=Path("t")
    )
    assert found.ids == {**LETTERS, "É": 90}
    assert found.largest_id == 90


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, "in none of the layouts .* top keys are none"),
        ({"version": "1.0"}, "in none of the layouts .* top keys are 'version'"),
        ({"model": {"vocab": 7}}, "in none of the layouts"),
        ({**LETTERS, "a": True}, "in none of the layouts"),
        ({**LETTERS, "a": 1.5}, "in none of the layouts"),
        ({"vocab": {**LETTERS, "a": "1"}}, r"vocab\['a'\].* must be a whole number, found '1'"),
        ({"vocab": {**LETTERS, "a": -1}}, "gives 'a' the id -1, below 0"),
        ({"vocab": {"the": 1, " ": 2}}, "has no entry for 'a' 'b' 'c' 'd' 'e': a Koko tokenizer"),
        ({"vocab": {**LETTERS, " ": 2} | {"q": 3}, "added_tokens": {}}, "must be a list"),
        ({"vocab": LETTERS, "added_tokens": [{"content": "x"}]}, r"added_tokens\[0\]"),
        ({"vocab": LETTERS, "added_tokens": [{"content": "x", "id": True}]}, "content and id"),
        ({"model": {"vocab": [["a", 0.0], 7]}}, r"model.vocab\[1\]' must be \[symbol, score\]"),
        ({"vocab": {k: v for k, v in LETTERS.items() if k != " "}}, "has no entry for ' '"),
    ],
)
def test_what_is_no_tokenizer_is_refused(document: dict[str, Any], said: str) -> None:
    with pytest.raises(BundleError, match=said) as caught:
        vocabulary_from(document, path=Path("some/tokenizer.json"))
    assert caught.value.message.startswith("some/tokenizer.json: ")
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "is not JSON"),
        (b"[1]", "must be a JSON object, found a list of 1"),
        (b'{"vocab": {"\xff": 1}}', "is not JSON"),
        (b"[" * 100_000, "nested too deep|is not JSON"),
    ],
)
def test_a_damaged_file_is_one_line(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(BundleError, match=said):
        read_vocabulary(path)
    path.unlink()
    with pytest.raises(BundleError, match=r"cannot be read .*fetch the bundle again"):
        read_vocabulary(path)
