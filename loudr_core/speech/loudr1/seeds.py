"""Which seed each draw of a passage is made with.

Chunk, window, attempt, prior and vocoder each derive theirs from the one above, so a window's
sound depends on its place in the passage and never on what was drawn before it.
"""

import operator

from loudr_core.seeds import derive

__all__ = [
    "attempt_seed",
    "check_seed",
    "chunk_seed",
    "derive",
    "flow_seed",
    "second_half_seed",
    "vocoder_seed",
]

_FLOW_STREAM = 1
_VOCODER_STREAM = 2
_RETRY_STREAM = 8
_CHUNK_STREAM = 16
_SECOND_HALF_STREAM = 4096
_MASK = (1 << 64) - 1


def check_seed(seed: object) -> int:
    """Return a caller's seed as an integer.

    Parameters
    ----------
    seed : int
        Or what Python takes as an index, such as a numpy integer.

    Raises
    ------
    ValueError
        It is something else; 1.0 and "1" too, for the speech of a seed must never hang on how the
        seed was rounded or read.
    """
    try:
        return operator.index(seed)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(
            f"a seed is an integer, found a {type(seed).__name__}: give a whole number"
        ) from None


def chunk_seed(seed: int, k: int) -> int:
    """Return the seed of chunk k of a passage: for chunk 0 the low 64 bits of the caller's seed.

    Raises
    ------
    ValueError
        The index is negative.

    References
    ----------
    The loudr-1 specification, section 8.1, as for every function here.
    """
    if k < 0:
        raise ValueError(f"chunk {k}: chunks are counted from 0")
    return int(seed) & _MASK if k == 0 else derive(seed, _CHUNK_STREAM + k)


def second_half_seed(chunk_seed: int) -> int:
    """Return the window seed of the second half of a chunk that was cut in two."""
    return derive(chunk_seed, _SECOND_HALF_STREAM)


def attempt_seed(window_seed: int, a: int) -> int:
    """Return the seed of the tokens of attempt a at a window: its own seed for attempt 0.

    Raises
    ------
    ValueError
        The attempt is negative.
    """
    if a < 0:
        raise ValueError(f"attempt {a}: attempts are counted from 0")
    return int(window_seed) & _MASK if a == 0 else derive(window_seed, _RETRY_STREAM + a)


def flow_seed(window_seed: int) -> int:
    """Return the seed of the flow's prior; that of the window, whichever attempt is rendered."""
    return derive(window_seed, _FLOW_STREAM)


def vocoder_seed(window_seed: int) -> int:
    """Return the seed of the vocoder's noise and phases; that of the window, as `flow_seed`."""
    return derive(window_seed, _VOCODER_STREAM)
