"""The fold: what becomes text, which blocks and marks are found."""

import pytest

from loudr_core.book.parse import parse_document
from loudr_core.book.walk import Walked, walk

EPUB = 'xmlns:epub="http://www.idpf.org/2007/ops" xmlns="http://www.w3.org/1999/xhtml"'


def fold(body: str, language: str = "en") -> Walked:
    raw = f"<html {EPUB}><head><title>t</title></head><body>{body}</body></html>".encode()
    root = parse_document(raw, href="a.xhtml", findings=[])
    assert root is not None
    return walk(root, href="a.xhtml", language=language)


def blocks(body: str) -> list[tuple[str, str]]:
    walked = fold(body)
    return [(b.kind, walked.text[b.spans[0].start : b.spans[0].end]) for b in walked.blocks]


def marks(body: str, kind: str) -> list[tuple[str, str]]:
    walked = fold(body)
    return [(walked.text[m.start : m.end], m.value) for m in walked.marks if m.kind == kind]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p> a  b\n c </p>", "a b c"),
        ("<p>a<i> b</i>c <b> d</b></p>", "a bc d"),
        ("<p>soft\u00adhy\u200bphen\u2060s\ufeff \u202ebidi\u202c</p>", "softhyphens bidi"),
        ("<p>zw\u200dj zw\u200cnj</p>", "zw\u200dj zw\u200cnj"),
        ("<p>ﬁnd ﬂat ﬀ ﬃ ﬄ ﬅ ﬆ ½ ²</p>", "find flat ff ffi ffl st st ½ ²"),
        ("<p>don&#146;t&#133;</p>", "don’t…"),
        ("<p>a</p><p>b</p>c<div>d<p>e</p>f</div>", "a\nb\nc\nd\ne\nf"),
        ("<p>a<br/>b<br/> <br/>c</p>", "a\nb\nc"),
        ("<p>a<script>x</script><style>y</style><template>z</template>b</p>", "ab"),
        ("<p>a<!-- x -->b<?pi?>c<![CDATA[<d>]]></p>", "abc<d>"),
        ("<table><tr><td>a</td><td>b</td></tr></table>", "a\nb"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢(kan)"),
        ("<p>a<svg><title>Drawing</title><text>label</text></svg>b</p>", "a\nDrawing\nlabel\nb"),
        ("<title>not shown</title><p>a</p>", "a"),
    ],
)
def test_the_stream(body: str, text: str) -> None:
    assert fold(body).text == text


@pytest.mark.parametrize(
    ("body", "text", "alt"),
    [
        ('<p><img alt="O"/>nce upon</p>', "Once upon", []),
        ('<p>“<img alt="O"/>nce</p>', "“Once", []),
        ('<p><span><img alt="Th"/></span><span>en</span></p>', "Then", []),
        ('<p><img alt="O"/> nce</p>', "O nce", [("O", "")]),
        ('<p>see<img alt="a map"/>here</p>', "see a map here", [("a map", "")]),
        ('<p>x<img alt="O"/>y</p>', "x O y", [("O", "")]),
        ('<p>a</p><img alt="A map"/>', "a\nA map", [("A map", "")]),
        ('<p>a<img alt=""/>b</p>', "ab", []),
        ('<p>so <math alttext="x squared"><mi>x</mi></math></p>', "so x squared x",
         [("x squared", "")]),
    ],
)  # fmt: skip
def test_alternative_text(body: str, text: str, alt: list[tuple[str, str]]) -> None:
    assert fold(body).text == text
    assert marks(body, "alt") == alt


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        ("<h2>A</h2><p>b</p>", ["heading", "paragraph"]),
        ('<section epub:type="titlepage"><h1>T</h1><p>by A</p></section>', ["title", "paragraph"]),
        ('<p epub:type="title">T</p><p role="heading">H</p>', ["heading", "heading"]),
        ("<hgroup><h2>A</h2><p>sub</p></hgroup>", ["heading", "heading"]),
        ("<blockquote><p>a</p><p>b</p></blockquote>", ["quote", "quote"]),
        ("<ul><li>a<ul><li>b</li></ul></li></ul>", ["list_item", "list_item"]),
        ("<table><caption>c</caption><tr><th>a</th></tr></table>", ["caption", "table"]),
        ("<pre>a\n b</pre>", ["code"]),
        ("<figure><img alt='m'/><figcaption>c</figcaption></figure>", ["paragraph", "caption"]),
        ('<div class="poem"><p>a<br/>b</p></div>', ["verse", "verse"]),
        ('<section epub:type="z3998:poem"><p><span>a</span><br/>b</p></section>', ["verse"] * 2),
        ('<aside epub:type="footnote" id="n"><p>a</p><p>b</p></aside>', ["note", "note"]),
        ('<div role="doc-footnote">a</div><p class="footnote">b</p>', ["note", "note"]),
        ('<section epub:type="endnotes"><h2>N</h2><ol><li id="x"><p>a</p></li></ol></section>',
         ["heading", "note"]),
        ("<p>a</p><hr/><p>b</p>", ["paragraph", "scene_break", "paragraph"]),
        ("<p>a</p><p>* * *</p><p>❦</p><p>—</p>", ["paragraph"] + ["scene_break"] * 3),
        ("<p>“…”</p><p>?!</p><p>3</p>", ["paragraph"] * 3),
    ],
)  # fmt: skip
def test_block_kinds(body: str, kinds: list[str]) -> None:
    assert [kind for kind, _ in blocks(body)] == kinds


def test_levels_and_ids() -> None:
    walked = fold('<div id="d"><h3>A</h3><ol><li><ul><li id="x">b</li></ul></li></ol></div>')
    heading, item = walked.blocks
    assert (heading.level, heading.spans[0].element_id) == (3, "d")
    assert (item.level, item.spans[0].element_id) == (2, "x")


def test_preformatted_lines_stay_lines() -> None:
    assert blocks("<pre>if a:\n    b\n\nc</pre>") == [("code", "if a:\nb\nc")]


def test_anchors_stand_at_the_next_character() -> None:
    walked = fold('<p id="p">ab <a id="x"/><i id="i">c</i></p><a name="n"/><p>d</p><p id="z"></p>')
    assert walked.text == "ab c\nd"
    assert walked.anchors == {"p": 0, "x": 3, "i": 3, "n": 5, "z": 6}


def test_languages_that_differ() -> None:
    body = '<p>One <i xml:lang="fr">deux</i></p><p lang="de">Drei <b lang="en">four</b></p>'
    walked = fold(body)
    assert [b.language for b in walked.blocks] == ["", "de"]
    assert marks(body, "language") == [("deux", "fr"), ("Drei four", "de"), ("four", "en")]


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ('<a epub:type="noteref" href="n.xhtml#n1">1</a>', "n.xhtml#n1"),
        ('<a role="doc-noteref" href="#n1">see</a>', "a.xhtml#n1"),
        ('<a href="#n1"><sup>12</sup></a>', "a.xhtml#n1"),
        ('<sup><a href="x/n.xhtml#b">*</a></sup>', "x/n.xhtml#b"),
        ('<a href="#n1">[3]</a>', "a.xhtml#n1"),
        ('<a epub:type="backlink" href="#r1">back</a>', "a.xhtml#r1"),
        ('<a href="#r1">↩</a>', "a.xhtml#r1"),
    ],
)
def test_note_marks(link: str, target: str) -> None:
    assert [value for _, value in marks(f"<p>Word{link} more.</p>", "note_ref")] == [target]


@pytest.mark.parametrize(
    "link", ['<a href="c.xhtml#x">Chapter 4</a>', '<a href="#x">4</a>', '<a href="x">[1]</a>']
)
def test_other_links_are_no_note_marks(link: str) -> None:
    assert marks(f"<p>Word {link}.</p>", "note_ref") == []


def test_other_marks() -> None:
    body = (
        '<p hidden="">a</p><p style="color: red; display : none">b</p><p><em>c</em>'
        '<span epub:type="pagebreak">12</span><span class="lnum">5</span></p>'
        "<ruby>漢<rt>kan</rt></ruby><audio>no sound</audio>"
    )
    assert [t for t, _ in marks(body, "hidden")] == ["a", "b", "no sound"]
    assert [t for t, _ in marks(body, "page_break")] == ["12", "5"]
    assert [t for t, _ in marks(body, "ruby_reading")] == ["kan"]
    assert [t for t, _ in marks(body, "emphasis")] == ["c"]


def test_semantics_of_the_outermost_sections() -> None:
    walked = fold('<section epub:type="chapter"><div epub:type="z3998:letter">x</div></section>')
    assert walked.semantics == {"chapter"}
    assert [sorted(s.words) for s in walked.sections] == [["letter"], ["chapter"]]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("<pre>Shall I compare thee\n  to a summer's day?</pre>", "verse"),
        ("<pre>He was—so they said—<i>an odd</i> one.</pre>", "verse"),
        ("<pre>" + "It goes on and on, and then on again. " * 5 + "</pre>", "paragraph"),
        ("<pre><code>It was a dark and stormy night.</code></pre>", "code"),
        ('<pre class="programlisting">It was a dark and stormy night.</pre>', "code"),
        ('<div class="highlight"><pre>It was a dark and stormy night.</pre></div>', "code"),
        ("<pre>for (int i = 0; i &lt; n; i++) { total += a[i]; }</pre>", "code"),
        ("<pre>open the door()\nclose the door()</pre>", "code"),
        ("<pre>+------+\n| a box |\n+------+ and some words here</pre>", "code"),
    ],
)
def test_preformatted_writing_is_no_code(body: str, kind: str) -> None:
    assert {found for found, _ in blocks(body)} == {kind}


def test_project_gutenbergs_header_is_marked() -> None:
    body = '<section id="pg-header"><h2>The eBook</h2><p>Words.</p></section><p>Text.</p>'
    assert marks(body, "boilerplate") == [("The eBook\nWords.", "")]


def test_cells_know_their_row() -> None:
    walked = fold(
        "<table><tr><th>a</th><th>b</th></tr><tr><td>c</td><td><p>d</p></td></tr></table>"
    )
    assert [(b.kind, b.level) for b in walked.blocks] == [
        ("table", 1), ("table", 1), ("table", 2), ("table", 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("<p>the day<sup>7</sup> ended.</p>", [("7", "")]),
        ("<p>It ended.<sup>12</sup> Then</p>", [("12", "")]),
        ("<p>“It ended.”<sup>*</sup></p>", [("*", "")]),
        ("<p>an area of 5 cm<sup>2</sup>, E = mc<sup>2</sup></p>", []),
        ("<p>10 sec<sup>2</sup>, x<sup>2</sup> and 10<sup>6</sup></p>", []),
        ("<p><sup>3</sup>In the beginning</p>", []),
        ("<p>the 4<sup>th</sup> and M<sup>lle</sup></p>", []),
    ],
)
def test_a_raised_number_without_a_link(body: str, found: list[tuple[str, str]]) -> None:
    assert marks(body, "note_ref") == found


@pytest.mark.parametrize(
    ("alt", "text", "marked"),
    [
        ("The letter W", "The letter When he", ["The letter"]),
        ("Illuminated initial: W", "Illuminated initial: When he", ["Illuminated initial:"]),
        ("W", "When he", []),
        ("A man in W", "A man in W hen he", ["A man in W"]),
        ("The letter", "The letter hen he", ["The letter"]),
    ],
)
def test_a_picture_of_the_first_letter(alt: str, text: str, marked: list[str]) -> None:
    body = f'<p><img src="w.png" alt="{alt}"/>hen he</p>'
    assert fold(body).text == text
    assert [found for found, _ in marks(body, "alt")] == marked


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("10<sup>6</sup> men", "10 6 men"),
        ("3<sup>1</sup>/<sub>2</sub> cups", "3 1/2 cups"),
        ("H<sub>2</sub>O", "H2O"),
        ("2<sup>nd</sup>", "2nd"),
        ("<sup>14</sup>C", "14C"),
        ("10 <sup>6</sup>", "10 6"),
        ("1<b>0</b>", "10"),
    ],
)
def test_a_raised_figure_does_not_lengthen_a_number(body: str, text: str) -> None:
    assert fold(f"<p>{body}</p>").text == text


def test_several_raised_numbers_call_several_notes() -> None:
    body = "<p>An end.<sup>3, 4</sup> word<sup>5\u20137</sup> x<sup>2, 3</sup></p>"
    assert [text for text, _ in marks(body, "note_ref")] == ["3, 4", "5\u20137"]


def test_a_raised_figure_behind_a_year_calls_a_note() -> None:
    assert marks("<p>In 1914<sup>2</sup> and 10<sup>6</sup>.</p>", "note_ref") == [("2", "")]
    assert marks("<p>5,1914<sup>2</sup> 1914<sup>*</sup></p>", "note_ref") == [("*", "")]
