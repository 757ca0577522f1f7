"""Draws and seeds, bit for bit against the reference engine.

A case is one address or one field.
"""

from random import Random
from typing import Any

import numpy as np
import pytest
from distinct_cases import distinct_cases

from loudr_core.speech.loudr1 import noise, philox, seeds

pytest.importorskip("loudkit", reason="the reference engine is not installed")

from loudkit import rng
from loudkit.models.noise import gaussian_field, symmetric_uniforms
from loudkit.window import _derive


def seed_of(draws: Random) -> int:
    """Return a seed: near zero or a power of two, or any of up to 70 bits and a sign."""
    if draws.random() < 0.3:
        return draws.choice([0, 2**31, 2**32, 2**63, 2**64, -(2**63), -(2**64)]) + draws.randint(
            -9, 9
        )
    return draws.getrandbits(draws.randint(1, 70)) * draws.choice([1, -1])


def word_of(draws: Random, bits: int) -> int:
    """Return an address: below 2**32 and beyond, small ones and the last ones too."""
    edge = draws.choice([0, 2**32, 2**bits])
    near = max(0, min(2**bits, edge + draws.randint(-300, 300)))
    return draws.choice([near, draws.getrandbits(bits), draws.getrandbits(draws.randint(1, bits))])


def same_bits(found: np.ndarray, wanted: np.ndarray) -> bool:
    """Return whether two arrays agree in shape, dtype and every bit."""
    return (
        found.shape == wanted.shape
        and found.dtype == wanted.dtype
        and found.tobytes() == wanted.tobytes()
    )


@distinct_cases(600)
def test_blocks(draws: Random) -> tuple[Any, ...]:
    """Blocks of four words; half of the words are near 0 or 2**32."""
    words = [
        draws.choice([draws.getrandbits(32), draws.randrange(9), 2**32 - draws.randint(1, 9)])
        for _ in range(6)
    ]
    counter = [np.array([word], np.uint64) for word in words[:4]]
    found = philox.philox_4x32_10(*counter, *words[4:])
    wanted = rng.philox_4x32_10(*counter, *words[4:])
    for ours, theirs in zip(found, wanted, strict=True):
        assert same_bits(ours, theirs)
    return ("block", words)


@distinct_cases(800)
def test_uniform_fields(draws: Random) -> tuple[Any, ...]:
    field = (
        seed_of(draws), word_of(draws, 33), word_of(draws, 33),
        draws.randint(1, 4), draws.randint(1, 40),
    )  # fmt: skip
    assert same_bits(philox.uniforms(*field), rng.uniforms(*field))
    return ("field", field)


@distinct_cases(600)
def test_sparse_gumbel_rows(draws: Random) -> tuple[Any, ...]:
    """Subsets of columns: the same bits as in the reference's dense row."""
    seed, row, width = seed_of(draws), word_of(draws, 33), draws.randint(1, 2000)
    columns = np.array(draws.sample(range(width), draws.randint(1, width)))
    if draws.random() < 0.5:
        columns.sort()
    dense = rng.gumbel_noise(seed, 0, row, 1, width)[0]
    assert same_bits(noise.gumbel_at(seed, row, columns), dense[columns])
    return ("row", seed, row, columns)


def test_gumbel_numbers_of_a_block_of_steps() -> None:
    """256 rows as the reference keeps them, 8194 ids wide."""
    block = rng.gumbel_noise(2**63 + 5, 0, 256, 256, 8194)
    chosen = np.random.default_rng(3)
    for row in range(256):
        ids = np.flatnonzero(chosen.random(8194) < 0.004)
        assert same_bits(noise.gumbel_at(2**63 + 5, 256 + row, ids), block[row, ids])


@distinct_cases(800)
def test_normal_fields(draws: Random) -> tuple[Any, ...]:
    field = (seed_of(draws), word_of(draws, 33), draws.randint(1, 4), draws.randint(1, 130))
    assert same_bits(noise.gaussian_field(*field), gaussian_field(*field))
    return ("field", field)


@pytest.mark.parametrize("seed", [0, 2**64 - 1, 0x1B9DC5D39D22443C])
def test_whole_fields_of_a_window(seed: int) -> None:
    assert same_bits(noise.flow_prior(seed), gaussian_field(seed, 0, 80, 986))
    assert same_bits(noise.vocoder_noise(seed), gaussian_field(seed, 1, 9, 244800))


@distinct_cases(220)
def test_phases(draws: Random) -> tuple[Any, ...]:
    seed = seed_of(draws)
    wanted = symmetric_uniforms(seed, 0, 8, np.pi)
    assert same_bits(noise.vocoder_phases(seed)[0, 1:, 0], wanted)
    return ("phases", seed)


@distinct_cases(600)
def test_seeds(draws: Random) -> tuple[Any, ...]:
    seed, stream = seed_of(draws), word_of(draws, 40)
    assert seeds.derive(seed, stream) == _derive(seed, stream)
    return ("seed", seed, stream)
