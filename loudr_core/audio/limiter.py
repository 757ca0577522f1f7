"""A static limiter: a curve on single samples, so that no unit is louder or softer for its peak.

Scaling a take by its own peak would let the level pump from one take to the next. This curve knows
neither what came before nor how loud the take is.
"""

import numpy as np

from loudr_core.arrays import Mono

__all__ = ["soft_limit"]


def soft_limit(samples: Mono, *, knee: float = 0.75, ceiling: float = 0.95) -> Mono:
    """Bend what is above a knee, so that nothing reaches the ceiling.

    Parameters
    ----------
    samples : float32, shape (n,)
        Finite.
    knee : float
        Samples up to this magnitude stay as they are, bit for bit.
    ceiling : float
        Above the knee; approached, never passed.

    Returns
    -------
    float32, shape (n,)
        A new array: |y| = |x| up to the knee, else
        knee + (ceiling - knee) tanh((|x| - knee) / (ceiling - knee)).

    Raises
    ------
    ValueError
        The ceiling is not above the knee.

    References
    ----------
    BlueTTS specification, section 6; it is smooth at the knee to the first derivative.
    """
    if not 0 <= knee < ceiling:
        raise ValueError(f"knee {knee} and ceiling {ceiling}: the ceiling must be above the knee")
    out = np.array(samples, np.float32)
    magnitude = np.abs(out)
    loud = magnitude > knee
    room = ceiling - knee
    bent = knee + room * np.tanh((magnitude[loud].astype(np.float64) - knee) / room)
    out[loud] = np.copysign(bent, out[loud]).astype(np.float32)
    return out
