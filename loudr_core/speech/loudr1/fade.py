"""The fade at both edges of every window, so that windows can be joined end to end."""

import numpy as np

from loudr_core.arrays import Mono
from loudr_core.speech.loudr1.edge_ramps import edge_ramp

__all__ = ["fade_edges"]


def fade_edges(audio: Mono, *, sample_rate_hz: int, seconds: float) -> Mono:
    """Return samples that rise from 0 and fall to 0.

    Parameters
    ----------
    audio : float32, shape (n,)
    sample_rate_hz : int
    seconds : float
        Of each ramp, rounded down to samples.

    Returns
    -------
    float32, shape (n,)
        The array itself where it is shorter than two ramps, or the ramp has no samples.

    Raises
    ------
    ValueError
        Samples that are not one channel of float32, or a length that is no number.

    References
    ----------
    The loudr-1 specification, section 17.
    """
    if audio.ndim != 1 or audio.dtype != np.float32:
        raise ValueError(f"one channel of float32 is faded, not {audio.dtype} of {audio.shape}")
    if not np.isfinite(seconds):
        raise ValueError(f"a fade of {seconds} s: it takes a number of seconds")
    n = int(seconds * sample_rate_hz)
    if n <= 0 or len(audio) < 2 * n:
        return audio
    ramp = edge_ramp(n)
    faded = audio.copy()
    faded[:n] *= ramp
    faded[-n:] *= ramp[::-1]
    return faded
