"""Source text to words and plain punctuation, with a map of what became what.

English is read in depth; other languages get the Unicode clean-up and their numbers. What comes out
holds letters, spaces and the marks , . ; : ! ? ' " ( ) - and the em dash, so that an engine's own
front end has nothing left to interpret. Normalising twice gives the same as once.
"""

import re
from functools import lru_cache

from loudr_core.text.abbreviations import expand_abbreviations, expand_initials
from loudr_core.text.amounts import expand_amounts
from loudr_core.text.british import expand_and, says_and
from loudr_core.text.calendar import expand_calendar
from loudr_core.text.capitals import lower_capitals
from loudr_core.text.characters import clean, sweep, tidy
from loudr_core.text.draft import Draft, Mapping, Normalized
from loudr_core.text.figures import expand_numbers
from loudr_core.text.measures import expand_fractions
from loudr_core.text.money import expand_money
from loudr_core.text.romans import expand_roman
from loudr_core.text.symbols import expand_addresses, expand_symbols

__all__ = ["Mapping", "Normalized", "normalize"]

_FIGURE = re.compile(r"[\d¼-¾⅐-⅞²³¹⁰-₉]")
_TERMINAL = re.compile(r"[.!?:;,—][\"')]*\Z")
_ROUNDS = 5
_AND = {
    "fr": "et", "de": "und", "es": "y", "it": "e", "pt": "e", "nl": "en", "sv": "och", "da": "og",
    "no": "og", "fi": "ja", "pl": "i", "ru": "и",
}  # fmt: skip


def normalize(text: str, *, language: str = "en", heading: bool = False) -> Normalized:
    """Return what an engine is to say for a text.

    Parameters
    ----------
    text : str
        Source text, a sentence or a few.
    language : str
        BCP 47 tag; rules are chosen by its primary subtag, and by its region whether English
        numbers have their "and" ("one hundred and five").
    heading : bool
        The text is a title: roman numerals that stand alone are numbers, and a full stop is added
        so that an engine lets its voice fall.

    Returns
    -------
    Normalized
        `spoken` and the offset map. `spoken` is empty when there is nothing to say.
    """
    primary = language.partition("-")[0].lower() or "en"
    return _normalize(text, primary, heading, says_and(language))


@lru_cache(maxsize=8192)
def _normalize(text: str, language: str, heading: bool, with_and: bool) -> Normalized:
    draft = Draft(text)
    clean(draft)
    for _ in range(_ROUNDS):
        # One rule's words can make work for an earlier rule; the rounds end at the first that
        # changes nothing, which makes the result a fixed point.
        before = draft.text
        _pass(draft, language, heading)
        if with_and:
            expand_and(draft)
        if heading and any(map(str.isalnum, draft.text)) and not _TERMINAL.search(draft.text):
            draft.insert("terminal", len(draft.text), ".")
        if draft.text == before:
            break
    return draft.finish()


def _pass(draft: Draft, language: str, heading: bool) -> None:
    clean(draft)
    if language == "en":
        _english(draft, heading)
    else:
        expand_numbers(draft, language)
        draft.rewrite("ampersand", re.compile(r"(?<=\s)&(?=\s)"), _AND.get(language, "&"))
    sweep(draft)
    tidy(draft)


def _english(draft: Draft, heading: bool) -> None:
    expand_addresses(draft)
    expand_abbreviations(draft)
    expand_roman(draft, heading=heading)
    expand_initials(draft)
    if _FIGURE.search(draft.text):
        expand_calendar(draft)
        expand_money(draft)
        expand_fractions(draft)
        expand_amounts(draft)
    expand_symbols(draft)
    lower_capitals(draft)
