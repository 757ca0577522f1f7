"""Numbers of lists: which item has one, and which."""

import pytest

from loudr_core.book.parse import parse_document
from loudr_core.book.styles import StyleReader
from loudr_core.book.walk import Walked, walk

EPUB = 'xmlns:epub="http://www.idpf.org/2007/ops" xmlns="http://www.w3.org/1999/xhtml"'


def fold(body: str, css: str = "") -> Walked:
    head = f"<head><title>t</title><style>{css}</style></head>"
    raw = f"<html {EPUB}>{head}<body>{body}</body></html>".encode()
    root = parse_document(raw, href="a.xhtml", findings=[])
    assert root is not None
    styles = StyleReader(lambda base, href: None).styles_of(root, "a.xhtml")
    return walk(root, href="a.xhtml", language="en", styles=styles)


def numbered(body: str, css: str = "") -> list[str]:
    """Return each block as its number and its text."""
    walked = fold(body, css)
    return [
        f"{b.generated}{' ' if b.generated else ''}{walked.text[b.spans[0].start : b.spans[0].end]}"
        for b in walked.blocks
    ]


def numbers(attributes: str = "", css: str = "", items: str = "<li>x</li><li>y</li>") -> list[str]:
    walked = fold(f"<ol {attributes}>{items}</ol>", css)
    return [block.generated for block in walked.blocks]


@pytest.mark.parametrize(
    ("attributes", "found"),
    [
        ("", ["1.", "2."]),
        ('start="7"', ["7.", "8."]),
        ('start=" +7th"', ["7.", "8."]),
        ('start="-1"', ["-1.", "0."]),
        ('start="seven"', ["1.", "2."]),
        ('start="99999999999"', ["1.", "2."]),
        ('reversed="reversed"', ["2.", "1."]),
        ('reversed="" start="5"', ["5.", "4."]),
        ('type="a"', ["A.", "B."]),
        ('type="A" start="26"', ["Z.", "A A."]),
        ('type="a" start="0"', ["0.", "A."]),
        ('type="i"', ["1.", "2."]),
        ('type="I" start="40"', ["40.", "41."]),
        ('type="disc"', ["", ""]),
        ('type="none"', ["", ""]),
        ('type="odd"', ["1.", "2."]),
    ],
)
def test_attributes_of_a_list(attributes: str, found: list[str]) -> None:
    assert numbers(attributes) == found


@pytest.mark.parametrize(
    ("css", "attributes", "found"),
    [
        ("ol { list-style: none }", "", ["", ""]),
        ("ol { list-style-type: none }", "", ["", ""]),
        ("ol.n { list-style: none inside }", "", ["1.", "2."]),
        ("ol.n { list-style: none inside }", 'class="m n"', ["", ""]),
        ("li { list-style-type: none }", "", ["", ""]),
        ("ol { list-style: none } li { list-style: decimal }", "", ["1.", "2."]),
        ("ol { list-style: inside }", "", ["", ""]),
        ("ol { list-style: url(dot.png) lower-roman }", "", ["1.", "2."]),
        ("ol { list-style: upper-alpha outside }", "", ["A.", "B."]),
        ("ol { list-style-type: lower-latin }", 'type="I"', ["A.", "B."]),
        ('ol { list-style-type: "- " }', "", ["", ""]),
        ("ol { list-style: none !important }", 'style="list-style: decimal"', ["", ""]),
        ("ol { list-style: none }", 'style="list-style: decimal"', ["1.", "2."]),
        ("", 'style="list-style-type:none"', ["", ""]),
        ("body { list-style: none }", "", ["1.", "2."]),
        ("body { list-style: none } ol { list-style: inherit }", "", ["", ""]),
        ("ol { list-style: initial }", "", ["", ""]),
        ("ol { list-style: revert }", "", ["1.", "2."]),
        ("li { display: block }", "", ["", ""]),
        ("@media print { ol { list-style: none } }", "", ["1.", "2."]),
        ("li::marker { color: red }", "", ["1.", "2."]),
    ],
)
def test_style_sheets(css: str, attributes: str, found: list[str]) -> None:
    assert numbers(attributes, css) == found


@pytest.mark.parametrize(
    ("css", "found"),
    [
        ('ol { list-style: none } li::before { content: counter(n) ". " }', ["1.", "2."]),
        (
            'li { display: block } li:before { content: "(" counter(n, lower-alpha) ")" }',
            ["A.", "B."],
        ),
        ('ol { list-style: none } ol > li::before { content: counters(n, ".") }', ["1.", "2."]),
        ('ol { list-style: none } li::before { content: "- " }', ["", ""]),
        ("ol { list-style: none } li::before { content: counter(n, none) }", ["", ""]),
        ("ol { list-style: none } li::before { display: none }", ["", ""]),
        ("ol { list-style: none } li::after { content: counter(n) }", ["", ""]),
        ('li::before { content: "Step " }', ["1.", "2."]),
        ("li::before { content: counter(n) }", ["1.", "2."]),
        ('li::marker { content: "* " }', ["", ""]),
        ('li::marker { content: counter(list-item, upper-latin) ") " }', ["A.", "B."]),
        ("li::marker { content: normal }", ["1.", "2."]),
    ],
)
def test_counters_and_markers_of_style_sheets(css: str, found: list[str]) -> None:
    assert numbers(css=css) == found


def test_items_with_values_of_their_own() -> None:
    items = '<li>a</li><li value="9">b</li><li value="x">c</li><li type="a" value="4">d</li>'
    assert numbers(items=items) == ["1.", "9.", "10.", "D."]
    assert numbers("reversed=''", items=items) == ["4.", "9.", "8.", "D."]


def test_items_that_are_not_shown_are_not_counted() -> None:
    items = '<li>a</li><li hidden="">b</li><li class="gone">c</li><li>d</li>'
    assert numbers(css=".gone { display: none }", items=items) == ["1.", "", "", "2."]


def test_lists_in_lists_count_for_themselves() -> None:
    inner = "<ol type='a'><li>p</li><li>q</li></ol>"
    body = f"<ol><li>one{inner}</li><li>two<ul><li>dot</li></ul></li><div><li>three</li></div></ol>"
    assert numbered(body) == ["1. one", "A. p", "B. q", "2. two", "dot", "3. three"]


def test_an_item_that_opens_with_a_list_has_both_numbers() -> None:
    assert numbered("<ol><li><ol><li>a</li><li>b</li></ol></li></ol>") == ["1. 1. a", "2. b"]


def test_the_number_goes_to_the_first_block_that_is_read() -> None:
    picture = '<p><img src="p.png" alt="A pan"/></p>'
    for opening in (picture, '<p hidden="">h</p>', "<pre><code>x = 1</code></pre>"):
        blocks = numbered(f"<ol><li>{opening}<p>Text.</p><p>More.</p></li></ol>")
        assert blocks[1:] == ["1. Text.", "More."]
    assert numbered("<ol><li><h3>Step</h3><p>Text.</p></li></ol>") == ["1. Step", "Text."]


def test_an_item_without_text_leaves_its_number_to_nobody() -> None:
    assert numbered("<ol><li></li><li><img src='x' alt=''/></li><li>c</li></ol><p>d</p>") == [
        "3. c", "d",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "1. Mix",
        "1) Mix",
        "(1) Mix",
        "[1] Mix",
        "01. Mix",
        "<b>1</b>. Mix",
        "I. Mix",
    ],
)
def test_a_number_that_is_written_is_not_said_twice(text: str) -> None:
    assert numbers(items=f"<li>{text}</li>") == [""]


@pytest.mark.parametrize("text", ["1 egg", "2. Mix", "1.5 litres", "10:30 start", "1st of May"])
def test_other_figures_are_no_number_of_the_item(text: str) -> None:
    assert numbers(items=f"<li>{text}</li>") == ["1."]


@pytest.mark.parametrize(
    "body",
    [
        '<nav><ol><li>One</li></ol></nav>',
        '<section epub:type="toc"><ol><li>One</li></ol></section>',
        '<ol epub:type="toc"><li>One</li></ol>',
        '<ol><li><a href="b.xhtml">One</a> 7</li><li><a href="c.xhtml">Two</a> 9</li></ol>',
        '<section epub:type="endnotes"><ol><li id="n">Note.</li></ol></section>',
        '<aside epub:type="footnote" id="f"><ol><li>Note.</li></ol></aside>',
        '<ol><li class="footnote" id="n">Note.</li></ol>',
        '<div class="poem"><ol><li>A line</li></ol></div>',
        "<ul><li>One</li></ul>",
        "<dl><dt>One</dt><dd>Two</dd></dl>",
        "<li>One</li>",
        '<list type="ul"><li>One</li></list>',
    ],
)  # fmt: skip
def test_lists_without_numbers(body: str) -> None:
    assert {block.generated for block in fold(body).blocks} == {""}


def test_links_elsewhere_and_half_linked_items_are_numbered() -> None:
    outside = '<ol><li><a href="https://example.org/">There</a></li></ol>'
    assert numbered(outside) == ["1. There"]
    assert numbered('<ol><li>See <a href="b.xhtml">there</a></li></ol>') == ["1. See there"]


def test_lists_of_dtbook() -> None:
    assert numbered('<list type="ol" enum="a" start="3"><li>x</li></list>') == ["C. x"]


def test_a_long_list_is_counted_once() -> None:
    found = fold("<ol>" + "<li>x</li>" * 5_000 + "</ol>").blocks
    assert [found[0].generated, found[-1].generated] == ["1.", "5000."]
    deep = fold("<ol><li>x" * 60 + "</li></ol>" * 60).blocks
    assert [block.generated for block in deep] == ["1."] * 60
