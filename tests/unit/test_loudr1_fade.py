"""Edge fades: published ramps bit for bit, and arrays that are too short to fade."""

import json
from pathlib import Path

import numpy as np
import pytest

from loudr_core.speech.loudr1.edge_ramps import edge_ramp
from loudr_core.speech.loudr1.fade import fade_edges


def test_published_ramps(test_data: Path) -> None:
    vectors = json.loads((test_data / "specs/loudr1/vectors/edge_fade.json").read_text())
    for seconds, case in vectors["ramps"].items():
        wanted = np.array(case["ramp_f32_bits"], np.uint32).view(np.float32)
        ramp = edge_ramp(case["n"])
        if case["n"] in (120, 480):
            np.testing.assert_array_equal(ramp.view(np.uint32), wanted.view(np.uint32))
        np.testing.assert_allclose(ramp, wanted, atol=2e-7)
        ones = fade_edges(np.ones(4800, np.float32), sample_rate_hz=24000, seconds=float(seconds))
        np.testing.assert_array_equal(ones[: case["n"]], ramp)
        np.testing.assert_array_equal(ones[::-1], ones)


def test_published_fades(test_data: Path) -> None:
    vectors = json.loads((test_data / "specs/loudr1/vectors/edge_fade.json").read_text())
    for case in vectors["applied"]:
        audio = (np.sin(np.arange(case["n"]) * 0.05) * 0.7).astype(np.float32)
        faded = fade_edges(audio, sample_rate_hz=24000, seconds=0.02)
        assert (faded is audio) == case["same_object"]
        wanted = np.array(case["first3_bits"] + case["last3_bits"], np.uint32).view(np.float32)
        np.testing.assert_allclose(
            np.concatenate([faded[:3], faded[-3:]]), wanted, rtol=1e-5, atol=1e-7
        )


@pytest.mark.parametrize("n", [1, 2, 3, 24, 120, 480, 1200])
def test_a_ramp_rises_from_nothing_to_all(n: int) -> None:
    ramp = edge_ramp(n)
    assert ramp.dtype == np.float32
    assert ramp[0] == 0
    assert n == 1 or ramp[-1] == 1
    assert (np.diff(ramp) > 0).all()
    with pytest.raises(ValueError, match="read-only"):
        ramp[0] = 1


def test_the_middle_is_left_alone_and_the_input_too() -> None:
    audio = np.full(1000, 0.5, np.float32)
    faded = fade_edges(audio, sample_rate_hz=24000, seconds=0.02)
    assert (faded[480:520] == 0.5).all()
    assert (audio == 0.5).all()


@pytest.mark.parametrize(("n", "seconds"), [(959, 0.02), (0, 0.02), (5000, 0.0), (5000, 1e-6)])
def test_what_cannot_be_faded_is_handed_back(n: int, seconds: float) -> None:
    audio = np.ones(n, np.float32)
    assert fade_edges(audio, sample_rate_hz=24000, seconds=seconds) is audio


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="float64"):
        fade_edges(np.ones(9), sample_rate_hz=24000, seconds=0.02)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"\(2, 9\)"):
        fade_edges(np.ones((2, 9), np.float32), sample_rate_hz=24000, seconds=0.02)
    with pytest.raises(ValueError, match="nan s"):
        fade_edges(np.ones(9, np.float32), sample_rate_hz=24000, seconds=float("nan"))
    with pytest.raises(ValueError, match="ramp of 0"):
        edge_ramp(0)
