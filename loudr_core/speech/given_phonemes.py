"""Which phonemes an engine takes with a request, and what of given ones it does not know.

An engine tells its symbols before anything is spoken, so that a table of phonemes made elsewhere is
held against them when the book is planned, not in the middle of a night.
"""

import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["IDS_MARK", "Coverage", "GivenPhonemes", "cover"]

IDS_MARK: Final = "ids:"
"""Phonemes that begin so are numbers of phonemes, for engines that take those."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenPhonemes:
    """What an engine takes in `SpeechRequest.phonemes`.

    Parameters
    ----------
    symbols : frozenset of str
        Phonemes and marks in NFD, each of one or more code points. White space is always taken.
    most_unknown : float
        Share of a unit's sounds that may be unknown and are then left out; with more of them the
        unit is refused.
    ids : int
        Phonemes may be given as numbers below this after `IDS_MARK`; 0 for an engine that takes
        none.
    """

    symbols: frozenset[str]
    most_unknown: float = 0.0
    ids: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "symbols": sorted(self.symbols),
            "most_unknown": self.most_unknown,
            "ids": self.ids,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "GivenPhonemes":
        """Return what has `data` as its `as_dict`."""
        return cls(**{**data, "symbols": frozenset(data["symbols"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What of given phonemes an engine knows.

    Parameters
    ----------
    sounds : int
        Symbols that are more than marks and space, known or not.
    unknown : Counter of str
        Symbols that the engine has not, and how often.
    """

    sounds: int
    unknown: Counter[str]

    @property
    def unknown_sounds(self) -> int:
        """How many of the sounds the engine has not."""
        return sum(count for symbol, count in self.unknown.items() if _is_sound(symbol))


def cover(phonemes: str, taken: GivenPhonemes) -> Coverage:
    """Compare given phonemes with the symbols of an engine.

    Parameters
    ----------
    phonemes : str
        In any Unicode form; where several symbols fit, the longest is meant.
    taken : GivenPhonemes
    """
    if taken.ids and phonemes.startswith(IDS_MARK):
        words = phonemes.removeprefix(IDS_MARK).replace(",", " ").split()
        wrong = Counter(word for word in words if not _is_id(word, taken.ids))
        return Coverage(sounds=len(words), unknown=wrong)
    text = unicodedata.normalize("NFD", phonemes)
    longest = max(map(len, taken.symbols), default=1)
    sounds, unknown = 0, Counter[str]()
    place = 0
    while place < len(text):
        size = next(
            (n for n in range(longest, 0, -1) if text[place : place + n] in taken.symbols), 0
        )
        symbol = text[place : place + max(size, 1)]
        place += len(symbol)
        sounds += _is_sound(symbol)
        if not size and not symbol.isspace():
            unknown[symbol] += 1
    return Coverage(sounds=sounds, unknown=unknown)


def _is_id(word: str, ids: int) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 10 and int(word) < ids


def _is_sound(symbol: str) -> bool:
    return not all(unicodedata.category(each)[0] in "PZC" for each in symbol)
