"""A change of speed: published lengths and samples, kept pitch, refused speeds."""

import json
from pathlib import Path

import numpy as np
import pytest

from loudr_core.errors import SynthesisError
from loudr_core.speech.loudr1.stretch import check_speed, stretched_length, time_stretch


def signal(n: int) -> np.ndarray:
    i = np.arange(n, dtype=np.float64)
    slow, fast = 0.5 * np.sin(i * 0.031), 0.3 * np.sin(i * 0.173 + 1)
    return (slow + fast + 0.1 * np.sin(i * 0.0007)).astype(np.float32)


def test_published_signals(test_data: Path) -> None:
    vectors = json.loads((test_data / "specs/loudr1/vectors/timestretch.json").read_text())
    for case in vectors["cases"]:
        audio = signal(case["n"])
        found = time_stretch(audio, sample_rate_hz=24000, speed=case["speed"])
        assert len(found) == case["out_len"]
        assert (found is audio) == case["identity"]
        ends = case["head_bits"] + case["tail_bits"]
        wanted = np.array(ends, np.uint32).view(np.float32)
        cut = len(case["head_bits"])
        np.testing.assert_allclose(
            np.concatenate([found[:cut], found[len(found) - cut :]]), wanted, atol=1e-5
        )
    for n, speed, wanted in vectors["stretched_length"]:
        assert stretched_length(n, speed) == wanted
    for speed, _ in vectors["speeds"]:
        with pytest.raises(ValueError, match="is outside"):
            check_speed(float(speed))


@pytest.mark.parametrize("speed", [0.5, 0.8, 1.25, 2.0])
def test_pitch_and_loudness_stay(speed: float) -> None:
    hz = 220.0
    audio = (0.5 * np.sin(2 * np.pi * hz * np.arange(48_000) / 24_000)).astype(np.float32)
    found = time_stretch(audio, sample_rate_hz=24_000, speed=speed)
    spectrum = np.abs(np.fft.rfft(found * np.hanning(len(found))))
    assert spectrum.argmax() * 24_000 / len(found) == pytest.approx(hz, abs=2)
    middle = found[2400:-2400]
    assert float(np.sqrt(np.mean(middle**2))) == pytest.approx(0.5 / np.sqrt(2), rel=0.02)


def test_silence_stays_silent_and_noise_beside_it_is_not_spread() -> None:
    audio = np.zeros(24_000, np.float32)
    audio[:3000] = signal(3000)
    found = time_stretch(audio, sample_rate_hz=24_000, speed=1.5)
    assert np.abs(found[:2000]).max() > 0.3
    assert not found[3000:].any()


def test_speed_one_hands_the_samples_back() -> None:
    audio = signal(2000)
    assert time_stretch(audio, sample_rate_hz=24_000, speed=1.0) is audio
    assert time_stretch(audio, sample_rate_hz=24_000, speed=1) is audio


@pytest.mark.parametrize("speed", [0.0, -1.0, 0.499, 2.001, float("nan"), float("inf")])
def test_a_speed_out_of_range_is_refused(speed: float) -> None:
    with pytest.raises(ValueError, match=r"outside 0\.5 to 2\.0"):
        time_stretch(signal(2000), sample_rate_hz=24_000, speed=speed)


def test_samples_that_cannot_be_stretched_are_refused() -> None:
    with pytest.raises(ValueError, match="one channel"):
        time_stretch(np.zeros((2, 900), np.float32), sample_rate_hz=24_000, speed=1.1)
    broken = signal(2000)
    broken[7] = np.nan
    with pytest.raises(SynthesisError, match="not finite"):
        time_stretch(broken, sample_rate_hz=24_000, speed=1.1)
