"""File names made from titles, good on the common file systems and in an object store."""

import re
import unicodedata

__all__ = ["MAX_NAME_BYTES", "cut_utf8", "file_name"]

MAX_NAME_BYTES = 200
"""Bytes of a name in UTF-8, suffix included: file systems end at 255, sync tools add to names."""

# Forbidden on Windows or special to a shell's path; a colon also splits names on macOS.
_FORBIDDEN = {
    "/": "-", "\\": "-", ":": " -", "*": "", "?": "", '"': "'", "<": "(", ">": ")", "|": "-",
}  # fmt: skip
# Device names of Windows, reserved whatever the suffix.
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)", re.IGNORECASE)
_SPACES = re.compile(r"\s+")


def file_name(title: str, suffix: str, *, fallback: str) -> str:
    """Return a file name such as `The Time Machine.m4b`.

    Parameters
    ----------
    title : str
        Any text. Characters that some file system forbids are replaced, control and format
        characters dropped, the end cut at a whole character where the name grows too long.
    suffix : str
        With its dot: `.m4b`.
    fallback : str
        Stem when nothing of the title is left; a book id.
    """
    room = MAX_NAME_BYTES - len(suffix.encode())
    stem = _stem(title, room) or _stem(fallback, room) or "book"
    if _RESERVED.fullmatch(stem.split(".")[0].rstrip()):
        stem = f"_{stem}"
    return stem + suffix


def cut_utf8(text: str, n_bytes: int) -> str:
    """Return the longest start of a text within `n_bytes` of UTF-8 that ends at a whole character.

    A character here is a letter with its marks, joiners and variation selectors.
    """
    if len(text.encode()) <= n_bytes:
        return text
    kept = text.encode()[:n_bytes].decode("utf-8", "ignore")
    end = len(kept)
    while end and (_continues(text[end]) or text[end - 1] == "\u200d"):
        end -= 1
    return text[:end]


def _continues(char: str) -> bool:
    skin_tone = "\U0001f3fb" <= char <= "\U0001f3ff"
    return skin_tone or char == "\u200d" or unicodedata.category(char) in ("Mn", "Me", "Mc")


def _stem(text: str, room: int) -> str:
    text = unicodedata.normalize("NFC", text)
    text = _SPACES.sub(" ", text)
    text = "".join(_FORBIDDEN.get(char, char) for char in text if _printable(char))
    text = _SPACES.sub(" ", text).strip()
    # A leading dot hides the file, Windows drops trailing dots and spaces.
    return cut_utf8(text.lstrip(". "), room).rstrip(". ")


def _printable(char: str) -> bool:
    return char == "\u200d" or not unicodedata.category(char).startswith("C")
