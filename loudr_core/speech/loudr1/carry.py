"""Tokens that one window hands to the next, so that the voice goes on instead of starting anew."""

from collections.abc import Iterable, Sequence

from loudr_core.speech.loudr1.algorithm import ACOUSTIC_TOKENS, Algorithm

__all__ = ["carry", "check_speech_tokens", "strip_specials"]

_SHOWN_CHARACTERS = 80


def carry(algorithm: Algorithm, tokens: Sequence[int], wanted: int) -> list[int]:
    """Return the last tokens of a row, as the prefix of what follows it.

    A bundle that decodes in pairs gets whole pairs: the last token of an odd row is left out, and
    the start is moved down to an even place.

    Parameters
    ----------
    algorithm : Algorithm
    tokens : sequence of int
        Speech tokens of the window before.
    wanted : int
        How many; all are given where there are fewer.

    Raises
    ------
    ValueError
        A negative number is wanted.

    References
    ----------
    The loudr-1 specification, sections 13 and 18.4.
    """
    if wanted < 0:
        raise ValueError(f"{wanted} carried tokens: 0 or more are carried")
    if wanted == 0:
        return []
    end = len(tokens)
    start = end - wanted
    if algorithm.decode_mode == "fusion_mtp2":
        end -= end % 2
        start = end - wanted
        start -= start % 2
    return [int(token) for token in tokens[max(start, 0) : end]]


def check_speech_tokens(tokens: Iterable[object], limit: int = ACOUSTIC_TOKENS) -> list[int]:
    """Return tokens that a caller hands in as integers.

    Parameters
    ----------
    tokens : iterable
        A list or an array with one axis, of numbers that equal an integer, such as 7, 7.0 or a
        numpy integer.
    limit : int
        The first id that is too large.

    Raises
    ------
    ValueError
        They are not in one row; or naming the first that is no integer, or not in [0, limit).
    """
    if not isinstance(tokens, Iterable) or getattr(tokens, "ndim", 1) != 1:
        found = getattr(tokens, "shape", None)
        what = f"a {type(tokens).__name__}" if found is None else f"an array of shape {found}"
        raise ValueError(f"speech tokens are one row of whole numbers, found {what}")
    checked = []
    for token in tokens:
        number = -1
        try:
            if not getattr(token, "shape", ()):
                number = int(token)  # type: ignore[call-overload]
        except (TypeError, ValueError, OverflowError):
            pass
        if not 0 <= number < limit or number != token:
            told = " ".join(repr(token).split())[:_SHOWN_CHARACTERS]
            raise ValueError(
                f"{told} is no speech token: they are whole numbers from 0 to {limit - 1}"
            )
        checked.append(number)
    return checked


def strip_specials(algorithm: Algorithm, tokens: Iterable[int]) -> list[int]:
    """Return the tokens that have a sound, in order: ids below the start mark."""
    return [int(token) for token in tokens if token < algorithm.start_speech_token]
