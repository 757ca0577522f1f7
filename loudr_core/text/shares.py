"""Halves, thirds and quarters of languages other than English: ½, 3½, 2/3.

Only these five, which every language has words of its own for; of others it cannot be told whether
a stroke divides numbers, days or sizes.
"""

import re
from collections.abc import Mapping
from typing import Final

from loudr_core.text.draft import Draft
from loudr_core.text.foreign import cardinal

__all__ = ["expand_shares"]

_ORDER: Final = {"1/2": 0, "½": 0, "1/3": 1, "⅓": 1, "2/3": 2, "⅔": 2, "1/4": 3, "¼": 3, "3/4": 4,
                 "¾": 4}  # fmt: skip
_WORDS: Final[Mapping[str, tuple[str, str, str, str, str]]] = {
    "de": ("ein halb", "ein Drittel", "zwei Drittel", "ein Viertel", "drei Viertel"),
    "es": ("un medio", "un tercio", "dos tercios", "un cuarto", "tres cuartos"),
    "fr": ("un demi", "un tiers", "deux tiers", "un quart", "trois quarts"),
    "he": ("חצי", "שליש", "שני שלישים", "רבע", "שלושה רבעים"),
    "it": ("un mezzo", "un terzo", "due terzi", "un quarto", "tre quarti"),
    "nl": ("een half", "een derde", "twee derde", "een kwart", "drie kwart"),
    "pt": ("um meio", "um terço", "dois terços", "um quarto", "três quartos"),
    "ru": ("одна вторая", "одна треть", "две трети", "одна четверть", "три четверти"),
}
_BETWEEN: Final = {"de": " und ", "es": " y ", "fr": " et ", "he": " ו", "it": " e ", "nl": " en ",
                   "pt": " e ", "ru": " и "}  # fmt: skip
"""Between a whole number and its share."""
_SHARE: Final = re.compile(
    r"(?<![\w.,/])(?:(?P<whole>\d{1,3})(?:\s|(?=[½⅓⅔¼¾])))?"
    r"(?P<share>[½⅓⅔¼¾](?![\w/])|(?:[123]/[234])(?![\w/]|[.,]\d))"
)


def expand_shares(draft: Draft, language: str) -> None:
    """Rewrite simple fractions as words of a language; `language` is a primary subtag."""
    if language in _WORDS:
        draft.rewrite("fraction", _SHARE, lambda match: _words(match, language))


def _words(match: re.Match[str], language: str) -> str | None:
    place = _ORDER.get(match["share"])
    if place is None:
        return None
    share = _WORDS[language][place]
    if match["whole"] is None:
        return share
    whole = cardinal(match["whole"], language)
    return None if whole is None else whole + _BETWEEN[language] + share
