"""Samples at another rate; the only importer of soxr.

Used for what a user brings along and for voices of another rate. The result depends on the samples
and the two rates alone: one thread, dither off, linear phase.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import soxr

from loudr_core.arrays import Mono

__all__ = ["resample", "resample_stream"]

_QUALITY = "VHQ"


def resample(samples: Mono, from_hz: int, to_hz: int) -> Mono:
    """Return the samples at another rate, in time with the input.

    Parameters
    ----------
    samples : float32, shape (n,)
    from_hz, to_hz : int
        Positive.

    Returns
    -------
    float32, shape (m,)
        m is n · to_hz / from_hz, rounded. The input itself when the rates are equal.
    """
    samples = np.ascontiguousarray(samples, np.float32)
    if from_hz == to_hz or len(samples) == 0:
        return samples
    return np.asarray(soxr.resample(samples, from_hz, to_hz, quality=_QUALITY), np.float32)


def resample_stream(blocks: Iterable[Mono], from_hz: int, to_hz: int) -> Iterator[Mono]:
    """Yield blocks at another rate: together what `resample` gives of the whole."""
    if from_hz == to_hz:
        yield from (np.asarray(block, np.float32) for block in blocks)
        return
    stream = soxr.ResampleStream(from_hz, to_hz, 1, dtype="float32", quality=_QUALITY)
    for block in blocks:
        if len(block):
            yield stream.resample_chunk(np.ascontiguousarray(block, np.float32))
    yield stream.resample_chunk(np.zeros(0, np.float32), last=True)
