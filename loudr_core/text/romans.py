"""Roman numerals in English: after the names of kings, after "Chapter", and alone in headings.

The pronoun "I" is the trap, with words that happen to be numerals (mix, civil) close behind; a
numeral is read only where its neighbours say that it is one.
"""

import re

from loudr_core.text.draft import Draft
from loudr_core.text.numbers import cardinal, ordinal, roman, year
from loudr_core.text.vocabulary import COUNTED, MONARCHS

__all__ = ["expand_roman"]

_NUMERAL = r"[IVXLCDM]+"
_NEVER_LOWER = frozenset(
    {"Letter", "Number", "War", "Type", "Class", "Note", "Mark", "Title", "Rule", "Table"}
)
"""Common nouns in small letters, which a pronoun may follow."""
_CAPITAL_COUNTED = "|".join(f"{word}|{word.upper()}" for word in sorted(COUNTED))
_LOWER_COUNTED = "|".join(word.lower() for word in sorted(COUNTED - _NEVER_LOWER))
_AFTER_COUNTED = re.compile(rf"\b({_CAPITAL_COUNTED})(\.?\s+)({_NUMERAL})\b(?!['.]?\w)")
_AFTER_LOWER = re.compile(
    rf"\b((?:{_LOWER_COUNTED})\s+|(?:vol|chap|ch|fig)\.\s+)({_NUMERAL})\b(?!['.]?\w)"
)
_SMALL = re.compile(
    r"\b((?:chapters?|chap|ch|volumes?|vols?|vol|books?|bk|parts?|pt|canto|act|scene|stanza|sections?|"
    r"sec|psalm|article|art|verse|appendix|plate|figure|fig|pages?|pp|p|letter)\.?\s+)([ivxlc]+)\b"
    r"(?:(\s?[–-]\s?)([ivxlc]+)\b)?(?![.'-]?\w)",
    re.IGNORECASE,
)
"""References as older books print them: "vol. ii, chapter iv"."""
_ENUMERATOR = re.compile(r"(?<!\w)\((i{1,3}|iv|vi{0,3}|ix|xi{1,3}|xiv|xv)\)")
_ROMAN_ORDINAL = re.compile(r"\b([IVXLC]+)(st|nd|rd|th)\b")
_MAYBE_ORDINAL = re.compile(r"[IVXLC](?:st|nd|rd|th)\b")
_HEADING_SMALL = re.compile(r"\A(\W*)([ivxl]+)(\.?)(?=\W*\Z)")
_WORLD_WAR = re.compile(r"\bWW(I{1,3})\b")
_KINGS = "|".join(sorted(MONARCHS | {name.upper() for name in MONARCHS}))
_AFTER_KING = re.compile(rf"\b({_KINGS})(\s+)({_NUMERAL})\b(?!\.?\w)('s)?(\.(?=,|\s+[a-z]))?")
_AFTER_NAMES = re.compile(r"(?<=[a-z])(\s+[A-Z][a-z]+\s+)(II|III|IV|V)\b(?![.'-]?\w)")
_RANGE = re.compile(rf"\b({_NUMERAL})(\s?[–-]\s?)({_NUMERAL})\b")
_HEADING = re.compile(rf"\A(\W*)({_NUMERAL})(\.?)(?=\W*\Z|[.:)—–]\s|\s*[—–]\s)")
_HEADING_LONG = re.compile(rf"\A(\W*)({_NUMERAL})(?=\s+[A-Z\"'])")
_PROSE = re.compile(rf"(?<![\w.'-])({_NUMERAL})\b(?![\w'])(?!\.\w)(?!-\w)")
_PRONOUN_NEXT = re.compile(
    r"\s+(?!of\b|and\b|to\b|is\b|in\b|or\b|the\b|by\b|we\b|at\b)[a-z]|\s*'(?!s\b)"
)
_KING_NEXT = re.compile(
    r"\s+(?!of\b|died\b|reigned\b|came\b|ascended\b|was\b|in\b|by\b|to\b)[a-zA-Z]|\s*'(?!s\b)"
)
_WORDS = frozenset({
    "MIX", "DIM", "LIVID", "CIVIL", "MILD", "DID", "MD", "CD", "DC", "CC", "MM", "CM", "ML", "LCD",
    "XL", "DI", "LI", "CI", "MI", "ID", "MC", "CV", "DM", "LL", "XX", "VIM", "MID", "LID", "MIC",
    "MCI", "XXL",
})  # fmt: skip
"""Words and acronyms made of numeral letters."""
_ANY = re.compile(r"\b(?:[IVXLCDM]{2,}|WWI+|[VXLCDM])\b|\b[A-Z]\w*\.?\s+I\b")
"""A numeral, or an "I" that follows a capital: most sentences hold neither."""


def expand_roman(draft: Draft, *, heading: bool) -> None:
    """Rewrite roman numerals as words.

    Parameters
    ----------
    draft : Draft
    heading : bool
        The text is a heading, where a numeral that stands alone or opens the line is a number.
    """
    if heading:
        draft.rewrite("roman", _HEADING, _heading)
        draft.rewrite("roman", _HEADING_LONG, _heading_long)
        draft.rewrite("roman", _HEADING_SMALL, _heading_small)
    draft.rewrite("roman", _SMALL, _small)
    if "(" in draft.text:
        draft.rewrite("roman", _ENUMERATOR, lambda m: f"({cardinal(roman(m[1].upper()) or 0)})")
    if _MAYBE_ORDINAL.search(draft.text):
        draft.rewrite("roman", _ROMAN_ORDINAL, _roman_ordinal)
    if not _ANY.search(draft.text):
        return
    draft.rewrite("roman", _WORLD_WAR, lambda m: f"World War {_titled(m[1])}")
    draft.rewrite("roman", _AFTER_COUNTED, _counted)
    draft.rewrite("roman", _AFTER_KING, _king)
    draft.rewrite("roman", _AFTER_LOWER, _lower)
    draft.rewrite("roman", _RANGE, _range)
    draft.rewrite("roman", _AFTER_NAMES, _named)
    draft.rewrite("roman", _PROSE, _prose)


def _said(numeral: str) -> str | None:
    value = roman(numeral)
    if value is None:
        return None
    return year(value) if value > 1000 else cardinal(value)


def _titled(numeral: str) -> str | None:
    words = _said(numeral)
    return words and words[0].upper() + words[1:]


def _heading(match: re.Match[str]) -> str | None:
    # "C" and "M" head the sections of an index sooner than a hundredth chapter.
    words = None if match[2] in {"C", "D", "M"} else _titled(match[2])
    return words and f"{match[1]}{words}{match[3]}"


def _heading_long(match: re.Match[str]) -> str | None:
    # "I Am Legend" opens with the pronoun, "IV The Storm" with a number.
    words = _titled(match[2]) if len(match[2]) > 1 and match[2] not in _WORDS else None
    return words and f"{match[1]}{words}."


def _heading_small(match: re.Match[str]) -> str | None:
    words = _titled(match[2].upper())
    return words and f"{match[1]}{words}{match[3]}"


def _roman_ordinal(match: re.Match[str]) -> str | None:
    value = roman(match[1])
    if value is None or match[1] in {"I", "L", "C"}:
        return None
    teen = value % 100 in {11, 12, 13}
    right = "th" if teen else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return ordinal(value) if match[2] == right else None


def _small(match: re.Match[str]) -> str | None:
    numerals = [numeral for numeral in (match[2], match[4]) if numeral]
    if not all(numeral.islower() for numeral in numerals):
        return None
    if match[2] in {"i", "v", "x"} and match[1].lower().startswith("letter"):
        return None
    if any(n in {"c", "l"} or n.upper() in _WORDS or roman(n.upper()) is None for n in numerals):
        return None
    return match[1] + " to ".join(cardinal(roman(n.upper()) or 0) for n in numerals)


def _counted(match: re.Match[str]) -> str | None:
    words = _titled(match[3])
    if words is None:
        return None
    if match[3] == "I" and _PRONOUN_NEXT.match(match.string, match.end()):
        return None
    if match[3] in {"C", "D", "L", "M"} and not re.match(
        r"chapter|book|part|canto|psalm|sonnet", match[1], re.IGNORECASE
    ):
        return None
    return match[1] + match[2] + words


def _lower(match: re.Match[str]) -> str | None:
    if len(match[2]) == 1 and match[2] != "V" and match[2] != "X":
        return None
    words = _said(match[2])
    return words and match[1] + words


def _king(match: re.Match[str]) -> str | None:
    value = roman(match[3])
    if value is None or value > 40 or match[3] in {"C", "D", "L", "M"}:
        return None
    if (match[1], match[3]) == ("Malcolm", "X"):  # a name, since no Malcolm was the tenth
        return None
    if match[3] == "I" and _KING_NEXT.match(match.string, match.end(3)):
        return None
    if match[3] in {"V", "X"} and match.string[match.end() : match.end() + 1] == ".":
        following = match.string[match.end() + 1 :].lstrip()
        if following[:1].isupper():
            return None
    return f"{match[1]}{match[2]}the {_ordinal(value)}{match[4] or ''}"


def _ordinal(value: int) -> str:
    words = ordinal(value)
    return words[0].upper() + words[1:]


def _named(match: re.Match[str]) -> str | None:
    if match[1].strip() in {"War", "Bowl", "Mark", "Part", "Act"}:
        return None
    value = roman(match[2])
    return None if value is None or match[2] == "V" else f"{match[1]}the {_ordinal(value)}"


def _range(match: re.Match[str]) -> str | None:
    left, right = _said(match[1]), _said(match[3])
    if left is None or right is None or match[1] in _WORDS or match[3] in _WORDS:
        return None
    if len(match[1]) == 1 and len(match[3]) == 1:
        return None
    return f"{left} to {right}"


def _prose(match: re.Match[str]) -> str | None:
    numeral = match[1]
    if len(numeral) < 2 or numeral in _WORDS:
        return None
    if not set(numeral) <= set("IVX") and len(numeral) < 4:
        return None
    return _said(numeral)
