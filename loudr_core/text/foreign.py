"""Numbers of languages other than English; the only importer of num2words.

A language that num2words does not know keeps its figures: the engine's own front end reads them.
"""

import re
from functools import lru_cache

import num2words as library

from loudr_core.text.draft import Draft

__all__ = ["expand_numbers", "knows_language"]

_KNOWN = frozenset({
    "da", "de", "es", "fi", "fr", "it", "nl", "no", "pl", "pt", "sv", "cs", "hu", "id", "lt", "lv",
    "ro", "ru", "sk", "sl", "sr", "tr", "uk", "vi",
})  # fmt: skip
_DOT_GROUPS = frozenset(
    {"da", "de", "es", "it", "nl", "pt", "id", "sl", "tr", "vi", "ro", "sr", "no"}
)
_INTEGER = re.compile(r"(?<![\w.,])\d{1,15}(?![\w]|[.,]\d)")
_DOT_GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:\.\d{3})+(?![\w]|[.,]\d)")
_SPACE_GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?: \d{3})+(?![\w]|[.,]\d)")
_DECIMAL = re.compile(r"(?<![\w.,])\d{1,12},\d{1,6}(?!\w|[.,]\d)")


def knows_language(language: str) -> bool:
    """Return whether numbers of the language can be spelt; `language` is a primary subtag."""
    return language in _KNOWN


def expand_numbers(draft: Draft, language: str) -> None:
    """Rewrite whole numbers and decimals as words of a language that `knows_language` names."""
    if not knows_language(language) or not re.search(r"\d", draft.text):
        return
    if language in _DOT_GROUPS:
        draft.rewrite("number", _DOT_GROUPED, lambda m: _words(m[0].replace(".", ""), language))
    draft.rewrite("number", _SPACE_GROUPED, lambda m: _words(m[0].replace(" ", ""), language))
    draft.rewrite("decimal", _DECIMAL, lambda m: _words(m[0].replace(",", "."), language))
    draft.rewrite("number", _INTEGER, lambda m: _words(m[0], language))


@lru_cache(maxsize=1024)
def _words(figures: str, language: str) -> str | None:
    if len(figures) > 1 and figures[0] == "0" and "." not in figures:
        parts = [_words(figure, language) for figure in figures]
        return " ".join(part for part in parts if part) or None
    value = float(figures) if "." in figures else int(figures)
    try:
        return str(library.num2words(value, lang=language)).replace("\u00ad", "")
    except (NotImplementedError, OverflowError, IndexError, KeyError, ValueError, TypeError):
        return None
