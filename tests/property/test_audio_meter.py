"""Cutting a stream into other blocks changes nothing; skipping quiet stretches loses no peak."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.audio.loudness import measure
from loudr_core.audio.true_peak import TruePeakMeter, interpolated_peaks, true_peak

seeds = st.integers(0, 2**32 - 1)


def signal(seed: int, n_samples: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    envelope = rng.random(n_samples // 97 + 2) ** 3
    samples = rng.standard_normal(n_samples) * np.repeat(envelope, 97)[:n_samples] * 0.2
    return samples.astype(np.float32)


@given(seed=seeds, n_samples=st.integers(1, 20_000), cuts=st.lists(st.integers(0, 20_000)))
@settings(max_examples=40, deadline=None)
def test_blocks_do_not_matter(seed: int, n_samples: int, cuts: list[int]) -> None:
    samples = signal(seed, n_samples)
    blocks = np.split(samples, sorted(cut % (n_samples + 1) for cut in cuts))
    whole, cut = measure([samples], 24000), measure(blocks, 24000)
    assert whole.to_bytes() == cut.to_bytes()


@given(seed=seeds, n_samples=st.integers(1, 20_000), block=st.integers(1, 9_000))
@settings(max_examples=60, deadline=None)
def test_true_peak_equals_interpolating_everything(seed: int, n_samples: int, block: int) -> None:
    samples = signal(seed, n_samples)
    meter = TruePeakMeter()
    for start in range(0, n_samples, block):
        meter.push(samples[start : start + block])
    padded = np.pad(samples.astype(np.float64), 11)[None]
    full = max(float(interpolated_peaks(padded).max()), float(np.abs(samples).max()))
    assert meter.finish() == full == true_peak(samples)
