"""Samples at another rate: in time, as loud, as long as said, the same each time."""

import numpy as np
import pytest
import soxr
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loudr_core.arrays import Mono
from loudr_core.audio.loudness import measure
from loudr_core.audio.resample import resample, resampled_length, resampler_build

RATES = (16_000, 22_050, 24_000, 44_100, 48_000)
PAIRS = [(a, b) for a in (22_050, 24_000, 44_100) for b in (24_000, 44_100) if a != b]


def sine(rate: int, seconds: float, hz: float, level: float = 0.5) -> Mono:
    t = np.arange(round(rate * seconds)) / rate
    return (level * np.sin(2 * np.pi * hz * t + 0.3)).astype(np.float32)


@pytest.mark.parametrize(("from_hz", "to_hz"), PAIRS)
@pytest.mark.parametrize("hz", [40.0, 440.0, 3_000.0, 9_000.0])
def test_a_sine_is_the_sine_of_the_other_rate(from_hz: int, to_hz: int, hz: float) -> None:
    """Against the closed form, sample by sample: frequency, phase and level in one."""
    made = resample(sine(from_hz, 2.0, hz), from_hz, to_hz)
    wanted = sine(to_hz, 2.0, hz)
    inside = slice(to_hz // 4, -to_hz // 4)
    assert np.abs(made[inside] - wanted[inside]).max() < 2e-4  # 0.01 dB of it are 6e-4
    ratio = np.sqrt(np.mean(made[inside] ** 2) / np.mean(wanted[inside] ** 2))
    assert abs(20 * np.log10(ratio)) < 0.01


@pytest.mark.parametrize(("from_hz", "to_hz"), [(44_100, 24_000), (24_000, 22_050)])
def test_what_the_lower_rate_cannot_hold_is_gone(from_hz: int, to_hz: int) -> None:
    made = resample(sine(from_hz, 1.0, 0.54 * to_hz), from_hz, to_hz)
    assert np.abs(made[to_hz // 4 : -to_hz // 4]).max() < 0.5 * 10 ** (-120 / 20)


@pytest.mark.parametrize(("from_hz", "to_hz"), PAIRS)
def test_an_offset_stays_and_edges_stay_in_place(from_hz: int, to_hz: int) -> None:
    made = resample(np.full(from_hz, 0.25, np.float32), from_hz, to_hz)
    assert np.abs(made[to_hz // 4 : -to_hz // 4] - 0.25).max() < 1e-6
    click = np.zeros(from_hz, np.float32)
    click[from_hz // 3] = 0.5
    made = resample(click, from_hz, to_hz)
    assert abs(int(np.argmax(made)) / to_hz - (from_hz // 3) / from_hz) <= 0.5 / to_hz


@pytest.mark.parametrize(("from_hz", "to_hz"), PAIRS)
def test_a_faded_take_has_no_step_at_its_edges(from_hz: int, to_hz: int) -> None:
    """What the filter cuts off beyond the take's own length lies under -60 dBFS."""
    take = sine(from_hz, 0.5, 180.0, level=0.9)
    ramp = np.linspace(0, 1, from_hz // 100, dtype=np.float32)
    take[: len(ramp)] *= ramp
    take[-len(ramp) :] *= ramp[::-1]
    made = resample(take, from_hz, to_hz)
    assert max(abs(float(made[0])), abs(float(made[-1]))) < 10 ** (-60 / 20)


def test_a_peak_between_samples_counts_in_the_true_peak() -> None:
    """A quarter-rate sine sampled 45° off its crests: its samples lie 3 dB under its peak."""
    t = np.arange(44_100)
    hidden = (np.sin(np.pi * t / 2 + np.pi / 4) / np.sin(np.pi / 4)).astype(np.float32)
    before = measure([hidden], 44_100).loudness().true_peak_dbtp
    after = measure([resample(hidden, 44_100, 24_000)], 24_000).loudness().true_peak_dbtp
    assert np.abs(hidden).max() == pytest.approx(1.0, abs=1e-6)
    assert np.abs(resample(hidden, 44_100, 24_000)).max() > 1.3
    assert after == pytest.approx(before, abs=0.3)
    assert after > 2.5


@settings(max_examples=300, deadline=None)
@given(n=st.integers(0, 4_000), from_hz=st.sampled_from(RATES), to_hz=st.sampled_from(RATES))
@example(n=40, from_hz=24_000, to_hz=44_100)  # 73.5 samples
@example(n=1, from_hz=48_000, to_hz=16_000)
def test_the_length_is_the_rule(n: int, from_hz: int, to_hz: int) -> None:
    samples = sine(from_hz, 1.0, 300.0)[:n]
    made = resample(samples, from_hz, to_hz)
    assert made.dtype == np.float32
    assert len(made) == resampled_length(n, from_hz, to_hz)
    assert abs(len(made) - n * to_hz / from_hz) <= 0.5


@settings(max_examples=300, deadline=None)
@given(
    n=st.integers(0, 10**9), from_hz=st.integers(8_000, 96_000), to_hz=st.integers(8_000, 96_000)
)
def test_halves_go_up(n: int, from_hz: int, to_hz: int) -> None:
    whole, rest = divmod(n * to_hz, from_hz)
    assert resampled_length(n, from_hz, to_hz) == whole + (2 * rest >= from_hz)
    assert resampled_length(n, from_hz, from_hz) == n


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 3_000), pair=st.sampled_from(PAIRS))
def test_the_same_samples_give_the_same_bits(seed: int, n: int, pair: tuple[int, int]) -> None:
    """Again, from another place in memory, and from an array of another layout."""
    samples = np.random.default_rng(seed).uniform(-1, 1, n).astype(np.float32)
    made = resample(samples, *pair).tobytes()
    shifted = np.concatenate([np.zeros(3, np.float32), samples])[3:]
    strided = np.repeat(samples, 2)[::2]
    assert resample(shifted, *pair).tobytes() == made
    assert resample(strided, *pair).tobytes() == made


def test_equal_rates_change_nothing() -> None:
    samples = sine(24_000, 0.5, 440.0)
    assert np.array_equal(resample(samples, 24_000, 24_000), samples)


@pytest.mark.parametrize(("n", "from_hz", "to_hz"), [(-1, 1, 1), (5, 0, 24_000), (5, 24_000, -1)])
def test_what_is_no_rate_is_refused(n: int, from_hz: int, to_hz: int) -> None:
    with pytest.raises(ValueError, match="rates are positive"):
        resampled_length(n, from_hz, to_hz)


def test_what_resamples_is_named() -> None:
    assert soxr.__version__ in resampler_build()
