"""What an engine takes as phonemes, and that a plan knows of it what the engine does."""

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from bluetts import write_bundle
from hypothesis import given, settings
from hypothesis import strategies as st
from sanotts_package import write_package

from loudr_core.speech.front_ends import FRONT_ENDS, open_front_end
from loudr_core.speech.given_phonemes import GivenPhonemes, cover
from loudr_core.speech.protocol import SpeechRequest
from loudr_core.speech.registry import engine_limits, open_engine

TAKEN = GivenPhonemes(symbols=frozenset({"a", "t", "ʃ", "tʃ", "c\u0327", ".", ","}), ids=90)


def test_unknown_symbols_are_counted_and_white_space_is_no_symbol() -> None:
    found = cover("atʃa,\n ʘaʘ øç.", TAKEN)
    assert found.unknown == {"ʘ": 2, "ø": 1}
    assert found.unknown_sounds == 3
    assert found.sounds == 8  # a tʃ a ʘ a ʘ ø ç


def test_the_longest_symbol_is_meant_in_any_unicode_form() -> None:
    only = GivenPhonemes(symbols=frozenset({"tʃ", "c\u0327"}))
    assert cover("tʃç", only).unknown == {}
    assert cover("tʃc\u0327", only).unknown == {}
    assert cover("ʃc", only).unknown == {"ʃ": 1, "c": 1}


def test_ids_are_numbers_below_the_vocabulary() -> None:
    assert cover("ids: 1 0, 89 2", TAKEN).unknown == {}
    assert cover("ids: 1 90 x -1 2", TAKEN).unknown == {"90": 1, "x": 1, "-1": 1}
    assert cover("ids: 1", GivenPhonemes(symbols=frozenset("ids"))).unknown == {":": 1, "1": 1}


@settings(max_examples=200, deadline=None)
@given(st.text("atʃç.,ʘ\u0327\n 1", max_size=20))
def test_what_is_unknown_is_in_the_text(phonemes: str) -> None:
    found = cover(phonemes, TAKEN)
    whole = unicodedata.normalize("NFD", phonemes)
    assert all(whole.count(symbol) >= count > 0 for symbol, count in found.unknown.items())
    assert 0 <= found.unknown_sounds <= found.sounds
    assert GivenPhonemes.from_dict(json.loads(json.dumps(TAKEN.as_dict()))) == TAKEN


@pytest.fixture(scope="module")
def blue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(tmp_path_factory.mktemp("blue") / "BlueTTS2.5-onnx")


@pytest.fixture(scope="module")
def engines(blue: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    voice = write_package(tmp_path_factory.mktemp("sano") / "voice")
    return {
        "embedded": open_engine("embedded"),
        "sanotts": open_engine("sanotts", bundle=voice, phonemizer="none"),
        "bluetts": open_engine("bluetts", bundle=blue, phonemizer="none", n_steps=1),
    }


def _error(engine: Any, phonemes: str) -> str:
    voice = engine.voices()[0]
    (speech,) = engine.synthesize(
        [
            SpeechRequest(
                id="a", text="a", language="en", voice=voice.name, seed=1, phonemes=phonemes
            )
        ]
    )
    return str(speech.error)


@pytest.mark.parametrize("name", sorted(FRONT_ENDS))
def test_an_engine_speaks_what_it_says_it_takes_and_refuses_the_rest(
    name: str, engines: dict[str, Any]
) -> None:
    engine = engines[name]
    taken = engine.limits.phonemes
    assert engine_limits(name).phonemes is None  # it is known of a loaded engine only
    letters = sorted(
        symbol
        for symbol in taken.symbols
        if symbol.isalpha() and not symbol.isupper() and unicodedata.category(symbol[0]) != "Lm"
    )
    assert len(letters) > 20
    said = " ".join(["tana nasa"] * 4 + letters)
    assert cover(said, taken).unknown == {}
    assert _error(engine, said) == ""
    wrong = "tʘʘʘna ʘʘʘ."
    coverage = cover(wrong, taken)
    assert coverage.unknown == {"ʘ": 6}
    assert coverage.unknown_sounds > taken.most_unknown * coverage.sounds
    assert _error(engine, wrong)


def test_engines_of_letters_take_none() -> None:
    for name in ("koko", "loudr1", "fake"):
        assert engine_limits(name).phonemes is None
        assert name not in FRONT_ENDS


@pytest.mark.parametrize(
    ("options", "unread"),
    [
        ({"phonemizer": "ipa"}, set()),
        ({"phonemizer": "none"}, {"de", "en", "es", "he", "it", "ru", "yi"}),
    ],
)
def test_languages_that_nothing_reads_are_told(
    blue: Path, options: dict[str, Any], unread: set[str]
) -> None:
    assert open_engine("bluetts", bundle=blue, **options).limits.unread == unread


def test_a_lenient_engine_takes_any_symbol_and_says_so(blue: Path) -> None:
    engine = open_engine("bluetts", bundle=blue, phonemizer="none", unknown="lenient", n_steps=1)
    taken = engine.limits.phonemes
    assert taken is not None
    found = cover("tana ʘ nasa", taken)
    assert found.unknown == {"ʘ": 1}
    assert found.unknown_sounds <= taken.most_unknown * found.sounds
    assert _error(engine, "tana ʘ nasa") == ""


def test_a_front_end_reads_as_its_engine_does(engines: dict[str, Any]) -> None:
    front = open_front_end("embedded")
    text = "The ferry left at noon. Nobody waved from the shore."
    given = "\n".join(front.sentences(text, "en"))
    voice = engines["embedded"].voices()[0].name
    by_text, by_phonemes = engines["embedded"].synthesize(
        SpeechRequest(id="a", text=text, language="en", voice=voice, seed=3, phonemes=phonemes)
        for phonemes in (None, given)
    )
    assert (by_text.samples == by_phonemes.samples).all()


def test_a_voice_of_sentences_speaks_given_ones_as_it_reads_them(
    tmp_path: Path,
) -> None:
    # A voice of letters needs no phonemiser.
    from sanotts_package import phoneme_config

    voice = write_package(tmp_path / "voice", phonemes=phoneme_config(phoneme_type="text"))
    engine = open_engine("sanotts", bundle=voice)
    front = open_front_end("sanotts", bundle=voice)
    text = "the lamp went out. nobody saw it."
    sentences = front.sentences(text, "en")
    assert len(sentences) == 2
    request = {"text": text, "language": "en", "voice": "wren", "seed": 1}
    by_text, by_phonemes, as_one = engine.synthesize(
        SpeechRequest(id="a", phonemes=phonemes, **request)  # type: ignore[arg-type]
        for phonemes in (None, "\n".join(sentences), " ".join(sentences))
    )
    assert (by_text.windows, by_phonemes.windows, as_one.windows) == (2, 2, 1)
    assert (by_text.samples == by_phonemes.samples).all()
