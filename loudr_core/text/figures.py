"""Figures of languages other than English: how each groups, divides, orders and negates them.

What is not read for certain stays as it is: the engine's own front end reads it, or the plan says
that nothing does (`speech.legible`). A language that num2words does not know keeps its figures.
"""

import re
from functools import lru_cache
from typing import Final

from loudr_core.text.draft import Draft
from loudr_core.text.foreign import cardinal, decimal, knows_language, minus, year
from loudr_core.text.ordinals import expand_ordinals
from loudr_core.text.shares import expand_shares

__all__ = ["expand_numbers"]

_DOT_GROUPS: Final = frozenset(
    {"da", "de", "es", "it", "nl", "pt", "id", "sl", "tr", "vi", "ro", "sr", "no"}
)
_APOSTROPHE_GROUPS: Final = frozenset({"de", "fr", "it"})
"""As in Switzerland."""
_POINT_LANGUAGES: Final = frozenset({"he"})
"""Languages with a decimal point, and commas between thousands."""
_DASH_IS_MINUS: Final = frozenset({"de", "nl", "sv", "da", "no"})
"""Where no dialogue begins with a dash that touches its first word."""
_PERCENT: Final = {
    "da": "procent", "de": "Prozent", "es": "por ciento", "fi": "prosenttia", "fr": "pour cent",
    "he": "אחוזים", "it": "per cento", "nl": "procent", "no": "prosent", "pl": "procent",
    "pt": "por cento", "sv": "procent",
}  # fmt: skip
_RUSSIAN_PERCENT: Final = ("процент", "процента", "процентов")
_FIGURES: Final = re.compile(r"[\d½⅓⅔¼¾]")
_SIGN: Final = re.compile(r"(?<=\d)\s*%")
_LAST_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)?\Z")
_TIME: Final = re.compile(
    r"(?<![\w.,:])(?P<hour>[01]?\d|2[0-4]):(?P<minute>[0-5]\d)(?![\w:]|[.,]\d)"
    r"(?P<clock>\s+Uhr(?!\w))?"
)


def expand_numbers(draft: Draft, language: str) -> None:
    """Rewrite numbers as words of a language.

    Percentages, ordinals, simple fractions, times, negative numbers, decimals and whole numbers,
    thousands grouped by the convention of the language.

    Parameters
    ----------
    draft : Draft
        After `clean`.
    language : str
        A primary subtag.
    """
    if not knows_language(language) or not _FIGURES.search(draft.text):
        return
    draft.rewrite("percent", _SIGN, lambda match: _percent(match, language))
    expand_ordinals(draft, language)
    expand_shares(draft, language)
    draft.rewrite("time", _TIME, lambda match: _time(match, language))
    word = minus(language)
    if word is not None:
        draft.rewrite("minus", _minus_before(language), f"{word} ")
    draft.rewrite("number", _number_of(language), lambda match: _number(match, language))


def _percent(match: re.Match[str], language: str) -> str | None:
    if language == "ru":
        number = _LAST_NUMBER.search(match.string[: match.start()])
        return f" {_counted_in_russian(number[0] if number else '', _RUSSIAN_PERCENT)}"
    word = _PERCENT.get(language)
    return None if word is None else f" {word}"


def _counted_in_russian(number: str, forms: tuple[str, str, str]) -> str:
    """Return the form of a noun that a number governs."""
    one, few, many = forms
    if not number.isdigit():
        return few  # a fraction governs the genitive singular
    last, tens = int(number[-1]), number[-2:-1]
    if tens == "1" or last == 0 or last >= 5:
        return many
    return one if last == 1 else few


def _time(match: re.Match[str], language: str) -> str | None:
    hour, minute = str(int(match["hour"])), str(int(match["minute"]))
    words = [cardinal(hour, language)]
    if match["clock"]:
        words.append("Uhr")
    if minute != "0":
        words.append(cardinal(minute, language))
    return None if None in words else " ".join(word for word in words if word)


@lru_cache(maxsize=64)
def _minus_before(language: str) -> re.Pattern[str]:
    signs = "-−–" if language in _DASH_IS_MINUS else "-−"
    return re.compile(rf"(?<![^\s(])[{signs}](?=\d)")


@lru_cache(maxsize=64)
def _number_of(language: str) -> re.Pattern[str]:
    point = language in _POINT_LANGUAGES
    groups = [" "]
    groups += [r"\."] if language in _DOT_GROUPS else []
    groups += ["'"] if language in _APOSTROPHE_GROUPS else []
    groups += [","] if point else []
    grouped = "|".join(rf"\d{{1,3}}(?:{mark}\d{{3}})+" for mark in groups)
    mark = r"\." if point else ","
    # Behind a hyphen and letters stands an ending, or the rest of a word, that is not known here.
    ending = r"|-[а-яё]" if language in ("ru", "uk", "sr") else ""
    return re.compile(
        rf"(?<![\w.,'])(?P<whole>{grouped}|\d{{1,15}})(?:{mark}(?P<after>\d{{1,12}}))?"
        rf"(?!\w|[.,']\d{ending})"
    )


def _number(match: re.Match[str], language: str) -> str | None:
    whole = re.sub(r"\D", "", match["whole"])
    if match["after"]:
        return decimal(whole, match["after"], language)
    if len(match["whole"]) == 4:
        return year(whole, language) or cardinal(whole, language)
    return cardinal(whole, language)
