import numpy as np
import pytest

from loudr_core.speech.embedded import EmbeddedEngine
from loudr_core.speech.protocol import Speech, SpeechRequest


@pytest.fixture(scope="module")
def engine() -> EmbeddedEngine:
    return EmbeddedEngine()


def say(engine: EmbeddedEngine, text: str, **fields: object) -> Speech:
    asked = {"id": "x", "text": text, "language": "en", "voice": "heart", "seed": 7, **fields}
    (speech,) = engine.synthesize([SpeechRequest(**asked)])  # type: ignore[arg-type]
    return speech


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no word of it can be read"),
        ("… ?!", "no word of it can be read"),
        ("Привет, мир", "9 of 9 letters are not Latin"),
        ("日本語", "3 of 3 letters are not Latin"),
        ("word " * 300, "characters are more than"),
    ],
)
def test_what_cannot_be_read_is_an_error(engine: EmbeddedEngine, text: str, reason: str) -> None:
    speech = say(engine, text)
    assert speech.samples is None
    assert reason in speech.error


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"speed": 0.49}, "speed 0.49 is outside"),
        ({"speed": float("inf")}, "speed inf is outside"),
        ({"seed": -1}, "seed -1 is outside"),
        ({"seed": 2**64}, "is outside 0 to 2"),
        ({"language": "de-DE"}, "speaks English, not 'de-DE'"),
        ({"voice": "emma"}, "no voice 'emma'"),
        ({"phonemes": "ʘǂ"}, "phonemes ǂ ʘ are not in the voice's alphabet"),
        ({"phonemes": " ... "}, "hold no sound"),
    ],
)
def test_bad_requests_are_errors(
    engine: EmbeddedEngine, fields: dict[str, object], reason: str
) -> None:
    speech = say(engine, "Good morning.", **fields)
    assert speech.samples is None
    assert reason in speech.error


def test_foreign_words_are_findings(engine: EmbeddedEngine) -> None:
    speech = say(engine, "They met a man from 日本 who was kind.")
    assert speech.samples is not None
    assert {finding.code for finding in speech.findings} == {
        "speech-foreign-script",
        "speech-unread-word",
    }
    assert say(engine, "A naïve café in Łódź — “fine”.").findings == ()


def test_square_brackets_do_not_hide_words(engine: EmbeddedEngine) -> None:
    plain = say(engine, "He said so [note] (page nine) again.")
    joined = say(engine, "He said so [note](page nine) again.")
    assert joined.tokens == plain.tokens


def test_a_very_long_word_is_read_to_its_end(engine: EmbeddedEngine) -> None:
    short = say(engine, "kra" * 8)
    long = say(engine, "kra" * 24)
    assert long.tokens > 2 * short.tokens


def test_given_phonemes_are_spoken(engine: EmbeddedEngine) -> None:
    given = say(engine, "Ignored.", phonemes="həlˈO ðˈɛɹ.")
    read = say(engine, "Hello there.")
    assert given.samples is not None
    assert read.samples is not None
    assert np.array_equal(given.samples, read.samples)


def test_a_long_unit_is_cut_into_passes(engine: EmbeddedEngine) -> None:
    sentence = "The rain came down on the harbour, and nobody on the boats said anything. "
    speech = say(engine, sentence * 8)
    assert speech.windows == 2
    assert speech.samples is not None
    assert 25 < len(speech.samples) / engine.sample_rate_hz < 60


def test_the_edge_silence_is_left_to_the_caller(engine: EmbeddedEngine) -> None:
    speech = say(engine, "Good morning.")
    assert speech.samples is not None
    assert float(np.abs(speech.samples[:2400]).max()) < 0.01
