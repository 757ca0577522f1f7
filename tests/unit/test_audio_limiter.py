import numpy as np
import pytest

from loudr_core.audio.limiter import soft_limit


def test_what_is_under_the_knee_stays_bit_for_bit() -> None:
    samples = np.linspace(-0.75, 0.75, 1001, dtype=np.float32)
    found = soft_limit(samples)
    np.testing.assert_array_equal(found, samples)
    assert found is not samples


def test_the_curve_is_its_formula() -> None:
    samples = np.linspace(-3, 3, 6001, dtype=np.float32)
    magnitude = np.abs(samples.astype(np.float64))
    bent = np.where(magnitude > 0.75, 0.75 + 0.2 * np.tanh((magnitude - 0.75) / 0.2), magnitude)
    found = soft_limit(samples)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.sign(samples) * bent, atol=1e-7)
    assert (np.diff(found) >= 0).all()
    assert np.abs(found).max() <= np.float32(0.95)


def test_each_sample_is_bent_alone() -> None:
    rng = np.random.default_rng(3)
    samples = (rng.standard_normal(500) * 0.8).astype(np.float32)
    whole = soft_limit(samples)
    parts = np.concatenate([soft_limit(samples[:123]), soft_limit(samples[123:])])
    np.testing.assert_array_equal(whole, parts)
    assert len(soft_limit(np.zeros(0, np.float32))) == 0


def test_a_ceiling_under_the_knee_is_a_callers_mistake() -> None:
    for knee, ceiling in ((0.9, 0.9), (0.9, 0.5), (-0.1, 0.5)):
        with pytest.raises(ValueError, match="ceiling must be above the knee"):
            soft_limit(np.zeros(1, np.float32), knee=knee, ceiling=ceiling)
