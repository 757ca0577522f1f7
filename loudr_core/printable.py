"""Names from anywhere, as a line that any terminal, log and database takes.

A name may hold a line end, a terminal's escape or bytes that are no UTF-8; a title may turn the
direction of what stands after it.
"""

import unicodedata

__all__ = ["printable"]

_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_NO_CHARACTERS = frozenset({"Cc", "Cs"})


def printable(text: str) -> str:
    """Return a text on one line: what is no character as its escape, any white space as a blank."""
    if text.isprintable():
        return text
    return "".join(map(_shown, text))


def _shown(char: str) -> str:
    if char.isspace():
        return " "
    if "\udc80" <= char <= "\udcff":  # a byte of a file's name that is no UTF-8 (PEP 383)
        return f"\\x{ord(char) - 0xDC00:02x}"
    if char in _TURNS or unicodedata.category(char) in _NO_CHARACTERS:
        return ascii(char)[1:-1]
    return char
