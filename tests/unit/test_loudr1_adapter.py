"""loudr-1 behind the engine protocol, on the tiny bundles."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loudr_core.errors import BundleError, ConfigError, DeviceError
from loudr_core.speech.limits import LOUDR1
from loudr_core.speech.loudr1.engine import Loudr1Engine, open_loudr1
from loudr_core.speech.loudr1.text_tokens import LANGUAGES
from loudr_core.speech.protocol import Speech, SpeechRequest
from loudr_core.speech.registry import engine_limits, open_engine


@pytest.fixture(scope="module")
def folder(loudr1_bundles: Callable[..., Path]) -> Path:
    return loudr1_bundles(turbo=True)


@pytest.fixture(scope="module")
def engine(folder: Path) -> Loudr1Engine:
    return open_loudr1(bundle=folder)


def request(**changes: Any) -> SpeechRequest:
    fields = {"id": "u", "text": "The lamp.", "language": "en", "voice": "ada", "seed": 5}
    return SpeechRequest(**{**fields, **changes})


def answer(engine: Loudr1Engine, **changes: Any) -> Speech:
    (speech,) = engine.synthesize([request(**changes)])
    return speech


def test_limits_are_known_without_loading_anything() -> None:
    assert engine_limits("loudr1") is LOUDR1
    assert LOUDR1.languages == {*LANGUAGES, "nb", "nn"}


def test_a_request_is_spoken_with_its_tokens_and_windows(engine: Loudr1Engine) -> None:
    speech = answer(engine, text="The lamp was lit at dusk, and the keeper went up.")
    assert speech.samples is not None
    assert speech.windows == 1
    assert len(speech.samples) == 960 * speech.tokens
    assert speech.compute_s > 0


def test_regions_and_capitals_of_a_language_do_not_matter(engine: Loudr1Engine) -> None:
    for language, tags in (("en", ("en-US", "EN_gb")), ("no", ("nb", "nn-NO"))):
        first = answer(engine, language=language)
        for tag in tags:
            other = answer(engine, language=tag)
            assert first.samples is not None
            assert other.samples is not None
            assert np.array_equal(first.samples, other.samples)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"text": "  "}, "no word to speak"),
        ({"text": "?! — …"}, "no word to speak"),
        ({"text": "a" * 601}, "601 characters are more than the 600"),
        ({"language": "ja"}, "speaks no 'ja'"),
        ({"language": ""}, "speaks no ''"),
        ({"voice": "adda"}, "did you mean 'ada'"),
        ({"voice": "../ada"}, "../ada"),
        ({"speed": 0.4}, "speed 0.4"),
        ({"speed": float("nan")}, "speed nan"),
        ({"seed": -1}, "seed -1 is outside"),
        ({"seed": 2**64}, "is outside 0 to 2^64 - 1"),
        ({"text": "дождик идёт"}, "letters are none that the voice can read"),
        ({"text": "a \ud800 lamp"}, "surrogate"),
    ],
)
def test_a_bad_request_gets_one_line(
    changes: dict[str, Any], said: str, engine: Loudr1Engine
) -> None:
    speech = answer(engine, **changes)
    assert speech.samples is None
    assert said in speech.error
    assert "\n" not in speech.error


def test_phonemes_are_told_to_be_unused(engine: Loudr1Engine) -> None:
    speech = answer(engine, phonemes="læmp")
    assert speech.samples is not None
    assert "speech-phonemes-unused" in {finding.code for finding in speech.findings}


def test_texts_that_make_the_voice_fall_silent_are_condemned(engine: Loudr1Engine) -> None:
    text = "hushado hushado hushado the house was quiet."
    spoken = list(engine.synthesize(request(text=text, seed=seed) for seed in range(11, 17)))
    assert all(speech.samples is not None for speech in spoken)
    errors = {f.code for speech in spoken for f in speech.findings if f.severity == "error"}
    assert "speech-stall" in errors


def test_what_fails_in_a_graph_is_this_requests_error(
    engine: Loudr1Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any, **options: Any) -> Any:
        raise RuntimeError("a line\nand another")

    with monkeypatch.context() as patch:
        patch.setattr(engine._model, "decode", broken)
        first, second = engine.synthesize([request(), request(id="v")])
        assert first.error == "the voice failed: RuntimeError: a line and another"
        assert second.error == first.error
    assert not answer(engine).error


def test_samples_that_are_not_finite_are_an_error(
    engine: Loudr1Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        engine._model, "vocode", lambda mel, *, seed: np.full(9600, np.nan, np.float32)
    )
    assert "samples that are not finite" in answer(engine).error


def test_a_passage_in_hand_is_given_up_when_stopped(engine: Loudr1Engine) -> None:
    class Stopping:
        def __init__(self) -> None:
            self.asked = 0

        def is_set(self) -> bool:
            self.asked += 1
            return self.asked > 10

    stopping: Any = Stopping()
    assert list(engine.synthesize([request(), request()], cancel=stopping)) == []
    assert stopping.asked <= 12


def test_the_fingerprint_names_bundle_options_and_threads(
    engine: Loudr1Engine, folder: Path, loudr1_bundles: Callable[..., Path], tmp_path: Path
) -> None:
    first = engine.fingerprint()
    assert first == open_loudr1(bundle=folder).fingerprint()
    assert len(bytes.fromhex(first)) == 32
    others = [
        open_loudr1(bundle=folder, threads=2),
        open_loudr1(bundle=loudr1_bundles(turbo=True, seed=2)),
        open_loudr1(bundle=loudr1_bundles()),
    ]
    moved = tmp_path / "moved"
    shutil.copytree(folder, moved)
    assert open_loudr1(bundle=moved).fingerprint() == first
    vocoder = moved / "onnx" / "vocoder.onnx"
    shutil.copy(loudr1_bundles(turbo=True, seed=2) / "onnx" / "vocoder.onnx", vocoder)
    others.append(open_loudr1(bundle=moved))
    assert len({first, *(other.fingerprint() for other in others)}) == 5


def test_the_reference_funnel_is_part_of_the_fingerprint(
    engine: Loudr1Engine, folder: Path
) -> None:
    pytest.importorskip("loudkit", reason="the reference engine's text funnel is not installed")
    other = open_loudr1(bundle=folder, text_funnel="loudkit")
    assert other.fingerprint() != engine.fingerprint()


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"bundle": None}, ConfigError, "needs the model's folder"),
        ({"threads": 0}, ConfigError, "threads 0"),
        ({"threads": True}, ConfigError, "threads True"),
        ({"threads": 10**9}, ConfigError, "threads 1000000000 is more .*: at most 512"),
        ({"threads": 10**5000}, ConfigError, "is more than any machine has"),
        ({"threads": 513}, ConfigError, "threads 513 is more"),
        ({"threads": "two"}, ConfigError, "threads 'two'"),
        ({"text_funnel": "loudr2"}, ConfigError, "loudr2"),
        ({"thread": 2}, ConfigError, "did you mean 'threads'"),
        ({"provider": "gpu"}, ConfigError, "no provider 'gpu'"),
        ({"provider": "cuda"}, DeviceError, "'cuda' is not in this onnxruntime"),
        ({"bundle": "nowhere"}, BundleError, "nowhere"),
    ],
)
def test_options_that_cannot_be_are_named(
    options: dict[str, Any], error: type[Exception], said: str, folder: Path
) -> None:
    if options.get("provider") == "cuda":
        onnxruntime = pytest.importorskip("onnxruntime")
        if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
            pytest.skip("this machine has CUDA")
    with pytest.raises(error, match=said):
        open_engine("loudr1", **{"bundle": folder, **options})


def test_a_bundle_without_voices_is_refused(folder: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    shutil.copytree(folder, bare, ignore=shutil.ignore_patterns("voices"))
    with pytest.raises(BundleError, match="has no voice"):
        open_loudr1(bundle=bare)


def test_a_damaged_voice_leaves_the_others(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    harmed = tmp_path / "harmed"
    shutil.copytree(folder, harmed)
    (harmed / "voices" / "bob.safetensors").write_bytes(b"damaged")
    engine = open_loudr1(bundle=harmed)
    assert [voice.name for voice in engine.voices()] == ["ada", "cleo"]
    (row,) = (each.getMessage() for each in caplog.records if each.levelname == "WARNING")
    assert row.startswith("bundle-damaged-voice: ")
    assert "bob.safetensors" in row
    assert "bob.safetensors" in answer(engine, voice="bob").error
    assert answer(engine).samples is not None
    for name in ("ada", "cleo"):
        (harmed / "voices" / f"{name}.safetensors").write_bytes(b"damaged")
    with pytest.raises(BundleError, match=r"ada\.safetensors"):
        open_loudr1(bundle=harmed).voices()


def test_graphs_of_another_bundle_are_refused_when_they_are_opened(
    folder: Path, loudr1_bundles: Callable[..., Path], tmp_path: Path
) -> None:
    mixed = tmp_path / "mixed"
    shutil.copytree(folder, mixed)
    single = loudr1_bundles() / "onnx" / "t3_prefill.onnx"
    shutil.copy(single, mixed / "onnx" / "t3_prefill.onnx")
    with pytest.raises(BundleError, match="graph t3_prefill has no output 'hidden'"):
        open_loudr1(bundle=mixed)
