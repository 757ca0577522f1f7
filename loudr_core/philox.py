"""Philox-4x32-10: random numbers by address instead of by turn.

Every number is a function of (seed, stream, row, column), so any part of a field can be computed
alone, in any order, on any thread. Only 32-bit integers and one exact division are involved: the
numbers are the same everywhere. Every engine draws from here, addressed by the segment's seed.

References
----------
Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011); the loudr-1
specification, sections 8.2 and 8.3.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["UniformField", "philox_4x32_10", "uniforms", "uniforms_at"]

Words: TypeAlias = NDArray[np.uint64]
"""32-bit words, each in a uint64, so that a product keeps its high half."""

_ROUNDS = 10
_LANES = 4
_LOW = np.array(0xFFFFFFFF, np.uint64)
_HALF = np.array(32, np.uint64)
_MULTIPLIERS = np.array([[0xD2511F53], [0xCD9E8D57]], np.uint64)
_WEYL = np.array([[0x9E3779B9], [0xBB67AE85]], np.uint64)


def philox_4x32_10(
    c0: ArrayLike, c1: ArrayLike, c2: ArrayLike, c3: ArrayLike, k0: int, k1: int
) -> tuple[Words, Words, Words, Words]:
    """Encrypt counters under a key.

    Parameters
    ----------
    c0, c1, c2, c3 : integers below 2^64, shapes that broadcast
        Words of the counters; what is above 32 bits is ignored.
    k0, k1 : int
        Words of the key, likewise.

    Returns
    -------
    four uint64 arrays of the broadcast shape
        The words of the block, each below 2^32.
    """
    words = [np.asarray(word).astype(np.uint64) & _LOW for word in (c0, c1, c2, c3)]
    shape = np.broadcast_shapes(*(word.shape for word in words))
    flat = [np.broadcast_to(word, shape).reshape(-1) for word in words]
    even, odd = _encrypt(np.stack(flat[0::2]), np.stack(flat[1::2]), _round_keys(k0, k1))
    x0, x1, x2, x3 = (word.reshape(shape) for word in (even[0], odd[0], even[1], odd[1]))
    return x0, x1, x2, x3


def uniforms(
    seed: int, stream: int, first_row: int, n_rows: int, n_columns: int
) -> NDArray[np.float64]:
    """Return a dense part of the field of uniform numbers.

    Parameters
    ----------
    seed, stream : int
        Of any size and sign; their low 64 and 32 bits matter.
    first_row, n_rows, n_columns : int
        Rows first_row to first_row + n_rows - 1, modulo 2^32, of columns 0 to n_columns - 1.

    Returns
    -------
    float64, shape (n_rows, n_columns)
        In the open interval (0, 1): (bits + 0.5) / 2^32, exact.

    Raises
    ------
    ValueError
        A count is negative.
    """
    if n_rows < 0 or n_columns < 0:
        raise ValueError(f"{n_rows} rows of {n_columns} columns: neither can be below 0")
    out = np.empty((n_rows, n_columns))
    blocks = np.arange(-(-n_columns // _LANES), dtype=np.uint64)
    field = UniformField(seed, stream)
    for i in range(n_rows):
        out[i] = field.lanes(first_row + i, blocks).T.reshape(-1)[:n_columns]
    return out


def uniforms_at(seed: int, stream: int, row: int, columns: ArrayLike) -> NDArray[np.float64]:
    """Return the uniform numbers at some columns of one row; see `uniforms`.

    Parameters
    ----------
    columns : integers, shape (n,)
        From 0, in any order.

    Returns
    -------
    float64, shape (n,)

    Raises
    ------
    ValueError
        A column is negative, or they are not integers in a row.
    """
    at = np.asarray(columns)
    if at.ndim != 1 or (at.size and at.dtype.kind not in "iu"):
        raise ValueError(f"columns are integers in a row, not {at.dtype} of shape {at.shape}")
    if at.size and int(at.min()) < 0:
        raise ValueError(f"column {int(at.min())}: columns are counted from 0")
    at = at.astype(np.uint64)
    lanes = UniformField(seed, stream).lanes(row, at // np.uint64(_LANES))
    chosen: NDArray[np.float64] = lanes[
        (at % np.uint64(_LANES)).astype(np.intp), np.arange(len(at))
    ]
    return chosen


class UniformField:
    """A field of uniform numbers, four columns a block.

    Parameters
    ----------
    seed, stream : int
        Of any size and sign; their low 64 and 32 bits matter.
    """

    def __init__(self, seed: int, stream: int) -> None:
        seed = int(seed)
        self._keys = _round_keys(seed, seed >> 32)
        self._tail = np.uint64(int(stream) & 0xFFFFFFFF)

    def lanes(self, rows: int | Words, blocks: Words) -> NDArray[np.float64]:
        """Return the numbers of some blocks, block b of a row holding columns 4b to 4b + 3.

        Parameters
        ----------
        rows : int, or uint64, shape (n,)
            The row of all blocks, or of each; the low 32 bits matter.
        blocks : uint64, shape (n,)

        Returns
        -------
        float64, shape (4, n)
            Lane by lane: its transpose has the columns in order.
        """
        if not isinstance(rows, np.ndarray):
            rows = np.array(int(rows) & 0xFFFFFFFF, np.uint64)
        even = np.empty((2, len(blocks)), np.uint64)
        even[0], even[1] = blocks & _LOW, self._tail
        odd = np.empty_like(even)
        odd[0], odd[1] = rows & _LOW, 0
        even, odd = _encrypt(even, odd, self._keys)
        out = np.empty((_LANES, len(blocks)))
        np.add(even, 0.5, out=out[0::2])
        np.add(odd, 0.5, out=out[1::2])
        return np.multiply(out, 2.0**-32, out=out)


def _round_keys(k0: int, k1: int) -> Words:
    """Return the keys of all rounds, shape (rounds, 2, 1)."""
    first = np.array([[int(k0) & 0xFFFFFFFF], [int(k1) & 0xFFFFFFFF]], np.uint64)
    turns = np.arange(_ROUNDS, dtype=np.uint64)[:, None, None]
    return (first + turns * _WEYL) & _LOW


def _encrypt(even: Words, odd: Words, keys: Words) -> tuple[Words, Words]:
    """Run the rounds on the words (c0, c2) and (c1, c3), each of shape (2, n); both are used up."""
    product = np.empty_like(even)
    for key in keys:
        np.multiply(even, _MULTIPLIERS, out=product)
        crossed = product[::-1]  # each product goes into the other pair
        np.right_shift(crossed, _HALF, out=even)
        np.bitwise_xor(even, odd, out=even)
        np.bitwise_xor(even, key, out=even)
        np.bitwise_and(crossed, _LOW, out=odd)
    return even, odd
