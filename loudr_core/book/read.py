"""The way in: a file of any kind loudr reads, to a `Book`."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from loudr_core.book.epub import read_epub
from loudr_core.book.languages import guess_language
from loudr_core.book.markdown import read_markdown, read_text
from loudr_core.book.model import Book
from loudr_core.errors import BookError
from loudr_core.findings import Finding, Severity

__all__ = ["MAX_FILE_BYTES", "SUFFIXES", "read_book", "there"]

MAX_FILE_BYTES: Final = 1024 * 1024 * 1024
MAX_TEXT_BYTES: Final = 64 * 1024 * 1024
_MARKDOWN: Final = frozenset({".md", ".markdown", ".mdown"})
_TEXT: Final = frozenset({".txt", ".text"})
SUFFIXES: Final = (".epub", *sorted(_MARKDOWN), *sorted(_TEXT))
"""Suffixes of the files that loudr reads, in lower case."""
_SAMPLE: Final = 100_000
"""Characters of the body by which its language is told."""
_ALIKE: Final = {"da": ("no", "nb", "nn"), "pt": ("gl",)}
"""Languages that little words alone do not tell apart."""


def read_book(path: Path, *, language: str = "") -> Book:
    """Read an EPUB, Markdown or plain text file.

    A zip file is read as an EPUB whatever its name; other files go by their extension.

    Parameters
    ----------
    path : Path
    language : str
        BCP 47 tag of the book's language, when somebody knows better than the book.

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
        book = _read(path)
        if language:
            return replace(book, metadata=replace(book.metadata, language=language))
        return _judged(book)
    except BookError as error:
        if path.name in error.message:
            raise
        raise BookError(f"{path.name}: {error.message}", **error.context) from None


def there(path: Path) -> Path:
    """Return the path of a file that is there.

    Raises
    ------
    BookError
        There is no such file, or it is a folder.
    """
    if path.is_dir():
        raise BookError(f"{path} is a folder: give one file in it", path=str(path))
    if not path.exists():
        raise BookError(f"no such file: {path}; check the name and the folder", path=str(path))
    return path


def _read(path: Path) -> Book:
    if not there(path).is_file():  # a pipe or a device may never end
        raise BookError(f"{path} is no file; give one", path=str(path))
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
        raise BookError(f"{path.name} is empty", path=str(path))
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


def _judged(book: Book) -> Book:
    """Compare the language that a book names with its text; give one to a book that names none."""
    sample = ""
    for chapter in book.chapters:
        if chapter.role == "body" and len(sample) < _SAMPLE:
            spans = (span for block in chapter.blocks for span in block.spans)
            sample += "\n".join(book.text_of(span) for span in spans)
    guess = guess_language(sample[:_SAMPLE])
    named = book.metadata.language
    if not guess or named.partition("-")[0].lower() in {guess, *_ALIKE.get(guess, ())}:
        return book
    severity: Severity = "warning"
    if named:
        message = f"the book names {named} as its language, but reads like {guess}; it is read as "
        message += f"{named}: say --language {guess} if that is wrong"
    else:
        message = f"the book names no language; it reads like {guess} and is read as that"
        message += ": say --language if that is wrong"
        severity = "info"
        book = replace(book, metadata=replace(book.metadata, language=guess))
    finding = Finding(code="book-language", severity=severity, message=message)
    return replace(book, findings=(*book.findings, finding))
