"""Notes without markup: found by their links, and the paragraphs that belong to them."""

from loudr_core.book.notes import find_notes
from loudr_core.book.parse import parse_document
from loudr_core.book.walk import Walked, walk


def pages(**bodies: str) -> dict[str, Walked]:
    found = {}
    for name, body in bodies.items():
        raw = f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{body}</body></html>'.encode()
        root = parse_document(raw, href=name, findings=[])
        assert root is not None
        found[name] = walk(root, href=name, language="en")
    find_notes(found)
    return found


def notes(walked: Walked) -> list[tuple[str, str]]:
    return [
        (b.note_id, walked.text[b.spans[0].start : b.spans[0].end])
        for b in walked.blocks
        if b.kind == "note"
    ]


CALL = '<p>Text<a id="r{0}" href="n#n{0}"><sup>{0}</sup></a> goes on.</p>'


def test_a_way_back_that_is_a_plain_number() -> None:
    found = pages(a=CALL.format(1), n='<p id="n1"><a href="a#r1">1</a>. First.</p>')
    assert notes(found["n"]) == [("n#n1", "1. First.")]
    assert [(m.kind, m.start, m.end) for m in found["n"].marks] == [("note_ref", 0, 1)]


def test_plain_links_that_no_mark_calls_stay_text() -> None:
    found = pages(a="<p>Text.</p>", n='<p id="n1"><a href="a#r1">1</a>. First.</p>')
    assert notes(found["n"]) == []
    assert found["n"].marks == []


def test_later_paragraphs_belong_to_their_note() -> None:
    back = '<p id="n{0}"><a href="a#r{0}">[{0}]</a> Note.</p>'
    body = (
        "<h2>Notes</h2>" + back.format(1) + "<p>More of one.</p><blockquote>Quoted.</blockquote>"
        + back.format(2) + '<p id="x">A paragraph with a name.</p><p>After it.</p>'
        + back.format(3) + "<h2>Appendix</h2><p>No note.</p>"
    )  # fmt: skip
    found = pages(a="".join(CALL.format(k) for k in (1, 2, 3)), n=body)
    assert notes(found["n"]) == [
        ("n#n1", "[1] Note."), ("n#n1", "More of one."), ("n#n1", "Quoted."),
        ("n#n2", "[2] Note."), ("n#n3", "[3] Note."),
    ]  # fmt: skip
    unheaded = pages(a=CALL.format(1), n=back.format(1) + "<p>The story goes on.</p>")
    assert notes(unheaded["n"]) == [("n#n1", "[1] Note.")]
