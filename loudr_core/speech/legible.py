"""Which text an engine cannot read, known without loading it.

A plan asks this for every segment, so that nobody waits a night for a passage that no seed can make
audible. An engine that is not named here reads what it is given, or says no by itself.
"""

import re
import unicodedata

__all__ = ["MOST_FOREIGN", "foreign_letters", "is_latin", "unreadable"]

MOST_FOREIGN = 0.2
"""Share of letters of another script up to which a text of the Latin script is read."""

_FIGURES_UNREAD = {"bluetts": frozenset({"he", "ru", "yi"})}
"""Languages of an engine whose front ends read letters only."""
_FIGURES = re.compile(r"\d(?:[\d.,:/]*\d)?|[¼-¾⅐-⅞²³¹⁰-₉]")
_LATIN_ONLY = frozenset({"embedded", "koko"})


def unreadable(engine: str, text: str, language: str = "") -> str:
    """Return why an engine cannot say a text, empty when it can or when that is not known.

    Parameters
    ----------
    engine : str
        A name of the registry.
    text : str
        Normalised words.
    language : str
        BCP 47 tag; no language in particular when empty.
    """
    if figures := _unread_figures(engine, text, language):
        return f"{figures!r} is not spelled, and nothing reads figures in {language!r}"
    if engine not in _LATIN_ONLY:
        return ""
    foreign, letters = foreign_letters(text)
    if letters and foreign > MOST_FOREIGN * letters:
        return f"{foreign} of {letters} letters are not Latin, which the voice cannot read"
    return ""


def _unread_figures(engine: str, text: str, language: str) -> str:
    """Return the first figures of a text that the engine has no way to read, empty if none."""
    if language.partition("-")[0].lower() not in _FIGURES_UNREAD.get(engine, frozenset()):
        return ""
    found = _FIGURES.search(text)
    return found[0] if found else ""


def foreign_letters(text: str) -> tuple[int, int]:
    """Return how many letters of a text are of another script than the Latin one, and how many."""
    if text.isascii():
        return 0, sum(map(str.isalpha, text))
    letters = [symbol for symbol in text if symbol.isalpha()]
    return sum(not is_latin(symbol) for symbol in letters), len(letters)


def is_latin(letter: str) -> bool:
    """Say whether a letter is of the Latin script."""
    return letter < "\u0250" or unicodedata.name(letter, "").startswith(
        ("LATIN", "FEMININE", "MASCULINE")
    )
