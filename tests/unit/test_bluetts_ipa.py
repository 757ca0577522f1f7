import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from bluetts import SYMBOLS, vocab_of
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.errors import BundleError, ConfigError, SynthesisError
from loudr_core.speech.bluetts.ipa import check_form, prepare
from loudr_core.speech.bluetts.vocabulary import Vocabulary, read_vocabulary


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary(ids=SYMBOLS, size=256)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("həlˈoʊ", " həlˈoʊ. "),
        ("həlˈoʊ !", " həlˈoʊ! "),
        ("  a – b  —c ", " a - b -c. "),
        ("<de>a</de> b?", " a b? "),
        ("a_b[c]d|e/f.", " a b c d e f. "),
        ("“a” ‘b’", " \"a\" 'b' "),
        ("a , b ; c", " a, b; c. "),
        ("a😀b✨.", " ab. "),
        ("a ↗ b.", " a ↗ b. "),
    ],
)
def test_text_becomes_what_the_model_was_taught(written: str, text: str) -> None:
    assert prepare(written).text == text
    assert prepare(written, pad_spaces=False).text == text[1:-1]


def test_trap_the_unicode_form_decides_on_the_ich_sound(vocabulary: Vocabulary) -> None:
    composed = unicodedata.normalize("NFC", "ç")
    assert vocabulary.encode(prepare(composed, form="NFC").text).ids.tolist() == [3, 40, 10, 3]
    assert vocabulary.encode(prepare(composed).text).ids.tolist() == [3, 16, 140, 10, 3]
    # The compatibility form would turn the soft sign into a consonant of its own.
    assert "ʲ" in prepare("sʲa").text
    assert prepare("sʲa", form="NFKD").text == " sja. "
    with pytest.raises(ConfigError, match="unicode_form = 'NFKC' is not one of NFD, NFC, NFKD"):
        check_form("NFKC")


def test_trap_ascii_look_alikes_have_ids_and_are_put_right() -> None:
    found = prepare("zɐm'ok ga:tə: 'ok'")
    assert found.text == " zɐmˈok ɡaːtə: 'ok' "
    assert found.repaired == ("g → ɡ", "' → ˈ", ": → ː")
    assert prepare("a: b").repaired == ()
    assert prepare("kas:ə", repair_length=False).text == " kas:ə. "


def test_trap_plain_text_is_not_ipa() -> None:
    for text in ("Hello there", "in 1984 and 1985"):
        with pytest.raises(SynthesisError, match="this looks like plain text, not IPA"):
            prepare(text)
    some = prepare("ðə lˈæmp wɛnt ˈaʊt ænd nˈoʊbɑdi spˈoʊk A wɜd")
    assert some.suspect == "A"
    with pytest.raises(SynthesisError, match="no sound to speak"):
        prepare(" ?! — ")


def test_trap_unknown_symbols_never_vanish(vocabulary: Vocabulary) -> None:
    found = vocabulary.encode("aɧa ɧʘ(a)«\u200b»")
    assert found.report == "ɧ U+0267 x2, ʘ U+0298 x1"
    assert found.ids.tolist() == [14, 14, 3, 14]
    assert 0 not in found.ids  # padding is never sent


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_whatever_is_written_is_prepared_encoded_or_refused(text: str) -> None:
    vocabulary = Vocabulary(ids=SYMBOLS, size=256)
    try:
        prepared = prepare(text)
    except SynthesisError as error:
        assert "\n" not in str(error)
        return
    again = prepare(prepared.text)
    assert again.text == prepared.text
    found = vocabulary.encode(prepared.text)
    known = sum(symbol in SYMBOLS for symbol in prepared.text)
    assert len(found.ids) == known
    assert found.unknown.total() <= len(prepared.text) - known


def _read(tmp_path: Path, document: Any) -> Vocabulary:
    path = tmp_path / "vocab.json"
    path.write_text(json.dumps(document), "utf-8")
    return read_vocabulary(path)


def test_a_vocabulary_is_read(tmp_path: Path) -> None:
    found = _read(tmp_path, vocab_of(SYMBOLS))
    assert found.ids == SYMBOLS
    assert "ɧ" not in found


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"a": "14"}, "key 'char_to_id.a' must be a number, found '14'"),
        ({"a": 256}, "must be an id below 256 other than padding, found 256"),
        ({"a": 0}, "other than padding, found 0"),
        ({"ab": 200}, "key 'char_to_id.ab' must be one character"),
        ({"ɧ": 14}, "gives the id 14 to several characters"),
    ],
)
def test_a_faulty_vocabulary_is_refused(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=said) as caught:
        _read(tmp_path, vocab_of({**SYMBOLS, **change}))
    assert str(tmp_path / "vocab.json") in caught.value.message


def test_a_vocabulary_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="char_to_id' must be an object, found null"):
        _read(tmp_path, {"model": {"vocab": {}}})
    with pytest.raises(BundleError, match="has no 'ˈ': it is no vocabulary of IPA"):
        _read(tmp_path, vocab_of({key: each for key, each in SYMBOLS.items() if key != "ˈ"}))
    with pytest.raises(BundleError, match=r"vocab\.json cannot be read"):
        read_vocabulary(tmp_path / "nowhere" / "vocab.json")
