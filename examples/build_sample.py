"""Build the sample EPUB from the sample Markdown: `python examples/build_sample.py`.

The same input gives the same bytes on every machine: entries are stored in a fixed order with a
fixed date and without compression. The book is made to exercise a reader: a cover page outside
the linear order, front matter, a table of contents of two levels that points inside documents,
footnotes, verse, scene breaks, an EPUB 2 NCX beside the EPUB 3 navigation.
"""

import html
import io
import re
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt

HERE = Path(__file__).parent
SOURCE = HERE / "the-lamp-at-skerry-head.md"
COVER = HERE / "the-lamp-at-skerry-head.jpg"
TARGET = HERE / "the-lamp-at-skerry-head.epub"

MARKDOWN = MarkdownIt("commonmark", {"xhtmlOut": True})
MODIFIED = "2026-11-30T00:00:00Z"
ZIP_DATE = (1980, 1, 1, 0, 0, 0)

STYLE = """body { font-family: serif; line-height: 1.4; margin: 5%; }
h1, h2 { text-align: center; font-weight: normal; }
p { margin: 0; text-indent: 1.2em; }
.verse p, .centred p { text-indent: 0; }
.verse { margin: 1em 2em; }
.centred { text-align: center; margin-top: 30%; }
hr { width: 20%; margin: 1.5em auto; }
aside { font-size: 0.9em; margin-top: 1.5em; }
img { max-width: 100%; }
"""


@dataclass
class Section:
    """A heading of the Markdown and what stands under it until the next heading."""

    level: int
    title: str
    lines: list[str] = field(default_factory=list)


@dataclass
class Page:
    """A document of the EPUB; `toc` holds (depth, title, anchor) of what it contributes."""

    name: str
    title: str
    body: str
    semantics: str
    toc: list[tuple[int, str, str]] = field(default_factory=list)
    linear: bool = True


def parse(source: str) -> tuple[dict[str, str], list[Section]]:
    """Split the Markdown into its header fields and its sections."""
    _, header, body = source.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in header.splitlines() if line)
    sections: list[Section] = []
    for line in body.splitlines():
        if match := re.match(r"(#{1,2}) (.+)", line):
            sections.append(Section(len(match[1]), match[2]))
        elif sections:
            sections[-1].lines.append(line)
    return fields, sections


def render(section: Section) -> str:
    """Return the XHTML of a section's text, its notes in asides at the end."""
    source = "\n".join(section.lines)
    notes = dict(re.findall(r"^\[\^(\d+)\]: (.+(?:\n    .+)*)", source, flags=re.MULTILINE))
    source = re.sub(r"^\[\^\d+\]: .+(?:\n    .+)*\n?", "", source, flags=re.MULTILINE)
    body = MARKDOWN.render(source)
    body = body.replace("<blockquote>", '<blockquote class="verse" epub:type="z3998:verse">')
    body = re.sub(
        r"\[\^(\d+)\]",
        r'<a epub:type="noteref" role="doc-noteref" href="#note-\1" id="ref-\1">\1</a>',
        body,
    )
    for number, text in notes.items():
        inline = MARKDOWN.renderInline(" ".join(text.split()))
        body += (
            f'<aside epub:type="footnote" role="doc-footnote" id="note-{number}">'
            f"<p>{inline}</p></aside>\n"
        )
    return body


def heading(section: Section) -> str:
    """Return a section's heading element."""
    return f"<h{section.level}>{html.escape(section.title)}</h{section.level}>\n"


def front(fields: dict[str, str]) -> list[Page]:
    """Return cover, title page, copyright page and dedication."""
    title, author = html.escape(fields["title"]), html.escape(fields["author"])
    cover = f'<p><img src="cover.jpg" alt="Cover of {title}: a lighthouse at night"/></p>\n'
    imprint = (
        f"<p>Copyright © 2026 {author[0].lower()}{author[1:]}.</p>\n"
        f"<p>{html.escape(fields['rights'])}.</p>\n"
        "<p>The people, the rocks and the catalogue in this book are invented.</p>\n"
    )
    dedication = "<p>For everyone who ever read aloud to someone in the dark.</p>\n"
    title_page = f"<h1>{title}</h1>\n<p>{html.escape(fields['subtitle'])}</p>\n<p>{author}</p>\n"
    return [
        Page("cover.xhtml", fields["title"], cover, "frontmatter cover", linear=False),
        Page("title.xhtml", fields["title"], centred(title_page), "frontmatter titlepage",
             [(0, "Title Page", "")]),
        Page("copyright.xhtml", "Copyright", imprint, "frontmatter copyright-page",
             [(0, "Copyright", "")]),
        Page("dedication.xhtml", "Dedication", centred(dedication), "frontmatter dedication",
             [(0, "Dedication", "")]),
    ]  # fmt: skip


def centred(body: str) -> str:
    """Wrap a body in the class that centres it."""
    return f'<div class="centred">\n{body}</div>\n'


def pages(sections: list[Section]) -> list[Page]:
    """Return the documents of the text.

    The chapters of the first part have a file each. The second part is one file with an anchor
    for each chapter, as many publishers make it.
    """
    made: list[Page] = []
    part = chapter = 0
    for section in sections:
        if section.title.startswith("Part "):
            part += 1
            body = heading(section) + render(section)
            toc = [(0, section.title, "")]
            made.append(Page(f"part-{part}.xhtml", section.title, body, "bodymatter part", toc))
        elif section.level == 2:
            chapter += 1
            body = heading(section) + render(section)
            if part == 1:
                toc = [(1, section.title, "")]
                name = f"chapter-{chapter}.xhtml"
                made.append(Page(name, section.title, body, "bodymatter chapter", toc))
            else:
                anchor = f"chapter-{chapter}"
                made[-1].body += f'<section epub:type="chapter" id="{anchor}">\n{body}</section>\n'
                made[-1].toc.append((1, section.title, anchor))
        else:
            kind = "backmatter afterword" if chapter else "frontmatter foreword"
            body = heading(section) + render(section)
            name = f"{kind.split()[1]}.xhtml"
            made.append(Page(name, section.title, body, kind, [(0, section.title, "")]))
    return made


def document(page: Page, language: str) -> str:
    """Return a page as a whole XHTML document."""
    matter, kind = page.semantics.split()
    return f"""<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"
 lang="{language}" xml:lang="{language}">
<head><title>{html.escape(page.title)}</title><link rel="stylesheet" href="style.css"/></head>
<body epub:type="{matter}">
<section epub:type="{kind}">
{page.body}</section>
</body>
</html>
"""


def nav(book: list[Page], language: str) -> str:
    """Return the EPUB 3 navigation document, parts holding their chapters."""
    items, depth = "", 0
    for page in book:
        for level, title, anchor in page.toc:
            target = f"{page.name}#{anchor}" if anchor else page.name
            if level > depth:
                items = items.removesuffix("</li>\n") + "\n<ol>\n"
            elif level < depth:
                items += "</ol>\n</li>\n"
            items += f'<li><a href="{target}">{html.escape(title)}</a></li>\n'
            depth = level
    items += "</ol>\n</li>\n" * depth
    body = f'<nav epub:type="toc" id="toc">\n<h1>Contents</h1>\n<ol>\n{items}</ol>\n</nav>\n'
    return document(Page("nav.xhtml", "Contents", body, "frontmatter toc"), language)


def ncx(book: list[Page], fields: dict[str, str]) -> str:
    """Return the EPUB 2 table of contents, for readers that know no other."""
    points, depth, order = "", -1, 0
    for page in book:
        for level, title, anchor in page.toc:
            order += 1
            target = f"{page.name}#{anchor}" if anchor else page.name
            points += "</navPoint>\n" * (depth - level + 1)
            points += (
                f'<navPoint id="p{order}" playOrder="{order}"><navLabel><text>{html.escape(title)}'
                f'</text></navLabel><content src="{target}"/>\n'
            )
            depth = level
    points += "</navPoint>\n" * (depth + 1)
    return f"""<?xml version="1.0" encoding="utf-8"?>
<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/" version="2005-1">
<head><meta name="dtb:uid" content="{fields["identifier"]}"/></head>
<docTitle><text>{html.escape(fields["title"])}</text></docTitle>
<navMap>
{points}</navMap>
</ncx>
"""


def package(book: list[Page], fields: dict[str, str]) -> str:
    """Return the OPF."""
    xhtml = 'media-type="application/xhtml+xml"'
    items = "".join(f'<item id="{p.name}" href="{p.name}" {xhtml}/>\n' for p in book)
    outside = ' linear="no"'
    spine = "".join(f'<itemref idref="{p.name}"{"" if p.linear else outside}/>\n' for p in book)
    value = {name: html.escape(text) for name, text in fields.items()}
    return f"""<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id"
 xml:lang="{value["language"]}">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">{value["identifier"]}</dc:identifier>
<dc:title id="title">{value["title"]}</dc:title>
<meta refines="#title" property="title-type">main</meta>
<dc:title id="subtitle">{value["subtitle"]}</dc:title>
<meta refines="#subtitle" property="title-type">subtitle</meta>
<dc:creator id="author">{value["author"]}</dc:creator>
<meta refines="#author" property="role" scheme="marc:relators">aut</meta>
<dc:language>{value["language"]}</dc:language>
<dc:publisher>{value["publisher"]}</dc:publisher>
<dc:date>{value["date"]}</dc:date>
<dc:description>{value["description"]}</dc:description>
<dc:rights>{value["rights"]}</dc:rights>
<dc:subject>Fiction</dc:subject>
<meta property="dcterms:modified">{MODIFIED}</meta>
<meta name="cover" content="cover-image"/>
</metadata>
<manifest>
<item id="nav" href="nav.xhtml" {xhtml} properties="nav"/>
<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>
<item id="style" href="style.css" media-type="text/css"/>
<item id="cover-image" href="cover.jpg" media-type="image/jpeg" properties="cover-image"/>
{items}</manifest>
<spine toc="ncx">
{spine}</spine>
</package>
"""


CONTAINER = """<?xml version="1.0" encoding="utf-8"?>
<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">
<rootfiles>
<rootfile full-path="EPUB/package.opf" media-type="application/oebps-package+xml"/>
</rootfiles>
</container>
"""


def build(source: str, cover: bytes) -> bytes:
    """Return the EPUB made of the Markdown and the cover picture."""
    fields, sections = parse(source)
    text = pages(sections)
    book = [*front(fields), *text]
    language = fields["language"]
    entries: list[tuple[str, bytes | str]] = [
        ("mimetype", "application/epub+zip"),
        ("META-INF/container.xml", CONTAINER),
        ("EPUB/package.opf", package(book, fields)),
        ("EPUB/nav.xhtml", nav(book, language)),
        ("EPUB/toc.ncx", ncx(book, fields)),
        ("EPUB/style.css", STYLE),
        ("EPUB/cover.jpg", cover),
        *((f"EPUB/{page.name}", document(page, language)) for page in book),
    ]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in entries:
            entry = zipfile.ZipInfo(name, ZIP_DATE)
            entry.create_system = 3  # else the byte depends on the platform
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return buffer.getvalue()


if __name__ == "__main__":
    TARGET.write_bytes(build(SOURCE.read_text("utf-8"), COVER.read_bytes()))
