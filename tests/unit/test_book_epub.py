"""EPUBs built in memory: one odd thing each, and what is made of it."""

import io
import re
import zipfile
from pathlib import Path

import pytest

from loudr_core import book as book_package
from loudr_core.book.archive import Archive, is_remote, resolve
from loudr_core.book.epub import read_epub
from loudr_core.book.extract import extract_characters
from loudr_core.book.model import Book
from loudr_core.book.read import read_book
from loudr_core.errors import BookError

XHTML = "application/xhtml+xml"
CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OPS/p.opf" media-type="application/oebps-package+xml"/>'
    "</rootfiles></container>"
)
DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:opf="http://www.idpf.org/2007/opf"'
META = "<dc:title>T</dc:title><dc:language>en</dc:language>"
PNG = b"\x89PNG\r\n\x1a\n"
ONE = '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
NAV = '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>'


def page(body: str) -> str:
    return (
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">'
        f"<head><title>t</title></head><body>{body}</body></html>"
    )


def nav(*entries: tuple[str, str]) -> str:
    items = "".join(f'<li><a href="{href}">{title}</a></li>' for href, title in entries)
    return page(f'<nav epub:type="toc"><ol>{items}</ol></nav>')


def package(
    items: str = ONE + NAV, spine: str = '<itemref idref="a"/>', meta: str = META, more: str = ""
) -> str:
    return (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        f"<metadata {DC}>{meta}</metadata><manifest>{items}</manifest>"
        f"<spine>{spine}</spine>{more}</package>"
    )


def pack(files: dict[str, str | bytes | None]) -> bytes:
    """Zip the usual small book with these files in it; None takes one out."""
    usual: dict[str, str | bytes | None] = {
        "META-INF/container.xml": CONTAINER,
        "OPS/p.opf": package(),
        "OPS/nav.xhtml": nav(("a.xhtml", "One")),
        "OPS/a.xhtml": page("<h1>One</h1><p>Text.</p>"),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (usual | files).items():
            if content is not None:
                archive.writestr(name, content)
    return buffer.getvalue()


def read(files: dict[str, str | bytes | None]) -> Book:
    book = read_epub(pack(files), name="x.epub", title="x")
    for document in book.documents.values():
        assert extract_characters(document) == "".join(document.text.split())
    return book


def texts(book: Book) -> list[tuple[str, list[str]]]:
    return [(c.title, [book.text_of(b.spans[0]) for b in c.blocks]) for c in book.chapters]


ODD: dict[str, dict[str, str | bytes | None]] = {
    "book-absolute-path": {"OPS/p.opf": package(ONE + NAV + '<item id="f" href="/f.otf"/>')},
    "book-bad-cover": {
        "OPS/p.opf": package(ONE + NAV + '<item id="f" href="f.png" properties="cover-image" '
                             'media-type="image/png"/>'),
        "OPS/f.png": b"no picture",
    },
    "book-bad-item": {"OPS/p.opf": package(ONE + NAV + '<item id="f"/>')},
    "book-bad-language": {"OPS/p.opf": package(meta=META.replace(">en<", ">English!<"))},
    "book-bad-toc": {
        "OPS/p.opf": package(
            ONE + '<item id="n" href="t.ncx" media-type="application/x-dtbncx+xml"/>'
        ),
        "OPS/t.ncx": "not xml",
    },
    "book-duplicate-id": {"OPS/p.opf": package(ONE + ONE + NAV)},
    "book-empty-chapter": {
        "OPS/p.opf": package(ONE + NAV + ONE.replace("a", "b", 1).replace('"a', '"b'),
                             '<itemref idref="a"/><itemref idref="b"/>'),
        "OPS/b.xhtml": page("<img src='x.png'/>"),
        "OPS/nav.xhtml": nav(("a.xhtml", "One"), ("b.xhtml", "Plate")),
    },
    "book-empty-document": {
        "OPS/p.opf": package(ONE + NAV + '<item id="b" href="b.xhtml" media-type="text/html"/>',
                             '<itemref idref="a"/><itemref idref="b"/>'),
        "OPS/b.xhtml": "",
    },
    "book-encoding": {"OPS/a.xhtml": page("<p>caf\u00e9</p>").encode("latin-1")},
    "book-external-entity": {
        "OPS/a.xhtml": '<!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/hostname">]>'
        + page("<p>Text &x;.</p>")
    },
    "book-foreign-document": {
        "OPS/p.opf": package(ONE + NAV + '<item id="b" href="b.pdf" media-type="application/pdf"/>',
                             '<itemref idref="a"/><itemref idref="b"/>'),
        "OPS/b.pdf": "%PDF",
    },
    "book-left-out-markup": {"OPS/a.xhtml": page("<p>Text.</p><script>x()</script>")},
    "book-many-renditions": {
        "META-INF/container.xml": CONTAINER.replace(
            "</rootfiles>", '<rootfile full-path="other.opf"/></rootfiles>'
        )
    },
    "book-missing-anchor": {"OPS/nav.xhtml": nav(("a.xhtml#gone", "One"))},
    "book-missing-container": {"META-INF/container.xml": None},
    "book-missing-cover": {
        "OPS/p.opf": package(ONE + NAV + '<item id="f" href="f.png" properties="cover-image" '
                             'media-type="image/png"/>'),
    },
    "book-missing-document": {
        "OPS/p.opf": package(ONE + NAV + '<item id="b" href="b.xhtml" media-type="text/html"/>',
                             '<itemref idref="a"/><itemref idref="b"/>'),
    },
    "book-missing-language": {"OPS/p.opf": package(meta="<dc:title>T</dc:title>")},
    "book-missing-metadata": {
        "OPS/p.opf": re.sub(r"<metadata.*</metadata>", "", package()),
    },
    "book-missing-resource": {"OPS/p.opf": package(ONE + NAV + '<item id="f" href="f.css"/>')},
    "book-missing-title": {"OPS/p.opf": package(meta="<dc:language>en</dc:language>")},
    "book-missing-toc": {"OPS/p.opf": package(ONE)},
    "book-not-linear": {"OPS/p.opf": package(spine='<itemref idref="a" linear="no"/>')},
    "book-not-well-formed": {"OPS/a.xhtml": "<html><body><p>One<p>Two</body></html>"},
    "book-outside-path": {"../evil.txt": "x"},
    "book-picture-in-spine": {
        "OPS/p.opf": package(ONE + NAV + '<item id="b" href="b.png" media-type="image/png"/>',
                             '<itemref idref="a"/><itemref idref="b"/>'),
        "OPS/b.png": PNG,
    },
    "book-remote-resource": {
        "OPS/p.opf": package(ONE + NAV + '<item id="f" href="https://example.org/f.mp4"/>')
    },
    "book-repeated-itemref": {"OPS/p.opf": package(spine='<itemref idref="a"/>' * 2)},
    "book-toc-order": {
        "OPS/a.xhtml": page('<h1 id="x">One</h1><p>T</p><h1 id="y">Two</h1><p>U</p>'),
        "OPS/nav.xhtml": nav(("a.xhtml#y", "Two"), ("a.xhtml#x", "One")),
    },
    "book-toc-outside-spine": {"OPS/nav.xhtml": nav(("a.xhtml", "One"), ("z.xhtml", "Z"))},
    "book-toc-same-place": {"OPS/nav.xhtml": nav(("a.xhtml", "One"), ("a.xhtml", "Uno"))},
    "book-unknown-entity": {"OPS/a.xhtml": page("<p>Text &unheard;.</p>")},
}  # fmt: skip


@pytest.mark.parametrize("code", sorted(ODD))
def test_an_odd_thing_is_a_finding(code: str) -> None:
    book = read(ODD[code])
    found = [f for f in book.findings if f.code == code]
    assert len(found) == 1
    assert "\n" not in found[0].message
    assert book.chapters[0].blocks


def test_a_sound_book_has_no_findings() -> None:
    assert read({}).findings == ()


def test_every_code_has_a_case() -> None:
    source = "".join(p.read_text() for p in Path(book_package.__file__).parent.glob("*.py"))
    codes = set(re.findall(r'"(book-[a-z-]+)"', source))
    elsewhere = {"book-duplicate-entry", "book-symlink", "book-front-matter", "book-language"}
    assert codes == set(ODD) | elsewhere


def test_a_lost_document_is_a_lost_chapter() -> None:
    files = ODD["book-missing-document"] | {
        "OPS/nav.xhtml": nav(("a.xhtml", "One"), ("b.xhtml", "Lost"))
    }
    book = read(files)
    assert [(c.title, c.lost) for c in book.chapters] == [("One", False), ("Lost", True)]
    assert [f.severity for f in book.findings if f.code == "book-missing-document"] == ["error"]


def test_external_entities_stay_outside() -> None:
    book = read(ODD["book-external-entity"])
    assert texts(book) == [("One", ["Text ."])]


def test_html_names_are_characters_with_and_without_doctype() -> None:
    body = page("<p>a&nbsp;b&mdash;c&eacute;&lt;&amp;</p>")
    strict = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "xhtml11.dtd">'
    for raw in (body, strict + body, '<?xml version="1.0"?>\n<!DOCTYPE html>' + body):
        book = read({"OPS/a.xhtml": raw})
        assert texts(book) == [("One", ["a b—cé<&"])]


def test_internal_entities_are_text() -> None:
    raw = '<!DOCTYPE html [<!ENTITY who "Ann &amp; Bo">]>' + page("<p>Dear &who;.</p>")
    assert texts(read({"OPS/a.xhtml": raw})) == [("One", ["Dear Ann & Bo."])]


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "iso-8859-1"])
def test_declared_encodings(codec: str) -> None:
    name = "utf-16" if codec.startswith("utf-16") else codec.removesuffix("-sig")
    raw = f'<?xml version="1.0" encoding="{name}"?>' + page("<p>déjà vu</p>")
    assert texts(read({"OPS/a.xhtml": raw.encode(codec)})) == [("One", ["déjà vu"])]


def laughs() -> str:
    levels = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    return f'<!DOCTYPE html [<!ENTITY l0 "{"ha" * 20}">{levels}]>' + page("<p>&l9;</p>")


REFUSED: dict[str, tuple[dict[str, str | bytes | None], str]] = {
    "no spine": ({"OPS/p.opf": package().replace("spine>", "spin>")}, "no spine"),
    "empty spine": ({"OPS/p.opf": package(spine="")}, "empty spine"),
    "no manifest": ({"OPS/p.opf": package().replace("manifest>", "man>")}, "no manifest"),
    "no package": ({"OPS/p.opf": None}, "not in the archive"),
    "nothing": ({"META-INF/container.xml": None, "OPS/p.opf": None}, "not an EPUB"),
    "pictures": ({"OPS/a.xhtml": page("<img src='p.png' alt='page 1'/>")}, "pictures only"),
    "all lost": ({"OPS/a.xhtml": None}, "none of the 1 documents"),
    "laughs": ({"OPS/a.xhtml": laughs()}, "expand without bound"),
    "depth": ({"OPS/a.xhtml": page("<i>" * 3000 + "x" + "</i>" * 3000)}, "deep"),
    "drm": (
        {"META-INF/encryption.xml": '<encryption xmlns:enc="http://www.w3.org/2001/04/xmlenc#">'
         '<enc:EncryptedData><enc:EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#'
         'aes128-cbc"/><enc:CipherData><enc:CipherReference URI="OPS/a.xhtml"/></enc:CipherData>'
         "</enc:EncryptedData></encryption>"},
        "DRM",
    ),
    "bomb": ({"OPS/a.xhtml": b" " * 20_000_000}, "expands more than"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_cannot_be_narrated_is_refused_in_one_line(name: str) -> None:
    files, cause = REFUSED[name]
    with pytest.raises(BookError, match=re.escape(cause)) as caught:
        read(files)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    "algorithm", ["http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"]
)
def test_obfuscated_fonts_are_no_obstacle(algorithm: str) -> None:
    drm = str(REFUSED["drm"][0]["META-INF/encryption.xml"])
    drm = drm.replace("http://www.w3.org/2001/04/xmlenc#aes128-cbc", algorithm)
    assert read({"META-INF/encryption.xml": drm.replace("OPS/a.xhtml", "OPS/f.otf")}).chapters
    with pytest.raises(BookError, match="encrypted"):
        read({"META-INF/encryption.xml": drm})


def test_not_a_zip_and_cut_short(tmp_path: Path) -> None:
    whole = pack({})
    for data in (b"", b"PK\x03\x04", b"hello", whole[: len(whole) // 2]):
        path = tmp_path / "x.epub"
        path.write_bytes(data)
        with pytest.raises(BookError) as caught:
            read_book(path)
        assert "x.epub" in caught.value.message
    with pytest.raises(BookError, match="no such file"):
        read_book(tmp_path / "gone.epub")
    other = tmp_path / "x.docx"
    other.write_bytes(b"hello")
    with pytest.raises(BookError, match="no kind loudr reads"):
        read_book(other)


def test_deep_but_finite_pages_are_read() -> None:
    book = read({"OPS/a.xhtml": page("<i>" * 900 + "deep" + "</i>" * 900)})
    assert texts(book) == [("One", ["deep"])]


def test_names_are_found_by_decoding_composition_and_case() -> None:
    archive = Archive(pack({"OPS/Ünï b.xhtml": "x"}), name="x")
    for asked in ("OPS/%C3%9Cn%C3%AF%20b.xhtml", "ops/ünï B.xhtml", "OPS/U\u0308ni\u0308 b.xhtml"):
        assert archive.locate(asked) == "OPS/Ünï b.xhtml"
    assert archive.locate("../../etc/passwd") is None


def test_links_and_duplicates_in_the_archive() -> None:
    buffer = io.BytesIO(pack({}))
    with zipfile.ZipFile(buffer, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("OPS/a.xhtml", page("<h1>One</h1><p>Later.</p>"))
        link = zipfile.ZipInfo("OPS/link.xhtml")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    book = read_epub(buffer.getvalue(), name="x.epub", title="x")
    assert {f.code for f in book.findings} == {"book-duplicate-entry", "book-symlink"}
    assert texts(book) == [("One", ["One", "Later."])]


def test_references_resolve_inside_the_archive_only() -> None:
    assert resolve("OPS/text/a.xhtml", "../img/x%20y.png?q#f") == "OPS/img/x%20y.png"
    assert resolve("OPS/a.xhtml", "../../../etc/passwd") == "etc/passwd"
    assert resolve("OPS/a.xhtml", "/abs.css") == "abs.css"
    assert resolve("OPS/a.xhtml", "#frag") == "OPS/a.xhtml"
    for href in ("http://x/y", "//x/y", "mailto:a@b", "data:text/plain,x"):
        assert is_remote(href)
    assert not is_remote("a/b:c.xhtml")


def test_metadata_of_epub_3() -> None:
    meta = (
        '<dc:title id="s">Sub</dc:title><meta refines="#s" property="title-type">subtitle</meta>'
        '<dc:title id="m">Main</dc:title><meta refines="#m" property="title-type">main</meta>'
        '<dc:creator id="w">Ann</dc:creator><meta refines="#w" property="role">aut</meta>'
        '<dc:creator id="i">Bo</dc:creator><meta refines="#i" property="role">ill</meta>'
        '<meta property="belongs-to-collection" id="c">Tales</meta>'
        '<meta refines="#c" property="collection-type">series</meta>'
        '<meta refines="#c" property="group-position">2</meta>'
        "<dc:language>en-GB</dc:language><dc:date>1999-01-02</dc:date>"
        "<dc:identifier>urn:isbn:978-0-306-40615-7</dc:identifier>"
        "<dc:identifier>urn:uuid:ABC</dc:identifier><dc:publisher>P</dc:publisher>"
        "<dc:description>&lt;p&gt;A &lt;i&gt;fine&lt;/i&gt; book.&lt;/p&gt;</dc:description>"
    )
    items = (
        ONE + NAV + '<item id="c" href="c.png" properties="cover-image" media-type="image/png"/>'
    )
    found = read({"OPS/p.opf": package(items, meta=meta), "OPS/c.png": PNG}).metadata
    assert (found.title, found.subtitle, found.authors) == ("Main", "Sub", ("Ann",))
    assert (found.series, found.series_part) == ("Tales", "2")
    assert found.identifiers == {"isbn": "9780306406157", "uuid": "abc"}
    assert (found.description, found.publisher, found.language) == ("A fine book.", "P", "en-GB")
    assert found.cover is not None
    assert found.cover.media_type == "image/png"


def test_metadata_of_epub_2_and_cover_by_name_or_guide() -> None:
    meta = META + (
        '<meta name="calibre:series" content="Tales"/><meta name="calibre:series_index" '
        'content="3.0"/><meta name="cover" content="c"/><dc:date opf:event="creation">1990'
        '</dc:date><dc:date opf:event="publication">2001</dc:date>'
        '<dc:identifier opf:scheme="ISBN">0-306-40615-2</dc:identifier>'
    )
    items = ONE + NAV + '<item id="c" href="c.jpg" media-type="image/jpeg"/>'
    jpeg = b"\xff\xd8\xff\xe0"
    found = read({"OPS/p.opf": package(items, meta=meta), "OPS/c.jpg": jpeg}).metadata
    assert (found.series, found.series_part, found.date) == ("Tales", "3", "2001")
    assert found.identifiers == {"isbn": "0306406152"}
    assert found.cover is not None
    guide = '<guide><reference type="cover" title="C" href="c.xhtml"/></guide>'
    files = {
        "OPS/p.opf": package(more=guide),
        "OPS/c.xhtml": page('<img src="c.jpg" alt=""/>'),
        "OPS/c.jpg": jpeg,
    }
    cover = read(files).metadata.cover
    assert cover is not None
    assert cover.media_type == "image/jpeg"


def test_ncx_with_nested_points_and_fragments() -> None:
    ncx = (
        '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>Part'
        '</text></navLabel><content src="a.xhtml"/><navPoint><navLabel><text>Ch\u00ad1</text>'
        '</navLabel><content src="a.xhtml#c%201"/></navPoint></navPoint></navMap></ncx>'
    )
    items = ONE + '<item id="n" href="t.ncx" media-type="application/x-dtbncx+xml"/>'
    book = read(
        {
            "OPS/p.opf": package(items),
            "OPS/t.ncx": ncx,
            "OPS/a.xhtml": page('<h1>Part</h1><p>Lead.</p><h2 id="c 1">Ch1</h2><p>Text.</p>'),
        }
    )
    assert [(c.title, c.level) for c in book.chapters] == [("Part", 0), ("Ch1", 1)]


def test_fallback_of_a_foreign_spine_item_is_read() -> None:
    items = ONE + NAV + '<item id="b" href="b.pdf" media-type="application/pdf" fallback="a"/>'
    book = read({"OPS/p.opf": package(items, '<itemref idref="b"/>'), "OPS/b.pdf": "%PDF"})
    assert list(book.documents) == ["OPS/a.xhtml"]


def test_a_style_sheet_hides_and_a_hidden_heading_says_no_title() -> None:
    css = '<item id="css" href="s.css" media-type="text/css"/>'
    body = '<h1 class="hid">One</h1><p>Text.</p><p class="hid">Not for reading.</p>'
    linked = page(body).replace("<title>", '<link rel="stylesheet" href="s.css"/><title>')
    book = read(
        {
            "OPS/p.opf": package(ONE + NAV + css),
            "OPS/a.xhtml": linked,
            "OPS/s.css": ".hid { display: none }",
        }
    )
    document = book.documents["OPS/a.xhtml"]
    hidden = [document.text[m.start : m.end] for m in document.marks if m.kind == "hidden"]
    assert hidden == ["One", "Not for reading."]
    assert not book.chapters[0].title_in_text


def test_a_line_of_the_table_without_a_link_is_a_part_without_text() -> None:
    table = page(
        '<nav epub:type="toc"><ol><li><span>Part the First</span><ol>'
        '<li><a href="a.xhtml">One</a></li><li><a href="b.xhtml">Two</a></li></ol></li>'
        "<li><span>Nothing below</span></li></ol></nav>"
    )
    files = {
        "OPS/nav.xhtml": table,
        "OPS/p.opf": package(
            ONE + NAV + f'<item id="b" href="b.xhtml" media-type="{XHTML}"/>',
            '<itemref idref="a"/><itemref idref="b"/>',
        ),
        "OPS/a.xhtml": page("<h2>Part the First</h2><h2>I</h2><p>Text.</p>"),
        "OPS/b.xhtml": page("<h1>Two</h1><p>More.</p>"),
    }
    wanted = [
        ("Part the First", ["Part the First"]), ("One", ["I", "Text."]), ("Two", ["Two", "More."]),
    ]  # fmt: skip
    assert texts(read(files)) == wanted
    files["OPS/a.xhtml"] = page("<h1>One</h1><p>Text.</p>")
    book = read(files)
    assert texts(book)[0] == ("Part the First", [])
    assert [c.title_in_text for c in book.chapters] == [False, True, True]
    assert [c.level for c in book.chapters] == [0, 1, 1]


@pytest.mark.parametrize(
    ("title", "heading", "said"),
    [
        ("Chapter I", "I", True),
        ("Letter 4", "4.", True),
        ("Chapter I", "II", False),
        ("The Quay", "I", False),
        ("Chapter", "I", False),
    ],
)
def test_the_number_of_a_chapter_says_its_title(title: str, heading: str, said: bool) -> None:
    table = nav(("a.xhtml", title))
    book = read({"OPS/nav.xhtml": table, "OPS/a.xhtml": page(f"<h2>{heading}</h2><p>Text.</p>")})
    assert book.chapters[0].title_in_text is said


def test_the_name_of_a_file_is_announced_nowhere() -> None:
    book = read({"OPS/nav.xhtml": None, "OPS/p.opf": package(ONE), "OPS/a.xhtml": page("<p>x</p>")})
    assert [(c.title, c.title_in_text) for c in book.chapters] == [("t", True)]


def test_a_container_that_names_another_package() -> None:
    wrong = CONTAINER.replace("OPS/p.opf", "OPS/gone.opf")
    book = read({"META-INF/container.xml": wrong})
    assert "book-missing-container" in {f.code for f in book.findings}
    with pytest.raises(BookError, match=r"OPS/gone\.opf, which is not in the archive"):
        read({"META-INF/container.xml": wrong, "OPS/q.opf": package()})


def test_a_page_of_encrypted_bytes_is_refused() -> None:
    with pytest.raises(BookError, match=r"a\.xhtml is no text"):
        read({"OPS/a.xhtml": bytes((i * 7919) % 256 for i in range(5000))})


def test_a_book_that_hides_all_its_text_is_not_called_a_book_of_pictures() -> None:
    with pytest.raises(BookError, match="hidden by style sheets"):
        read({"OPS/a.xhtml": page('<div style="display:none"><p>Text.</p></div>')})
