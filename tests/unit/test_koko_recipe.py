import math

import numpy as np
import pytest

from loudr_core.errors import ConfigError
from loudr_core.speech.koko.recipe import Recipe, flow_times, token_frames


@pytest.mark.parametrize("n_steps", [1, 2, 3, 8, 16, 31, 128])
def test_time_grid_is_one_minus_cosine(n_steps: int) -> None:
    u = np.linspace(0, 1, n_steps + 1)
    np.testing.assert_allclose(flow_times(n_steps), 1 - np.cos(np.pi * u / 2), atol=1e-15)


@pytest.mark.parametrize("sway", [-1.0, -0.37, 0.0, 0.5, 1.0])
@pytest.mark.parametrize("n_steps", [1, 7, 16, 128])
def test_trap_times_begin_at_zero_and_end_at_one_exactly(n_steps: int, sway: float) -> None:
    times = flow_times(n_steps, sway)
    assert (times[0], times[-1], times.dtype) == (0.0, 1.0, np.float64)
    assert (np.diff(times) > 0).all()


def test_a_grid_without_sway_is_even() -> None:
    np.testing.assert_array_equal(flow_times(4, 0.0), [0, 0.25, 0.5, 0.75, 1])
    with pytest.raises(ValueError, match="at least 1"):
        flow_times(0)


def test_the_defaults_are_the_releases() -> None:
    assert Recipe().as_dict() == {
        "n_steps": 16, "temperature": 0.667, "cfg": 1.5, "length_scale": 1.0, "sway": -1.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("n_steps", 0, "outside 1 to 128"),
        ("n_steps", 129, "outside 1 to 128"),
        ("n_steps", 8.0, "whole number"),
        ("n_steps", True, "whole number"),
        ("n_steps", "8", "whole number"),
        ("temperature", -0.1, "outside 0 to 1.5"),
        ("temperature", 1.51, "outside 0 to 1.5"),
        ("temperature", math.nan, "finite number"),
        ("cfg", 10.5, "outside 0 to 10"),
        ("cfg", "1.5", "finite number"),
        ("cfg", math.inf, "finite number"),
        ("length_scale", 0.2, "outside 0.25 to 4"),
        ("length_scale", 4.5, "outside 0.25 to 4"),
        ("length_scale", None, "finite number"),
        ("sway", 3.0, "do not rise"),
        ("sway", -1.5, "do not rise"),
        ("sway", -math.inf, "finite number"),
    ],
)
def test_an_option_out_of_range_is_refused(option: str, value: object, said: str) -> None:
    with pytest.raises(ConfigError, match=f"option {option} = .*{said}") as caught:
        Recipe(**{option: value})  # type: ignore[arg-type]
    assert caught.value.context == {"option": option}


def test_the_ends_of_every_range_are_taken() -> None:
    for n_steps, temperature, cfg, scale, sway in ((1, 0, 0, 0.25, -1), (128, 1.5, 10, 4, 1)):
        Recipe(n_steps=n_steps, temperature=temperature, cfg=cfg, length_scale=scale, sway=sway)
    assert Recipe(sway=1.2).sway == 1.2  # beyond the range, and the grid still rises


def test_speed_divides_durations_within_the_range() -> None:
    assert Recipe(length_scale=1.5).length_scale_at(2.0) == 0.75
    with pytest.raises(ValueError, match=r"length_scale 0.3 at speed 2 is 0.15, outside 0.25 to 4"):
        Recipe(length_scale=0.3).length_scale_at(2.0)


def test_trap_halves_go_to_the_even_neighbour() -> None:
    halves = np.array([1.5, 2.5, 3.5, 4.5, 6.5], np.float32)
    logs = np.log(halves)
    # The float32 nearest log 2.5 comes back as 2.5000002; a rule for halves has no part in that.
    exact = np.exp(logs) == halves
    assert exact.sum() >= 2
    found = token_frames(logs, 1.0)
    np.testing.assert_array_equal(found[exact], np.array([2, 2, 4, 4, 6])[exact])


def test_trap_no_token_lasts_less_than_a_frame() -> None:
    logs = np.log(np.array([0.3, 1e-20, 0.5, 6.4], np.float32))
    found = token_frames(logs, 1.0)
    assert found.dtype == np.int64
    assert found.tolist() == [1, 1, 1, 6]
    assert token_frames(np.array([-200.0], np.float32), 4.0).tolist() == [1]


def test_length_scale_is_applied_before_rounding() -> None:
    logs = np.log(np.array([6.4, 2.5], np.float32))
    assert token_frames(logs, 2.0).tolist() == [13, 5]
    assert token_frames(logs, 0.25).tolist() == [2, 1]


def test_durations_beyond_all_bounds_stay_integers() -> None:
    assert token_frames(np.array([1000.0], np.float32), 1.0)[0] == 10**9
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="not finite"):
            token_frames(np.array([1.0, bad], np.float32), 1.0)


@pytest.mark.parametrize(
    ("scale", "speeds"),
    [(1.0, (0.5, 2.0)), (4.0, (1.0, 2.0)), (0.25, (0.5, 1.0)), (3, (0.75, 2.0))],
)
def test_the_speeds_of_a_recipe_are_those_that_it_answers(
    scale: float, speeds: tuple[float, float]
) -> None:
    recipe = Recipe(length_scale=scale)
    assert recipe.speeds == speeds
    for speed in speeds:
        assert 0.25 <= recipe.length_scale_at(speed) <= 4
    for beyond in (speeds[0] * 0.99, speeds[1] * 1.01):
        if 0.5 <= beyond <= 2.0:
            with pytest.raises(ValueError, match="outside"):
                recipe.length_scale_at(beyond)
