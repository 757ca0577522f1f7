"""An EPUB's package document on ebooklib's model: the one importer of ebooklib.

`ebooklib.epub.EpubReader` opens files by the names they are given and stops at the first one that
is not there. `_TolerantReader` keeps its order of loading and the `EpubBook` it fills, and replaces
each step by one that goes through our archive, parses without outside entities, and turns what is
wrong into a finding.
"""

from dataclasses import dataclass, field
from typing import Any

from ebooklib import epub

from loudr_core.book.archive import Archive, is_remote, resolve
from loudr_core.book.parse import (
    Element,
    attribute,
    children,
    first,
    iter_named,
    local_name,
    parse_package,
    text_content,
)
from loudr_core.errors import BookError
from loudr_core.findings import Finding

__all__ = ["GuideEntry", "Item", "MetaEntry", "Package", "read_package"]

_CONTAINER = "META-INF/container.xml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One manifest item.

    Parameters
    ----------
    href : str
        Path inside the archive, as the archive spells it when it is there.
    present : bool
        The archive holds it.
    """

    id: str
    href: str
    media_type: str
    properties: frozenset[str]
    present: bool
    fallback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaEntry:
    """One element of the metadata: its local name, text and attributes by local name."""

    name: str
    value: str
    attributes: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuideEntry:
    """One reference of EPUB 2's guide."""

    type: str
    title: str
    href: str


@dataclass(slots=True)
class Package:
    """The package document, resolved against the archive."""

    path: str
    version: str
    items: dict[str, Item]
    spine: list[tuple[str, bool]]
    """Item id and whether it is linear, each id once."""
    metadata: list[MetaEntry]
    guide: list[GuideEntry]
    ncx_id: str
    cover_id: str
    findings: list[Finding] = field(default_factory=list)


class _TolerantReader(epub.EpubReader):  # type: ignore[misc]  # ebooklib is untyped
    """ebooklib's reader on our archive.

    Parameters
    ----------
    archive : Archive
    """

    def __init__(self, archive: Archive) -> None:
        super().__init__(archive.name, {"ignore_ncx": False})
        self.archive = archive
        self.opf_file: str = ""
        self.findings: list[Finding] = []
        self.items: dict[str, Item] = {}
        self.entries: list[MetaEntry] = []

    def _load(self) -> None:
        self._load_container()
        self._load_opf_file()

    def _load_opf_file(self) -> None:
        name = self.archive.locate(self.opf_file) or self._only_package()
        self.opf_file = name
        self.container = parse_package(self.archive.read(name), href=name)
        if local_name(self.container) != "package":
            raise BookError(
                f"{name} is no package document: its root is <{local_name(self.container)}>",
                path=name,
            )
        self._load_metadata()
        self._load_manifest()
        self._load_spine()
        self._load_guide()

    def _packages(self) -> list[str]:
        return [name for name in self.archive.names() if name.lower().endswith(".opf")]

    def _only_package(self) -> str:
        """Return the package document of a book whose container names another."""
        packages = self._packages()
        if len(packages) != 1:
            raise BookError(
                f"{self.archive.name} names the package document {self.opf_file}, which is not in "
                "the archive; export the book again",
                path=self.opf_file,
            )
        self._find(
            "book-missing-container",
            "warning",
            f"{_CONTAINER} names {self.opf_file}, which is not there; {packages[0]} is read",
            path=packages[0],
        )
        return packages[0]

    def _load_container(self) -> None:
        name = self.archive.locate(_CONTAINER)
        if name is not None:
            root = parse_package(self.archive.read(name), href=name)
            paths = [attribute(e, "full-path") for e in iter_named(root, ("rootfile",))]
            kept = [p for p in paths if p]
            if len(kept) > 1:
                self._find(
                    "book-many-renditions",
                    "info",
                    f"the book has {len(kept)} renditions; the first, {kept[0]}, is read",
                    path=kept[0],
                )
            if kept:
                self.opf_file = kept[0].lstrip("/")
                return
        packages = self._packages()
        if not packages:
            raise BookError(
                f"{self.archive.name} has no {_CONTAINER} and no package document; "
                "it is a zip file but not an EPUB",
                path=self.archive.name,
            )
        self.opf_file = packages[0]
        self._find(
            "book-missing-container",
            "warning",
            f"{_CONTAINER} names no package document; {packages[0]} is read",
            path=packages[0],
        )

    def _load_metadata(self) -> None:
        self.book.version = attribute(self.container, "version")
        metadata = first(self.container, "metadata")
        if metadata is None:
            self._find("book-missing-metadata", "warning", "the package has no metadata")
            return
        for element in metadata.iter():
            name = local_name(element)
            if element is metadata or not name or name in {"dc-metadata", "x-metadata"}:
                continue
            attributes = {_bare(key): str(value) for key, value in element.attrib.items()}
            entry = MetaEntry(name=name, value=text_content(element), attributes=attributes)
            self.entries.append(entry)
            space = "OPF" if name in {"meta", "link"} else "DC"
            self.book.add_metadata(space, name, entry.value, attributes)

    def _load_manifest(self) -> None:
        manifest = first(self.container, "manifest")
        if manifest is None:
            raise BookError(f"{self.opf_file} has no manifest; the book cannot be read")
        for element in children(manifest, "item"):
            self._add_item(element)

    def _add_item(self, element: Element) -> None:
        identity, href = element.get("id", "").strip(), element.get("href", "").strip()
        if not href:
            self._find("book-bad-item", "warning", f"manifest item {identity!r} has no href")
            return
        path = href if is_remote(href) else resolve(self.opf_file, href)
        found = None if is_remote(href) else self.archive.locate(path)
        item = Item(
            id=identity,
            href=found or path,
            media_type=element.get("media-type", "").strip().lower(),
            properties=frozenset(element.get("properties", "").lower().split()),
            present=found is not None,
            fallback=element.get("fallback", "").strip(),
        )
        self._judge(item, href)
        if identity in self.items:
            self._find(
                "book-duplicate-id",
                "warning",
                f"manifest id {identity!r} is used twice; the first item counts",
                href=item.href,
            )
            return
        self.items[identity] = item
        self.book.add_item(_ebooklib_item(item))

    def _judge(self, item: Item, href: str) -> None:
        if is_remote(href):
            self._find(
                "book-remote-resource",
                "warning",
                f"{href} is outside the book; not read",
                href=href,
            )
        elif href.startswith("/"):
            self._find(
                "book-absolute-path",
                "warning",
                f"{href} is an absolute path; taken from the root of the archive"
                + ("" if item.present else ", where it is not"),
                href=href,
            )
        elif not item.present:
            cover = "cover-image" in item.properties
            self._find(
                "book-missing-cover" if cover else "book-missing-resource",
                "warning",
                f"{'the cover ' if cover else ''}{item.href} is in the manifest but not in the "
                "archive",
                href=item.href,
            )

    def _load_spine(self) -> None:
        spine = first(self.container, "spine")
        if spine is None:
            raise BookError(
                f"{self.archive.name} has no spine: {self.opf_file} gives no reading order",
                path=self.opf_file,
            )
        self.toc_id = spine.get("toc", "").strip()
        seen: set[str] = set()
        entries = []
        for element in children(spine, "itemref"):
            identity = element.get("idref", "").strip()  # ids are tokens: XML 3.3.3
            if identity in seen:
                self._find(
                    "book-repeated-itemref",
                    "warning",
                    f"the spine names {identity!r} twice; it is read once",
                )
                continue
            seen.add(identity)
            entries.append((identity, element.get("linear", "yes").lower()))
        self.book.spine = entries

    def _load_guide(self) -> None:
        guide = first(self.container, "guide")
        if guide is not None:
            self.book.guide = [
                {name: e.get(name, "") for name in ("href", "title", "type")}
                for e in children(guide, "reference")
            ]

    def _find(self, code: str, severity: Any, message: str, **where: str) -> None:
        self.findings.append(
            Finding(code=code, severity=severity, message=message, where={**where})
        )


def _bare(key: str) -> str:
    return str(key).rsplit("}", 1)[-1].rsplit(":", 1)[-1]


def _ebooklib_item(item: Item) -> Any:
    """Return ebooklib's object for an item; its content stays in the archive until asked for."""
    if "nav" in item.properties:
        made = epub.EpubNav(uid=item.id, file_name=item.href)
    elif item.media_type == "application/x-dtbncx+xml":
        made = epub.EpubNcx(uid=item.id, file_name=item.href)
    elif item.media_type == "application/xhtml+xml":
        made = epub.EpubHtml(uid=item.id, file_name=item.href)
    else:
        made = epub.EpubItem(uid=item.id, file_name=item.href, media_type=item.media_type)
    made.properties = sorted(item.properties)
    return made


def read_package(archive: Archive) -> Package:
    """Load container and package document.

    Raises
    ------
    BookError
        There is no package document, manifest or spine.
    """
    reader = _TolerantReader(archive)
    book = reader.load()
    return Package(
        path=reader.opf_file,
        version=book.version or "",
        items=reader.items,
        spine=[(identity, linear != "no") for identity, linear in book.spine],
        metadata=reader.entries,
        guide=[
            GuideEntry(type=e["type"].lower(), title=e["title"], href=e["href"])
            for e in book.guide
            if e["href"]
        ],
        ncx_id=reader.toc_id,
        cover_id=next(
            (
                e.attributes.get("content", "")
                for e in reader.entries
                if e.name == "meta" and e.attributes.get("name", "").lower() == "cover"
            ),
            "",
        ),
        findings=reader.findings,
    )
