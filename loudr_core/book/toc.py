"""Tables of contents: EPUB 3's navigation document and EPUB 2's NCX, as one flat list.

Entries keep the order of the table; what they point at is resolved to a name in the archive, but
whether that is in the spine is judged by `chapters`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from loudr_core.book.archive import Archive, is_remote, resolve, split_fragment
from loudr_core.book.blocks import words_of
from loudr_core.book.package import Item, Package
from loudr_core.book.parse import (
    Element,
    attribute,
    children,
    first,
    iter_named,
    local_name,
    parse_document,
    parse_package,
)
from loudr_core.book.walk import FOLD
from loudr_core.errors import BookError
from loudr_core.findings import Finding

__all__ = ["Landmark", "TocEntry", "read_landmarks", "read_toc"]

_LISTS = frozenset({"ol", "ul"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TocEntry:
    """One line of a table of contents.

    Parameters
    ----------
    title : str
        Folded; may be empty.
    path, fragment : str
        Name in the archive and id; the path is empty for a line without a link.
    level : int
        From 0.
    """

    title: str
    path: str
    fragment: str
    level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Landmark:
    """A place that the landmarks or the guide name, such as the start of the body."""

    words: frozenset[str]
    path: str
    fragment: str


def read_toc(package: Package, archive: Archive, findings: list[Finding]) -> list[TocEntry]:
    """Return the entries of the navigation document, or of the NCX where it has none."""
    entries: list[TocEntry] = []
    nav = _nav_item(package)
    if nav is not None:
        root = _parsed(nav, archive, findings)
        if root is not None and (listed := _nav_element(root, "toc")) is not None:
            entries = _nav_entries(listed, nav.href, archive)
    if not entries and (ncx := _ncx_item(package)) is not None:
        entries = _ncx_entries(ncx, archive, findings)
    if not entries:
        findings.append(
            Finding(
                code="book-missing-toc",
                severity="warning",
                message="the book has no table of contents; chapters are taken from headings",
            )
        )
    return entries


def read_landmarks(package: Package, archive: Archive) -> list[Landmark]:
    """Return the places named by the landmarks of the navigation document and by the guide."""
    found = [
        Landmark(words=_guide_words(entry.type), path=path, fragment=fragment)
        for entry in package.guide
        for path, fragment in _targets(package.path, entry.href, archive)
    ]
    nav = _nav_item(package)
    root = _parsed(nav, archive, []) if nav is not None else None
    listed = _nav_element(root, "landmarks") if root is not None else None
    if nav is not None and listed is not None:
        for link in iter_named(listed, ("a",)):
            for path, fragment in _targets(nav.href, attribute(link, "href"), archive):
                found.append(Landmark(words=words_of(link), path=path, fragment=fragment))
    return found


def _guide_words(kind: str) -> frozenset[str]:
    names = {
        "title-page": "titlepage",
        "text": "bodymatter",
        "start": "bodymatter",
        "notes": "notes",
    }
    word = kind.strip().lower().removeprefix("other.")
    return frozenset({names.get(word, word)})


def _targets(base: str, href: str, archive: Archive) -> Iterable[tuple[str, str]]:
    """Yield the place that a link means, or nothing for a link out of the book."""
    if href and not is_remote(href):
        path = resolve(base, href)
        yield archive.locate(path) or path, split_fragment(href)[1]


def _nav_item(package: Package) -> Item | None:
    return next((i for i in package.items.values() if "nav" in i.properties and i.present), None)


def _ncx_item(package: Package) -> Item | None:
    item = package.items.get(package.ncx_id)
    if item is None:
        item = next(
            (i for i in package.items.values() if i.media_type == "application/x-dtbncx+xml"), None
        )
    return item if item is not None and item.present else None


def _parsed(item: Item, archive: Archive, findings: list[Finding]) -> Element | None:
    return parse_document(archive.read(item.href), href=item.href, findings=findings)


def _nav_element(root: Element, word: str) -> Element | None:
    navs = list(iter_named(root, ("nav",)))
    for nav in navs:
        if word in words_of(nav):
            return nav
    if word == "toc":  # a lone list that forgot to say what it is
        plain = [nav for nav in navs if not words_of(nav)]
        return plain[0] if plain else None
    return None


def _nav_entries(nav: Element, base: str, archive: Archive) -> list[TocEntry]:
    entries = []
    for item in iter_named(nav, ("li",)):
        label = _label(item)
        if label is None:
            continue
        level = sum(1 for a in item.iterancestors() if local_name(a) in _LISTS) - 1
        entries.append(
            _entry(_title(label), base, attribute(label, "href"), max(level, 0), archive)
        )
    return entries


def _label(item: Element) -> Element | None:
    """Return the link of a list item, or the element that stands in its place."""
    own = [c for c in children(item) if local_name(c) not in _LISTS]
    for child in own:
        if (link := first(child, "a")) is not None:
            return link
    return own[0] if own else None


def _title(label: Element) -> str:
    parts: list[str] = []
    for node in label.iter():
        if local_name(node) == "img":
            parts.append(node.get("alt", ""))
        parts.append(node.text or "")
        if node is not label:
            parts.append(node.tail or "")
    text = _fold("".join(parts) if len(parts) > 1 else parts[0])
    return text or _fold(label.get("title", ""))


def _fold(text: str) -> str:
    return " ".join(text.translate(FOLD).split())


def _entry(title: str, base: str, href: str, level: int, archive: Archive) -> TocEntry:
    for path, fragment in _targets(base, href, archive):
        return TocEntry(title=title, path=path, fragment=fragment, level=level)
    return TocEntry(title=title, path=href, fragment="", level=level)


def _ncx_entries(item: Item, archive: Archive, findings: list[Finding]) -> list[TocEntry]:
    try:
        root = parse_package(archive.read(item.href), href=item.href)
    except BookError as error:
        findings.append(
            Finding(
                code="book-bad-toc",
                severity="warning",
                message=error.message,
                where={"href": item.href},
            )
        )
        return []
    entries = []
    points = first(root, "navmap")
    for point in iter_named(root if points is None else points, ("navpoint",)):
        label = next(iter(children(point, "navlabel")), None)
        content = next(iter(children(point, "content")), None)
        title = _fold("".join(label.itertext())) if label is not None else ""
        source = content.get("src", "") if content is not None else ""
        level = sum(1 for a in point.iterancestors() if local_name(a) == "navpoint")
        entries.append(_entry(title, item.href, source, level, archive))
    return entries
