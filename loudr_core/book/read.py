"""The way in: a file of any kind loudr reads, to a `Book`."""

from pathlib import Path
from typing import Final

from loudr_core.book.epub import read_epub
from loudr_core.book.markdown import read_markdown, read_text
from loudr_core.book.model import Book
from loudr_core.errors import BookError

__all__ = ["MAX_FILE_BYTES", "read_book"]

MAX_FILE_BYTES: Final = 1024 * 1024 * 1024
MAX_TEXT_BYTES: Final = 64 * 1024 * 1024
_MARKDOWN: Final = frozenset({".md", ".markdown", ".mdown"})
_TEXT: Final = frozenset({".txt", ".text"})


def read_book(path: Path) -> Book:
    """Read an EPUB, Markdown or plain text file.

    A zip file is read as an EPUB whatever its name; other files go by their extension.

    Parameters
    ----------
    path : Path

    Returns
    -------
    Book
        What is odd about it is in its findings; `error` ones mean that text is missing.

    Raises
    ------
    BookError
        The file cannot be read, is of no known kind, is protected, or has nothing to narrate.
    """
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise BookError(
                f"{path} has {size} bytes, more than {MAX_FILE_BYTES}; it is not a book",
                path=str(path),
            )
        data = path.read_bytes()
    except OSError as error:
        raise BookError(f"cannot read {path}: {error.strerror}", path=str(path)) from None
    suffix = path.suffix.lower()
    if not data:
        raise BookError(f"{path} is empty", path=str(path))
    if data.startswith(b"PK") or suffix == ".epub":
        return read_epub(data, name=path.name, title=path.stem)
    if suffix in _MARKDOWN | _TEXT:
        if len(data) > MAX_TEXT_BYTES:
            raise BookError(
                f"{path} has {len(data)} bytes; text files end at {MAX_TEXT_BYTES}", path=str(path)
            )
        return read_markdown(data, path) if suffix in _MARKDOWN else read_text(data, path)
    raise BookError(
        f"{path} is of no kind loudr reads: give it an .epub, .md or .txt file", path=str(path)
    )
