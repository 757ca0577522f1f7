"""Tokens that one window hands to the next, so that the voice goes on instead of starting anew."""

from collections.abc import Iterable, Sequence

from loudr_core.speech.loudr1.algorithm import ACOUSTIC_TOKENS, Algorithm

__all__ = ["carry", "check_speech_tokens", "strip_specials"]


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
        Numbers that equal an integer, such as 7, 7.0 or a numpy integer.
    limit : int
        The first id that is too large.

    Raises
    ------
    ValueError
        Naming the first that is no integer, or not in [0, limit).
    """
    checked = []
    for token in tokens:
        try:
            number = int(token)  # type: ignore[call-overload]
        except (TypeError, ValueError, OverflowError):
            number = -1
        if number != token or not 0 <= number < limit:
            raise ValueError(
                f"{token!r} is no speech token: they are whole numbers from 0 to {limit - 1}"
            )
        checked.append(number)
    return checked


def strip_specials(algorithm: Algorithm, tokens: Iterable[int]) -> list[int]:
    """Return the tokens that have a sound, in order: ids below the start mark."""
    return [int(token) for token in tokens if token < algorithm.start_speech_token]
