"""Normal numbers by address: Box-Muller pairs over a Philox field.

Logarithm, cosine and root are numpy's, in float64, in the grouping that the specification gives:
with the same numpy on the same kind of processor every bit is the same.

References
----------
Box and Muller: A note on the generation of random normal deviates (1958); the loudr-1
specification, section 8.5.
"""

import itertools

import numpy as np
from numpy.typing import NDArray

from loudr_core.philox import UniformField

__all__ = ["gaussian_field"]

_BLOCKS = 8192
"""Philox blocks worked on at once: their words stay in a processor's second-level cache."""


def gaussian_field(seed: int, stream: int, rows: int, columns: int) -> NDArray[np.float32]:
    """Return a field of standard normal numbers, one Box-Muller pair for each.

    Parameters
    ----------
    seed : int
    stream : int
        The radius is drawn from it, the angle from the next one.
    rows, columns : int

    Returns
    -------
    float32, shape (rows, columns)

    Raises
    ------
    ValueError
        A count is negative.

    References
    ----------
    Box and Muller: A note on the generation of random normal deviates (1958).
    """
    if rows < 0 or columns < 0:
        raise ValueError(f"{rows} rows of {columns} columns: neither can be below 0")
    n_blocks = -(-columns // 4)
    field = np.empty((rows, n_blocks, 4), np.float32)
    radius, angle = UniformField(seed, stream), UniformField(seed, stream + 1)
    across = max(1, min(n_blocks, _BLOCKS))
    down = _BLOCKS // across
    for row, start in itertools.product(range(0, rows, down), range(0, n_blocks, across)):
        part = field[row : row + down, start : start + across]
        height, width, _ = part.shape
        at = (
            np.repeat(np.arange(row, row + height, dtype=np.uint64), width),
            np.tile(np.arange(start, start + width, dtype=np.uint64), height),
        )
        normal = _box_muller(radius.lanes(*at), angle.lanes(*at))
        part[:] = normal.T.reshape(height, width, 4)
    return np.ascontiguousarray(field.reshape(rows, 4 * n_blocks)[:, :columns])


def _box_muller(u1: NDArray[np.float64], u2: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sqrt(-2 log u1) cos(2 pi u2); both arguments are used up."""
    np.log(u1, out=u1)
    np.multiply(-2.0, u1, out=u1)
    np.sqrt(u1, out=u1)
    np.multiply(2.0 * np.pi, u2, out=u2)
    np.cos(u2, out=u2)
    return np.multiply(u1, u2, out=u1)
