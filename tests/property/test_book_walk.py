"""Any page: the stream equals the independent extraction, and blocks and chapters cover it once."""

import io
import zipfile
from html import escape
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loudr_core.book.epub import read_epub
from loudr_core.book.extract import extract_characters
from loudr_core.book.markdown import read_markdown, read_text
from loudr_core.book.model import Book
from loudr_core.errors import BookError

LETTERS = st.text(
    st.one_of(
        st.sampled_from(
            list("abcXYZ019 .,;:!?’“”—…\t\n\u00a0\u00ad\u200b\u200d\u2060\u202e\ufeffﬁﬆé漢\u0301*")
        ),
        st.characters(exclude_categories=("Cs", "Cc", "Cn", "Co")),
    ),
    max_size=12,
)
INLINE = ["span", "em", "i", "b", "a", "sup", "ruby", "rt", "small", "cite", "q", "abbr"]
BLOCK = [
    "p", "div", "section", "blockquote", "h1", "h2", "h3", "ul", "ol", "li", "table", "tr", "td",
    "pre", "figure", "figcaption", "aside", "nav", "dl", "dt", "dd",
]  # fmt: skip
EMPTY = ["br", "hr", "wbr"]
OUT = ["script", "style", "template"]
ENTITIES = ["&nbsp;", "&mdash;", "&amp;", "&lt;", "&#160;", "&eacute;", "&shy;", "&#8203;"]
WORDS = ["footnote", "noteref", "chapter", "poem", "title", "pagebreak", "titlepage", "endnotes"]


def attributes() -> st.SearchStrategy[str]:
    return st.lists(
        st.one_of(
            st.sampled_from([f' epub:type="{w}"' for w in WORDS]),
            st.sampled_from([' hidden="hidden"', ' style="display:none"', ' xml:lang="fr"']),
        ),
        max_size=1,
    ).map("".join)


def image(alt: str) -> str:
    return f'<img src="x.png" alt="{escape(alt)}"/>'


LEAF = st.one_of(
    LETTERS.map(lambda t: escape(t, quote=False)),
    st.sampled_from(ENTITIES),
    st.sampled_from(EMPTY).map(lambda n: f"<{n}/>"),
    LETTERS.map(image),
    st.sampled_from(OUT).flatmap(
        lambda n: st.sampled_from(["", "var x", "p q"]).map(lambda t: f"<{n}>{t}</{n}>")
    ),
    st.just("<!-- not read -->"),
    st.just("<![CDATA[ a < b ]]>"),
    LETTERS.map(lambda t: f'<math alttext="{escape(t)}"><mi>x</mi></math>'),
)


def element(names: list[str], inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(
        st.sampled_from(names), attributes(), st.lists(inside, max_size=4).map("".join)
    ).map(lambda t: f"<{t[0]}{t[1]}>{t[2]}</{t[0]}>")


TREE = st.recursive(LEAF, lambda inside: element(INLINE + BLOCK, inside), max_leaves=25)
BODY = st.lists(TREE, max_size=6).map("".join)

OPF = """<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata
xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>T</dc:title><dc:language>en</dc:language>
</metadata><manifest>{items}<item id="n" href="nav.xhtml" properties="nav"
media-type="application/xhtml+xml"/></manifest><spine>{refs}</spine></package>"""
CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="p.opf"/></rootfiles></container>'
)


def page(body: str) -> str:
    return (
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">'
        f"<head><title>t</title></head><body>{body}</body></html>"
    )


def epub(bodies: list[str], links: list[str]) -> bytes:
    names = [f"d{i}.xhtml" for i in range(len(bodies))]
    listed = "".join(f'<li><a href="{link}">Entry {i}</a></li>' for i, link in enumerate(links))
    files = {
        "META-INF/container.xml": CONTAINER,
        "p.opf": OPF.format(
            items="".join(
                f'<item id="{n}" href="{n}" media-type="application/xhtml+xml"/>' for n in names
            ),
            refs="".join(f'<itemref idref="{n}"/>' for n in names),
        ),
        "nav.xhtml": page(f'<nav epub:type="toc"><ol>{listed}</ol></nav>'),
        **{n: page(b) for n, b in zip(names, bodies, strict=True)},
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def check(book: Book) -> None:
    """Assert what holds for every book."""
    covered: dict[str, list[tuple[int, int]]] = {href: [] for href in book.documents}
    for chapter in book.chapters:
        assert chapter.title
        for block in chapter.blocks:
            for span in block.spans:
                assert book.text_of(span) == book.text_of(span).strip()
                assert (span.start < span.end) or block.kind == "scene_break"
                covered[span.href].append((span.start, span.end))
    for href, document in book.documents.items():
        text = document.text
        assert extract_characters(document) == "".join(text.split())
        assert text == text.strip()
        assert "  " not in text
        assert "\n\n" not in text
        at = 0
        for start, end in covered[href]:  # in order, once, and only a newline between
            assert text[at:start] in {"", "\n"}, (text, covered[href])
            at = end
        assert at == len(text)
        for mark in document.marks:
            assert 0 <= mark.start < mark.end <= len(text)
        assert all(0 <= index <= len(text) for index in document.anchors.values())


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(bodies=st.lists(BODY, min_size=1, max_size=3), data=st.data())
def test_every_character_has_one_place(bodies: list[str], data: st.DataObject) -> None:
    bodies[0] = f"<p>Word <a id='here'/>{bodies[0]}</p>"
    links = data.draw(
        st.lists(
            st.sampled_from(["d0.xhtml", "d0.xhtml#here", "d1.xhtml", "d9.xhtml", "d0.xhtml#no"]),
            max_size=4,
        )
    )
    check(read_epub(epub(bodies, links), name="x.epub", title="x"))


LINES = st.one_of(
    LETTERS,
    LETTERS.map(lambda t: f"# {t}"),
    LETTERS.map(lambda t: f"## {t}"),
    LETTERS.map(lambda t: f"> {t}"),
    LETTERS.map(lambda t: f"- {t}"),
    LETTERS.map(lambda t: f"[^n]: {t}"),
    LETTERS.map(lambda t: f"    {t}"),
    LETTERS.map(lambda t: f"a *{t}* `{t}` [l](u) ![{t}](i.png) x[^n]"),
    st.sampled_from(["", "---", "***", "<div>", "</div>", "<b>x</b> &amp; &nbsp;y", "<?", "<!--"]),
    st.sampled_from(["```", "|a|b|", "|-|-|", "<script>", "<p"]),
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(lines=st.lists(LINES, max_size=14))
def test_markdown_loses_nothing(lines: list[str]) -> None:
    source = "\n".join(["Word", "", *lines]).encode()
    check(read_markdown(source, Path("x.md")))


PLAIN = st.one_of(
    st.sampled_from(list("ab<&>\n \r\f*ﬁ\u0085\u0092\x0b\x1c")),
    st.characters(exclude_categories=("Cs",)),
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.text(PLAIN, max_size=60))
def test_plain_text_loses_nothing(text: str) -> None:
    check(read_text(("Word\n\n" + text).encode(), Path("x.txt")))


SMALL = epub(
    ['<h1 id="a">One</h1><p>Text &mdash; <em>more</em> text.</p>', "<p>Two<br/>lines</p>"],
    ["d0.xhtml#a", "d1.xhtml"],
)


CHANGES = st.lists(st.tuples(st.integers(0, len(SMALL) - 1), st.integers(0, 255)), max_size=8)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(changes=CHANGES, cut=st.one_of(st.none(), st.integers(0, len(SMALL))))
def test_damaged_archives_are_read_or_refused(
    changes: list[tuple[int, int]], cut: int | None
) -> None:
    data = bytearray(SMALL)
    for place, value in changes:
        data[place] = value
    try:
        check(read_epub(bytes(data[:cut]), name="x.epub", title="x"))
    except BookError as error:
        assert "\n" not in error.message


FILES = ["META-INF/container.xml", "p.opf", "nav.xhtml", "d0.xhtml"]
PIECES = [b"<", b">", b"&", b'"', b"\xff", b"\x00", b"</", b"<!--", b"]]>", b"&x;"]


def repack(data: bytes, name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        for info in old.infolist():
            new.writestr(info.filename, content if info.filename == name else old.read(info))
    return buffer.getvalue()


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from(FILES), data=st.data())
def test_damaged_files_are_read_or_refused(name: str, data: st.DataObject) -> None:
    with zipfile.ZipFile(io.BytesIO(SMALL)) as archive:
        content = bytearray(archive.read(name))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        piece = data.draw(st.sampled_from(PIECES))
        content[place : place + data.draw(st.integers(0, 3))] = piece
    try:
        book = read_epub(repack(SMALL, name, bytes(content)), name="x.epub", title="x")
    except BookError as error:
        assert "\n" not in error.message
    else:
        assert book.chapters
