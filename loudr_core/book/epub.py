"""An EPUB file to a `Book`: archive, package, spine, walk, chapters."""

import hashlib
from pathlib import PurePosixPath
from typing import Final

from loudr_core.book.archive import Archive, is_remote, resolve
from loudr_core.book.chapters import SpineDocument, make_chapters
from loudr_core.book.metadata import read_metadata
from loudr_core.book.model import Book, Document
from loudr_core.book.notes import find_notes
from loudr_core.book.package import Item, Package, read_package
from loudr_core.book.parse import (
    attribute,
    decode,
    first,
    iter_named,
    parse_document,
    parse_package,
)
from loudr_core.book.styles import StyleReader
from loudr_core.book.toc import read_landmarks, read_toc
from loudr_core.book.walk import Walked, walk
from loudr_core.errors import BookError
from loudr_core.findings import Finding

__all__ = ["read_epub"]

_ENCRYPTION: Final = "META-INF/encryption.xml"
_FONT_ALGORITHMS: Final = frozenset(
    {
        "http://www.idpf.org/2008/embedding",  # EPUB 3.3, OCF 4.3 resource obfuscation
        "http://ns.adobe.com/pdf/enc#RC",  # Adobe's older font mangling
    }
)
_DOCUMENT_TYPES: Final = frozenset(
    {
        "application/xhtml+xml",
        "text/html",
        "text/x-oeb1-document",
        "application/x-dtbook+xml",
        "application/xml",
        "text/xml",
        "image/svg+xml",
    }
)
_DOCUMENT_SUFFIXES: Final = frozenset({".xhtml", ".html", ".htm", ".xht", ".xml", ".svg"})


def read_epub(data: bytes, *, name: str, title: str) -> Book:
    """Read an EPUB 2 or 3.

    Parameters
    ----------
    data : bytes
        The file.
    name, title : str
        What to call the file in messages, and the book when it has no title.

    Raises
    ------
    BookError
        Not a zip or EPUB, damaged, encrypted, without spine, or without text.
    """
    archive = Archive(data, name=name)
    package = read_package(archive)
    _refuse_encrypted(archive, package)
    findings: list[Finding] = []
    metadata = read_metadata(package, archive, fallback_title=title, findings=findings)
    items = _spine_items(package, findings, name=name)
    spine = _walk_spine(archive, items, metadata.language, findings)
    _refuse_silent(spine, name=name)
    find_notes({d.href: d.walked for d in spine if d.walked is not None})
    entries = read_toc(package, archive, findings)
    chapters = make_chapters(spine, entries, read_landmarks(package, archive), findings)
    lost = {d.href for d in spine if d.walked is None}
    known = [
        f
        for f in (*archive.findings, *package.findings)
        if not (f.code == "book-missing-resource" and f.where.get("href") in lost)
    ]
    return Book(
        metadata=metadata,
        documents=_documents(archive, spine, {i.href: i.media_type for i in items}),
        chapters=chapters,
        source_sha256=hashlib.sha256(data).hexdigest(),
        format="epub",
        findings=tuple(_once(known + findings)),
    )


def _once(findings: list[Finding]) -> list[Finding]:
    """Return the findings in order, each said once."""
    kept: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        kept.setdefault((finding.code, finding.message), finding)
    return list(kept.values())


def _refuse_encrypted(archive: Archive, package: Package) -> None:
    """Let obfuscated fonts pass; refuse anything else that is encrypted."""
    name = archive.locate(_ENCRYPTION)
    if name is None:
        return
    spine = {package.items[i].href for i, _ in package.spine if i in package.items}
    root = parse_package(archive.read(name), href=name)
    for entry in iter_named(root, ("encrypteddata",)):
        method, reference = first(entry, "encryptionmethod"), first(entry, "cipherreference")
        algorithm = attribute(method, "Algorithm") if method is not None else ""
        target = attribute(reference, "URI") if reference is not None else ""
        if algorithm in {*_FONT_ALGORITHMS, ""} and archive.locate(target) not in spine:
            continue  # without an algorithm it tells of compression only
        raise BookError(
            f"{archive.name} is encrypted (DRM): {target or 'an entry'} with "
            f"{algorithm or 'an unnamed algorithm'}; loudr reads books without DRM only",
            path=target,
            found=algorithm,
        )


def _spine_items(package: Package, findings: list[Finding], *, name: str) -> list[Item]:
    """Return the manifest items of the spine in order, each document once."""
    items: dict[str, Item] = {}
    for identity, linear in package.spine:
        item = package.items.get(identity)
        if item is None:
            item = Item(
                id=identity, href=identity, media_type="", properties=frozenset(), present=False
            )
        item = _readable(item, package)
        if not linear:
            findings.append(
                _finding(
                    "book-not-linear",
                    "info",
                    f"{item.href} is not linear; read where it stands",
                    item,
                )
            )
        items.setdefault(item.href, item)
    if not items:
        raise BookError(
            f"{name} has an empty spine: {package.path} names no document to read",
            path=package.path,
        )
    return list(items.values())


def _readable(item: Item, package: Package) -> Item:
    """Return the item, or the first of its fallbacks that is a document."""
    seen = {item.id}
    found = item
    while not _is_document(found) and found.fallback and found.fallback not in seen:
        seen.add(found.fallback)
        following = package.items.get(found.fallback)
        if following is None:
            break
        found = following
    return found if _is_document(found) else item


def _is_document(item: Item) -> bool:
    suffix = PurePosixPath(item.href).suffix.lower()
    if item.media_type in _DOCUMENT_TYPES:
        return True
    return suffix in _DOCUMENT_SUFFIXES and not item.media_type.startswith(("image/", "audio/"))


def _walk_spine(
    archive: Archive, items: list[Item], language: str, findings: list[Finding]
) -> list[SpineDocument]:
    spine: list[SpineDocument] = []
    styles = StyleReader(lambda base, href: _sheet(archive, base, href))
    for item in items:
        if item.present and not _is_document(item):
            picture = item.media_type.startswith("image/")
            findings.append(
                _finding(
                    "book-picture-in-spine" if picture else "book-foreign-document",
                    "warning" if picture else "error",
                    f"{item.href} ({item.media_type or 'no media type'}) is in the spine and has "
                    "no text that loudr can read",
                    item,
                )
            )
            if not picture:
                spine.append(SpineDocument(href=item.href, walked=None))
            continue
        if not item.present:
            findings.append(
                _finding(
                    "book-missing-document",
                    "error",
                    f"{item.href} is in the spine but not in the archive: its text is lost",
                    item,
                )
            )
            spine.append(SpineDocument(href=item.href, walked=None))
            continue
        walked = _walk_one(archive.read(item.href), item, language, styles, findings)
        spine.append(SpineDocument(href=item.href, walked=walked))
    return spine


def _documents(
    archive: Archive, spine: list[SpineDocument], media_types: dict[str, str]
) -> dict[str, Document]:
    return {
        d.href: Document(
            href=d.href,
            text=d.walked.text,
            marks=tuple(d.walked.marks),
            anchors=d.walked.anchors,
            semantics=d.walked.semantics,
            raw=archive.read(d.href),
            media_type=media_types[d.href],
        )
        for d in spine
        if d.walked is not None
    }


def _sheet(archive: Archive, base: str, href: str) -> tuple[str, str] | None:
    """Return path and text of the style sheet that a file names, when the archive has it."""
    name = None if is_remote(href) or not href.strip() else archive.locate(resolve(base, href))
    if name is None or PurePosixPath(name).suffix.lower() != ".css":
        return None
    try:
        return name, decode(archive.read(name), href=name, findings=[])
    except BookError:
        return None  # a sheet that is damaged hides nothing


def _walk_one(
    raw: bytes, item: Item, language: str, styles: StyleReader, findings: list[Finding]
) -> Walked:
    root = parse_document(raw, href=item.href, findings=findings)
    if root is None:
        findings.append(
            _finding("book-empty-document", "warning", f"{item.href} has nothing in it", item)
        )
        return Walked()
    walked = walk(root, href=item.href, language=language, styles=styles.styles_of(root, item.href))
    if walked.left_out:
        findings.append(
            _finding(
                "book-left-out-markup",
                "info",
                f"{item.href} has {walked.left_out} script, style or template elements in its "
                "body, which are not read",
                item,
            )
        )
    return walked


def _refuse_silent(spine: list[SpineDocument], *, name: str) -> None:
    walked = [d.walked for d in spine if d.walked is not None]
    if not walked:
        raise BookError(
            f"{name}: none of the {len(spine)} documents of the spine can be read; "
            "export the book again",
            path=name,
        )
    for document in walked:
        shown = list(document.text)
        for mark in document.marks:
            if mark.kind in {"alt", "hidden"}:
                shown[mark.start : mark.end] = " " * (mark.end - mark.start)
        if any(c.isalnum() for c in shown):
            return
    if any(mark.kind == "hidden" for document in walked for mark in document.marks):
        raise BookError(
            f"{name} shows no text: all of its {len(walked)} documents is hidden by style sheets "
            "or attributes, or in pictures; export the book again",
            path=name,
        )
    raise BookError(
        f"{name} has no text: its {len(walked)} documents hold pictures only; "
        "a book of scanned pages must go through text recognition first",
        path=name,
    )


def _finding(code: str, severity: str, message: str, item: Item) -> Finding:
    return Finding(code=code, severity=severity, message=message, where={"href": item.href})  # type: ignore[arg-type]  # literals above
