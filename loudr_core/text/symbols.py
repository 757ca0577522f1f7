"""English words for signs, and for addresses of the net."""

import re

from loudr_core.text.draft import Draft
from loudr_core.text.numbers import digits

__all__ = ["expand_addresses", "expand_symbols"]

_URL = re.compile(
    r"\b(?:(https?|ftp)://)?((?:www\.)?[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}(?::\d+)?(?:/[^\s<>\"')]*)?)"
)
_EMAIL = re.compile(r"(?<![\w.])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_TOP = frozenset({
    "com", "org", "net", "edu", "gov", "uk", "io", "de", "fr", "info", "co", "us", "ca", "au", "eu",
    "ie", "in", "tv", "me", "biz", "app", "dev",
})  # fmt: skip
"""Last part of a host name that is taken for one without "www."."""
_MARKS = {
    ".": " dot ", "/": " slash ", "-": " dash ", "_": " underscore ", "@": " at ", ":": " colon ",
    "?": " question mark ", "=": " equals ", "&": " and ", "#": " hash ", "+": " plus ",
    "~": " tilde ", "%": " percent ",
}  # fmt: skip
_HANDLE = re.compile(r"(?<!\w)@(?=\w)")
_SIGNS: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("ampersand", re.compile(r"\s*&\s*"), " and "),
    ("at-sign", re.compile(r"\s*@\s*"), " at "),
    ("plus", re.compile(r"\s*\+\s*(?=[\w(])"), " plus "),
    ("equals", re.compile(r"\s+=+\s+|(?<=\w)=(?=\w)"), " equals "),
    ("times", re.compile(r"\s*×\s*"), " times "),
    ("divided", re.compile(r"\s*÷\s*"), " divided by "),
    ("plus-minus", re.compile(r"\s*±\s*"), " plus or minus "),
    ("approximately", re.compile(r"\s*[≈≃≅]\s*|~(?=\s?\w)"), " about "),
    ("compare", re.compile(r"\s*(?:≤|<=)\s*"), " is at most "),
    ("compare", re.compile(r"\s*(?:≥|>=)\s*"), " is at least "),
    ("compare", re.compile(r"\s*≠\s*"), " is not equal to "),
    ("compare", re.compile(r"(?<=\w) < (?=\w)"), " is less than "),
    ("compare", re.compile(r"(?<=\w) > (?=\w)"), " is greater than "),
    ("minus", re.compile(r"\s*−\s*"), " minus "),
    ("percent", re.compile(r"\s*%"), " percent"),
    ("degrees", re.compile(r"\s*°"), " degrees"),
    ("hash", re.compile(r"(?<!\w)#(?=\w)"), "hash "),
    ("section", re.compile(r"§§\s*"), " sections "),
    ("section", re.compile(r"§\s*"), " section "),
    ("paragraph", re.compile(r"¶\s*"), " paragraph "),
    ("copyright", re.compile(r"\s*©\s*"), " copyright "),
    ("pound-sign", re.compile(r"\s*℔\.?"), " pounds"),
    ("number-sign", re.compile(r"№\s*"), " number "),
    ("currency", re.compile(r"\s*\$"), " dollar "),
    ("currency", re.compile(r"\s*£"), " pound "),
    ("currency", re.compile(r"\s*€"), " euro "),
    ("currency", re.compile(r"\s*¥"), " yen "),
    ("currency", re.compile(r"\s*¢"), " cent "),
    ("or", re.compile(r"(?<=[A-Za-z])\s?/\s?(?=[A-Za-z])"), " or "),
)
_NAMED = (
    "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|January|February|March|April|May|"
    "June|July|August|September|October|November|December"
)
_SPAN = re.compile(rf"\b({_NAMED})\s?[–-]\s?(?=(?:{_NAMED})\b)|(?<=\b[A-Z])–(?=[A-Z]\b)")
_FACE = re.compile(r"(?<!\S)[:;]['-]?[()](?!\w)")
_LESS = re.compile(r"(?<![\w<]) ?<\s?(?=[$£€]?\d)")
_MORE = re.compile(r"(?<![\w>]) ?>\s?(?=[$£€]?\d)")
_MAYBE_FACE = re.compile(r"[:;]['-]?[()]")
_DOUBLE_PLUS = re.compile(r"(?<=\b[A-Z])\+\+(?!\w)")
_SHARP = re.compile(r"\b([A-G])#(?!\w)")
_FIRM = re.compile(r"(?<![\w&])([A-Z]{2,3})&([A-Z]{1,3})(?![\w&])")
_AND_OR = re.compile(r"\band/or\b", re.IGNORECASE)
_WITHOUT = re.compile(r"(?<!\w)(w/o|c/o|w/)(?!\w)")
_ANY = re.compile(r"[^\w\s.,;:!?'\"()—-]")


def expand_addresses(draft: Draft) -> None:
    """Rewrite web and mail addresses as a person would spell them out, and bounds such as <5."""
    if "<" in draft.text or ">" in draft.text:
        draft.rewrite("compare", _LESS, " less than ")
        draft.rewrite("compare", _MORE, " more than ")
    if "@" in draft.text:
        draft.rewrite("address", _EMAIL, lambda m: _spell(m[0]))
        draft.rewrite("address", _HANDLE, "at ")
    if "://" in draft.text or "www." in draft.text or re.search(r"\.[a-z]{2,4}\b", draft.text):
        draft.rewrite("url-scheme", re.compile(r"\b(?:https?|ftp)://(?=\w)"), "")
        draft.rewrite("address", _URL, _url)


def _url(match: re.Match[str]) -> str | None:
    host = match[2].split("/")[0].split(":")[0]
    if host.rpartition(".")[2].lower() not in _TOP and not host.startswith("www."):
        return None
    if not host.startswith("www.") and host != host.lower():
        return None
    address = match[2]
    tail = ""
    while address[-1] in ".,;:!?/":
        tail = ("" if address[-1] == "/" else address[-1]) + tail
        address = address[:-1]
    return _spell(address) + tail


def _spell(address: str) -> str:
    words = "".join(
        _MARKS.get(character, f" {digits(character)} " if character in "0123456789" else character)
        for character in address
    )
    words = re.sub(r"[^\w\s]", " ", words)
    return re.sub(r"\s+", " ", re.sub(r"\bwww\b", "W W W", words)).strip()


def expand_symbols(draft: Draft) -> None:
    """Rewrite signs that are said, such as & and %, as words."""
    if "–" in draft.text or "-" in draft.text:
        draft.rewrite("range", _SPAN, lambda m: f"{m[1] or ''} to ")
    if _MAYBE_FACE.search(draft.text):
        draft.rewrite("ornament", _FACE, "")
    if not _ANY.search(draft.text):
        return
    draft.rewrite("plus", _DOUBLE_PLUS, " plus plus")
    draft.rewrite("sharp", _SHARP, lambda m: f"{m[1]} sharp")
    draft.rewrite("letters", _FIRM, lambda m: f"{' '.join(m[1])} and {' '.join(m[2])}")
    draft.rewrite("or", _AND_OR, "and or")
    draft.rewrite(
        "without", _WITHOUT, lambda m: {"w/o": "without", "c/o": "care of", "w/": "with"}[m[1]]
    )
    for name, pattern, words in _SIGNS:
        draft.rewrite(name, pattern, words)
