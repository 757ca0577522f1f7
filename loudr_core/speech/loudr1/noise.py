"""The noise of a window: Gumbel for its tokens, normal prior and excitation for its sound.

Logarithm, cosine and root are numpy's, in float64, in the grouping that the specification gives:
with the same numpy on the same kind of processor every bit is that of the reference engine.

References
----------
The loudr-1 specification, sections 8.4, 8.5, 14 (step 7) and 15.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loudr_core.noise import gaussian_field
from loudr_core.speech.loudr1.algorithm import MEL_BINS, MEL_FRAMES, VOCODER_SAMPLES
from loudr_core.speech.loudr1.philox import uniforms, uniforms_at

__all__ = ["flow_prior", "gaussian_field", "gumbel_at", "vocoder_noise", "vocoder_phases"]

_TOKEN_STREAM = 0
_PRIOR_STREAM = 0
_PHASE_STREAM = 0
_EXCITATION_STREAM = 1
_HARMONICS = 9
"""Sines of the vocoder's source: the fundamental and eight overtones."""


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
