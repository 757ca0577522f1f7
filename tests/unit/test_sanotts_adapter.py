"""The engine around the voice: requests, phonemes that are given, cuts, findings, fingerprints."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sanotts_package import SYMBOLS, change_manifest, configs, phoneme_config, write_package

from loudr_core.errors import ConfigError, DeviceError
from loudr_core.speech.protocol import Speech, SpeechRequest
from loudr_core.speech.registry import engine_limits, open_engine
from loudr_core.speech.sanotts.engine import SanottsEngine
from loudr_core.speech.sanotts.package import open_package
from loudr_core.speech.sanotts.voice import RootA


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_package(tmp_path_factory.mktemp("voice"))


@pytest.fixture(scope="module")
def engine(folder: Path) -> Any:
    return open_engine("sanotts", bundle=folder)


def _request(text: str = "The lamp went out.", **changes: Any) -> SpeechRequest:
    fields: dict[str, Any] = {"id": "a", "text": text, "language": "en-GB", "voice": "wren"}
    return SpeechRequest(**{**fields, "seed": 1, **changes})


def _spoken(engine: Any, *arguments: Any, **changes: Any) -> Speech:
    (speech,) = engine.synthesize([_request(*arguments, **changes)])
    return speech


def _samples(engine: Any, *arguments: Any, **changes: Any) -> Any:
    speech = _spoken(engine, *arguments, **changes)
    assert speech.samples is not None, speech.error
    return speech.samples


def _ids(text: str) -> str:
    row = [1, 0]
    for letter in text:
        row += [SYMBOLS[letter], 0]
    return " ".join(map(str, [*row, 2]))


# ---------------------------------------------------------------- what is spoken


def test_trap_the_seed_has_no_effect(engine: Any) -> None:
    assert np.array_equal(_samples(engine, seed=1), _samples(engine, seed=2**64 - 1))


def test_given_phonemes_replace_the_reading(engine: Any) -> None:
    by_text = _samples(engine, "the lamp.")
    assert np.array_equal(_samples(engine, "Nobody reads this.", phonemes="the lamp."), by_text)
    ids = f"ids: {_ids('the lamp.')}"
    assert np.array_equal(_samples(engine, "Nor this.", phonemes=ids), by_text)


def test_each_sentence_is_one_call_with_a_pause_between(engine: Any) -> None:
    speech = _spoken(engine, "The lamp went out. Who is there? Nobody.")
    assert speech.samples is not None
    assert speech.windows == 3
    assert speech.error == ""
    assert not speech.findings
    silent = np.abs(speech.samples) == 0
    edges = np.flatnonzero(np.diff(np.concatenate(([0], silent.astype(np.int8), [0]))))
    runs = edges[1::2] - edges[::2]
    assert sorted(runs)[-2] >= 0.2 * 22_050


def test_trap_a_sentence_too_long_for_the_students_is_cut_at_its_marks(tmp_path: Path) -> None:
    made = configs()
    made["duration"]["max_tokens"] = 61
    engine = open_engine("sanotts", bundle=write_package(tmp_path, components=made))
    text = "the lamp went out, nobody spoke; the rain came down on the roof above them"
    speech = _spoken(engine, text)
    assert speech.error == ""
    assert speech.windows == 4
    phonemes = speech.tokens - 3 * speech.windows
    assert phonemes // 2 == len(text) - 3  # a space at each cut
    too_long = _spoken(engine, phonemes=f"ids: {_ids('a' * 30)}")
    assert too_long.error == "63 phoneme ids are more than the 61 of one pass"


def test_pitch_and_length_follow_the_phonemes(engine: Any) -> None:
    short, long = (_samples(engine, text) for text in ("aaa", "aaaaaaaaaaaa"))
    assert len(long) > 2 * len(short)
    peaks = set()
    for letter in "abcdefgh":
        samples = _samples(engine, letter * 12)[4_000:-6_000]
        spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
        peaks.add(round(22_050 / len(samples) * int(spectrum.argmax()) / 43) * 43)
    assert peaks == {172, 258, 344, 516}


def test_half_the_speed_is_twice_the_frames(folder: Path) -> None:
    voice = RootA(open_package(folder))
    ids = np.array([int(each) for each in _ids("lamp").split()])
    once, twice = voice.durations(ids), voice.durations(ids, speed=0.5)
    assert np.abs(twice - 2 * once).max() <= 1


def test_the_packages_pace_is_part_of_the_speed(tmp_path: Path, folder: Path) -> None:
    slow = RootA(open_package(write_package(tmp_path, length_scale=1.6)))
    ids = np.array([int(each) for each in _ids("lamp").split()])
    plain = RootA(open_package(folder))
    assert np.array_equal(slow.durations(ids), plain.durations(ids, speed=1 / 1.6))
    assert np.array_equal(slow.durations(ids, speed=1.6), plain.durations(ids))


# ---------------------------------------------------------------- what is left out


def test_trap_a_quotation_mark_is_not_spoken(engine: Any) -> None:
    """The reference replaces ids that it was never taught by a schwa, which is heard."""
    quoted = _spoken(engine, phonemes='"the lamp"')
    assert np.array_equal(quoted.samples, _samples(engine, phonemes="the lamp"))
    (finding,) = quoted.findings
    assert (finding.code, finding.severity) == ("speech-unknown-phonemes", "warning")
    assert finding.message == (
        "The voice has an id that it was never taught for '\"' (2), which it leaves out."
    )
    assert not _spoken(engine, "“The lamp,” he said.").findings


def test_symbols_without_an_id_are_told_of(engine: Any) -> None:
    (finding,) = _spoken(engine, "The lamp went out & nobody spoke.").findings
    assert finding.message == "The voice has no id for '&' (1), which it leaves out."


def test_trap_an_id_that_only_the_acoustic_student_knows_has_another_duration(
    tmp_path: Path,
) -> None:
    made = configs(duration_vocabulary=40)
    ids = np.array([1, 0, 45, 0, 5, 0, 2])
    dropped = open_package(write_package(tmp_path / "a", components=made))
    assert dropped.vocabulary == 40
    made["duration"]["duration_oov_id"] = 30
    kept = open_package(write_package(tmp_path / "b", components=made))
    assert kept.vocabulary == len(SYMBOLS)
    voice = RootA(kept)
    swapped = np.where(ids == 45, 30, ids)
    assert np.array_equal(voice.durations(ids), voice.durations(swapped))
    assert not np.allclose(voice.render(ids), voice.render(swapped), atol=1e-3)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"text": ""}, "there is no word to speak"),
        ({"text": "?! —"}, "there is no word to speak"),
        ({"text": "word " * 200}, "1000 characters are more than the 800 of one unit"),
        ({"speed": 2.5}, "speed 2.5 is outside 0.5 to 2.0"),
        ({"speed": float("nan")}, "speed nan is outside 0.5 to 2.0"),
        ({"seed": -1}, "seed -1 is outside 0 to 2^64 - 1"),
        ({"seed": 1 << 64}, "seed 18446744073709551616 is outside 0 to 2^64 - 1"),
        ({"voice": "rook"}, "no voice 'rook': the package has 'wren'"),
        ({"language": "de"}, "voice 'wren' speaks en-US, not 'de': choose another voice"),
        ({"phonemes": ""}, "no word of it can be read"),
        ({"phonemes": "ˈ."}, None),
        ({"phonemes": "日本"}, "no sound of it is one of the voice's: '日本'"),
        ({"phonemes": "ids:"}, "the given phoneme ids hold no sound"),
        ({"phonemes": "ids: 1 0 500 0 2"}, None),
        ({"text": "Ωμέγα και άλφα"}, None),
    ],
)
def test_a_unit_that_cannot_be_spoken_is_one_line(
    changes: dict[str, Any], error: str | None, engine: Any
) -> None:
    speech = _spoken(engine, **changes)
    if changes.get("phonemes") == "ˈ.":  # a stress alone is a symbol of the voice
        assert speech.samples is not None
        return
    assert speech.samples is None
    assert "\n" not in speech.error
    assert speech.error == error or error is None
    assert speech.error


def test_a_voice_that_wants_minutes_for_a_word_is_refused(tmp_path: Path) -> None:
    made = configs(singing=False)
    made["duration"]["max_duration"] = 4000
    folder = write_package(tmp_path, singing=False, components=made, length_scale=10.0)
    engine = open_engine("sanotts", bundle=folder, phonemizer="none")
    ids = f"ids: 1 0 {'5 0 ' * 100} 2"
    assert "s of one pass: make the segment shorter" in _spoken(engine, phonemes=ids).error


def test_a_failure_inside_the_voice_harms_no_other(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    render: Callable[..., Any] = RootA.render

    def sometimes(self: RootA, ids: Any, **options: Any) -> Any:
        if len(ids) < 12:
            raise RuntimeError("broken\nin two lines")
        return render(self, ids, **options)

    monkeypatch.setattr(RootA, "render", sometimes)
    bad, good = engine.synthesize([_request("no"), _request("The lamp went out.")])
    assert bad.error == "the voice failed: RuntimeError: broken in two lines"
    assert good.samples is not None


# ---------------------------------------------------------------- opening


def test_no_package_is_a_setting_that_is_missing() -> None:
    with pytest.raises(ConfigError, match="needs the voice's folder: give it with --bundle"):
        open_engine("sanotts")


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"threads": 0}, ConfigError, "threads 0 is no number of threads"),
        ({"threads": True}, ConfigError, "threads True is no number"),
        ({"decoder": "torch"}, ConfigError, "no decoder 'torch': choose one of onnx, numpy"),
        ({"phonemizer": "gruut"}, ConfigError, "no phonemizer 'gruut'"),
        ({"decoders": "onnx"}, ConfigError, "did you mean 'decoder'"),
        ({"provider": "tpu"}, ConfigError, "no provider 'tpu'"),
        ({"decoder": "numpy", "provider": "cuda"}, DeviceError, "runs on the cpu only"),
    ],
)
def test_a_wrong_option_is_named(
    options: dict[str, Any], error: type[Exception], said: str, folder: Path
) -> None:
    with pytest.raises(error, match=said):
        open_engine("sanotts", bundle=folder, **options)


def test_cuda_that_is_not_there_is_an_error(folder: Path) -> None:
    from loudr_core.speech.session import available_providers

    if "CUDAExecutionProvider" in available_providers():
        pytest.skip("this onnxruntime has CUDA")
    with pytest.raises(DeviceError, match="provider 'cuda' is not in this onnxruntime"):
        open_engine("sanotts", bundle=folder, provider="cuda")


def test_the_language_of_the_package_is_the_engines(tmp_path: Path) -> None:
    norwegian = open_engine("sanotts", bundle=write_package(tmp_path / "a", language="no"))
    assert norwegian.limits.languages == {"no", "nb", "nn"}
    assert _spoken(norwegian, language="nb").error == ""
    german = open_engine("sanotts", bundle=write_package(tmp_path / "b", language="de_DE"))
    assert german.limits.languages == {"de"}
    assert [voice.language for voice in german.voices()] == ["de-DE"]
    assert "de" in engine_limits("sanotts").languages


def test_what_moves_samples_moves_the_fingerprint(tmp_path: Path, folder: Path) -> None:
    prints = [
        open_engine("sanotts", bundle=folder).fingerprint(),
        open_engine("sanotts", bundle=folder, decoder="numpy").fingerprint(),
        open_engine("sanotts", bundle=folder, threads=2).fingerprint(),
        open_engine("sanotts", bundle=write_package(tmp_path / "a", seed=2)).fingerprint(),
    ]
    other = write_package(tmp_path / "b")
    assert open_engine("sanotts", bundle=other).fingerprint() == prints[0]
    change_manifest(other, lambda m: m["inference"].update(duration_length_scale=1.2))
    prints.append(open_engine("sanotts", bundle=other).fingerprint())
    text = phoneme_config()
    text["phoneme_id_map"]["q"] = [SYMBOLS["k"]]
    changed = write_package(tmp_path / "c", phonemes=text)
    prints.append(open_engine("sanotts", bundle=changed).fingerprint())
    espeak = phoneme_config(phoneme_type="espeak")
    spoken = write_package(tmp_path / "d", phonemes=espeak)
    prints.append(open_engine("sanotts", bundle=spoken, phonemizer="none").fingerprint())
    assert len(set(prints)) == len(prints)


def test_trap_the_graph_and_numpy_give_one_sound(folder: Path) -> None:
    graph = open_engine("sanotts", bundle=folder)
    slow = open_engine("sanotts", bundle=folder, decoder="numpy")
    assert isinstance(slow, SanottsEngine)
    for text in ("The lamp went out.", "Nobody spoke, and the rain came down."):
        np.testing.assert_allclose(_samples(graph, text), _samples(slow, text), atol=1e-5)


def test_two_stand_ins_are_the_same_bytes(tmp_path: Path, folder: Path) -> None:
    again = write_package(tmp_path)
    for path in folder.iterdir():
        assert (again / path.name).read_bytes() == path.read_bytes(), path.name
    assert sum(path.stat().st_size for path in folder.iterdir()) < 100_000
