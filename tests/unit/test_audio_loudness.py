"""States: silence, short stretches, scaling, storage."""

import math

import numpy as np
import pytest

from loudr_core.audio.loudness import LoudnessMeter, LoudnessState, measure
from loudr_core.errors import StoreError

RATE = 24000


def noise(seconds: float, level: float = 0.1, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(round(RATE * seconds)) * level).astype(np.float32)


def test_silence_and_nothing_read_minus_infinity() -> None:
    for samples in (np.zeros(0, np.float32), np.zeros(RATE, np.float32)):
        loudness = measure([samples], RATE).loudness()
        assert loudness.integrated_lufs == -math.inf
        assert loudness.true_peak_dbtp == -math.inf
        assert loudness.as_dict()["integrated_lufs"] is None


def test_less_than_a_gating_block_still_has_a_loudness() -> None:
    short = measure([noise(0.25)], RATE).loudness().integrated_lufs
    long = measure([noise(5)], RATE).loudness().integrated_lufs
    assert short == pytest.approx(long, abs=1.0)


def test_a_gain_moves_every_number_by_itself() -> None:
    samples = noise(3, 0.05)
    gain = np.float32(10 ** (6 / 20))
    direct = measure([samples * gain], RATE).loudness()
    scaled = measure([samples], RATE).scaled(6.0).loudness()
    assert scaled.integrated_lufs == pytest.approx(direct.integrated_lufs, abs=1e-5)
    assert scaled.true_peak_dbtp == pytest.approx(direct.true_peak_dbtp, abs=1e-5)


def test_reading_a_state_does_not_disturb_the_meter() -> None:
    samples = noise(2)
    meter = LoudnessMeter(RATE)
    meter.push(samples[:30001])
    meter.state()
    meter.push(samples[30001:])
    assert meter.state().to_bytes() == measure([samples], RATE).to_bytes()


def test_a_state_comes_back_from_its_bytes() -> None:
    state = measure([noise(1.23)], RATE)
    data = state.to_bytes()
    assert LoudnessState.from_bytes(data).to_bytes() == data
    assert LoudnessState.from_bytes(data).loudness() == state.loudness()


@pytest.mark.parametrize("damage", [b"", b"not an npz", None])
def test_damaged_bytes_are_a_store_error(damage: bytes | None) -> None:
    data = measure([noise(1)], RATE).to_bytes()
    with pytest.raises(StoreError, match="stored loudness"):
        LoudnessState.from_bytes(data[: len(data) // 2] if damage is None else damage)


def test_states_of_two_rates_do_not_join() -> None:
    states = [measure([noise(1)], RATE), measure([noise(1)], 48000)]
    with pytest.raises(ValueError, match=r"24000, 48000"):
        LoudnessState.joined(states)


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        measure([np.array([0, np.nan], np.float32)], RATE)
