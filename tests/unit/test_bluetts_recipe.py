import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.errors import ConfigError
from loudr_core.speech.bluetts.recipe import (
    Recipe,
    blend_outputs,
    blend_velocities,
    denormalize,
    fold,
    frame_count,
    trim_frames,
)
from loudr_core.speech.bluetts.tables import Stats


def _latent(seed: int, frames: int) -> np.ndarray:
    rng = np.random.Generator(np.random.PCG64(seed))
    return rng.standard_normal((1, 144, frames)).astype(np.float32)


@pytest.mark.parametrize("frames", [1, 3, 7, 40])
def test_trap_folding_is_an_identity_of_indices(frames: int) -> None:
    z = _latent(0, frames)
    folded = fold(z)
    assert folded.shape == (1, 24, 6 * frames)
    for c in range(24):
        for p in range(6):
            np.testing.assert_array_equal(folded[0, c, p::6], z[0, 6 * c + p])


def test_folding_refuses_other_channels() -> None:
    with pytest.raises(ValueError, match=r"shape \[1, 24, 5\], expected \[1, 144, frames\]"):
        fold(np.zeros((1, 24, 5), np.float32))


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    frames=st.integers(1, 12),
    n_steps=st.integers(1, 64),
    cfg=st.floats(1.0, 7.0),
)
def test_trap_guidance_blends_velocities_and_outputs_alike(
    seed: int, frames: int, n_steps: int, cfg: float
) -> None:
    x = _latent(seed, frames)
    made = (x + _latent(seed + each, frames) / np.float32(n_steps) for each in (1, 2))
    conditional, unconditional = made
    by_velocity = blend_velocities(x, conditional, unconditional, cfg=cfg, n_steps=n_steps)
    by_output = blend_outputs(conditional, unconditional, cfg=cfg)
    scale = max(1.0, float(np.abs(by_output).max()))
    assert float(np.abs(by_velocity - by_output).max()) < 1e-6 * scale
    assert by_velocity.dtype == np.float32


def test_trap_the_graphs_output_is_no_velocity() -> None:
    x, v = _latent(1, 4), _latent(2, 4)
    moved = x + v / np.float32(8)
    once = blend_velocities(x, moved, moved, cfg=3.0, n_steps=8)
    np.testing.assert_allclose(once, moved, atol=1e-6)  # one step was made, and not another on top


def test_trap_denormalising_comes_before_folding() -> None:
    rng = np.random.Generator(np.random.PCG64(3))
    mean = rng.standard_normal((1, 144, 1)).astype(np.float32)
    std = rng.uniform(0.5, 2.0, (1, 144, 1)).astype(np.float32)
    x = _latent(4, 5)
    z = denormalize(x, Stats(mean=mean, std=std, scale=0.25))
    np.testing.assert_allclose(z, x * 4.0 * std + mean, rtol=1e-6)
    assert fold(z)[0, 3, 6 * 2 + 5] == z[0, 6 * 3 + 5, 2]


@settings(max_examples=200, deadline=None)
@given(seconds=st.floats(0.0, 80.0))
def test_frames_hold_the_seconds_and_no_frame_more(seconds: float) -> None:
    frames = frame_count(seconds)
    wanted = math.floor(seconds * 44_100)
    assert frames == max(3, (wanted + 3071) // 3072)
    assert frames * 3072 >= wanted


def test_trap_the_last_frame_is_cut_off() -> None:
    samples = np.arange(5 * 3072, dtype=np.float32)
    np.testing.assert_array_equal(trim_frames(samples), samples[3072 : 4 * 3072])
    assert len(trim_frames(samples[: 2 * 3072])) == 2 * 3072


def test_trap_italian_is_slowed_down_and_the_users_speed_multiplies() -> None:
    recipe = Recipe()
    assert [recipe.speed_of(each) for each in ("it", "en", "ru")] == [0.7, 1.0, 1.0]
    assert recipe.seconds(7.0, 100, 2.0 * recipe.speed_of("it")) == pytest.approx(5.0)
    other = Recipe(language_speed={"it": 1, "de": 0.9})
    assert [other.speed_of(each) for each in ("it", "de")] == [1.0, 0.9]
    assert recipe.as_dict() == Recipe(language_speed={"it": 0.7}, cfg=3).as_dict()
    assert recipe.as_dict() != other.as_dict()


def test_pace_blend_draws_the_length_to_that_of_the_tokens() -> None:
    assert Recipe(pace_blend=1.0).seconds(3.0, 80, 1.0) == pytest.approx(5.0)
    assert Recipe(pace_blend=0.5).seconds(3.0, 80, 1.0) == pytest.approx(4.0)
    assert Recipe().seconds(3.0, 80, 1.0) == 3.0


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("n_steps", 0, "n_steps = 0 is outside 1 to 64"),
        ("n_steps", 65, "is outside 1 to 64"),
        ("n_steps", 8.0, "must be a whole number"),
        ("n_steps", True, "must be a whole number"),
        ("cfg", 0.9, "cfg = 0.9 is outside 1 to 7"),
        ("cfg", math.nan, "must be a finite number"),
        ("pace_blend", 1.1, "is outside 0 to 1"),
        ("pace_blend", "0.3", "must be a finite number"),
        ("language_speed", 0.7, "must map languages to factors"),
        ("language_speed", {"en-GB": 1.0}, "language_speed.en-GB = 1.0 is of none of de, en"),
        ("language_speed", {"it": 0.1}, "language_speed.it = 0.1 is outside 0.5 to 2"),
    ],
)
def test_an_option_out_of_range_is_refused(option: str, value: object, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Recipe(**{option: value})  # type: ignore[arg-type]
