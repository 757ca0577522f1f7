from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from koko import tokenizer_document

from loudr_core.errors import SynthesisError
from loudr_core.speech.koko.reading import (
    UnsupportedCharacters,
    close_sentence,
    read_text,
    unsupported_characters,
)
from loudr_core.speech.koko.vocabulary import Vocabulary, vocabulary_from

VOCABULARY = vocabulary_from(tokenizer_document(), path=Path("tokenizer.json"))
SMALL = vocabulary_from(
    {symbol: place for place, symbol in enumerate(" abcdefghijklmnopqrstuvwxyz")}, path=Path("t")
)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("  A \t lamp\n\n went\u00a0 out. ", "A lamp went out."),
        ("‘It’s,’ he said: “no”", "'It's,' he said: \"no\""),
        ("ten–twelve wild‐flowers", "ten-twelve wild-flowers"),
        ("He stopped—then ran", "He stopped - then ran"),
        ("Well…", "Well..."),
        ("cafe\u0301", "café"),  # composed, and é is in the vocabulary
        ("Keep; this: case? Yes!", "Keep; this: case? Yes!"),
        ("zero\u200bwidth and so\u00adft", "zerowidth and soft"),
    ],
)
def test_marks_and_spaces_are_plain(text: str, read: str) -> None:
    found = read_text(text, VOCABULARY)
    assert found.text == read
    assert not found.replaced
    assert not found.dropped


@pytest.mark.parametrize(
    ("text", "read", "replaced"),
    [
        ("naïve señor", "naive senor", {"ï": "i", "ñ": "n"}),
        ("ﬁsh in ｗide water", "fish in wide water", {"ﬁ": "fi", "ｗ": "w"}),
        ("Søren's æther", "Soren's aether", {"ø": "o", "æ": "ae"}),
        ("x\u0302 marks (it)", "x marks it", {"\u0302": "", "(": "", ")": ""}),
    ],
)
def test_a_letter_that_is_not_there_is_read_plain(
    text: str, read: str, replaced: dict[str, str]
) -> None:
    found = read_text(text, VOCABULARY)
    assert (found.text, found.replaced) == (read, replaced)


def test_a_capital_that_is_not_there_is_read_small() -> None:
    found = read_text("THE ÉND", SMALL)
    assert (found.text, found.replaced["T"], found.replaced["É"]) == ("the end", "t", "e")


def test_trap_nothing_unmapped_is_spoken_as_noise() -> None:
    with pytest.raises(
        UnsupportedCharacters, match=r"no character for ☃ & \(at 2, 4, 10\)"
    ) as caught:
        read_text("a ☃ & lamp ☃".replace("lamp", "oil"), VOCABULARY)
    assert caught.value.context == {"characters": "☃&", "positions": [2, 4, 10]}
    assert "unsupported = lenient" in caught.value.message
    found = read_text("a ☃ & oil ☃", VOCABULARY, policy="lenient")
    assert (found.text, found.dropped) == ("a oil", {"☃": 2, "&": 1})
    assert 1 not in VOCABULARY.encode(found.text)


def test_trap_a_unit_of_another_language_is_refused_whatever_the_policy() -> None:
    for policy in ("strict", "lenient"):
        with pytest.raises(SynthesisError, match="letters are not Latin"):
            read_text("Лампа погасла, and so on", VOCABULARY, policy=policy)


def test_trap_more_than_a_fifth_of_the_letters_unmapped_is_refused_whatever_the_policy() -> None:
    few = Vocabulary(ids={each: n for n, each in enumerate(" abcd")}, unknown_id=1)
    assert read_text("abcda bcdax", few, policy="lenient").dropped == {"x": 1}
    with pytest.raises(UnsupportedCharacters, match="it looks like another language"):
        read_text("abxda bcdax z", few, policy="lenient")


def test_trap_in_the_vocabulary_is_not_pronounceable() -> None:
    assert "Ж" in VOCABULARY
    with pytest.raises(SynthesisError, match="not Latin"):
        read_text("ЖЖЖ жжж", VOCABULARY)


def test_an_unknown_policy_is_a_callers_mistake() -> None:
    with pytest.raises(ValueError, match="not one of strict, lenient"):
        read_text("a", VOCABULARY, policy="quiet")


def test_digits_are_refused_since_words_are_to_be_fed() -> None:
    with pytest.raises(UnsupportedCharacters, match="no character for 1 9 8 4"):
        read_text("In 1984", VOCABULARY)


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("The lamp went out", "The lamp went out."),
        ("The lamp went out.", "The lamp went out."),
        ('"Who?"', '"Who?"'),
        ("She said 'no'", "She said 'no'."),
        ("first,", "first,"),
        ("He broke off -", "He broke off -"),
    ],
)
def test_trap_a_sentence_without_a_final_mark_gets_one(text: str, closed: str) -> None:
    assert close_sentence(text, VOCABULARY) == closed
    assert close_sentence("no stop", SMALL) == "no stop"


def test_a_mark_that_is_in_the_vocabulary_only_as_typeset_is_kept() -> None:
    typeset = Vocabulary(ids={**SMALL.ids, "’": 40}, unknown_id=1)
    assert read_text("it’s", typeset).text == "it’s"
    with pytest.raises(UnsupportedCharacters, match="no character for '"):
        read_text("it's", typeset)


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("abE ïøﬁЖΩ中“—½\u200b\u0301☃["), max_size=8))
def test_a_plan_and_the_engine_refuse_the_same_characters(text: str) -> None:
    vocabulary = vocabulary_from(tokenizer_document(), path=Path("tokenizer.json"))
    text += " and so on, in plain letters to the end"
    known = unsupported_characters(text, frozenset(vocabulary.ids))
    try:
        read_text(text, vocabulary)
    except UnsupportedCharacters as error:
        assert error.context["characters"] == known != ""
    else:
        assert known == ""
