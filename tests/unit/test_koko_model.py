"""The flow of the stand-in has a closed form: x_n = mu + (x_0 - mu) prod(1 - cfg dt_i)."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from koko import LEVEL, write_bundle
from numpy.typing import NDArray

from loudr_core.errors import SynthesisError
from loudr_core.noise import gaussian_field
from loudr_core.speech.koko.bundle import open_koko_bundle
from loudr_core.speech.koko.graphs import KokoGraph, open_koko_graphs
from loudr_core.speech.koko.model import KokoModel, TooLong
from loudr_core.speech.koko.recipe import Recipe

TEXT = "The lamp went out."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(tmp_path_factory.mktemp("koko") / "koko-tts")


@pytest.fixture(scope="module")
def graphs(folder: Path) -> dict[str, KokoGraph]:
    return open_koko_graphs(open_koko_bundle(folder))


def model(folder: Path, **recipe: Any) -> KokoModel:
    return KokoModel(open_koko_bundle(folder), Recipe(**recipe))


def expected(
    graphs: dict[str, KokoGraph],
    ids: NDArray[np.int64],
    *,
    speaker: int = 0,
    seed: int = 7,
    stream: int = 0,
    scale: float = 1.0,
    recipe: Recipe,
) -> NDArray[np.float32]:
    """Return the samples by the closed form, the flow step's graph left alone."""
    feeds = {"input_ids": ids[None], "spk_id": np.array([speaker])}
    log_durations, means, _ = graphs["text_encoder"].run(feeds)
    frames = np.maximum(1, np.rint(np.exp(log_durations[0]) * scale)).astype(int)
    mu = np.concatenate([[row] * n for row, n in zip(means[0], frames, strict=True)]).T
    x0 = gaussian_field(seed, stream, 100, mu.shape[1]) * recipe.temperature
    u = np.linspace(0, 1, recipe.n_steps + 1)
    times = u + recipe.sway * (np.cos(np.pi * u / 2) - 1 + u)
    mel = mu + (x0 - mu) * np.prod(1 - recipe.cfg * np.diff(times))
    (audio,) = graphs["vocoder"].run({"mel": mel[None]})
    return audio[0]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_steps": 8},
        {"n_steps": 1},
        {"n_steps": 128},
        {"temperature": 0.0},
        {"temperature": 1.5, "n_steps": 3},
        {"cfg": 0.0},
        {"cfg": 3.0, "n_steps": 5},
        {"sway": 0.0},
        {"sway": 0.8, "n_steps": 6},
        {"length_scale": 0.5},
        {"length_scale": 1.7, "sway": -0.5},
    ],
    ids=str,
)
def test_the_flow_is_its_closed_form(
    options: dict[str, Any], folder: Path, graphs: dict[str, KokoGraph]
) -> None:
    voice = model(folder, **options)
    found = voice.speak(TEXT, 46, seed=7)
    ids = voice.vocabulary.encode(TEXT)
    scale = options.get("length_scale", 1.0)
    wanted = expected(graphs, ids, speaker=46, scale=scale, recipe=voice.recipe)
    assert len(found.samples) == 256 * (found.frames - 1)
    assert found.tokens == len(TEXT)
    np.testing.assert_allclose(found.samples, wanted, atol=2e-6)


@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("stream", [0, 2, 8])
def test_noise_is_addressed_by_seed_and_stream(
    seed: int, stream: int, folder: Path, graphs: dict[str, KokoGraph]
) -> None:
    voice = model(folder, n_steps=2)
    found = voice.speak(TEXT, 0, seed=seed, stream=stream)
    ids = voice.vocabulary.encode(TEXT)
    wanted = expected(graphs, ids, seed=seed, stream=stream, recipe=voice.recipe)
    np.testing.assert_allclose(found.samples, wanted, atol=2e-6)


@pytest.mark.parametrize("flaw", ["odd", "shrinks", "quad"])
@pytest.mark.parametrize("text", ["Who?", "Is it?", "A b c d.", TEXT])
def test_trap_padding_to_a_multiple_moves_no_sample(
    flaw: str, text: str, folder: Path, tmp_path: Path
) -> None:
    padded = model(write_bundle(tmp_path / "b", flaw=flaw))
    assert padded.frame_multiple > 1
    found, wanted = padded.speak(text, 3, seed=9), model(folder).speak(text, 3, seed=9)
    assert found.frames == wanted.frames
    if flaw != "shrinks":  # that stand-in blurs neighbours, as its kind would
        np.testing.assert_array_equal(found.samples, wanted.samples)


def test_durations_follow_speed_and_rounding(folder: Path) -> None:
    voice = model(folder)
    letters, quote, dash, stop = 6, 1, 4, 20  # 6.4, 0.3, 4.5 and 20.2 frames
    assert voice.speak("ab'-.", 0, seed=1).frames == 2 * letters + quote + dash + stop
    assert voice.speak("ab'-.", 0, seed=1, speed=2.0).frames == 2 * 3 + 1 + 2 + 10
    assert voice.speak("ab'-.", 0, seed=1, speed=0.5).frames == 2 * 13 + 1 + 9 + 40
    with pytest.raises(ValueError, match=r"outside 0\.25 to 4"):
        voice.speak("a", 0, seed=1, speed=8.0)


def test_trap_a_speaker_out_of_range_is_refused(folder: Path) -> None:
    voice = model(folder)
    for speaker in (-1, 128, 10**6):
        with pytest.raises(ValueError, match=f"speaker {speaker} is outside 0 to 127"):
            voice.speak(TEXT, speaker, seed=1)
    first, last = (voice.speak(TEXT, speaker, seed=1).samples for speaker in (0, 127))
    assert (first != last).any()


def test_trap_nothing_to_say_is_refused_before_any_graph_runs(folder: Path) -> None:
    with pytest.raises(ValueError, match="no text to speak"):
        model(folder).speak("", 0, seed=1)


def test_trap_one_frame_is_no_sound(folder: Path) -> None:
    with pytest.raises(SynthesisError, match="one mel frame holds no sound"):
        model(folder).speak("'", 0, seed=1)


def test_trap_guidance_runs_once_a_step_inside_the_graph(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    voice = model(folder, n_steps=5, cfg=2.5)
    runs: list[tuple[float, float, float]] = []
    run = KokoGraph.run

    def counted(self: KokoGraph, feeds: Any) -> Any:
        if "cfg" in feeds:
            runs.append(tuple(float(feeds[name][0]) for name in ("t", "dt", "cfg")))  # type: ignore[arg-type]
        return run(self, feeds)

    monkeypatch.setattr(KokoGraph, "run", counted)
    voice.speak(TEXT, 0, seed=1)
    assert len(runs) == 5
    assert runs[0][0] == 0.0
    assert sum(dt for _, dt, _ in runs) == pytest.approx(1.0, abs=1e-15)
    assert {cfg for _, _, cfg in runs} == {2.5}


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        ("nan", "the flow step made x_next that is not finite"),
        ("short-audio", r"the vocoder made audio of shape \[1, \d+\], expected \[1, \d+\]"),
    ],
)
def test_what_a_graph_makes_is_looked_at(flaw: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(SynthesisError, match=said):
        model(write_bundle(tmp_path / "b", flaw=flaw)).speak(TEXT, 0, seed=1)


def test_more_than_4000_frames_are_too_long(tmp_path: Path) -> None:
    endless = model(write_bundle(tmp_path / "b", flaw="endless"))
    assert endless.speak("abcde", 0, seed=1).frames == 4000
    with pytest.raises(TooLong, match="6 characters would be 51 s of speech, more than the 43 s"):
        endless.speak("abcdef", 0, seed=1)


def test_the_pitch_follows_the_characters(folder: Path) -> None:
    voice = model(folder, temperature=0.0)
    spectra = [
        np.abs(np.fft.rfft(voice.speak(each * 4, 0, seed=1).samples)) for each in ("a", "b", "m")
    ]
    assert len({int(spectrum.argmax()) for spectrum in spectra}) == 3
    assert LEVEL > 0
