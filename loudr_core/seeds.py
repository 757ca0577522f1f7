"""The one law by which a seed is derived from another, for engines and for jobs alike."""

__all__ = ["derive"]

_MASK = (1 << 64) - 1


def derive(seed: int, stream: int) -> int:
    """Return the seed of a stream of a seed, in [0, 2^64).

    Parameters
    ----------
    seed : int
        Of any size and sign: only its low 64 bits matter, so -1 is 2^64 - 1.
    stream : int
        What the seed is for; each use has its own number.

    References
    ----------
    The loudr-1 specification, section 8.1: (seed * 0x9E3779B97F4A7C15 + stream *
    0xBF58476D1CE4E5B9) mod 2^64.
    """
    # A numpy integer would overflow in its own width.
    return (int(seed) * 0x9E3779B97F4A7C15 + int(stream) * 0xBF58476D1CE4E5B9) & _MASK
