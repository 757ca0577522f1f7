"""Draws and seeds, bit for bit against the reference engine.

Every case is one address or one field; a test draws a batch of them per example.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.speech.loudr1 import noise, philox, seeds

pytest.importorskip("loudkit", reason="the reference engine is not installed")

from loudkit import rng
from loudkit.models.noise import gaussian_field, symmetric_uniforms
from loudkit.window import _derive

SEEDS = st.integers(-(2**70), 2**70)
STREAMS = st.integers(0, 2**33)
ROWS = st.integers(0, 2**33)
WORDS = st.integers(0, 2**32 - 1)
BATCH = 10


def same_bits(found: np.ndarray, wanted: np.ndarray) -> bool:
    """Return whether two arrays agree in shape, dtype and every bit."""
    return (
        found.shape == wanted.shape
        and found.dtype == wanted.dtype
        and found.tobytes() == wanted.tobytes()
    )


@settings(max_examples=40, deadline=None)
@given(counters=st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), min_size=BATCH, max_size=BATCH),
       key=st.tuples(WORDS, WORDS))  # fmt: skip
def test_blocks(counters: list[tuple[int, ...]], key: tuple[int, int]) -> None:
    """400 blocks."""
    c0, c1, c2, c3 = np.array(counters, np.uint64).T
    found = philox.philox_4x32_10(c0, c1, c2, c3, *key)
    wanted = rng.philox_4x32_10(c0, c1, c2, c3, *key)
    for ours, theirs in zip(found, wanted, strict=True):
        assert same_bits(ours, theirs)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(SEEDS, STREAMS, ROWS, st.integers(1, 4), st.integers(1, 40)),
                min_size=BATCH, max_size=BATCH))  # fmt: skip
def test_uniform_fields(cases: list[tuple[int, int, int, int, int]]) -> None:
    """600 fields."""
    for case in cases:
        assert same_bits(philox.uniforms(*case), rng.uniforms(*case))


@settings(max_examples=40, deadline=None)
@given(SEEDS, ROWS, st.integers(1, 2000), st.integers(0, 2**32 - 1))
def test_sparse_gumbel_rows(seed: int, row: int, width: int, choice: int) -> None:
    """400 subsets of columns: the same bits as in the reference's dense row."""
    dense = rng.gumbel_noise(seed, 0, row, 1, width)[0]
    order = np.random.default_rng(choice)
    for _ in range(BATCH):
        columns = order.permutation(width)[: order.integers(1, width + 1)]
        if order.random() < 0.5:
            columns.sort()
        assert same_bits(noise.gumbel_at(seed, row, columns), dense[columns])


def test_gumbel_numbers_of_a_block_of_steps() -> None:
    """256 rows as the reference keeps them, 8194 ids wide."""
    block = rng.gumbel_noise(2**63 + 5, 0, 256, 256, 8194)
    chosen = np.random.default_rng(3)
    for row in range(256):
        ids = np.flatnonzero(chosen.random(8194) < 0.004)
        assert same_bits(noise.gumbel_at(2**63 + 5, 256 + row, ids), block[row, ids])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(SEEDS, STREAMS, st.integers(1, 4), st.integers(1, 130)),
                min_size=BATCH, max_size=BATCH))  # fmt: skip
def test_normal_fields(cases: list[tuple[int, int, int, int]]) -> None:
    """600 fields."""
    for case in cases:
        assert same_bits(noise.gaussian_field(*case), gaussian_field(*case))


@pytest.mark.parametrize("seed", [0, 2**64 - 1, 0x1B9DC5D39D22443C])
def test_whole_fields_of_a_window(seed: int) -> None:
    assert same_bits(noise.flow_prior(seed), gaussian_field(seed, 0, 80, 986))
    assert same_bits(noise.vocoder_noise(seed), gaussian_field(seed, 1, 9, 244800))


@settings(max_examples=20, deadline=None)
@given(st.lists(SEEDS, min_size=BATCH, max_size=BATCH))
def test_phases(cases: list[int]) -> None:
    """200 sets of phases."""
    for seed in cases:
        wanted = symmetric_uniforms(seed, 0, 8, np.pi)
        assert same_bits(noise.vocoder_phases(seed)[0, 1:, 0], wanted)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(SEEDS, st.integers(0, 2**40)), min_size=BATCH, max_size=BATCH))
def test_seeds(cases: list[tuple[int, int]]) -> None:
    """400 seeds."""
    for seed, stream in cases:
        assert seeds.derive(seed, stream) == _derive(seed, stream)
