"""Sentences to segments of one paragraph: an over-long sentence is cut, short ones are packed.

Both work on offsets of the paragraph and ask only how long a stretch is when spoken.
"""

import re
from collections.abc import Callable

from loudr_core.text.sentences import ends_in_abbreviation, goes_on_in_figures

__all__ = ["Range", "cut_long", "pack"]

Range = tuple[int, int]
Length = Callable[[int, int], int]

_CLOSER = r"[\"'”’»)\]]*"
_MARKS = (
    re.compile(rf"[.!?…]{_CLOSER}\s+"),
    re.compile(rf";{_CLOSER}\s+"),
    re.compile(rf":{_CLOSER}\s+"),
    re.compile(rf"(?:(?<!\d)\s*[—–]|\s*[—–](?!\s?\d)){_CLOSER}\s*|--\s*"),
    re.compile(rf",{_CLOSER}\s+"),
    re.compile(r"(?<=\))\s+"),
    re.compile(r"\s+"),
)
"""Where a sentence may be cut, strongest first; the last is any space."""
_LONGEST = 16
"""Characters that hold any abbreviation and the space behind it."""
_MARGIN = 5
"""A mark nearer to an end than a fifth of the sentence is passed over for a weaker one."""


def cut_long(text: str, start: int, end: int, length: Length, limit: int) -> list[Range]:
    """Cut a stretch until no part is longer, when spoken, than a limit.

    Parameters
    ----------
    text : str
        The paragraph.
    start, end : int
        The stretch.
    length : callable
        Spoken length of a stretch, by its offsets.
    limit : int
        In characters, at least 1.

    Returns
    -------
    list of (start, end)
        Adjacent stretches that cover the given one. A stretch that cannot be cut, being one
        character, may be longer.
    """
    if end - start <= 1 or length(start, end) <= limit:
        return [(start, end)]
    at = _best_cut(text, start, end)
    return cut_long(text, start, at, length, limit) + cut_long(text, at, end, length, limit)


def _best_cut(text: str, start: int, end: int) -> int:
    middle = (start + end) / 2
    margin = (end - start) // _MARGIN
    for index, pattern in enumerate(_MARKS):
        last = index == len(_MARKS) - 1
        low, high = (start, end) if last else (start + margin, end - margin)
        places = [
            match.end()
            for match in pattern.finditer(text, start, end)
            if low < match.end() < high and _has_words(text, start, match.end(), end)
        ]
        places = [at for at in places if not _parts_a_name(text, start, at)] or (
            places if last else []
        )
        if places:
            return min(places, key=lambda place: (abs(place - middle), place))
    return (start + end + 1) // 2


def _parts_a_name(text: str, start: int, at: int) -> bool:
    """Return whether a cut would part "Mr." from its name, or feet from inches."""
    before = text[max(start, at - _LONGEST) : at]
    return ends_in_abbreviation(before) or goes_on_in_figures(before, text[at : at + 1])


def _has_words(text: str, start: int, at: int, end: int) -> bool:
    return any(map(str.isalnum, text[start:at])) and any(map(str.isalnum, text[at:end]))


def pack(ranges: list[Range], length: Length, target: int, limit: int) -> list[Range]:
    """Join neighbouring stretches while the whole, when spoken, fits a target.

    A stretch with nothing to say, of length 0, joins its neighbour whatever the target.

    Parameters
    ----------
    ranges : list of (start, end)
        Adjacent, ascending.
    length : callable
        Spoken length of a stretch, by its offsets.
    target : int
        In characters; lengths are added up, so a joined stretch may differ by a few.
    limit : int
        In characters; never exceeded by joining two stretches that have something to say.

    Returns
    -------
    list of (start, end)
        Adjacent, ascending; greedy from the left.
    """
    packed: list[Range] = []
    sizes: list[int] = []
    for start, end in ranges:
        size = length(start, end)
        if packed and _joins(sizes[-1], size, target):
            joined = (packed[-1][0], end)
            # Rules that look at neighbours can lengthen the whole: only the limit is measured.
            if min(sizes[-1], size) == 0 or length(*joined) <= limit:
                packed[-1] = joined
                sizes[-1] += size + 1
                continue
        packed.append((start, end))
        sizes.append(size)
    return packed


def _joins(left: int, right: int, target: int) -> bool:
    return left == 0 or right == 0 or left + 1 + right <= target
