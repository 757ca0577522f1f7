"""Gumbel and normal numbers: published values, and what their distribution must be."""

import json
from pathlib import Path

import numpy as np
import pytest

from loudr_core.speech.loudr1 import noise
from loudr_core.speech.loudr1.philox import uniforms


def floats(bits: list[int]) -> np.ndarray:
    return np.array(bits, np.uint32).view(np.float32)


def test_published_gumbel_numbers(test_data: Path) -> None:
    vectors = json.loads((test_data / "specs/loudr1/vectors/gumbel.json").read_text())
    compared = 0
    for case in vectors["small"]:
        if case["stream"] != 0:
            continue
        wanted = np.array([float.fromhex(value) for value in case["f64_hex"]])
        found = [
            noise.gumbel_at(int(case["seed"]), case["step0"] + row, np.arange(case["width"]))
            for row in range(case["n_steps"])
        ]
        np.testing.assert_allclose(np.concatenate(found), wanted, rtol=1e-12)
        compared += 1
    assert compared
    ids = np.arange(8194)
    best = [int(noise.gumbel_at(7, step, ids).argmax()) for step in range(16)]
    assert best == vectors["full_block"]["argmax_per_step_first_16"]


def test_published_normal_numbers(test_data: Path) -> None:
    vectors = json.loads((test_data / "specs/loudr1/vectors/gaussian.json").read_text())
    for case in vectors["small"]:
        shape = case["rows"], case["cols"]
        found = noise.gaussian_field(int(case["seed"]), case["stream"], *shape)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found.reshape(-1), floats(case["f32_bits"]), rtol=1e-6)
    case = vectors["engine_draws"][0]
    seed = int(case["vocoder_seed"])
    for found, wanted in [
        (noise.flow_prior(int(case["flow_seed"])), case["flow_prior"]),
        (noise.vocoder_noise(seed), case["vocoder_noise"]),
    ]:
        assert list(found.shape) == wanted["shape"]
        assert found.flags.c_contiguous
        np.testing.assert_allclose(found[0, :8], floats(wanted["first8_bits"]), rtol=1e-6)
        np.testing.assert_allclose(found[-1, -4:], floats(wanted["last4_bits"]), rtol=1e-6)
    phases = noise.vocoder_phases(seed)
    assert phases.shape == (1, 9, 1)
    assert phases[0, 0, 0] == 0
    np.testing.assert_array_equal(phases[0, 1:, 0], floats(case["vocoder_phase_rows_1_to_8_bits"]))


def test_gumbel_numbers_of_some_ids_are_those_of_the_whole_row() -> None:
    whole = noise.gumbel_at(11, 3, np.arange(8194))
    some = np.flatnonzero(np.random.default_rng(1).random(8194) < 0.003)
    np.testing.assert_array_equal(noise.gumbel_at(11, 3, some), whole[some])


@pytest.mark.parametrize("columns", [0, 1, 3, 4, 33, 4 * 8192, 4 * 8192 + 5])
def test_a_field_is_the_formula_whatever_its_width(columns: int) -> None:
    u1, u2 = (uniforms(21, stream, 0, 2, columns) for stream in (6, 7))
    wanted = (np.sqrt(-2.0 * np.log(u1)) * np.cos((2.0 * np.pi) * u2)).astype(np.float32)
    found = noise.gaussian_field(21, 6, 2, columns)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-12)


def test_the_excitation_is_standard_normal() -> None:
    field = noise.vocoder_noise(2024)
    assert abs(float(field.mean())) < 0.003
    assert abs(float(field.std()) - 1) < 0.003
    lag = np.corrcoef(field[:, :-1].reshape(-1), field[:, 1:].reshape(-1))[0, 1]
    assert abs(lag) < 0.003


def test_a_field_of_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="below 0"):
        noise.gaussian_field(1, 2, 3, -4)
