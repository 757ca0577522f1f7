"""The students against the specification's formulas in double precision, and the traps in them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sanotts_formulas as formulas
from sanotts_package import configs, write_package

from loudr_core.speech.sanotts.layers import conv1d, conv_transpose1d, ramp, silu
from loudr_core.speech.sanotts.package import Package, open_package
from loudr_core.speech.sanotts.students import calibrate, durations, latent

ROWS = [[1, 0, 5, 0, 2], [7], [1, 0, *range(3, 19), 0, 2], [5] * 30]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    return open_package(write_package(tmp_path_factory.mktemp("v"), singing=False))


def _ids(row: list[int]) -> Any:
    return np.array(row, np.int64)


@pytest.mark.parametrize("row", ROWS, ids=len)
@pytest.mark.parametrize("scale", [0.5, 1.0, 1.16])
def test_durations_are_those_of_the_formula(package: Package, row: list[int], scale: float) -> None:
    exact = formulas.duration(row, package.tensors["duration"], configs(singing=False)["duration"])
    found = durations(_ids(row), package.tensors["duration"], package.duration, length_scale=scale)
    assert np.array_equal(found, np.clip(np.rint(exact * scale), 1, 80))


@pytest.mark.parametrize("row", ROWS, ids=len)
def test_the_latent_is_that_of_the_formula(package: Package, row: list[int]) -> None:
    frames = [1 + (3 * place) % 7 for place in range(len(row))]
    exact = formulas.acoustic(
        row, frames, package.tensors["acoustic"], configs(singing=False)["acoustic"]
    )
    found = latent(_ids(row), _ids(frames), package.tensors["acoustic"], package.acoustic)
    assert found.dtype == np.float32
    assert found.shape == (24, sum(frames))
    np.testing.assert_allclose(found, exact, atol=2e-5)


@pytest.mark.parametrize("mode", ["affine", "depthwise", "lowrank", "depthwise_lowrank"])
def test_a_calibrated_student_corrects_its_channels(mode: str, tmp_path: Path) -> None:
    made = configs(singing=False, adapter=mode)
    package = open_package(write_package(tmp_path, singing=False, components=made))
    assert package.acoustic.adapter is not None
    assert package.acoustic.adapter.mode == mode
    row, frames = [1, 0, 9, 0, 4, 0, 2], [2, 1, 5, 1, 4, 2, 1]
    tensors = package.tensors["acoustic"]
    exact = formulas.acoustic(row, frames, tensors, made["acoustic"])
    found = latent(_ids(row), _ids(frames), tensors, package.acoustic)
    np.testing.assert_allclose(found, exact, atol=2e-5)
    changed = calibrate(found, tensors, package.acoustic.adapter)
    outside = [*range(4), *range(20, 24)]
    assert np.array_equal(changed[outside], found[outside])
    assert not np.allclose(changed[4:20], found[4:20])


def _with_logs(package: Package, logs: float) -> dict[str, Any]:
    """Return the duration tensors of a student that gives every id one and the same log."""
    tensors = {name: array.copy() for name, array in package.tensors["duration"].items()}
    tensors["output.weight"][:] = 0
    tensors["output.bias"][:] = logs
    return tensors


def test_trap_a_duration_is_raised_to_a_frame_before_it_is_scaled(package: Package) -> None:
    tensors = _with_logs(package, -3.0)
    found = durations(_ids([1, 0, 2]), tensors, package.duration, length_scale=2.0)
    assert found.tolist() == [2, 2, 2]  # scaled first, it would be 1


def test_trap_half_frames_round_to_even(package: Package) -> None:
    tensors = _with_logs(package, 0.0)
    for scale, frames in ((1.5, 2), (2.5, 2), (3.5, 4)):
        found = durations(_ids([5]), tensors, package.duration, length_scale=scale)
        assert found.tolist() == [frames]


@pytest.mark.parametrize("logs", [4.4, 30.0, 1000.0])
def test_every_duration_may_be_clamped_to_the_longest(package: Package, logs: float) -> None:
    found = durations(_ids([1, 0, 5, 0, 2]), _with_logs(package, logs), package.duration)
    assert found.tolist() == [80] * 5 if logs > np.log(80) else [81] * 5


def test_every_id_has_a_frame_pads_and_ends_included(package: Package) -> None:
    found = durations(_ids([1, 0, 0, 0, 2]), _with_logs(package, -50.0), package.duration)
    assert found.tolist() == [1] * 5


def test_trap_two_sentences_at_once_are_not_one_after_the_other(package: Package) -> None:
    row, frames = _ids([1, 0, 6, 0, 2]), _ids([3, 2, 5, 2, 3])
    tensors = package.tensors["acoustic"]
    once = latent(row, frames, tensors, package.acoustic)
    twice = latent(np.tile(row, 2), np.tile(frames, 2), tensors, package.acoustic)
    assert twice.shape[1] == 2 * once.shape[1]
    # Far from the seam, so that no convolution reaches over it.
    assert not np.allclose(twice[:, :3], once[:, :3], atol=1e-4)


def test_trap_keys_that_tell_of_training_change_nothing(tmp_path: Path, package: Package) -> None:
    made = configs(singing=False)
    made["duration"] |= {
        "target_duration_scale": 3.0,
        "pause_preserve_scale": 2.0,
        "pause_preserve_window": 4,
        "long_preserve_threshold": 1.0,
        "long_preserve_scale": 9.0,
        "duration_vocab_size_forced": 7,
    }
    other = open_package(write_package(tmp_path, singing=False, components=made))
    row = _ids(ROWS[2])
    found = durations(row, other.tensors["duration"], other.duration)
    assert np.array_equal(found, durations(row, package.tensors["duration"], package.duration))


@pytest.mark.parametrize(
    ("row", "frames"), [([], []), ([20], [1]), ([-1], [1]), ([5, 6], [1, 0]), ([5], [1, 2])]
)
def test_ids_that_no_student_can_take_are_the_callers_mistake(
    package: Package, row: list[int], frames: list[int]
) -> None:
    with pytest.raises(ValueError, match=r"phoneme ids|duration"):
        latent(_ids(row), _ids(frames), package.tensors["acoustic"], package.acoustic)


def test_trap_the_ramp_counts_its_second_half_back_from_one() -> None:
    assert ramp(1).tolist() == [0.0]
    for count in (2, 3, 7, 50, 759, 1001, 20_000):
        values = ramp(count)
        assert values.dtype == np.float32
        step = np.float32(1) / np.float32(count - 1)
        place = count - 1 - count // 4
        assert values[0] == 0
        assert values[-1] == 1
        assert values[place] == np.float32(1) - step * np.float32(count // 4)
        assert values[count // 4] == step * np.float32(count // 4)
        np.testing.assert_allclose(values, np.linspace(0, 1, count), atol=1.3e-7)


def test_silu_of_very_large_numbers_is_finite() -> None:
    found = silu(np.array([[-1e4, -100, 0, 100, 1e4]], np.float32))
    assert found.tolist() == [[0.0, pytest.approx(0, abs=1e-30), 0.0, 100.0, 1e4]]


@pytest.mark.parametrize("dilation", [1, 2, 12])
@pytest.mark.parametrize("length", [1, 2, 5, 40])
def test_a_convolution_is_the_formulas(dilation: int, length: int) -> None:
    rng = np.random.default_rng([dilation, length])
    x = rng.standard_normal((3, length))
    tensors = {"a.weight": rng.standard_normal((4, 3, 7)), "a.bias": rng.standard_normal(4)}
    found = conv1d(x, tensors["a.weight"], tensors["a.bias"], dilation=dilation)
    np.testing.assert_allclose(found, formulas.conv(x, tensors, "a", dilation), atol=1e-12)


@pytest.mark.parametrize(("kernel", "stride", "padding"), [(16, 8, 4), (8, 4, 2)])
@pytest.mark.parametrize("length", [1, 2, 9])
def test_a_transposed_convolution_is_the_formulas(
    kernel: int, stride: int, padding: int, length: int
) -> None:
    rng = np.random.default_rng([kernel, length])
    x = rng.standard_normal((3, length))
    tensors = {"a.weight": rng.standard_normal((3, 4, kernel)), "a.bias": rng.standard_normal(4)}
    found = conv_transpose1d(
        x, tensors["a.weight"], tensors["a.bias"], stride=stride, padding=padding
    )
    assert found.shape == (4, stride * length)
    exact = formulas.conv_transpose(x, tensors, "a", stride, padding)
    np.testing.assert_allclose(found, exact, atol=1e-12)
