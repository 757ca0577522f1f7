"""English figures in context: ranges, ordinals, telephone numbers, labels, and the bare number.

The order of the rules is the order of how sure they are: what carries a sign or a unit goes first,
the bare number last.
"""

import re

from loudr_core.text.draft import Draft
from loudr_core.text.measures import expand_measures
from loudr_core.text.money import SCALES
from loudr_core.text.numbers import (
    NUMBER,
    WHOLE,
    amount,
    decimal,
    digits,
    ordinal,
    plural,
    spell_number,
)
from loudr_core.text.vocabulary import ANSWERED, SHORT_WORDS

__all__ = ["expand_amounts"]

_PHONE = re.compile(
    r"(?<![\w.])(?:\+\d{1,3}[\s.-]?(?:\(?\d{1,4}\)?[\s.-]?){2,5}\d{2,4}"
    r"|\(\d{3}\)\s?\d{3}[-.\s]\d{4}|(?:1[-.])?\d{3}[-.]\d{3}[-.]\d{4}|\d{3}-\d{4}"
    r"|0\d{2,4}[\s-]\d{3,4}[\s-]?\d{3,4}"
    r"|\d{3}-\d\d-\d{4})(?![\w-])"
)
_ISBN = re.compile(r"(?<![\w-])(?:97[89][-\s]?)(?:\d[-\s]?){9}[\dXx](?![\w-])")
_DIMENSION = re.compile(r"(?<=\d)\s?[×xX]\s?(?=\d)")
_ORDINAL = re.compile(rf"(?<![\w.])({WHOLE})(st|nd|rd|th|d)\b(?!\.\w)")
_EMERGENCY = re.compile(
    r"\b((?:call|dial|phone|ring)(?:l?ed|ing|s)? |rang )(911|999)\b(?![.,:]\d)",
    re.IGNORECASE,
)
_LETTERED = re.compile(r"(?<![\w.])(\d{1,3})\.(\d{1,3})([a-z])\b(?!\.\w)")
"""As "Table 4.5a" is numbered."""
_MINUS_POWER = re.compile(r"⁻(?=[⁰¹²³⁴-⁹])")
_PLURAL = re.compile(r"(?<![\w.,$£€])(\d{1,3}(?:,\d{3})+|\d{3,}|10(?='?s of\b))'?s\b")
_NO_SIGN = re.compile(r"(?:№\s?|(?<!\w)#\s?|(?<![\w])[Nn]o\.?\s?)(?=\d)")
_RATIO = re.compile(r"(?<![\w:.])(\d+):(\d+)(?![\d:])")
_RANGE = re.compile(rf"(?<![\w.,-])({NUMBER})\s?[–-]\s?({NUMBER})(?![\w-])")
_MINUS = re.compile(rf"(?<![\w.)])[−-](?=(?:{NUMBER})(?![\d-]))")
_RAISED = re.compile(r"(?<=\w)([²³])|(?<=[\w.,;:!?'\")])([¹⁰⁴⁵⁶⁷⁸⁹²³]+)|([₀-₉]+)|([⁰¹²³⁴-⁹]+)")
_NOTE = re.compile(r"(?<=[A-Za-z.,;:!?'\")])(?:\[|\()?\[[\d\s,;–-]{1,20}\]|\[\d{1,3}\]")
_DECIMAL = re.compile(rf"(?<![\w.])({WHOLE})?\.(\d+)(?![\d]*\.\d|\w)")
_VERSION = re.compile(r"\b[vV](?:ersion|\.)?\s?(\d+(?:\.\d+)+)\b")
_DOTTED = re.compile(r"(?<![\w.])\d+(?:\.\d+){2,}(?!\w)")
_DOUBLE_OH = re.compile(r"(?<![\w.,])007(?![\w,.]\d|\w)")
_LABEL = re.compile(r"(?<![^\W_])(?=\w*\d)(?=\w*[^\W\d_])[^\W_]+")
_INTEGER = re.compile(rf"(?<![\d])(?:{WHOLE})")
_POWER = re.compile(r"(?<=\d)\s?\^\s?(?=\d)")
_TRAILING_SCALE = re.compile(rf"(?<![\w.,$£€])({NUMBER})\s?(bn|mn|k)\b")
_TO_FIGURES = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", "01234567890123456789")
_HALF_AND_HALF = re.compile(r"(?<![\w.,-])(?:50[-–]50|(20)[-–]20)(?![\w-])")
_POSTAL = re.compile(r"(\b(?:[A-Z]{2}|D C)\s)(\d{5})(?:-(\d{4}))?(?![\w,.]?\d|\w|-)")
"""American, behind the letters of a state."""


def expand_amounts(draft: Draft) -> None:
    """Rewrite every figure that is left as words; the draft holds one."""
    draft.rewrite("note-number", _NOTE, "")
    draft.rewrite("number", _HALF_AND_HALF, lambda m: "twenty-twenty" if m[1] else "fifty-fifty")
    draft.rewrite(
        "digits",
        _POSTAL,
        lambda m: m[1] + digits(m[2]) + (f", {digits(m[3])}" if m[3] else ""),
    )
    draft.rewrite("digits", _ISBN, lambda m: _grouped(m[0]))
    draft.rewrite("digits", _PHONE, lambda m: _grouped(m[0]))
    draft.rewrite("digits", _EMERGENCY, lambda m: m[1] + digits(m[2]))
    draft.rewrite(
        "version",
        _VERSION,
        lambda m: "version " + " point ".join(spell_number(x) for x in m[1].split(".")),
    )
    expand_measures(draft)
    draft.rewrite("number-sign", _NO_SIGN, _number_sign)
    draft.rewrite("times", _DIMENSION, " by ")
    draft.rewrite("power", _POWER, " to the ")
    draft.rewrite("scale", _TRAILING_SCALE, lambda m: f"{amount(m[1])} {SCALES[m[2]]}")
    draft.rewrite("power", _MINUS_POWER, " to the minus ")
    draft.rewrite("note-number", _RAISED, lambda m: None if _raised(m) else "")
    draft.rewrite("raised", _RAISED, _raised)
    draft.rewrite("ordinal", _ORDINAL, _ordinal)
    draft.rewrite(
        "ratio",
        _RATIO,
        lambda m: (
            f"{spell_number(m[1])} to {spell_number(m[2])}"
            if len(m[2]) == 1 and not re.search(r"\b[A-Z]\w*\.? ?$", m.string[: m.start()])
            else f"{spell_number(m[1])}, {spell_number(m[2])}"
        ),
    )
    draft.rewrite("range", _RANGE, lambda m: f"{amount(m[1])} to {amount(m[2])}")
    draft.rewrite("minus", _MINUS, "minus ")
    draft.rewrite("digits", _DOUBLE_OH, "double oh seven")
    draft.rewrite(
        "dotted", _DOTTED, lambda m: " point ".join(spell_number(x) for x in m[0].split("."))
    )
    draft.rewrite("decimal", _DECIMAL, lambda m: decimal((m[1] or "0").replace(",", ""), m[2]))
    draft.rewrite("number", _PLURAL, _plural)
    draft.rewrite(
        "decimal", _LETTERED, lambda m: f"{spell_number(m[1])} point {spell_number(m[2])} {m[3]}"
    )
    draft.rewrite("label", _LABEL, _label)
    draft.rewrite("number", _INTEGER, _integer)


def _number_sign(match: re.Match[str]) -> str | None:
    sign = match[0].strip()
    following = match.string[match.end() :]
    if sign == "no" or (sign == "No" and re.match(r"\d{4}\b", following)):
        return None  # "no 5 of them are alike", "No 1990 census was taken"
    if sign == "no." and ANSWERED.search(match.string[: match.start()]):
        return None
    return "Number " if sign[0] == "N" else "number "


def _plural(match: re.Match[str]) -> str | None:
    words = plural(spell_number(match[1]))
    return words.removeprefix("one ") if re.fullmatch(r"10+", match[1].replace(",", "")) else words


def _grouped(figures: str) -> str:
    groups = [digits(group) or group for group in re.findall(r"\d+", figures)]
    if figures[-1] in "Xx":
        groups.append("X")
    return ("plus " if figures[0] == "+" else "") + ", ".join(groups)


def _raised(match: re.Match[str]) -> str:
    if match[1]:
        before = re.search(r"\w+$", match.string[: match.start()])
        word = before[0] if before else ""
        # "mc²" is a power, "near²" calls a note.
        if word.isdigit() or len(word) <= 2:
            return " squared" if match[1] == "²" else " cubed"
        return ""
    if match[2]:
        if match.string[match.start() - 1].isdigit():
            return f" to the {digits(match[2].translate(_TO_FIGURES))}"
        return ""
    return f" {digits((match[3] or match[4]).translate(_TO_FIGURES))} "


def _ordinal(match: re.Match[str]) -> str | None:
    figures = match[1].replace(",", "")
    if match[2] == "d" and figures[-1] not in "23":
        return None
    return ordinal(int(figures)) if len(figures) < 16 else None


def _label(match: re.Match[str]) -> str:
    """Read "MI5", "A4", "B2B" as their parts; a run of many figures goes one by one."""
    parts = re.findall(r"\d+|[^\W\d_]+", match[0])
    return " ".join(
        (digits(part) if len(part) > 4 else spell_number(part))
        if part.isdigit()
        else (" ".join(part) if part in SHORT_WORDS else part)
        for part in parts
    )


def _integer(match: re.Match[str]) -> str:
    words = spell_number(match[0])
    before = match.string[: match.start()][-1:]
    after = match.string[match.end() :][:1]
    return (" " if before.isalnum() else "") + words + (" " if after.isalnum() else "")
