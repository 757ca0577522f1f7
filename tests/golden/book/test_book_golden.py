"""Whole books: case folders here, and the files outside the repository with what is right for them.

A case is `<name>/in/…`, packed as an EPUB, and `<name>/want.json`. With LOUDR_UPDATE_GOLDEN set,
`want.json` is written anew, to be looked at before it is committed.
"""

import io
import json
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from loudr_core.book.epub import read_epub
from loudr_core.book.extract import extract_characters
from loudr_core.book.model import Block, Book
from loudr_core.book.read import read_book
from loudr_core.errors import BookError

HERE = Path(__file__).parent
CASES = sorted(p.name for p in HERE.iterdir() if (p / "in").is_dir())


def packed(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.writestr(path.relative_to(folder).as_posix(), path.read_bytes())
    return buffer.getvalue()


def lossless(book: Book) -> bool:
    return all(
        extract_characters(d) == "".join(d.text.split()) for d in book.documents.values()
    ) and sum(len(book.text_of(s)) for s in spans(book)) == sum(
        len(d.text) - separators(book, d.href) for d in book.documents.values()
    )


def spans(book: Book) -> list:
    return [s for c in book.chapters for b in c.blocks for s in b.spans]


def separators(book: Book, href: str) -> int:
    return max(0, sum(1 for s in spans(book) if s.href == href and s.start < s.end) - 1)


def written(book: Book) -> dict[str, object]:
    """Return the part of a book that a case fixes, as JSON holds it."""
    return {
        "metadata": {
            "title": book.metadata.title,
            "authors": list(book.metadata.authors),
            "language": book.metadata.language,
            "cover": book.metadata.cover.media_type if book.metadata.cover else None,
        },
        "chapters": [
            {
                "title": c.title,
                "role": c.role,
                "level": c.level,
                "semantics": sorted(c.semantics),
                "title_in_text": c.title_in_text,
                "lost": c.lost,
                "blocks": [[b.kind, *shown(book, b)] for b in c.blocks],
            }
            for c in book.chapters
        ],
        "marks": {
            d.href: [[m.kind, d.text[m.start : m.end], m.value] for m in d.marks]
            for d in book.documents.values()
            if d.marks
        },
        "findings": [[f.code, f.severity] for f in book.findings],
    }


def shown(book: Book, block: Block) -> Iterable[str]:
    yield "".join(book.text_of(s) for s in block.spans)
    if block.language or block.note_id:
        yield f"{block.language} {block.note_id}".strip()


@pytest.mark.parametrize("case", CASES)
def test_case(case: str) -> None:
    book = read_epub(packed(HERE / case / "in"), name=case, title=case)
    got = written(book)
    want = HERE / case / "want.json"
    if os.environ.get("LOUDR_UPDATE_GOLDEN"):
        want.write_text(json.dumps(got, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert got == json.loads(want.read_text(encoding="utf-8"))
    assert lossless(book)


@pytest.fixture(scope="session")
def epubs(test_data: Path) -> Path:
    folder = test_data / "epubs"
    if not folder.is_dir():
        pytest.skip(f"no books at {folder}")
    return folder


@pytest.fixture(scope="session")
def expected(epubs: Path) -> dict:
    found: dict = json.loads((epubs / "expected.json").read_text(encoding="utf-8"))
    return found


def plain(book: Book, number: int) -> list[str]:
    """Return the texts of a chapter's blocks, but for alternative text of pictures."""
    alts = {
        (href, m.start) for href, d in book.documents.items() for m in d.marks if m.kind == "alt"
    }
    blocks = book.chapters[number].blocks
    return [
        book.text_of(b.spans[0]) for b in blocks if (b.spans[0].href, b.spans[0].start) not in alts
    ]


def test_c01_order_and_nesting(epubs: Path, expected: dict) -> None:
    book = read_book(epubs / "c01_order_nested.epub")
    got = [[c.title, plain(book, n)] for n, c in enumerate(book.chapters)]
    assert got == expected["c01_order_nested"]["chapters"]
    assert all(c.title_in_text for c in book.chapters)
    assert lossless(book)


def test_c04_broken_references(epubs: Path, expected: dict) -> None:
    book = read_book(epubs / "c04_broken_refs.epub")
    kept = [[c.title, plain(book, n)] for n, c in enumerate(book.chapters) if not c.lost]
    assert kept == expected["c04_broken_refs"]["chapters"]
    assert [c.title for c in book.chapters if c.lost] == ["Lost"]
    assert [(f.code, f.severity) for f in book.findings] == [
        ("book-missing-cover", "warning"),
        ("book-missing-resource", "warning"),
        ("book-remote-resource", "warning"),
        ("book-absolute-path", "warning"),
        ("book-missing-document", "error"),
    ]


def test_c06_inline(epubs: Path, expected: dict) -> None:
    book = read_book(epubs / "c06_inline.epub")
    assert plain(book, 0)[1:] == expected["c06_inline"]["text"]
    assert lossless(book)


def test_c09_languages(epubs: Path) -> None:
    book = read_book(epubs / "c09_normalise.epub")
    assert [b.language for b in book.chapters[0].blocks] == ["", "", "fr"]


@pytest.mark.parametrize(
    ("name", "titles"),
    [
        ("se_h-g-wells_the-time-machine", 18),
        ("se_jane-austen_pride-and-prejudice", 65),
    ],
)
def test_chapters_are_those_of_the_table(epubs: Path, name: str, titles: int) -> None:
    path = epubs / f"{name}.epub"
    with zipfile.ZipFile(path) as archive:
        nav = archive.read("epub/toc.xhtml").decode()
    listed = nav.partition('epub:type="landmarks"')[0].split("<a href=")[1:]
    table = [entry.partition(">")[2].partition("<")[0] for entry in listed]
    book = read_book(path)
    assert [c.title for c in book.chapters] == table
    assert len(table) == titles
    assert {c.role for c in book.chapters} == {"front", "body", "back"}
    assert lossless(book)
    assert book.findings == ()


def test_every_file_is_read_whole_or_refused_in_one_line(epubs: Path) -> None:
    refused = {}
    for path in sorted(epubs.glob("*.epub")):
        try:
            book = read_book(path)
        except BookError as error:
            refused[path.stem] = error.message
        else:
            assert lossless(book), path
            assert any(c.blocks for c in book.chapters)
    assert all("\n" not in message for message in refused.values())
    assert set(refused) == {"ec2_opf-spine-missing-error", "vo_BugFixes_53"}
