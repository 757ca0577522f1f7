"""Phonemes to ids: the row's form, what is left out and counted, and when that is too much."""

import json
from pathlib import Path

import numpy as np
import pytest

from loudr_core.errors import SynthesisError
from loudr_core.speech.sanotts.phonemes import PhonemeConfig, encode, given_ids, read_phoneme_config

IDS = {"_": 0, "^": 1, "$": 2, " ": 3, ".": 4, "a": 5, "b": 6, "c": 7, "\u0327": 8, '"': 150}
CONFIG = PhonemeConfig(kind="espeak", espeak_voice="de", ids=IDS)


def _row(phonemes: str, config: PhonemeConfig = CONFIG, vocabulary: int = 20) -> list[int]:
    return [int(each) for each in encode(phonemes, config, vocabulary=vocabulary).ids]


def test_a_row_is_start_pad_phonemes_each_with_a_pad_and_end() -> None:
    assert _row("ab.") == [1, 0, 5, 0, 6, 0, 4, 0, 2]
    assert encode("a", CONFIG, vocabulary=20).ids.dtype == np.int64


def test_trap_letters_are_decomposed_before_they_are_looked_up() -> None:
    assert _row("ç") == _row("c\u0327") == [1, 0, 7, 0, 8, 0, 2]


def test_trap_a_composed_letter_of_the_map_is_never_met(tmp_path: Path) -> None:
    made = {"espeak": {"voice": "de"}, "phoneme_id_map": {k: [v] for k, v in IDS.items()}}
    made["phoneme_id_map"] |= {"ç": [9], "aç": [10]}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(made), "utf-8")
    config = read_phoneme_config(path)
    assert _row("çaç", config) == [1, 0, 7, 0, 8, 0, 10, 0, 2]


def test_trap_an_id_that_was_never_taught_goes_with_its_pad_and_is_counted() -> None:
    row = encode('"ab"', CONFIG, vocabulary=20)
    assert row.ids.tolist() == [1, 0, 5, 0, 6, 0, 2]
    assert row.untaught == ('"', '"')
    assert row.unmapped == ()
    assert 150 in _row('"ab"', vocabulary=151)


def test_unmapped_symbols_are_left_out_and_counted() -> None:
    row = encode("ababababab“ababababab”x", CONFIG, vocabulary=20)
    assert row.unmapped == ("“", "”", "x")
    assert len(row.ids) == 3 + 2 * 20


def test_trap_more_than_a_tenth_without_an_id_is_a_mismatch() -> None:
    encode("abababababababababx", CONFIG, vocabulary=20)
    with pytest.raises(SynthesisError, match=r"voice and phonemiser do not match: .* 1 of 6"):
        encode("ababax", CONFIG, vocabulary=20)
    with pytest.raises(SynthesisError, match="do not match"):
        encode("abcabc", CONFIG, vocabulary=7)


def test_punctuation_does_not_count_as_a_mismatch() -> None:
    assert _row("a“”!?") == [1, 0, 5, 0, 2]


@pytest.mark.parametrize("phonemes", ["", " ", ".", "...", "xyz", '"'])
def test_a_row_without_a_sound_is_refused(phonemes: str) -> None:
    with pytest.raises(SynthesisError, match="no sound of it"):
        encode(phonemes, CONFIG, vocabulary=20)


def test_trap_the_longest_phoneme_is_taken() -> None:
    config = PhonemeConfig(
        kind="espeak", espeak_voice="en-us", ids={**IDS, "ab": 9, "abc": 10, "cc": 11}
    )
    assert _row("abcab.ac", config) == [1, 0, 10, 0, 9, 0, 4, 0, 5, 0, 7, 0, 2]
    assert _row("cccab", config) == [1, 0, 11, 0, 7, 0, 9, 0, 2]


def test_ids_that_are_given_are_taken_as_they_are() -> None:
    row = given_ids(" 1 0 5, 0,6 0 2", vocabulary=20)
    assert row.ids.tolist() == [1, 0, 5, 0, 6, 0, 2]


@pytest.mark.parametrize("text", ["1 0 20 0 2", "1 0 -5 2", "1 x 2", "1 0 5.0 2", "٣", "9" * 5000])
def test_given_ids_must_be_the_voices(text: str) -> None:
    with pytest.raises(SynthesisError, match="is no phoneme id of the voice: 0 to 19"):
        given_ids(text, vocabulary=20)


@pytest.mark.parametrize("text", ["", "1 0 2", "0"])
def test_given_ids_must_hold_a_sound(text: str) -> None:
    with pytest.raises(SynthesisError, match="hold no sound"):
        given_ids(text, vocabulary=20)
