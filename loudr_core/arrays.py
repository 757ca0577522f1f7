"""Names for the arrays that pass between modules; each is a numpy array with a fixed dtype."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Mono", "Pcm24"]

Mono: TypeAlias = NDArray[np.float32]
"""Samples of one channel, float32, shape (n,), nominally in [-1, 1]."""

Pcm24: TypeAlias = NDArray[np.int32]
"""Samples of one channel as 24-bit integers in [-2^23, 2^23 - 1], int32, shape (n,)."""
