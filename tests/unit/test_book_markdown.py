"""Markdown and plain text: front matter, headings, notes, verse and what is cut short."""

from pathlib import Path

import pytest

from loudr_core.book.extract import extract_characters
from loudr_core.book.markdown import read_markdown, read_text
from loudr_core.book.model import Book
from loudr_core.book.read import read_book
from loudr_core.errors import BookError


def checked(book: Book) -> Book:
    for document in book.documents.values():
        assert extract_characters(document) == "".join(document.text.split())
    return book


def md(source: str) -> Book:
    return checked(read_markdown(source.encode(), Path("b.md")))


def shape(book: Book) -> list[tuple[str, list[tuple[str, str]]]]:
    return [
        (c.title, [(b.kind, book.text_of(b.spans[0])) for b in c.blocks]) for c in book.chapters
    ]


def test_front_matter(tmp_path: Path) -> None:
    (tmp_path / "c.jpg").write_bytes(b"\xff\xd8\xff")
    path = tmp_path / "b.md"
    path.write_text(
        "---\ntitle: 'The \"Book\"'\nauthors: [Ann, Bo]\nlanguage: en-GB\nseries: S\npart: 2\n"
        "subjects:\n  - one\n  - two\nisbn: 978-0-306-40615-7\ncover: c.jpg\ncolour: red\n"
        "broken\n---\nText.\n"
    )
    book = checked(read_book(path))
    found = book.metadata
    assert (found.title, found.authors, found.language) == ('The "Book"', ("Ann", "Bo"), "en-GB")
    assert (found.series, found.series_part, found.subjects) == ("S", "2", ("one", "two"))
    assert found.identifiers == {"isbn": "9780306406157"}
    assert found.cover is not None
    assert [f.code for f in book.findings] == ["book-front-matter", "book-front-matter"]


def test_a_rule_at_the_top_is_no_front_matter() -> None:
    assert shape(md("---\nWords stay.\n\n---\nMore.\n"))[0][1][0] == ("paragraph", "Words stay.")


def test_covers_stay_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.jpg").write_bytes(b"x")
    folder = tmp_path / "book"
    folder.mkdir()
    for name, code in (
        ("../secret.jpg", "book-outside-path"), ("http://x/c.jpg", "book-outside-path"),
        ("gone.png", "book-missing-cover"), ("c.txt", "book-bad-cover"),
    ):  # fmt: skip
        path = folder / "b.md"
        path.write_text(f"---\ncover: {name}\n---\nText.\n")
        book = read_book(path)
        assert book.metadata.cover is None
        assert [f.code for f in book.findings] == [code]


def test_blocks_and_chapters() -> None:
    book = md(
        "# One\n\nA *b* `c`\nd.\n\n> q\n\n- x\n- y\n\n***\n\n| h |\n|---|\n| z |\n\n"
        "![alt text](i.png)\n\n    code\n\n# Two\n\nEnd  \nline.\n"
    )
    assert shape(book) == [
        ("One", [("heading", "One"), ("paragraph", "A b c d."), ("quote", "q"),
                 ("list_item", "x"), ("list_item", "y"), ("scene_break", ""), ("table", "h"),
                 ("table", "z"), ("paragraph", "alt text"), ("code", "code")]),
        ("Two", [("heading", "Two"), ("paragraph", "End\nline.")]),
    ]  # fmt: skip


def test_footnotes_even_of_one_word() -> None:
    book = md(
        "Text.[^1] More.[^b]\n\n[^1]: Word.\n\n[^b]: Two lines\nof note.\n\n    And more.\n\nEnd.\n"
    )
    assert shape(book)[0][1] == [
        ("paragraph", "Text.1 More.b"), ("note", "Word."), ("note", "Two lines of note."),
        ("note", "And more."), ("paragraph", "End."),
    ]  # fmt: skip
    document = book.documents["b.md"]
    called = [m.value for m in document.marks if m.kind == "note_ref"]
    noted = [b.note_id for c in book.chapters for b in c.blocks if b.kind == "note"]
    assert called == ["b.md#fn-1", "b.md#fn-b"]
    assert noted == ["b.md#fn-1", "b.md#fn-b", "b.md#fn-b"]


@pytest.mark.parametrize("cut", ["<?php", "<!-- open", "<div class='x", "<![CDATA[ x"])
def test_html_cut_short_is_text(cut: str) -> None:
    text = md(f"Before.\n\n{cut}\n\nAfter.\n").documents["b.md"].text
    assert "Before." in text
    assert "After." in text


def test_html_in_markdown() -> None:
    book = md('<div class="poem">a<br>b</div>\n\nx <em>y</em> <!-- gone --> &mdash; z\n')
    assert shape(book)[0][1] == [("verse", "a"), ("verse", "b"), ("paragraph", "x y — z")]


def test_plain_text() -> None:
    source = (
        "THE BOOK\n\nCHAPTER I\n\nIt was a\nlong night.\n\n* * *\n\n  Roses <are>\n  red & so\n\n"
        "Chapter Two: The Quay\n\nI. She said.\n\nEnd.\n"
    )
    book = checked(read_text(source.encode("utf-16"), Path("b.txt")))
    assert shape(book) == [
        ("b", [("paragraph", "THE BOOK")]),
        ("CHAPTER I", [("heading", "CHAPTER I"), ("paragraph", "It was a long night."),
                       ("scene_break", "* * *"), ("verse", "Roses <are>"), ("verse", "red & so")]),
        ("Chapter Two: The Quay", [("heading", "Chapter Two: The Quay"),
                                   ("paragraph", "I. She said."), ("paragraph", "End.")]),
    ]  # fmt: skip


def test_nothing_to_read() -> None:
    for read in (read_markdown, read_text):
        with pytest.raises(BookError, match="no text"):
            read(b" \n\n***\n", Path("b.md"))


@pytest.mark.parametrize(
    ("source", "title", "chapters"),
    [
        ("Text.", "b", [("b", True)]),
        ("---\ntitle: The Tale\n---\nText.", "The Tale", [("The Tale", False)]),
        ("Before.\n\n## One\n\na", "b", [("b", True), ("One", True)]),
        ("Before.\n\n# Book\n\na", "Book", [("b", True), ("Book", True)]),
        ("## Book\n\nText.", "Book", [("Book", True)]),
        ("Before.\n\n# One\n\na\n\n# Two\n\nb", "b", [("b", True), ("One", True), ("Two", True)]),
    ],
)
def test_titles_of_book_and_chapters(
    source: str, title: str, chapters: list[tuple[str, bool]]
) -> None:
    book = md(source)
    assert book.metadata.title == title
    assert [(c.title, c.title_in_text) for c in book.chapters] == chapters


def test_toml_front_matter() -> None:
    head = '+++\ntitle = "The Tale"\nauthors = ["Ann", "Bo"]\nlang = "eng"\ndraft = true\n+++\n'
    book = md(head + "Text.")
    found = book.metadata
    assert (found.title, found.authors, found.language) == ("The Tale", ("Ann", "Bo"), "en")
    assert [f.message for f in book.findings] == ["key 'draft' is not used"]
    assert "no TOML" in md("+++\ntitle = \n+++\nText.").findings[0].message


def test_attributes_of_headings_are_hidden() -> None:
    book = md("# One {#one .first}\n\nText {#not}.\n")
    assert shape(book)[0][1][0][0] == "heading"
    (document,) = book.documents.values()
    hidden = [document.text[m.start : m.end] for m in document.marks if m.kind == "hidden"]
    assert hidden == ["{#one .first}"]
    assert book.chapters[0].title_in_text


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("\tIt was a dark and stormy night.\n", {"verse"}),
        ("    for x in range(10):\n        print(x)\n", {"code"}),
        ("```\nIt was a dark and stormy night.\n```\n", {"code"}),
        ("    $ make all && ./run --fast now\n", {"code"}),
    ],
)
def test_an_indent_alone_is_no_code(source: str, kinds: set[str]) -> None:
    assert {kind for kind, _ in shape(md(source))[0][1]} == kinds
