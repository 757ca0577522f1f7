"""Unicode clean-up, the same in every language: what is left is letters, digits and plain marks.

Compatibility forms are unfolded, figures of other scripts become ASCII figures, typographic quotes,
dashes and spaces become the few that engines know. Signs that a narrator would say are left for the
language's own rules; `sweep` afterwards names or deletes, under a rule, whatever no rule took.
"""

import re
import unicodedata

from loudr_core.text.draft import Draft

__all__ = ["clean", "sweep", "tidy"]

_QUOTES = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛`´ʼ′＇", "'"),
        **dict.fromkeys("“”„‟«»″〝〞＂❝❞", '"'),
        **dict.fromkeys("‹›", "'"),
        **dict.fromkeys("—―⸺⸻﹘", "—"),
        **dict.fromkeys("‐‑﹣－", "-"),
        **dict.fromkeys("‒–", "–"),
        "…": "...",
        "⁄": "/",
        "∶": ":",
        "：": ":",
        "，": ",",
        "。": ". ",
        "、": ", ",
        "！": "!",
        "？": "?",
        "；": ";",
        "﹖": "?",
        "‽": "?!",
        "⁉": "!?",
        "‼": "!!",
        "⁇": "??",
        "〇": "零",
    }
)
_SPECIAL = re.compile(r"[^\x00-\x7f]")
_COMBINED = re.compile(r"[^\W\d_][\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]+")
_INVISIBLE = re.compile(
    r"[\u00ad\u200b\u200e\u200f\u2060-\u2064\ufeff\u202a-\u202e\u2066-\u2069\x00-\x08\x0e-\x1f\x7f]+"
)
_EMOJI_MODIFIER = re.compile(r"[\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0000-\U000e01ef]+")
_UNIT_FORMS = ("<square>", "<compat> 00B0")
"""Decompositions of ㎏, ㎞ and ℃."""
_KEEP = frozenset("½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒²³¹⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉º")
"""Fractions, raised and lowered figures: their place matters to the rules."""


def clean(draft: Draft) -> None:
    """Bring a draft to composed letters, ASCII figures and plain quotes, dashes and spaces."""
    text = draft.text
    if text.isascii() and text.isprintable():
        return
    draft.rewrite("invisible", _INVISIBLE, "")
    draft.rewrite("emoji-modifier", _EMOJI_MODIFIER, "")
    if not unicodedata.is_normalized("NFC", draft.text):
        draft.rewrite("compose", _COMBINED, lambda match: unicodedata.normalize("NFC", match[0]))
        draft.rewrite("compose", _SPECIAL, lambda match: unicodedata.normalize("NFC", match[0]))
    if not unicodedata.is_normalized("NFC", draft.text):
        # Reordered marks or conjoining letters: rare enough for a coarse map of the whole text.
        whole = re.compile(r"(?s)\S.*\S|\S")
        draft.rewrite("compose", whole, lambda match: unicodedata.normalize("NFC", match[0]))
    draft.rewrite("characters", _SPECIAL, _plain)
    if not unicodedata.is_normalized("NFC", draft.text):
        draft.rewrite("compose", _COMBINED, lambda match: unicodedata.normalize("NFC", match[0]))


def _plain(match: re.Match[str]) -> str | None:
    character = match[0]
    known = character.translate(_QUOTES)
    if known != character:
        return known
    if character in _KEEP:
        return None
    category = unicodedata.category(character)
    if category in {"Zs", "Zl", "Zp"}:
        return " "
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category[0] in "LN" and unicodedata.decomposition(character).startswith("<"):
        unfolded = unicodedata.normalize("NFKC", character)
        return f" {unfolded} " if category == "No" else unfolded
    if category == "So" and unicodedata.decomposition(character).startswith(_UNIT_FORMS):
        return unicodedata.normalize("NFKC", character)
    if category in {"Nl", "No"}:
        value = unicodedata.numeric(character)
        return f" {int(value)} " if value.is_integer() else f" {_words(character)} "
    return None


_ODD = re.compile(r"[^\w\s.,;:!?'\"()—-]|_")
_EDITED = re.compile(r"\[\w+\](?=\w)|(?<=\w)\[\w+\]")
"""An editor's change inside a word: "[T]he", "say[s]"."""
_PAIRS = {"[": "(", "]": ")", "{": "(", "}": ")", "–": "—", "¿": "", "¡": ""}


def sweep(draft: Draft) -> None:
    """Name or delete, under a named rule, all that is no letter, digit or plain mark."""
    draft.rewrite("underscore", re.compile(r"_+"), " ")
    if not _ODD.search(draft.text):
        return
    draft.rewrite("bracket", _EDITED, lambda match: match[0][1:-1])
    draft.rewrite("bracket", re.compile(r"[\[\]{}–¿¡]"), lambda match: _PAIRS[match[0]])
    draft.rewrite(
        "ornament",
        re.compile(r"[\u2190-\u21ff\u2300-\u27bf\u2b00-\u2bff\u2020-\u2023*•·\\|~^`<>/=+#]+"),
        " ",
    )
    draft.rewrite("trademark", re.compile(r"[®™℠]"), "")
    draft.rewrite("emoji-modifier", re.compile("\u200d+"), "")
    draft.rewrite("symbol-name", _ODD, _name)


def _name(match: re.Match[str]) -> str | None:
    character = match[0]
    category = unicodedata.category(character)
    if category[0] == "M" or category == "Cf":
        # Vowel signs and joiners of scripts that need them belong to their word.
        return None if category != "Cf" or character in "\u200c\u200d" else ""
    if category[0] in "SN":
        return f" {_words(character)} "
    return " "


def _words(character: str) -> str:
    """Return a sign's name in the Unicode standard, as words."""
    name = unicodedata.name(character, "").lower()
    return re.sub(r"[^a-z]+", " ", name.replace(" sign", "")).strip()


_SPACES = re.compile(r"\s+")
_BEFORE_MARK = re.compile(r" +(?=[,;:!?)](?!\w))| +(?=\.(?!\w|\.))|(?<=\() +")
_EMPTY_PAIR = re.compile(r"\(\s*\)")
_STOPS = re.compile(r"\.(?:\s?\.){2,}|(?<!\.)\.\.(?!\.)")
_COMMAS = re.compile(r"([,;:])(?:\s*[,;:])+|[,;:]+(?=[.!?])|(?<!\.)\.(?=[,;:])")
_REPEATED = re.compile(r"([!?()\"])\1{3,}")
"""Marks in a run that says no more than three of them."""
_DASHES = re.compile(r"-{2,}|—(?:\s*[—-])+|(?<=\s)-(?=\s|\Z)")
_LEADING = re.compile(r"\A[.,;:)]\s+(?=\w)")
"""What a dropped note number leaves in front of its note."""
_UNTIDY = re.compile(
    r"\A[.,;:)]\s|\s\s|"
    r"[^\S ]|\A\s|\s\Z|\s[,;:!?).-]|\(\s|\(\)|\.\s?\.|[,;:]\s*[,;:.!?]|--|—\s*[—-]|\.[,;:]|"
    r"([!?()\"])\1{3}"
)
"""What one of the rules of `tidy` would change, or nearly."""


def tidy(draft: Draft) -> None:
    """Collapse white space and repeated marks; leave no space at the ends or before a mark."""
    if not _UNTIDY.search(draft.text):
        return
    draft.rewrite("dash", _DASHES, "—")
    draft.rewrite("ellipsis", _STOPS, "...")
    draft.rewrite("mark", _EMPTY_PAIR, " ")
    draft.rewrite("mark", _REPEATED, lambda match: match[1] * 3)
    draft.rewrite("space", _SPACES, " ")
    draft.rewrite("space", _BEFORE_MARK, "")
    draft.rewrite("mark", _COMMAS, lambda match: match[1] or "")
    draft.rewrite("space", re.compile(r"^\s+|\s+$"), "")
    draft.rewrite("mark", _LEADING, "")
