"""What the package says of the book: titles, people, series, identifiers, cover.

EPUB 3 refines an element by `meta refines="#id"`; EPUB 2 puts the same into attributes
(`opf:role`, `opf:scheme`) and into `meta name`, where calibre keeps the series.
"""

import html
import re
from collections.abc import Iterable

from loudr_core.book.archive import Archive, is_remote, resolve
from loudr_core.book.languages import language_tag
from loudr_core.book.model import Cover, Metadata
from loudr_core.book.package import Item, MetaEntry, Package
from loudr_core.book.parse import iter_named, parse_html, text_content
from loudr_core.findings import Finding

__all__ = ["read_metadata"]

_IMAGES = {
    b"\xff\xd8\xff": "image/jpeg",
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}
_AUTHOR_ROLES = frozenset({"", "aut", "author"})


def read_metadata(
    package: Package, archive: Archive, *, fallback_title: str, findings: list[Finding]
) -> Metadata:
    """Return the book's metadata; what it does not say is empty.

    Parameters
    ----------
    fallback_title : str
        Title of a book that names none.
    findings : list of Finding
        Receives what is missing.
    """
    entries = package.metadata
    title, subtitle = _titles(entries)
    if not title:
        findings.append(_finding("book-missing-title", f"the book has no title: {fallback_title}"))
    series, part = _series(entries)
    return Metadata(
        title=title or fallback_title,
        subtitle=subtitle,
        authors=_authors(entries),
        language=_language(entries, findings),
        series=series,
        series_part=part,
        publisher=_value(entries, "publisher"),
        date=_date(entries),
        description=_plain(_value(entries, "description")),
        rights=_value(entries, "rights"),
        identifiers=_identifiers(entries),
        subjects=tuple(dict.fromkeys(e.value for e in _named(entries, "subject"))),
        cover=_cover(package, archive, findings),
    )


def _named(entries: Iterable[MetaEntry], name: str) -> list[MetaEntry]:
    return [e for e in entries if e.name == name and e.value]


def _value(entries: Iterable[MetaEntry], name: str) -> str:
    return next((e.value for e in _named(entries, name)), "")


def _refined(entries: Iterable[MetaEntry], entry: MetaEntry, name: str) -> str:
    """Return the value of the refinement `name` of an entry, or of its EPUB 2 attribute."""
    if direct := entry.attributes.get(name):
        return direct
    identity = entry.attributes.get("id")
    if not identity:
        return ""
    for other in entries:
        refines = other.attributes.get("refines", "")
        if refines == f"#{identity}" and other.attributes.get("property") == name:
            return other.value
    return ""


def _titles(entries: list[MetaEntry]) -> tuple[str, str]:
    found = [(_refined(entries, e, "title-type"), e.value) for e in _named(entries, "title")]
    main = next((v for kind, v in found if kind == "main"), "")
    main = main or next((v for kind, v in found if kind in {"", "expanded"}), "")
    main = main or (found[0][1] if found else "")
    return main, next((v for kind, v in found if kind == "subtitle"), "")


def _authors(entries: list[MetaEntry]) -> tuple[str, ...]:
    people = _named(entries, "creator")
    authors = [e.value for e in people if _refined(entries, e, "role").lower() in _AUTHOR_ROLES]
    return tuple(dict.fromkeys(authors or [e.value for e in people]))


def _language(entries: list[MetaEntry], findings: list[Finding]) -> str:
    said = _value(entries, "language")
    tag = language_tag(said)
    if said and not tag and said.lower() not in {"und", "zxx", "mul"}:
        findings.append(_finding("book-bad-language", f"{said!r} is no language tag; left out"))
    if not tag:
        findings.append(_finding("book-missing-language", "the book names no language"))
    return tag


def _series(entries: list[MetaEntry]) -> tuple[str, str]:
    for entry in entries:
        if entry.name == "meta" and entry.attributes.get("property") == "belongs-to-collection":
            kind = _refined(entries, entry, "collection-type")
            if kind in {"", "series"} and entry.value:
                return entry.value, _refined(entries, entry, "group-position")
    named = {
        e.attributes.get("name", "").lower(): e.attributes.get("content", "")
        for e in entries
        if e.name == "meta"
    }
    part = named.get("calibre:series_index", "")
    return named.get("calibre:series", ""), part.removesuffix(".0")


def _date(entries: list[MetaEntry]) -> str:
    dates = _named(entries, "date")
    for event in ("publication", "original-publication", "", "creation"):
        for entry in dates:
            if entry.attributes.get("event", "").lower() == event:
                return entry.value
    return dates[0].value if dates else ""


def _plain(description: str) -> str:
    """Return a description without the markup that many books put into it."""
    text = html.unescape(description) if "<" not in description else description
    if not re.search(r"<[a-zA-Z/][^>]*>", text):
        return " ".join(text.split())
    root = parse_html(f"<div>{text}</div>", href="description")
    return "" if root is None else text_content(root)


def _identifiers(entries: list[MetaEntry]) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in _named(entries, "identifier"):
        scheme = _refined(entries, entry, "scheme").lower()
        scheme, value = _scheme(scheme, entry.value.strip())
        found.setdefault(scheme, value)
    return found


def _scheme(scheme: str, value: str) -> tuple[str, str]:
    bare = re.sub(r"^(?:urn:)?isbn:?\s*", "", value, flags=re.I)
    digits = re.sub(r"[\s-]", "", bare)
    if scheme == "isbn" or bare != value or _is_isbn13(digits):
        return "isbn", digits
    if match := re.match(r"(?:urn:)?uuid:(.+)", value, flags=re.I):
        return "uuid", match.group(1).lower()
    if re.match(r"[a-z][a-z0-9+.-]*:", value, flags=re.I) and scheme in {"", "uri", "url"}:
        return "uri", value
    return scheme or "id", value


def _is_isbn13(digits: str) -> bool:
    if not re.fullmatch(r"97[89]\d{10}", digits):
        return False
    return sum(int(d) * (3 if i % 2 else 1) for i, d in enumerate(digits)) % 10 == 0


def _cover(package: Package, archive: Archive, findings: list[Finding]) -> Cover | None:
    items = package.items.values()
    item = next((i for i in items if "cover-image" in i.properties), None)
    if item is None and package.cover_id:
        item = package.items.get(package.cover_id) or next(
            (i for i in items if i.href.endswith(package.cover_id)), None
        )
    if item is not None and item.media_type.startswith("image/"):
        return _picture(item.href, item, archive, findings) if item.present else None
    page = item.href if item is not None else _guide_cover(package)
    if page is None:
        return None
    if page.lower().endswith((".jpg", ".jpeg", ".png", ".gif", ".webp")):
        return _picture(page, None, archive, findings)
    return _first_picture(page, archive, findings)


def _guide_cover(package: Package) -> str | None:
    for entry in package.guide:
        if entry.type in {"cover", "other.ms-coverimage-standard"} and not is_remote(entry.href):
            return resolve(package.path, entry.href)
    return None


def _first_picture(page: str, archive: Archive, findings: list[Finding]) -> Cover | None:
    """Return the first picture of a cover page."""
    name = archive.locate(page)
    if name is None:
        findings.append(_finding("book-missing-cover", f"cover page {page} is not in the archive"))
        return None
    root = parse_html(archive.read(name).decode("utf-8", "replace"), href=name)
    for element in iter_named(root, ("img", "image")) if root is not None else ():
        for key, value in element.attrib.items():
            if str(key).rsplit(":", 1)[-1].rsplit("}", 1)[-1] in {"src", "href"}:
                return _picture(resolve(name, str(value)), None, archive, findings)
    return None


def _picture(
    path: str, item: Item | None, archive: Archive, findings: list[Finding]
) -> Cover | None:
    name = archive.locate(path)
    if name is None:
        findings.append(_finding("book-missing-cover", f"the cover {path} is not in the archive"))
        return None
    data = archive.read(name)
    for start, media_type in _IMAGES.items():
        if data.startswith(start):
            return Cover(data=data, media_type=media_type)
    if item is not None and item.media_type == "image/svg+xml":
        return Cover(data=data, media_type=item.media_type)
    findings.append(_finding("book-bad-cover", f"the cover {path} is no picture loudr knows"))
    return None


def _finding(code: str, message: str) -> Finding:
    return Finding(code=code, severity="warning", message=message)
