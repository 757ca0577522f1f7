"""The words of a chapter as the EPUB has them, read without any of loudr's code.

The listener's reference must not pass through the reader and the normaliser that it is to judge.
So this takes the navigation document, and the text between one entry's anchor and the next; page
furniture, scripts and the marks that call notes are skipped.
"""

import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from lxml import etree

__all__ = ["Entry", "chapter_texts"]

EPUB_TYPE = "{http://www.idpf.org/2007/ops}type"
SKIPPED = {"script", "style", "head", "nav"}
BLOCKS = {"p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "li", "br", "blockquote", "section", "td",
          "aside", "header", "hr", "tr"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the table of contents: title, document, and an anchor in it or nothing."""

    title: str
    document: str
    anchor: str


def chapter_texts(book: Path) -> dict[str, str]:
    """Return title to text for every entry of the navigation document; titles folded to words."""
    with zipfile.ZipFile(book) as archive:
        entries = list(_entries(archive))
        wanted: dict[str, list[Entry]] = {}
        for entry in entries:
            wanted.setdefault(entry.document, []).append(entry)
        texts: dict[str, str] = {}
        for document, here in wanted.items():
            for title, text in _cut(_parse(archive, document), here).items():
                texts[fold(title)] = text
    return texts


def fold(title: str) -> str:
    """Return a title in lower case, letters and digits only, words apart by one space."""
    return " ".join(re.findall(r"\w+", title.lower()))


def _parse(archive: zipfile.ZipFile, name: str) -> etree._Element:
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True)
    return etree.fromstring(archive.read(name), parser)


def _entries(archive: zipfile.ZipFile) -> Iterator[Entry]:
    container = _parse(archive, "META-INF/container.xml")
    package = container.find(".//{*}rootfile").get("full-path")
    opf = _parse(archive, package)
    navs = [i for i in opf.iter("{*}item") if "nav" in (i.get("properties") or "").split()]
    if not navs:
        raise SystemExit("bench: this book has no EPUB 3 navigation document to find chapters by")
    name = posixpath.join(posixpath.dirname(package), unquote(navs[0].get("href")))
    for nav in _parse(archive, name).iter("{*}nav"):
        if "toc" in (nav.get(EPUB_TYPE) or "").split():
            for link in nav.iter("{*}a"):
                target, _, anchor = unquote(link.get("href")).partition("#")
                document = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
                yield Entry("".join(link.itertext()), document, anchor)


def _cut(root: etree._Element, entries: list[Entry]) -> dict[str, str]:
    """Share a document's text among the entries that point into it, by their anchors."""
    starts = {entry.anchor: entry.title for entry in entries if entry.anchor}
    current = next((entry.title for entry in entries if not entry.anchor), "")
    pieces: dict[str, list[str]] = {}
    for kind, value in _events(root):
        if kind == "id":
            current = starts.get(value, current)
        else:
            pieces.setdefault(current, []).append(value)
    return {title: " ".join("".join(parts).split()) for title, parts in pieces.items() if title}


def _events(element: etree._Element) -> Iterator[tuple[str, str]]:
    tag = etree.QName(element).localname if isinstance(element.tag, str) else ""
    if tag and tag not in SKIPPED and "noteref" not in (element.get(EPUB_TYPE) or ""):
        if element.get("id"):
            yield "id", element.get("id")
        if tag in BLOCKS:
            yield "text", "\n"
        yield "text", element.text or ""
        for child in element:
            yield from _events(child)
            yield "text", child.tail or ""
        if tag in BLOCKS:
            yield "text", "\n"
