from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from loudr_core.errors import BundleError, SynthesisError
from loudr_core.speech.loudr1.algorithm import Algorithm, Window
from loudr_core.speech.loudr1.bundle import Weights
from loudr_core.speech.loudr1.noise import flow_prior, vocoder_noise, vocoder_phases
from loudr_core.speech.loudr1.renderer import Renderer
from loudr_core.speech.loudr1.voice import VoiceProfile

ALGORITHM = Algorithm(
    window=Window(
        max_speech_tokens=255, static_length=255, pad_token_id=4254, static_prompt_tokens=238
    )
)
VOICE = VoiceProfile(
    name="v",
    speaker_embedding=np.ones(256, np.float32),
    flow_embedding=np.arange(192, dtype=np.float32),
    prompt_tokens=np.arange(300),
    prompt_mel=np.full((80, 600), -3, np.float32),
    cond_prompt_tokens=np.arange(4),
)
Answer = Callable[[dict[str, Any]], NDArray[np.float32]]


class _Graph:
    def __init__(self, name: str, answer: Answer) -> None:
        self.name, self._answer = name, answer
        self.fed: list[dict[str, Any]] = []

    def run(self, feeds: dict[str, Any]) -> list[NDArray[np.float32]]:
        self.fed.append(feeds)
        return [self._answer(feeds)]


@pytest.fixture
def graphs() -> dict[str, Any]:
    return {
        "flow_encoder": _Graph("flow_encoder", lambda f: np.full((80, 986), 7, np.float32)),
        "flow_estimator": _Graph("flow_estimator", lambda f: np.full((1, 80, 986), 2, np.float32)),
        "vocoder": _Graph("vocoder", lambda f: np.arange(244_800, dtype=np.float32)[None]),
    }


@pytest.fixture
def renderer(graphs: dict[str, Any]) -> Renderer:
    rng = np.random.default_rng(3)
    empty = np.zeros((1, 1), np.float32)
    weights = Weights(
        text_emb=empty,
        speech_emb=empty,
        text_pos=empty,
        speech_pos=empty,
        spk_weight=rng.standard_normal((80, 192), np.float32),
        spk_bias=rng.standard_normal(80, np.float32),
    )
    return Renderer(graphs, weights, ALGORITHM)


def test_the_flow_starts_at_the_prior_and_takes_euler_steps(
    renderer: Renderer, graphs: dict[str, Any]
) -> None:
    mel = renderer.decode([5, 6, 7], VOICE, seed=11)
    first, second = graphs["flow_estimator"].fed
    assert np.array_equal(first["x"][0], flow_prior(11))
    assert first["t"] == np.float32(0)
    assert second["t"] == np.float32(0.2928932188134524)
    assert np.array_equal(first["mu"], np.full((1, 80, 986), 7, np.float32))
    steps = (np.float32(0.2928932188134524), np.float32(0.9999999999999999 - 0.2928932188134524))
    expected = flow_prior(11)
    for step in steps:
        expected = expected + step * np.full((80, 986), 2, np.float32)
    assert mel.shape == (80, 6)
    assert mel.flags.c_contiguous
    assert np.array_equal(mel, expected[:, 476:482])


def test_the_speaker_is_a_unit_vector_through_the_affine_layer(
    renderer: Renderer, graphs: dict[str, Any]
) -> None:
    renderer.decode([1], VOICE, seed=0)
    found = graphs["flow_estimator"].fed[0]["spks"]
    unit = VOICE.flow_embedding / np.linalg.norm(VOICE.flow_embedding)
    rng = np.random.default_rng(3)
    weight, bias = rng.standard_normal((80, 192), np.float32), rng.standard_normal(80, np.float32)
    assert found.shape == (1, 80)
    np.testing.assert_allclose(found[0], weight @ unit + bias, rtol=1e-5)


def test_more_tokens_than_the_window_are_refused(renderer: Renderer) -> None:
    assert renderer.decode([1] * 255, VOICE, seed=0).shape == (80, 510)
    with pytest.raises(SynthesisError, match="256"):
        renderer.decode([1] * 256, VOICE, seed=0)


@pytest.mark.parametrize("frames", [0, 2, 509, 510, 600])
def test_samples_follow_the_frames(frames: int, renderer: Renderer, graphs: dict[str, Any]) -> None:
    audio = renderer.vocode(np.ones((80, frames), np.float32), seed=21)
    kept = min(frames, 510)
    assert np.array_equal(audio, np.arange(480 * kept, dtype=np.float32))
    (fed,) = graphs["vocoder"].fed
    assert fed["mel"].shape == (1, 80, 510)
    assert np.array_equal(fed["mel"][0, 0], [1.0] * kept + [0.0] * (510 - kept))


def test_noise_and_phases_are_those_of_the_seed(renderer: Renderer, graphs: dict[str, Any]) -> None:
    renderer.vocode(np.ones((80, 4), np.float32), seed=21)
    (fed,) = graphs["vocoder"].fed
    assert np.array_equal(fed["noise"][0], vocoder_noise(21))
    assert np.array_equal(fed["phase"], vocoder_phases(21))


@pytest.mark.parametrize("name", ["flow_encoder", "flow_estimator", "vocoder"])
def test_a_graph_that_yields_another_size_is_refused(
    name: str, renderer: Renderer, graphs: dict[str, Any]
) -> None:
    graphs[name]._answer = lambda feeds: np.zeros((1, 80, 985), np.float32)
    with pytest.raises(BundleError, match=f"graph {name} yields 78800 numbers"):
        renderer.vocode(renderer.decode([1, 2], VOICE, seed=0), seed=0)
