from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from koko import write_bundle

from loudr_core.errors import ConfigError
from loudr_core.speech.koko.engine import KokoEngine, open_koko
from loudr_core.speech.protocol import Speech, SpeechRequest

TEXT = "The lamp went out."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(tmp_path_factory.mktemp("koko") / "koko-tts", half="both")


@pytest.fixture(scope="module")
def engine(folder: Path) -> KokoEngine:
    return open_koko(bundle=folder)


@pytest.fixture
def flawed(tmp_path: Path) -> Callable[..., KokoEngine]:
    def opened(flaw: str, **options: Any) -> KokoEngine:
        return open_koko(bundle=write_bundle(tmp_path / flaw, flaw=flaw), **options)

    return opened


def speak(engine: KokoEngine, text: str = TEXT, **changes: Any) -> Speech:
    fields = {"id": "u", "language": "en", "voice": "koko:000", "seed": 7, **changes}
    (speech,) = engine.synthesize([SpeechRequest(text=text, **fields)])
    assert speech.id == "u"
    return speech


def codes(speech: Speech) -> list[str]:
    assert not speech.error
    return [finding.code for finding in speech.findings]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"text": ""}, "there is no word to speak"),
        ({"text": " \n\t"}, "there is no word to speak"),
        ({"text": "?! — …"}, "there is no word to speak"),
        ({"text": "a" * 201}, "201 characters are more than the 200 of one unit"),
        ({"text": "Snow ☃ falls"}, "the voice has no character for ☃ .at 5.: respell the word"),
        ({"text": "Лампа погасла"}, "12 of 12 letters are not Latin"),
        ({"language": "de"}, "Koko was trained on English, not on 'de'"),
        ({"voice": "heart"}, "no voice 'heart': Koko has koko:000 to koko:127"),
        ({"voice": "koko:128"}, "speaker 128 of voice 'koko:128' is outside 0 to 127"),
        ({"voice": "koko:-1"}, "speaker -1 of voice 'koko:-1' is outside 0 to 127"),
        ({"speed": 0.4}, "speed 0.4 is outside 0.5 to 2.0"),
        ({"speed": float("nan")}, "speed nan is outside"),
        ({"seed": -1}, "seed -1 is outside"),
        ({"seed": 2**64}, "seed 18446744073709551616 is outside"),
    ],
)
def test_what_cannot_be_spoken_is_one_line(
    changes: dict[str, Any], said: str, engine: KokoEngine
) -> None:
    speech = speak(engine, **changes)
    assert speech.samples is None
    assert speech.error.startswith(said.split(" .at")[0])
    assert "\n" not in speech.error


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"bundle": None}, "engine 'koko' needs the model's folder"),
        ({"threads": 0}, "threads 0 is no number of threads"),
        ({"unsupported": "quiet"}, "unsupported = 'quiet' is not one of strict, lenient"),
        ({"precision": 16}, "precision 16 is not one of"),
        ({"n_steps": 500}, "n_steps = 500 is outside 1 to 128"),
        ({"length_scale": 0.1}, "length_scale = 0.1 is outside 0.25 to 4"),
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, Any], said: str, folder: Path) -> None:
    with pytest.raises(ConfigError, match=said):
        open_koko(**{"bundle": folder, **options})


def test_trap_a_clean_sentence_has_no_findings(engine: KokoEngine) -> None:
    speech = speak(engine)
    assert (speech.findings, speech.windows, speech.tokens) == ((), 1, len(TEXT))


def test_a_sentence_without_its_mark_is_closed(engine: KokoEngine) -> None:
    assert speak(engine, "The lamp went out").tokens == len(TEXT)


def test_dropped_characters_are_counted(folder: Path) -> None:
    lenient = open_koko(bundle=folder, unsupported="lenient")
    speech = speak(lenient, "Snow ☃ falls ☃ now & then.")
    assert codes(speech) == ["speech-unread-symbol"]
    assert "☃ &" in speech.findings[0].message
    assert speech.findings[0].where == {"characters": 3}
    assert "Лам" in speak(lenient, "Лампа").error


def test_replaced_and_foreign_letters_are_told(engine: KokoEngine) -> None:
    speech = speak(engine, "The naïve man of Zhukov wrote one ж on the wall.")
    assert codes(speech) == ["speech-replaced-symbol", "speech-foreign-script"]
    assert "ï → i" in speech.findings[0].message
    assert codes(speak(engine, phonemes="læmp")) == ["speech-phonemes-unused"]


def test_trap_digits_that_the_vocabulary_has_are_still_no_words(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "b")
    path = folder / "tokenizer.json"
    path.write_text(path.read_text("utf-8").replace('"Ж"', '"7"'), "utf-8")
    speech = speak(open_koko(bundle=folder), "Only 7 boats lay there.")
    assert codes(speech) == ["speech-unspelled"]
    assert "7 should be spelled" in speech.findings[0].message


def test_trap_a_single_character_is_no_click(engine: KokoEngine, tmp_path: Path) -> None:
    assert speak(engine, "I").samples is not None  # the final mark makes it long enough
    quick = open_koko(bundle=write_bundle(tmp_path / "b"), length_scale=0.25)
    assert (
        speak(quick, "I").error == "'I' alone would be a click of 64 ms: join it with its neighbour"
    )


def test_trap_no_level_follows_a_units_own_peak(
    flawed: Callable[..., KokoEngine], engine: KokoEngine
) -> None:
    speech = speak(flawed("loud"), "The lamp went out.")
    assert codes(speech) == ["speech-limited"]
    assert speech.samples is not None
    assert 0.93 < np.abs(speech.samples).max() < 0.95
    quiet = speak(engine).samples
    assert quiet is not None
    below = np.abs(5 * quiet) < 0.74  # under the knee every sample is the vocoder's own
    np.testing.assert_allclose(speech.samples[below], 5 * quiet[below], atol=1e-5)


def test_trap_a_unit_beyond_4000_frames_is_split_and_tried_again(
    flawed: Callable[..., KokoEngine],
) -> None:
    endless = flawed("endless")  # 800 frames a character
    speech = speak(endless, "ab cd")
    assert codes(speech) == ["speech-split", "speech-pace"]
    assert (speech.windows, speech.tokens) == (2, 6)
    assert speech.samples is not None
    heard_s = 4 * 800 * 256 / 24_000 + 0.18  # the silent marks at both ends are cut off
    assert heard_s - 0.1 < len(speech.samples) / 24_000 < heard_s + 0.3
    same = speak(endless, "ab cd").samples
    np.testing.assert_array_equal(speech.samples, same)
    assert "would be 60 s of speech" in speak(endless, "abcdef").error
    assert "last longer than 80 s" in speak(endless, "ab cd ef gh ij kl").error


def test_pace_outside_the_band_is_flagged(flawed: Callable[..., KokoEngine]) -> None:
    speech = speak(flawed("endless"), "abc")
    assert codes(speech) == ["speech-pace"]
    assert speech.findings[0].severity == "warning"


def test_the_band_follows_the_length_scale(folder: Path, engine: KokoEngine) -> None:
    slow = open_koko(bundle=folder, length_scale=2.0)
    assert slow.limits.seconds_per_character == (0.06, 0.4)
    assert engine.limits.seconds_per_character == (0.03, 0.2)
    assert codes(speak(slow)) == []
    assert codes(speak(slow, speed=2.0)) == []


def test_numbers_that_are_none_are_an_error_of_the_unit(flawed: Callable[..., KokoEngine]) -> None:
    broken = flawed("nan")
    assert speak(broken).error == "the flow step made x_next that is not finite"


def test_every_option_that_moves_samples_is_in_the_fingerprint(folder: Path) -> None:
    changed: list[dict[str, Any]] = [
        {},
        {"n_steps": 8},
        {"temperature": 0.5},
        {"cfg": 2.0},
        {"length_scale": 1.1},
        {"sway": -0.5},
        {"unsupported": "lenient"},
        {"threads": 2},
        {"precision": "float16"},
    ]
    found = {open_koko(bundle=folder, **options).fingerprint() for options in changed}
    assert len(found) == len(changed)
    assert open_koko(bundle=folder, cfg=1.5, sway=-1).fingerprint() in found


def test_the_probed_multiple_is_in_the_fingerprint(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = open_koko(bundle=folder).fingerprint()
    monkeypatch.setattr("loudr_core.speech.koko.model.frame_multiple", lambda graph: 4)
    assert open_koko(bundle=folder).fingerprint() != plain


def test_a_unit_in_hand_is_given_up(engine: KokoEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    cancel, steps = Event(), 0
    run = engine._model._flow_step.run

    def stop(feeds: Any) -> Any:
        nonlocal steps
        steps += 1
        cancel.set()
        return run(feeds)

    monkeypatch.setattr(engine._model._flow_step, "run", stop)
    request = SpeechRequest(id="u", text=TEXT, language="en", voice="koko:000", seed=7)
    assert list(engine.synthesize([request, request], cancel=cancel)) == []
    assert steps == 1


def test_an_unforeseen_failure_is_an_answer(
    engine: KokoEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("two\nlines")

    with monkeypatch.context() as patched:
        patched.setattr(engine._model, "speak", fail)
        assert speak(engine).error == "the voice failed: RuntimeError: two lines"
    assert not speak(engine).error
