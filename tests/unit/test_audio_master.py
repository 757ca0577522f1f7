"""One gain for the book, peaks under the limit, and the same samples however the book is cut."""

import math

import numpy as np
import pytest

from loudr_core.audio.loudness import Loudness, measure
from loudr_core.audio.master import Gain, Master, plan_gain

RATE = 24000


def loudness(lufs: float, peak: float) -> Loudness:
    return Loudness(
        integrated_lufs=lufs, true_peak_dbtp=peak, sample_peak_dbfs=peak, duration_s=60.0
    )


def plan(measured: Loudness, previous: float | None = None) -> Gain:
    return plan_gain(
        measured, target_lufs=-19.0, true_peak_limit_dbtp=-3.0, previous_gain_db=previous
    )


def book(seconds: int = 20) -> np.ndarray:
    rng = np.random.default_rng(8)
    envelope = np.abs(np.sin(np.arange(seconds * RATE) / 7000)) ** 2
    samples = rng.standard_normal(seconds * RATE) * envelope * 0.05
    samples[5 * RATE] += 0.6
    samples[9 * RATE : 9 * RATE + 40] += 0.4
    return samples.astype(np.float32)


def test_the_gain_is_a_tenth_of_a_decibel() -> None:
    assert plan(loudness(-26.03, -12.0)) == Gain(gain_db=7.0, limit_dbtp=-3.0, limited=False)
    assert plan(loudness(-26.08, -6.0)) == Gain(gain_db=7.1, limit_dbtp=-3.0, limited=True)


def test_an_earlier_gain_is_kept_while_it_is_near() -> None:
    assert plan(loudness(-26.2, -12.0), previous=7.0).gain_db == 7.0
    assert plan(loudness(-26.3, -12.0), previous=7.0).gain_db == 7.3


def test_a_silent_book_gets_no_gain() -> None:
    assert plan(loudness(-math.inf, -math.inf)).gain_db == 0.0


def test_the_mastered_book_meets_target_and_limit() -> None:
    samples = book()
    gain = plan(measure([samples], RATE).loudness())
    assert gain.limited
    mastered = list(Master(gain, RATE).stream(np.array_split(samples, 7)))
    after = measure(mastered, RATE).loudness()
    assert after.integrated_lufs == pytest.approx(-19.0, abs=0.5)
    assert -3.3 < after.true_peak_dbtp <= -3.0


def test_away_from_the_peaks_nothing_but_the_gain_is_applied() -> None:
    samples = book()
    gain = plan(measure([samples], RATE).loudness())
    mastered = np.concatenate(list(Master(gain, RATE).stream([samples])))
    plain = samples * np.float32(10 ** (gain.gain_db / 20))
    changed = np.flatnonzero(mastered != plain)
    assert 0 < len(changed) < 0.05 * len(samples)
    assert np.array_equal(mastered[: 4 * RATE], plain[: 4 * RATE])


@pytest.mark.parametrize("gain", [
    Gain(gain_db=12.0, limit_dbtp=-3.0, limited=True),
    Gain(gain_db=3.0, limit_dbtp=-3.0, limited=False),
])  # fmt: skip
def test_random_access_gives_the_stream_bit_for_bit(gain: Gain) -> None:
    samples = book(12)
    master = Master(gain, RATE)
    whole = np.concatenate(list(master.stream([samples])))
    assert len(whole) == len(samples)

    def source(start: int, n_samples: int) -> np.ndarray:
        padded = np.pad(samples, (5000, 5000))
        return padded[start + 5000 : start + 5000 + n_samples]

    for start, n_samples in ((0, 1), (0, 9001), (5 * RATE - 3, 7), (9 * RATE, 33_333)):
        assert np.array_equal(
            master.read(source, start, n_samples), whole[start : start + n_samples]
        )


def test_a_stretch_without_its_margin_is_refused() -> None:
    master = Master(Gain(gain_db=1.0, limit_dbtp=-3.0, limited=True), RATE)
    with pytest.raises(ValueError, match="on either side"):
        master.apply(np.zeros(10, np.float32))
