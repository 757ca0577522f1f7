"""Numbers of languages other than English as words; the only importer of num2words.

Only what num2words gets right is taken from it. Decimals are put together here, since it drops the
zeros at their end and says "point" in Spanish. Russian numbers stand in the nominative and Hebrew
ones in the feminine that counting has: what a sentence would ask for, figures do not tell.
"""

from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

import num2words as library

__all__ = ["cardinal", "decimal", "knows_language", "minus", "ordinal", "year"]

_KNOWN: Final = frozenset({
    "da", "de", "es", "fi", "fr", "he", "it", "nl", "no", "pl", "pt", "sv", "cs", "hu", "id", "lt",
    "lv", "ro", "ru", "sk", "sl", "sr", "tr", "uk", "vi",
})  # fmt: skip
_MARKS: Final = {
    "da": "komma", "de": "Komma", "es": "coma", "fi": "pilkku", "fr": "virgule", "he": "נקודה",
    "it": "virgola", "nl": "komma", "no": "komma", "pl": "przecinek", "pt": "vírgula",
    "sv": "komma",
}  # fmt: skip
"""What is said for the decimal mark, before the figures after it one by one."""
_MINUS: Final = {"pl": "minus"}
"""Where num2words cannot tell."""
_YEARS: Final = frozenset({"de", "nl"})
"""Languages that count the hundreds of a year, and that num2words knows years of."""
_FIRST_YEAR, _LAST_YEAR = 1100, 1999


def knows_language(language: str) -> bool:
    """Return whether numbers of the language can be spelt; `language` is a primary subtag."""
    return language in _KNOWN


def cardinal(figures: str, language: str) -> str | None:
    """Return a whole number in words, None when that is not known.

    Parameters
    ----------
    figures : str
        Nothing but figures; with a zero in front they are said one by one.
    language : str
        A primary subtag that `knows_language` names.
    """
    if len(figures) > 1 and figures[0] == "0":
        return _one_by_one(figures, language)
    return _said(int(figures), language)


def decimal(whole: str, after: str, language: str) -> str | None:
    """Return a number with figures after its decimal mark in words, None when that is not known."""
    mark = _MARKS.get(language)
    if mark is None:
        return _said(Decimal(f"{whole}.{after}"), language)
    words = (cardinal(whole, language), mark, _one_by_one(after, language))
    return None if None in words else " ".join(word for word in words if word)


def ordinal(figures: str, language: str, **form: Any) -> str | None:
    """Return an ordinal in words, None when that is not known.

    Parameters
    ----------
    form
        What num2words knows of the language: gender, case.
    """
    return _said(int(figures), language, to="ordinal", **form)


def year(figures: str, language: str) -> str | None:
    """Return four figures as a year, None where the language or the century has no such form."""
    if language not in _YEARS or not _FIRST_YEAR <= int(figures) <= _LAST_YEAR:
        return None
    return _said(int(figures), language, to="year")


def minus(language: str) -> str | None:
    """Return the word before a negative number, None when that is not known."""
    if language in _MINUS:
        return _MINUS[language]
    one, negative = _said(1, language), _said(-1, language)
    if one is None or negative is None or not negative.endswith(f" {one}"):
        return None
    return negative.removesuffix(f" {one}")


def _one_by_one(figures: str, language: str) -> str | None:
    words = [_said(int(figure), language) for figure in figures]
    return None if None in words else " ".join(word for word in words if word)


@lru_cache(maxsize=1024)
def _said(value: int | Decimal, language: str, **form: Any) -> str | None:
    try:
        words = str(library.num2words(value, lang=language, **form))
    except (NotImplementedError, ArithmeticError, LookupError, ValueError, TypeError):
        return None
    return " ".join(words.replace("\u00ad", "").split())
