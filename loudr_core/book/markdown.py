"""Markdown and plain text to a `Book`: rendered as one page, then walked like any other.

Front matter between `---` lines gives the metadata: one `key: value` a line, lists as `[a, b]` or
as `- item` lines. Headings make the chapters, by the rule that `chapters` has for a book without a
table of contents. `plain` says what of a plain text is a heading.
"""

import hashlib
import re
import tomllib
from pathlib import Path
from typing import Final

from loudr_core.book.archive import is_remote
from loudr_core.book.chapters import SpineDocument, make_chapters
from loudr_core.book.languages import language_tag
from loudr_core.book.model import Book, Cover, Document, Metadata
from loudr_core.book.parse import decode, parse_html
from loudr_core.book.plain import text_as_html, told_by_gutenberg
from loudr_core.book.tokens import as_html, front_matter
from loudr_core.book.walk import Walked, walk
from loudr_core.errors import BookError
from loudr_core.findings import Finding
from loudr_core.toml_text import parse_toml

__all__ = ["read_markdown", "read_text"]

MAX_COVER_BYTES: Final = 32 * 1024 * 1024
_PICTURES: Final = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png"}
_KEYS: Final = {
    "title",
    "subtitle",
    "author",
    "authors",
    "creator",
    "language",
    "lang",
    "series",
    "series_part",
    "part",
    "publisher",
    "date",
    "description",
    "rights",
    "identifier",
    "isbn",
    "cover",
    "subject",
    "subjects",
    "tags",
}


def read_markdown(data: bytes, path: Path) -> Book:
    """Read a Markdown file.

    Parameters
    ----------
    data : bytes
        The file's content.
    path : Path
        Where it stands; a cover that the front matter names is looked for beside it.

    Raises
    ------
    BookError
        There is no text in it.
    """
    findings: list[Finding] = []
    text = decode(data, href=path.name, findings=findings).replace("\r\n", "\n").replace("\r", "\n")
    head, body = front_matter(text)
    told = _told(head, path, findings)
    language = language_tag(_one(told, "language", "lang"))
    walked = _walk(as_html(body), path, language, findings)
    walked.heading_title = _one(told, "title")
    walked.names_itself = bool(walked.heading_title)
    title = walked.heading_title or _first_heading(walked) or path.stem
    return _book(data, path, walked, _metadata(told, title, path, findings), findings, "markdown")


def read_text(data: bytes, path: Path) -> Book:
    """Read a plain text file, titled by Project Gutenberg's header or by the file's name.

    Raises
    ------
    BookError
        There is no text in it.
    """
    findings: list[Finding] = []
    text = decode(data, href=path.name, findings=findings).replace("\r\n", "\n").replace("\r", "\n")
    told = told_by_gutenberg(text)
    walked = _walk(text_as_html(text), path, language_tag(_one(told, "language")), findings)
    metadata = _metadata(told, _one(told, "title") or path.stem, path, findings)
    return _book(data, path, walked, metadata, findings, "text")


def _walk(page: str, path: Path, language: str, findings: list[Finding]) -> Walked:
    root = parse_html(f"<html><body>{page}</body></html>", href=path.name)
    walked = walk(root, href=path.name, language=language) if root is not None else Walked()
    if not any(c.isalnum() for c in walked.text):
        raise BookError(f"{path.name} has no text", path=str(path))
    if walked.left_out:
        findings.append(
            _finding("book-left-out-markup", "script, style and template parts are not read", path)
        )
    return walked


def _book(
    data: bytes,
    path: Path,
    walked: Walked,
    metadata: Metadata,
    findings: list[Finding],
    kind: str,
) -> Book:
    document = Document(
        href=path.name,
        text=walked.text,
        marks=tuple(walked.marks),
        anchors=walked.anchors,
        semantics=walked.semantics,
        raw=data,
        media_type="text/markdown" if kind == "markdown" else "text/plain",
    )
    spine = [SpineDocument(href=path.name, walked=walked)]
    return Book(
        metadata=metadata,
        documents={path.name: document},
        chapters=make_chapters(spine, (), (), findings),
        source_sha256=hashlib.sha256(data).hexdigest(),
        format="markdown" if kind == "markdown" else "text",
        findings=tuple(findings),
    )


def _first_heading(walked: Walked) -> str:
    """Return the heading that names the book: it comes first, or is the only one of its level."""
    headings = [b for b in walked.blocks if b.kind in {"heading", "title"}]
    top = [block for block in headings if block.level == 1]
    first = headings[:1] == walked.blocks[:1]
    named = headings[:1] if first else top if len(top) == 1 else []
    return walked.text[named[0].spans[0].start : named[0].spans[0].end] if named else ""


# Front matter


def _told(head: str, path: Path, findings: list[Finding]) -> dict[str, list[str]]:
    """Return the front matter, each key with its values."""
    if head.startswith("+++"):
        return _told_by_toml(head.partition("\n")[2], path, findings)
    told: dict[str, list[str]] = {}
    key = ""
    for line in head.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        item = re.match(r"\s*-\s+(.*)", line)
        pair = re.match(r"([\w.-]+)\s*:(?:\s+(.*)|\s*)$", line)
        if pair:
            key = pair.group(1).lower().replace("-", "_")
            told[key] = _values(pair.group(2) or "")
        elif item and key:
            told[key].extend(_values(item.group(1)))
        elif line[0].isspace() and key:
            told[key] = [" ".join([*told[key], line.strip()]).lstrip("|> ")]
        else:
            findings.append(
                _finding("book-front-matter", f"{line.strip()!r} is no `key: value` line", path)
            )
    _report_unused(told, path, findings)
    return told


def _report_unused(told: dict[str, list[str]], path: Path, findings: list[Finding]) -> None:
    findings.extend(
        _finding("book-front-matter", f"key {unknown!r} is not used", path)
        for unknown in sorted(set(told) - _KEYS)
    )


def _told_by_toml(head: str, path: Path, findings: list[Finding]) -> dict[str, list[str]]:
    try:
        table = parse_toml(head)
    except tomllib.TOMLDecodeError as error:
        findings.append(_finding("book-front-matter", f"front matter is no TOML: {error}", path))
        return {}
    told = {
        key.lower().replace("-", "_"): [
            str(item).strip() for item in (value if isinstance(value, list) else [value])
        ]
        for key, value in table.items()
        if not isinstance(value, dict)
    }
    _report_unused(told, path, findings)
    return told


def _values(text: str) -> list[str]:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return [v for part in text[1:-1].split(",") for v in _values(part)]
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return [text] if text else []


def _one(told: dict[str, list[str]], *keys: str) -> str:
    return next((told[k][0] for k in keys if told.get(k)), "")


def _metadata(
    told: dict[str, list[str]], title: str, path: Path, findings: list[Finding]
) -> Metadata:
    identifiers = {}
    if isbn := _one(told, "isbn"):
        identifiers["isbn"] = isbn.replace("-", "").replace(" ", "")
    if value := _one(told, "identifier"):
        scheme = "uuid" if value.startswith("urn:uuid:") else "uri" if ":" in value else "id"
        identifiers[scheme] = value.removeprefix("urn:uuid:")
    authors = [v for key in ("author", "authors", "creator") for v in told.get(key, [])]
    subjects = [v for key in ("subject", "subjects", "tags") for v in told.get(key, [])]
    return Metadata(
        title=title,
        subtitle=_one(told, "subtitle"),
        authors=tuple(dict.fromkeys(authors)),
        language=language_tag(_one(told, "language", "lang")),
        series=_one(told, "series"),
        series_part=_one(told, "series_part", "part"),
        publisher=_one(told, "publisher"),
        date=_one(told, "date"),
        description=_one(told, "description"),
        rights=_one(told, "rights"),
        identifiers=identifiers,
        subjects=tuple(dict.fromkeys(subjects)),
        cover=_cover(_one(told, "cover"), path, findings),
    )


def _cover(name: str, path: Path, findings: list[Finding]) -> Cover | None:
    """Return the picture that the front matter names, from the book's own folder or below."""
    if not name:
        return None
    folder = path.parent.resolve()
    found = (folder / name).resolve()
    media_type = _PICTURES.get(found.suffix.lower())
    if is_remote(name) or not found.is_relative_to(folder):
        findings.append(_finding("book-outside-path", f"cover {name} is outside the folder", path))
    elif media_type is None:
        findings.append(_finding("book-bad-cover", f"cover {name} is no JPEG or PNG", path))
    elif not found.is_file() or found.stat().st_size > MAX_COVER_BYTES:
        findings.append(_finding("book-missing-cover", f"cover {name} is not there", path))
    else:
        return Cover(data=found.read_bytes(), media_type=media_type)
    return None


def _finding(code: str, message: str, path: Path) -> Finding:
    return Finding(code=code, severity="warning", message=message, where={"href": path.name})
