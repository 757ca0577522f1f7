from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bluetts import LEVEL, MEAN, STD, SYMBOLS, tables_of, write_bundle

from loudr_core.errors import ConfigError
from loudr_core.noise import gaussian_field
from loudr_core.speech.bluetts.bundle import open_blue_bundle
from loudr_core.speech.bluetts.findings import sound_findings
from loudr_core.speech.bluetts.model import MOST_TOKENS, BlueModel, TooLong, Utterance
from loudr_core.speech.bluetts.recipe import Recipe, fold
from loudr_core.speech.protocol import Speech, SpeechRequest
from loudr_core.speech.registry import open_engine


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a whole bundle that no test changes."""
    return write_bundle(tmp_path_factory.mktemp("blue") / "BlueTTS2.5-onnx")


@pytest.fixture(scope="module")
def speak(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Speech]:
    """Return what speaks IPA on a bundle of a flaw: `speak("text", flaw="loud", n_steps=4)`."""
    opened: dict[str, Any] = {}
    folders: dict[str, Path] = {}

    def say(
        text: str, *, flaw: str = "", request: dict[str, Any] | None = None, **options: Any
    ) -> Any:
        if flaw not in folders:
            folders[flaw] = write_bundle(tmp_path_factory.mktemp("blue") / "b", flaw=flaw)
        options = {"n_steps": 2, "phonemizer": "none", **options}
        name = repr((flaw, sorted(options.items())))
        if name not in opened:
            opened[name] = open_engine("bluetts", bundle=folders[flaw], **options)
        base = SpeechRequest(
            id="1", text="words", phonemes=text, language="en", voice="anna", seed=7
        )
        (speech,) = opened[name].synthesize([replace(base, **(request or {}))])
        return speech

    return say


def _codes(speech: Speech) -> list[str]:
    assert speech.error == ""
    return [finding.code for finding in speech.findings]


@pytest.mark.parametrize(("n_steps", "cfg"), [(1, 3.0), (5, 4.0), (16, 3.0), (16, 1.0)])
def test_the_loop_has_its_closed_form(n_steps: int, cfg: float, bundle: Path) -> None:
    """Compare the vocoder's input, told by its tones, with x_n = g + (x_0 - g)(1 - 1/n)^n."""
    model = BlueModel(open_blue_bundle(bundle), Recipe(n_steps=n_steps, cfg=cfg))
    ids = np.array([SYMBOLS[each] for each in " abc. "], np.int64)
    voice = model.voices["anna"]
    seen: list[np.ndarray] = []
    run = model.graphs.vocoder.run
    model.graphs.vocoder.run = lambda feeds: (seen.append(feeds["latent"]), run(feeds))[1]  # type: ignore[method-assign]
    made = model.speak(ids, voice, seed=9, speed=0.5)
    frames = len(made.samples) // 3072 + 2
    x = gaussian_field(9, 0, 144, frames)[None]
    at = np.clip(np.arange(frames) * (len(ids) + 10) // frames - 3, 0, len(ids) - 1)
    target = np.zeros((1, 144, frames))
    for frame, number in enumerate(ids[at]):
        if number not in (SYMBOLS[" "], SYMBOLS["."]):
            target[0, 6 * (number % 23) : 6 * (number % 23) + 6, frame] += LEVEL
            other = (number // 23 + 7 * number) % 24
            target[0, 6 * other : 6 * other + 6, frame] += LEVEL / 2
    blank = 0.01
    goal = blank + cfg * (target + float(voice.style.mean()) - blank)
    want = goal + (x - goal) * (1.0 - 1.0 / n_steps) ** n_steps
    stats, _ = tables_of()
    np.testing.assert_allclose(
        seen[0],
        fold((want * (STD / 0.25) + stats["mean"]).astype(np.float32)),
        atol=2e-3,
        rtol=2e-5,
    )
    assert MEAN != 0


def test_the_generations_sound_alike(speak: Callable[..., Speech]) -> None:
    text = "ðə lˈæmp wɛnt ˈaʊt"
    plain = speak(text)
    inside = speak(text, flaw="folds-inside")
    assert plain.samples is not None
    assert inside.samples is not None
    np.testing.assert_allclose(plain.samples, inside.samples, atol=1e-5)
    baked = speak(text, flaw="cfg-inside")
    assert baked.samples is not None
    # The blank style is the only difference, and it is small.
    np.testing.assert_allclose(plain.samples, baked.samples, atol=1e-2)


def _fed_to_estimator(bundle: Path, cfg: float) -> list[dict[str, np.ndarray]]:
    """Return what the vector estimator is fed in three steps, run by run."""
    model = BlueModel(open_blue_bundle(bundle), Recipe(n_steps=3, cfg=cfg))
    seen: list[dict[str, np.ndarray]] = []
    run = model.graphs.vector_estimator.run
    model.graphs.vector_estimator.run = lambda feeds: (  # type: ignore[method-assign]
        seen.append(dict(feeds)), run(feeds)
    )[1]  # fmt: skip
    model.speak(np.array([3, 14, 3]), model.voices["anna"], seed=1)
    return seen


def test_trap_guidance_of_one_runs_the_estimator_once_a_step(bundle: Path) -> None:
    assert len(_fed_to_estimator(bundle, 1.0)) == 3
    assert len(_fed_to_estimator(bundle, 2.0)) == 6


def test_trap_with_and_without_the_condition_start_from_the_same_state(bundle: Path) -> None:
    seen = _fed_to_estimator(bundle, 2.0)
    for step in range(3):
        conditional, unconditional = seen[2 * step : 2 * step + 2]
        np.testing.assert_array_equal(conditional["noisy_latent"], unconditional["noisy_latent"])
        assert conditional["text_emb"].shape[2] == 3
        assert unconditional["text_emb"].shape[2] == 1
        assert conditional["current_step"] == unconditional["current_step"] == step


def test_trap_steps_are_floats(bundle: Path) -> None:
    for feeds in _fed_to_estimator(bundle, 1.0):
        assert feeds["current_step"].dtype == feeds["total_step"].dtype == np.float32


def test_trap_too_many_tokens_are_refused_before_any_graph(bundle: Path) -> None:
    model = BlueModel(open_blue_bundle(bundle), Recipe())
    for name in ("text_encoder", "duration"):
        getattr(model.graphs, name).run = pytest.fail
    with pytest.raises(TooLong, match="241 tokens are more than the 240 of one pass"):
        model.speak(np.full(MOST_TOKENS + 1, 14), model.voices["anna"], seed=1)
    with pytest.raises(ValueError, match="no ids"):
        model.speak(np.zeros(0, np.int64), model.voices["anna"], seed=1)


def test_trap_a_long_unit_is_cut_and_joined_with_silence(speak: Callable[..., Speech]) -> None:
    text = ", ".join(["wˈɛn ðə ɹˈeɪn kˈeɪm"] * 20)
    speech = speak(text)
    assert speech.samples is not None
    assert speech.windows == 2
    assert "speech-split" in _codes(speech)
    assert speech.tokens >= len(text)  # nothing is lost, marks and spaces are added
    quiet = np.abs(speech.samples) < 1e-6
    runs = np.diff(np.flatnonzero(np.diff(np.concatenate([[0], quiet, [0]]))))[::2]
    assert runs.max() >= 0.2 * 44_100
    endless = speak("a" * 300)
    assert "without a space are more than the 240" in endless.error


def test_trap_over_range_is_bent_by_a_static_curve(speak: Callable[..., Speech]) -> None:
    loud = speak("ɑɑɑɑɑɑɑɑɑɑ", flaw="loud")
    assert loud.samples is not None
    assert "speech-limited" in _codes(loud)
    assert 0.8 < float(np.abs(loud.samples).max()) <= 0.95
    plain = speak("ɑɑɑɑɑɑɑɑɑɑ")
    assert plain.samples is not None
    assert float(np.abs(plain.samples).max()) < 0.75  # not brought up to any peak


def test_trap_the_click_at_the_end_is_not_heard(speak: Callable[..., Speech]) -> None:
    speech = speak("aba.")
    assert speech.samples is not None
    assert len(speech.samples) % 3072 == 0
    assert float(np.abs(speech.samples[-2000:]).max()) < 0.5


def test_trap_italian_lasts_longer_and_the_report_says_so(speak: Callable[..., Speech]) -> None:
    text = "la lampada si spense nella nottə"
    english = speak(text)
    italian = speak(text, request={"language": "it-IT"})
    assert english.samples is not None
    assert italian.samples is not None
    assert len(italian.samples) > 1.3 * len(english.samples)
    assert "speech-language-speed" in _codes(italian)
    assert "speech-language-speed" not in _codes(english)
    plain = speak(text, request={"language": "it"}, language_speed={"it": 1.0})
    assert plain.samples is not None
    assert len(plain.samples) == len(english.samples)


def test_russian_keeps_the_colons_of_its_training(speak: Callable[..., Speech]) -> None:
    for language, repaired in (("en", True), ("ru", False)):
        speech = speak("kas:ə kas:ə", request={"language": language})
        assert ("speech-repaired-phonemes" in _codes(speech)) is repaired


def test_trap_unknown_symbols_are_an_error_with_a_report(speak: Callable[..., Speech]) -> None:
    text = "ðə lˈæmp ɧɧ wɛnt ʘˈaʊt"
    speech = speak(text)
    assert speech.samples is None
    assert "no symbol for 3 of" in speech.error
    assert "ɧ U+0267 x2, ʘ U+0298 x1" in speech.error
    lenient = speak(text, unknown="lenient")
    (finding,) = (each for each in lenient.findings if each.code == "speech-unknown-phonemes")
    assert finding.where == {"symbols": 3}


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        ("nan", "the vector estimator made numbers that are not finite"),
        ("short-audio", "the vocoder made an array of shape"),
        ("endless", "the duration predictor says 72.00 s for 24 tokens, which is not speech"),
    ],
)
def test_what_is_no_speech_is_an_error(flaw: str, said: str, speak: Callable[..., Speech]) -> None:
    speech = speak("ðə lˈæmp wɛnt ˈaʊt ɔf", flaw=flaw)
    assert speech.samples is None
    assert said in speech.error


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.5, True), (1.5, False), (4.0, False), (9.0, True)]
)
def test_trap_a_swallowed_word_shows_in_the_pace(seconds: float, told: bool) -> None:
    samples = np.full(1000, 0.1, np.float32)
    passes = [Utterance(samples=samples, seconds=seconds / 2.0, tokens=50)]
    found = list(sound_findings(passes, samples, speed=2.0))
    assert [finding.code for finding in found] == (["speech-pace"] if told else [])
    assert all("pace_blend 0.3" in finding.message for finding in found)


def test_silence_condemns_the_take(speak: Callable[..., Speech]) -> None:
    speech = speak("ðə lˈæmp wɛnt", flaw="silent", n_steps=1)
    (finding,) = (each for each in speech.findings if each.code == "speech-quiet")
    assert finding.severity == "error"


def test_few_tokens_are_told_of(speak: Callable[..., Speech]) -> None:
    assert "speech-short-unit" in _codes(speak("nˈoʊ"))
    assert _codes(speak("gˈoʊ gˈoʊ gˈoʊ")) == ["speech-repaired-phonemes"]


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"unknown": "ignore"}, ConfigError, "unknown = 'ignore' is not one of strict, lenient"),
        ({"threads": 0}, ConfigError, "threads 0 is no number"),
        ({"pad_spaces": 1}, ConfigError, "pad_spaces = 1 must be true or false"),
        ({"phonemizer": "mine"}, ConfigError, "no phonemizer 'mine': choose one of auto, piper"),
        ({"n_step": 1}, ConfigError, "no option 'n_step': did you mean 'n_steps'"),
    ],
)
def test_a_wrong_option_is_refused(
    options: dict[str, Any], error: type[Exception], said: str, bundle: Path
) -> None:
    with pytest.raises(error, match=said):
        open_engine("bluetts", bundle=bundle, **options)


def test_no_bundle_is_refused() -> None:
    with pytest.raises(ConfigError, match="engine 'bluetts' needs the model's folder"):
        open_engine("bluetts")


def test_what_moves_samples_moves_the_fingerprint(bundle: Path, tmp_path: Path) -> None:
    options: list[dict[str, Any]] = [
        {}, {"n_steps": 8}, {"cfg": 2}, {"pace_blend": 0.3}, {"language_speed": {"it": 0.8}},
        {"pad_spaces": False}, {"unicode_form": "NFC"}, {"unknown": "lenient"}, {"threads": 2},
        {"phonemizer": "ipa"},
    ]  # fmt: skip
    base: dict[str, Any] = {"phonemizer": "none"}
    found = {
        open_engine("bluetts", bundle=bundle, **{**base, **each}).fingerprint() for each in options
    }
    assert len(found) == len(options)
    # A further voice leaves the takes of the others alone.
    more = write_bundle(tmp_path / "b", voices=["anna", "bruno", "eva"])
    assert open_engine("bluetts", bundle=more, **base).fingerprint() in found
