"""The "and" of British number words: "one hundred and five", where Americans say none.

The rules that spell figures write the American form; what they wrote is then given its "and".
Words of the author stay as they are.
"""

import re
from typing import Final

from loudr_core.text.draft import Draft
from loudr_core.text.numbers import cardinal, ordinal

__all__ = ["expand_and", "says_and"]

_REGIONS: Final = frozenset(
    {"GB", "UK", "IE", "AU", "NZ", "ZA", "IN", "SG", "HK", "MT", "NG", "KE", "GH", "JM", "TT", "ZW"}
)
_BELOW: Final = "|".join(
    sorted({said(n) for n in range(1, 100) for said in (cardinal, ordinal)}, key=len, reverse=True)
)
_SCALES: Final = "thousand|million|billion|trillion|quadrillion|quintillion|sextillion|septillion"
_PLACE: Final = re.compile(
    rf"\b(?:hundred (?=(?:{_BELOW})\b)"
    rf"|(?:{_SCALES}|octillion) (?=(?:{_BELOW})\b(?! (?:hundred|{_SCALES}))))"
)


def says_and(language: str) -> bool:
    """Return whether English of a BCP 47 tag's region says "and" within numbers."""
    primary, *rest = language.replace("_", "-").split("-")
    return primary.lower() == "en" and any(part.upper() in _REGIONS for part in rest)


def expand_and(draft: Draft) -> None:
    """Put "and" before the last part of numbers that a rule has spelt."""
    if "hundred " in draft.text or re.search(rf"\b(?:{_SCALES}) ", draft.text):
        draft.rewrite(
            "number-and",
            _PLACE,
            lambda m: f"{m[0]}and " if draft.is_one_rewrite(m.start(), m.end() + 1) else None,
        )
