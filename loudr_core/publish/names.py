"""File names made from titles, good on the common file systems and in an object store."""

import re
import unicodedata
from collections.abc import Iterable

from loudr_core.canonical import digest

__all__ = ["MAX_NAME_BYTES", "chapter_list", "chapters_note", "cut_utf8", "file_name"]

MAX_NAME_BYTES = 200
"""Bytes of a name in UTF-8, suffix included: file systems end at 255, sync tools add to names."""

# Forbidden on Windows or special to a shell's path; a colon also splits names on macOS.
_FORBIDDEN = {
    "/": "-", "\\": "-", ":": " -", "*": "", "?": "", '"': "'", "<": "(", ">": ")", "|": "-",
}  # fmt: skip
# Device names of Windows, reserved whatever the suffix.
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)", re.IGNORECASE)
_SPACES = re.compile(r"\s+")
_MOST_LIST = 60
"""Characters of a list of chapters in a name."""


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


def chapter_list(numbers: Iterable[int]) -> str:
    """Return chapter numbers as people write them: `1-3,7`.

    Parameters
    ----------
    numbers : iterable of int
        In any order.
    """
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def chapters_note(chapters: str) -> str:
    """Return what a file of some chapters has behind its title: ` (chapters 1-3,7)`.

    Parameters
    ----------
    chapters : str
        As `chapter_list` gives it. A list that is too long for a name is cut, and told from others
        by six digits of its hash; empty for a whole book.
    """
    if not chapters:
        return ""
    if len(chapters) > _MOST_LIST:
        shown = chapters[:_MOST_LIST].rpartition(",")[0]
        return f" (chapters {shown},… {digest(chapters)[:6]})"
    return f" (chapter {chapters})" if chapters.isdecimal() else f" (chapters {chapters})"


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
