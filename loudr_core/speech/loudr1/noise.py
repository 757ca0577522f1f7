"""The noise of a window: Gumbel for its tokens, normal prior and excitation for its sound.

Logarithm, cosine and root are numpy's, in float64, in the grouping that the specification gives:
with the same numpy on the same kind of processor every bit is that of the reference engine.

References
----------
The loudr-1 specification, sections 8.4, 8.5, 14 (step 7) and 15.
"""

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loudr_core.speech.loudr1.algorithm import MEL_BINS, MEL_FRAMES, VOCODER_SAMPLES
from loudr_core.speech.loudr1.philox import UniformField, uniforms, uniforms_at

__all__ = ["flow_prior", "gaussian_field", "gumbel_at", "vocoder_noise", "vocoder_phases"]

_TOKEN_STREAM = 0
_PRIOR_STREAM = 0
_PHASE_STREAM = 0
_EXCITATION_STREAM = 1
_HARMONICS = 9
"""Sines of the vocoder's source: the fundamental and eight overtones."""
_BLOCKS = 8192
"""Philox blocks worked on at once: their words stay in a processor's second-level cache."""


def gumbel_at(seed: int, row: int, columns: ArrayLike) -> NDArray[np.float64]:
    """Return the Gumbel numbers of some token ids at one decode step.

    Only ids that can win need one, which is some twenty of 8194.

    Parameters
    ----------
    seed : int
        Of the attempt's tokens.
    row : int
        The decode step.
    columns : integers, shape (n,)
        Token ids.

    Returns
    -------
    float64, shape (n,)
        -log(-log(u)).

    Raises
    ------
    ValueError
        A column is negative, or they are not integers in a row.
    """
    u = uniforms_at(seed, _TOKEN_STREAM, row, columns)
    gumbel: NDArray[np.float64] = -np.log(-np.log(u))
    return gumbel


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


def flow_prior(flow_seed: int) -> NDArray[np.float32]:
    """Return the noise that the flow of a window starts from.

    Returns
    -------
    float32, shape (80, 986)
        Mel bins by frames, prompt frames first.
    """
    return gaussian_field(flow_seed, _PRIOR_STREAM, MEL_BINS, MEL_FRAMES)


def vocoder_noise(vocoder_seed: int) -> NDArray[np.float32]:
    """Return the noise of the vocoder's source; all of it, however short the window is.

    Returns
    -------
    float32, shape (9, 244800)
        Harmonics by samples.
    """
    return gaussian_field(vocoder_seed, _EXCITATION_STREAM, _HARMONICS, VOCODER_SAMPLES)


def vocoder_phases(vocoder_seed: int) -> NDArray[np.float32]:
    """Return the phases that the vocoder's sines start with.

    Returns
    -------
    float32, shape (1, 9, 1)
        Radians in (-pi, pi); 0 for the fundamental.
    """
    phases = np.zeros((1, _HARMONICS, 1), np.float32)
    u = uniforms(vocoder_seed, _PHASE_STREAM, 0, 1, _HARMONICS - 1)[0]
    phases[0, 1:, 0] = (u * 2.0 - 1.0) * math.pi
    return phases
