"""Floors, ceilings, time grids and framed windows against the published vectors."""

import hashlib
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from loudr_core.errors import SynthesisError
from loudr_core.speech.loudr1.algorithm import Algorithm, Detectors, Sampling, Window
from loudr_core.speech.loudr1.voice import VoiceProfile
from loudr_core.speech.loudr1.windowing import (
    eos_floor,
    frame_window,
    length_ceiling,
    time_grid,
    token_cap,
)

PUBLISHED = Algorithm(
    sampling=Sampling(min_tokens_floor=10, min_tokens_text_ratio=1.2),
    window=Window(static_length=255, pad_token_id=4254, static_prompt_tokens=238),
)


def voice(n_prompt: int) -> VoiceProfile:
    """Return a profile made by the rules of the vectors."""
    row, column = np.mgrid[:80, : 2 * n_prompt]
    mel = ((row * 2 * n_prompt + column) % 97).astype(np.float32) / np.float32(9) - np.float32(5)
    return VoiceProfile(
        name="ramp",
        speaker_embedding=np.ones(256, np.float32),
        flow_embedding=np.ones(192, np.float32),
        prompt_tokens=np.arange(n_prompt, dtype=np.int64) * 37 % 6561,
        prompt_mel=mel,
        cond_prompt_tokens=np.arange(150, dtype=np.int64),
    )


def sha256(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def test_published_windows(test_data: Path) -> None:
    vectors = json.loads((test_data / "specs/loudr1/vectors/windowing.json").read_text())
    for case in vectors["cases"]:
        tokens = [i * 101 % 6561 for i in range(case["n_tokens"])]
        window = frame_window(PUBLISHED, tokens, voice(case["n_prompt"]))
        assert window.prompt.shape == (1, 238)
        assert window.query.shape == (1, 255)
        assert sha256(np.concatenate([window.prompt, window.query], axis=1)) == case["row_sha256"]
        assert list(window.cond.shape) == case["cond_shape"]
        assert sha256(window.cond) == case["cond_sha256"]
        assert window.n_tokens == case["n"]


def test_published_floors_and_ceilings(test_data: Path) -> None:
    vectors = json.loads((test_data / "specs/loudr1/vectors/euler_floor_ceiling.json").read_text())
    found = [eos_floor(n, PUBLISHED) for n in range(301)]
    assert found == vectors["eos_floor_by_n_text_0_to_300"]
    found = [length_ceiling(n, PUBLISHED) for n in range(301)]
    assert found == vectors["ceiling_by_n_text_0_to_300"]
    for steps, hexadecimal in vectors["grid_f64_hex"].items():
        grid = time_grid(replace(PUBLISHED, euler_steps=int(steps)))
        np.testing.assert_allclose(grid, [float.fromhex(x) for x in hexadecimal], atol=1e-15)
        lengths = [np.float32(end - start) for start, end in pairwise(grid)]
        wanted = np.array(vectors["steps"][steps]["dt_f32_bits"], np.uint32).view(np.float32)
        np.testing.assert_array_equal(lengths, wanted)


def test_the_bundle_may_bring_its_own_grid() -> None:
    own = (0.0, 0.25, 1.0)
    assert time_grid(replace(PUBLISHED, euler_grid=own)) == own


def test_the_cap_is_the_smallest_limit() -> None:
    assert token_cap(5, PUBLISHED) == 60
    assert token_cap(100, PUBLISHED) == 255
    short = replace(PUBLISHED, sampling=Sampling(max_new_tokens=50))
    assert token_cap(5, short) == 50
    unwatched = replace(PUBLISHED, detectors=Detectors(mode="off"))
    assert token_cap(5, unwatched) == 255
    reported = replace(PUBLISHED, detectors=Detectors(mode="report"))
    assert token_cap(5, reported) == 60


def test_prompt_tokens_and_mel_are_cut_each_on_its_own() -> None:
    profile = replace(voice(238), prompt_tokens=np.array([7]), prompt_mel=voice(300).prompt_mel)
    window = frame_window(PUBLISHED, [1], profile)
    assert window.prompt[0].tolist() == [7] + [4254] * 237
    np.testing.assert_array_equal(window.cond[0, :, :476], profile.prompt_mel[:, :476])
    assert not window.cond[0, :, 476:].any()


def test_too_many_tokens_cannot_be_spoken() -> None:
    with pytest.raises(SynthesisError, match="256 speech tokens") as caught:
        frame_window(PUBLISHED, [1] * 256, voice(10))
    assert caught.value.context == {"n_tokens": 256, "window": 255}


@pytest.mark.parametrize("token", [-1, 6561, 8193])
def test_a_token_without_sound_is_refused(token: int) -> None:
    with pytest.raises(ValueError, match=f"{token}.*0 to 6560"):
        frame_window(PUBLISHED, [3, token], voice(10))


def test_a_ragged_window_cannot_be_framed() -> None:
    with pytest.raises(ValueError, match="fixed size"):
        frame_window(Algorithm(), [1], voice(10))
