"""IPA symbols to ids: `vocab.json`, and what becomes of a symbol that is not in it.

The original sends an unknown symbol as padding, which vanishes or leaves a hole in the middle of a
sentence. Here every one is counted, and nothing but marks without a sound goes unmentioned
(BlueTTS specification, section 3).
"""

import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from loudr_core.speech.bluetts.ipa import PLAIN_MARKS
from loudr_core.speech.files import read_whole
from loudr_core.speech.json_values import Section, parse_object, shown

__all__ = ["Coverage", "Vocabulary", "read_vocabulary"]

_MOST_BYTES: Final = 4 << 20
_NEEDED: Final = " .,aeiounstˈ"
_SILENT: Final = frozenset('()[]{}⟨⟩<>‹›«»„‟“”‘’"*~^')


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coverage:
    """A text in ids, and what of it has none.

    Parameters
    ----------
    ids : int64, shape (n,)
    unknown : Counter of str
        Symbols with a sound that the vocabulary lacks, and how often; they are not in `ids`.
    """

    ids: NDArray[np.int64]
    unknown: Counter[str]

    @property
    def report(self) -> str:
        """One line: each unknown symbol with its code point and count; empty when all are known."""
        named = (f"{each} U+{ord(each):04X} x{n}" for each, n in self.unknown.most_common())
        return ", ".join(named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """What the text encoder knows.

    Parameters
    ----------
    ids : mapping of str to int
        Single code points to ids.
    size : int
        Rows of the model's table, as the file says.
    """

    ids: Mapping[str, int]
    size: int

    def __contains__(self, symbol: str) -> bool:
        return symbol in self.ids

    @property
    def taken(self) -> frozenset[str]:
        """What a text may hold, in NFD: symbols with an id, and marks that may go unmentioned."""
        known = {unicodedata.normalize("NFD", symbol) for symbol in self.ids} | _SILENT
        read_as = {**PLAIN_MARKS, "g": "ɡ"}
        return frozenset(known | {mark for mark, plain in read_as.items() if plain in known})

    def encode(self, text: str) -> Coverage:
        """Return the ids of a text, no marks of begin or end, and what has none.

        Parameters
        ----------
        text : str
            IPA as `ipa.prepare` leaves it.
        """
        known = [self.ids[symbol] for symbol in text if symbol in self.ids]
        unknown = Counter(symbol for symbol in text if symbol not in self.ids and _sounds(symbol))
        return Coverage(ids=np.array(known, np.int64), unknown=unknown)


def read_vocabulary(path: Path) -> Vocabulary:
    """Read a `vocab.json`.

    Raises
    ------
    BundleError
        The file is missing or no JSON, an id is wrong, or it is a vocabulary of something else.
    """
    text = read_whole(path, most_bytes=_MOST_BYTES, advice="fetch the bundle again")
    document = Section(
        parse_object(text, what="vocabulary", path=path), path=path, what="vocabulary"
    )
    size, pad = document.whole("vocab_size", 256), document.whole("pad_id", 0)
    table = document.get("char_to_id")
    if not isinstance(table, Mapping):
        raise document.fault("char_to_id", f"must be an object, found {shown(table)}")
    section = document.section("char_to_id")
    ids = {symbol: section.whole(symbol, -1) for symbol in table}
    for symbol, number in ids.items():
        if len(symbol) != 1:
            raise section.fault(symbol, "must be one character")
        if not 0 <= number < size or number == pad:
            raise section.fault(
                symbol, f"must be an id below {size} other than padding, found {number}"
            )
    twice = [number for number, count in Counter(ids.values()).items() if count > 1]
    if twice:
        raise document.fault("char_to_id", f"gives the id {twice[0]} to several characters")
    if missing := [symbol for symbol in _NEEDED if symbol not in ids]:
        raise document.fault(
            "char_to_id", f"has no {' '.join(map(repr, missing))}: it is no vocabulary of IPA"
        )
    return Vocabulary(ids=ids, size=size)


def _sounds(symbol: str) -> bool:
    """Say whether a symbol may not vanish: brackets, quotes and control characters may."""
    return symbol not in _SILENT and unicodedata.category(symbol) not in ("Cc", "Cf", "Zs", "Zl")
