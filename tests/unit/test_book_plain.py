"""Plain text: Project Gutenberg's parts, how paragraphs are parted, files that are no text."""

import os
from pathlib import Path

import pytest

from loudr_core.book.extract import extract_characters
from loudr_core.book.markdown import read_text
from loudr_core.book.model import Book
from loudr_core.book.read import read_book
from loudr_core.errors import BookError
from loudr_core.text.audit import audit
from loudr_core.text.model import Segmentation, TextOptions
from loudr_core.text.segment import segment_book

GUTENBERG = """The Project Gutenberg eBook of The Foo

Title: The Foo:
    A Tale

Author: Bar Baz

Language: German

*** START OF THE PROJECT GUTENBERG EBOOK THE
FOO ***

Produced by Someone and
the team

CHAPTER I

It fell in inter-
vals; pre- and post-
war, said he.

[Illustration]

[Illustration: The cat]

{end}

THE FULL LICENSE
Many words.
"""


def txt(source: str) -> Book:
    book = read_text(source.encode(), Path("b.txt"))
    for document in book.documents.values():
        assert extract_characters(document) == "".join(document.text.split())
    return book


def plan(book: Book) -> Segmentation:
    options = TextOptions(max_characters=300, target_characters=200)
    segmentation = segment_book(book, options)
    assert audit(book, segmentation).lossless
    return segmentation


@pytest.mark.parametrize(
    "end",
    [
        "*** END OF THE PROJECT GUTENBERG EBOOK THE FOO ***",
        "***END OF THIS PROJECT GUTENBERG EBOOK THE FOO***",
        "End of Project Gutenberg's The Foo, by Bar Baz",
    ],
)
def test_project_gutenbergs_parts_are_left_out(end: str) -> None:
    book = txt(GUTENBERG.format(end=end))
    assert (book.metadata.title, book.metadata.authors) == ("The Foo: A Tale", ("Bar Baz",))
    assert book.metadata.language == "de"
    result = plan(book)
    assert [s.text for s in result.segments] == [
        "CHAPTER I",
        "It fell in inter-vals; pre- and post-war, said he.",
        "[Illustration: The cat]",
    ]
    reasons = {left.text: left.reason for left in result.left_out}
    assert reasons["[Illustration]"] == "alt_text"
    assert reasons["Produced by Someone and the team"] == "boilerplate"
    assert reasons["THE FULL LICENSE Many words."] == "boilerplate"


def test_a_book_that_only_speaks_of_project_gutenberg_is_read_whole() -> None:
    source = (
        "The beginning.\n\nEnd of Project Gutenberg, she thought.\n\n" + "And on it went. " * 20
    )
    assert plan(txt(source)).left_out == ()


@pytest.mark.parametrize(
    ("source", "paragraphs"),
    [
        ("\tOne\nwraps.\n\tTwo\nwraps.\n", ["One wraps.", "Two wraps."]),
        ("    One\nwraps.\n    Two.\n", ["One wraps.", "Two."]),
        ("One\nwraps.\n    Two is no\nparagraph.", ["One wraps. Two is no paragraph."]),
        (f"{'long ' * 30}\n{'line ' * 30}\nEnd.", ["long " * 30, "line " * 30, "End."]),
        ("One.\n \nTwo.\n\t\n\nThree.", ["One.", "Two.", "Three."]),
    ],
)
def test_paragraphs(source: str, paragraphs: list[str]) -> None:
    book = txt(source)
    found = [book.text_of(b.spans[0]) for c in book.chapters for b in c.blocks]
    assert found == [p.strip() for p in paragraphs]


@pytest.mark.parametrize("name", ["b.txt", "b.md"])
def test_bytes_that_are_no_text(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(bytes((i * 7919) % 256 for i in range(5000)))
    with pytest.raises(BookError, match="is no text"):
        read_book(path)


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-16", "utf-8-sig", "cp1252"])
def test_encodings_without_a_word(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "b.txt"
    path.write_bytes("Café déjà vu, and more.\n\nSecond.".encode(codec))
    book = read_book(path)
    assert next(iter(book.documents.values())).text == "Café déjà vu, and more.\nSecond."
    assert plan(book).segments


def test_what_is_no_file_is_refused_unopened(tmp_path: Path) -> None:
    """A pipe would be waited for without end, a device be read without end."""
    os.mkfifo(tmp_path / "pipe.md")
    for path in (tmp_path / "pipe.md", Path("/dev/zero")):
        with pytest.raises(BookError, match="is no file"):
            read_book(path)
