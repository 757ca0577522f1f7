"""Where chapters begin, what they are called and which part of the book they are."""

import pytest

from loudr_core.book.chapters import SpineDocument, make_chapters
from loudr_core.book.model import Chapter
from loudr_core.book.notes import find_notes
from loudr_core.book.parse import parse_html
from loudr_core.book.roles import role_of, title_semantics
from loudr_core.book.toc import Landmark, TocEntry
from loudr_core.book.walk import Walked, walk
from loudr_core.findings import Finding


def document(href: str, body: str | None) -> SpineDocument:
    if body is None:
        return SpineDocument(href=href, walked=None)
    root = parse_html(f"<html><body>{body}</body></html>", href=href)
    walked = walk(root, href=href) if body else Walked()
    return SpineDocument(href=href, walked=walked)


def entry(target: str, title: str, level: int = 0) -> TocEntry:
    path, _, fragment = target.partition("#")
    return TocEntry(title=title, path=path, fragment=fragment, level=level)


def chapters(
    bodies: dict[str, str | None], *entries: TocEntry, landmarks: tuple[Landmark, ...] = ()
) -> list[tuple[str, list[str]]]:
    documents = [document(href, body) for href, body in bodies.items()]
    made = make_chapters(documents, entries, landmarks, [])
    texts = {d.href: d.walked.text for d in documents if d.walked is not None}
    return [
        (c.title, [texts[s.href][s.start : s.end] for b in c.blocks for s in b.spans]) for c in made
    ]


def test_toc_out_of_order_follows_the_spine() -> None:
    bodies: dict[str, str | None] = {"a": "<p>1</p>", "b": "<p>2</p>"}
    assert chapters(bodies, entry("b", "Two"), entry("a", "One")) == [
        ("One", ["1"]),
        ("Two", ["2"]),
    ]


def test_an_anchor_inside_a_block_takes_the_whole_block() -> None:
    bodies: dict[str, str | None] = {"a": '<p>Lead.</p><p>Mid <i id="x">dle</i>.</p><p>End.</p>'}
    assert chapters(bodies, entry("a", "One"), entry("a#x", "Two")) == [
        ("One", ["Lead."]),
        ("Two", ["Mid dle.", "End."]),
    ]


def test_a_heading_above_its_anchor_comes_along() -> None:
    body = '<h2>One</h2><p id="x">A.</p><h2>Two</h2><p id="y">B.</p>'
    assert chapters({"a": body}, entry("a#x", "One"), entry("a#y", "Two")) == [
        ("One", ["One", "A."]),
        ("Two", ["Two", "B."]),
    ]


def test_a_part_and_its_first_chapter_at_one_place() -> None:
    found = chapters({"a": "<p>A.</p>"}, entry("a", "Part One"), entry("a", "The Quay", 1))
    assert found == [("Part One: The Quay", ["A."])]


def test_a_document_without_an_entry() -> None:
    bodies: dict[str, str | None] = {
        "a": "<p>1</p>",
        "a2": "<p>continued</p>",
        "x": "<h2>Interlude</h2><p>own</p>",
        "b": "<p>2</p>",
    }
    assert chapters(bodies, entry("a", "One"), entry("b", "Two")) == [
        ("One", ["1", "continued"]),
        ("Interlude", ["Interlude", "own"]),
        ("Two", ["2"]),
    ]


def test_text_before_the_first_entry_is_kept() -> None:
    bodies: dict[str, str | None] = {"cover": "<p>Words.</p>", "a": '<p>Lead.</p><p id="x">A.</p>'}
    assert chapters(bodies, entry("a#x", "One")) == [
        ("Cover", ["Words.", "Lead."]),
        ("One", ["A."]),
    ]


def test_lost_documents() -> None:
    bodies: dict[str, str | None] = {"a": "<p>1</p>", "lost": None, "b": "<p>2</p>"}
    documents = [document(href, body) for href, body in bodies.items()]
    made = make_chapters(documents, [entry("a", "One")], (), [])
    assert [(c.title, c.lost, len(c.blocks)) for c in made] == [
        ("One", False, 1),
        ("lost", True, 0),
        ("b", False, 1),
    ]


@pytest.mark.parametrize(
    ("body", "titles"),
    [
        ("<h1>A</h1><p>x</p><h1>B</h1><p>y</p><h2>C</h2><p>z</p>", ["A", "B"]),
        ("<h1>Book</h1><p>x</p><h2>A</h2><p>y</p><h2>B</h2><p>z</p>", ["Book", "A", "B"]),
        ("<h1>I</h1><h2>A</h2><p>x</p><h1>II</h1><h2>B</h2><p>y</p>", ["I", "A", "II", "B"]),
        ("<p>before</p><h3>A</h3><p>x</p>", ["a", "A"]),
        ("<p>no heading</p>", ["a"]),
    ],
)
def test_headings_without_a_table(body: str, titles: list[str]) -> None:
    assert [title for title, _ in chapters({"a": body})] == titles


def test_title_in_text() -> None:
    def said(body: str, title: str) -> bool:
        return make_chapters([document("a", body)], [entry("a", title)], (), [])[0].title_in_text

    assert said("<h2>I</h2><p>x</p>", "I")
    assert said("<h2>Chapter 1</h2><h3>The Quay</h3><p>x</p>", "Chapter 1: The Quay")
    assert said("<h2>Chapter 1. The Quay</h2><p>x</p>", "1. The Quay")
    assert said("<h2>The Quay</h2><p>x</p>", "1. The Quay")
    assert not said("<h2>Quay</h2><p>x</p>", "Part One: The Quay")
    assert not said("<p>x</p>", "Start")
    assert not said("<p>I saw it.</p><p>x</p>", "II")


def roles(bodies: dict[str, str], *landmarks: Landmark) -> list[Chapter]:
    documents = [document(href, body) for href, body in bodies.items()]
    return list(make_chapters(documents, [entry(h, h) for h in bodies], landmarks, []))


def test_landmarks_part_the_book() -> None:
    marks = [
        Landmark(words=frozenset({word}), path=path, fragment="")
        for word, path in (("bodymatter", "b"), ("backmatter", "d"), ("titlepage", "a"))
    ]
    made = roles({"a": "<p>1</p>", "b": "<p>2</p>", "c": "<p>3</p>", "d": "<p>4</p>"}, *marks)
    assert [c.role for c in made] == ["front", "body", "body", "back"]
    assert "titlepage" in made[0].semantics


def test_roles_by_words_and_titles() -> None:
    assert role_of(frozenset({"bodymatter", "foreword"}), None, frozenset()) == "body"
    assert role_of(frozenset({"dedication"}), "body", frozenset()) == "front"
    assert role_of(frozenset({"chapter"}), "front", frozenset()) == "body"
    assert role_of(frozenset(), "back", frozenset()) == "back"
    assert role_of(frozenset(), None, title_semantics("Colophon")) == "back"
    assert role_of(frozenset(), None, title_semantics("The Index of Sins")) == "body"
    for title, word in (
        ("Title Page", "titlepage"), ("CONTENTS", "toc"), ("Copyright Page", "copyright-page"),
        ("Imprint", "imprint"), ("Acknowledgements", "acknowledgments"), ("Notes", "endnotes"),
    ):  # fmt: skip
        assert title_semantics(title) == {word}


def test_notes_are_found_by_their_links() -> None:
    walked = document(
        "a",
        '<p>Word<a id="r1" href="#f1"><sup>1</sup></a> more.</p>'
        '<p id="f1"><a href="#r1">[1]</a> The note.</p><p>Not a note.</p>',
    ).walked
    assert walked is not None
    find_notes({"a": walked})
    assert [(b.kind, b.note_id) for b in walked.blocks] == [
        ("paragraph", ""),
        ("note", "a#f1"),
        ("paragraph", ""),
    ]


def test_missing_anchor_takes_the_start() -> None:
    findings: list[Finding] = []
    made = make_chapters([document("a", "<p>x</p>")], [entry("a#no", "One")], (), findings)
    assert [c.title for c in made] == ["One"]
    assert [f.code for f in findings] == ["book-missing-anchor"]
