"""A passage to chunks that fit one window, and a chunk to halves when it did not fit.

Exactly the cuts of the reference engine (loudr-1 specification, section 7): a cut moves every token
after it, so a better place for a pause would be another algorithm with another fingerprint. Lengths
are Unicode code points.
"""

from loudr_core.speech.loudr1.algorithm import Chunking, Unset

__all__ = ["character_budget", "estimate_tokens", "split_in_half", "split_text"]

_CHARACTERS_PER_TOKEN = 0.5
"""Text length over speech length, as the reference engine estimates it."""
_LEAST_TOKENS = 2
_BOUNDARIES = " \t\n\r\u00a0\u2007\u202f"
"""Where a word may end: four kinds of ASCII white space and three no-break spaces."""


def estimate_tokens(text: str) -> int:
    """Return how many speech tokens a text is taken to need: twice its code points, plus one."""
    return int(len(text) / _CHARACTERS_PER_TOKEN) + 1


def character_budget(max_tokens: int) -> int:
    """Return how many code points a chunk of at most `max_tokens` speech tokens may hold.

    Raises
    ------
    ValueError
        Not even one character would fit.
    """
    if max_tokens < _LEAST_TOKENS:
        raise ValueError(
            f"a chunk of {max_tokens} speech tokens holds no character: at least {_LEAST_TOKENS}"
        )
    return int(max_tokens * _CHARACTERS_PER_TOKEN)


def split_text(text: str, chunking: Chunking) -> list[str]:
    """Cut a prepared text into chunks, in order.

    Parameters
    ----------
    text : str
        After the text funnel; not prepared again chunk by chunk.
    chunking : Chunking

    Returns
    -------
    list of str
        No chunk is empty, none starts or ends with white space; empty for a text of white space.
        No other character is lost: the chunks joined hold what the text holds.

    Raises
    ------
    ValueError
        `max_tokens` is too small for one character.

    References
    ----------
    loudr-1 specification, section 7.2.
    """
    text = text.strip()
    if not text:
        return []
    first = chunking.first_chunk_max_tokens
    first = None if isinstance(first, Unset) else first
    if not chunking.enabled or (first is None and estimate_tokens(text) <= chunking.max_tokens):
        return [text]
    budget = character_budget(chunking.max_tokens)
    # A first chunk of one token has no room either, and still takes one character.
    at, limit = 0, budget if first is None else int(first * _CHARACTERS_PER_TOKEN)
    chunks: list[str] = []
    while len(text) - at > limit:
        cut = at + _cut(text[at : at + limit + 2], limit, chunking)
        chunks.append(text[at:cut].strip())
        at = cut
        while at < len(text) and text[at].isspace():
            at += 1
        limit = budget
    chunks.append(text[at:].strip())
    return [chunk for chunk in chunks if chunk]


def _cut(look: str, budget: int, chunking: Chunking) -> int:
    """Return where a chunk ends, at least 1.

    `look` is the text from the chunk's start, one character past the `budget + 1` in which a
    separator may stand, so that the character behind the last one can be seen.
    """
    head = look[: budget + 1]
    for separator in chunking.split_on:
        place = head.rfind(separator)
        while place > 0 and _held(look, place, separator, chunking):
            place = head.rfind(separator, 0, place)
        if place > 0:
            return place + len(separator)
    cut = max(head.rfind(boundary) for boundary in _BOUNDARIES)
    return cut if cut > 0 else max(budget, 1)


def _held(look: str, place: int, separator: str, chunking: Chunking) -> bool:
    """Return whether a full stop ends no sentence: small letters follow, or an abbreviation."""
    if chunking.mid_sentence_period != "hold" or not separator.startswith("."):
        return False
    following = look[place + len(separator) : place + len(separator) + 1]
    if "a" <= following <= "z":
        return True
    before = look[:place]
    return any(
        before.endswith(word) and not _is_alphanumeric(before[: len(before) - len(word)][-1:])
        for word in chunking.abbreviations
    )


def _is_alphanumeric(character: str) -> bool:
    return character.isascii() and character.isalnum()


def split_in_half(text: str) -> tuple[str, str] | None:
    """Cut a chunk at the word boundary nearest its middle.

    Parameters
    ----------
    text : str
        A chunk whose speech overflowed its window.

    Returns
    -------
    tuple of (str, str) or None
        Both halves stripped and not empty; None for a text that cannot be halved. Of two boundaries
        equally near, the earlier.

    References
    ----------
    loudr-1 specification, section 7.3.
    """
    places = [i for i in range(1, len(text) - 1) if text[i] in _BOUNDARIES]
    if not places:
        return None
    middle = min(places, key=lambda place: abs(place - len(text) / 2))
    left, right = text[: middle + 1].strip(), text[middle + 1 :].strip()
    return (left, right) if left and right else None
