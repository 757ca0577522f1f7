"""Windows, filterbanks, and the functions in single precision that they are made with."""

import hashlib
import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from loudr_core.speech.loudr1.mel_tables import (
    hann_periodic,
    hann_symmetric,
    kaldi_filters,
    povey,
    slaney_filters,
)
from loudr_core.speech.loudr1.single_precision import cosine, logarithm, power

F32 = NDArray[np.float32]


def ulps(found: F32, exact: NDArray[np.float64]) -> float:
    """Return the largest error in units in the last place of the exact value."""
    unit = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    return float((np.abs(found - exact) / unit).max())


def test_cosine_is_within_one_ulp() -> None:
    x = np.random.default_rng(1).uniform(-90, 90, 200_000).astype(np.float32)
    assert ulps(cosine(x), np.cos(x.astype(np.float64))) <= 1.0
    assert cosine(np.float32([0])) == 1


def test_logarithm_is_within_one_ulp() -> None:
    x = np.exp(np.random.default_rng(2).uniform(-80, 80, 200_000)).astype(np.float32)
    assert ulps(logarithm(x), np.log(x.astype(np.float64))) <= 1.0
    assert logarithm(np.float32([1])) == 0


def test_power_is_within_one_ulp() -> None:
    x = np.random.default_rng(3).uniform(1e-6, 30, 200_000).astype(np.float32)
    exact = x.astype(np.float64) ** float(np.float32(0.85))
    assert ulps(power(x, 0.85), exact) <= 1.0
    assert power(np.float32([0, 1]), 0.85).tolist() == [0, 1]


# SHA-256 of float32 little-endian tables, zeros without a sign. They were equal to the reference
# engine's; each is made of basic operations only, or rounded from float64, so that no processor
# makes others.
TABLES: dict[str, tuple[Callable[[], F32], str]] = {
    "hann 400": (
        lambda: hann_periodic(400),
        "c692d19f0b2bd745f0dfc967261c3e3d21a2473e485a677d219e9b4a73e0218e",
    ),
    "hann 1920": (
        lambda: hann_periodic(1920),
        "c3b8625c4944bad4312a5110fc94bb710f500d1021f9124c332298531b8efcb6",
    ),
    "hann 400 symmetric": (
        lambda: hann_symmetric(400),
        "378123c18692bacb91d2c4a12eb7ce4d16bc4fe64f85761c4c5be8e4c31230a6",
    ),
    "povey 400": (
        lambda: povey(400),
        "978a9b135302db69d9c47c89ecc94767f834628dff027143ff6ad73b93981b3c",
    ),
    "kaldi": (
        lambda: kaldi_filters(16_000, 512, 80, fmin_hz=20),
        "a2ecf5caa90332eacc87876ff8c8a18a04a9fd75b9f3709f158b4e166037ed33",
    ),
    "slaney 128": (
        lambda: slaney_filters(16_000, 400, 128, fmin_hz=0, fmax_hz=8000),
        "e399c2d72d2f7375e503c296d8453cefcc0c1e47a9c1a0a09e0d70f59c820f20",
    ),
    "slaney 80": (
        lambda: slaney_filters(24_000, 1920, 80, fmin_hz=0, fmax_hz=8000),
        "f5745d0265e9cbc4da7b32b456cbc8f2a4ce1e7a266c44595b0c9bf55528f172",
    ),
    "slaney 40": (
        lambda: slaney_filters(16_000, 400, 40, fmin_hz=0, fmax_hz=8000),
        "6aadace332d068a48ad03845d9d35e72e358c2bcfb39f3a3ad2e32bc96a15a60",
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_each_table_has_its_bits(name: str) -> None:
    make, sha256 = TABLES[name]
    table = make() + np.float32(0)
    assert hashlib.sha256(table.astype("<f4").tobytes()).hexdigest() == sha256


@pytest.mark.parametrize("width", [2, 3, 400, 1920])
def test_windows_are_what_their_formula_says(width: int) -> None:
    k = np.arange(width)
    periodic = [0.5 - 0.5 * math.cos(2 * math.pi * i / width) for i in k]
    symmetric = np.array([0.5 - 0.5 * math.cos(2 * math.pi * i / (width - 1)) for i in k])
    np.testing.assert_allclose(hann_periodic(width), periodic, rtol=0, atol=5e-7)
    np.testing.assert_allclose(hann_symmetric(width), symmetric, rtol=0, atol=1e-7)
    np.testing.assert_allclose(povey(width), symmetric**0.85, rtol=0, atol=5e-6)


def test_tables_are_float32_and_shared_read_only() -> None:
    for make, _ in TABLES.values():
        table = make()
        assert table.dtype == np.float32
        assert table is make()
        with pytest.raises(ValueError, match="read-only"):
            table[0] = 1


@pytest.mark.parametrize(
    ("rate", "fft", "n", "top"),
    [(16_000, 400, 128, 8000), (24_000, 1920, 80, 8000), (16_000, 400, 40, 8000)],
)
def test_slaney_filters_are_triangles_of_area_one(rate: int, fft: int, n: int, top: int) -> None:
    filters = slaney_filters(rate, fft, n, fmin_hz=0, fmax_hz=top)
    assert filters.shape == (n, fft // 2 + 1)
    assert (filters >= 0).all()
    peaks = filters.argmax(axis=1)
    assert (np.diff(peaks) >= 0).all()
    wide = (filters > 0).sum(axis=1) >= 12  # where the bins sample a triangle well
    area = filters.sum(axis=1) * rate / fft
    np.testing.assert_allclose(area[wide], 1, rtol=0.02)


def test_kaldi_filters_sum_to_one_between_first_and_last_peak() -> None:
    filters = kaldi_filters(16_000, 512, 80, fmin_hz=20)
    assert filters.shape == (80, 256)
    assert filters[:, 0].sum() == 0
    total = filters.sum(axis=0)
    np.testing.assert_allclose(total[3:248], 1, rtol=0, atol=2e-5)
