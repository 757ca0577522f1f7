"""What a book is once it is read: documents of folded text, and chapters of blocks over them.

Every spine document is folded once into one string, its *stream*. Blocks, marks, chapters and later
the claims of a plan are half-open intervals on those streams, so that it can be proved that no
character went missing. `walk` says how the folding is done.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from loudr_core.findings import Finding

__all__ = [
    "Block",
    "BlockKind",
    "Book",
    "Chapter",
    "Cover",
    "Document",
    "Mark",
    "MarkKind",
    "Metadata",
    "Role",
    "Span",
]

BlockKind = Literal[
    "title",
    "heading",
    "paragraph",
    "quote",
    "verse",
    "list_item",
    "table",
    "code",
    "note",
    "caption",
    "scene_break",
]
Role = Literal["front", "body", "back"]
MarkKind = Literal[
    "alt",
    "hidden",
    "boilerplate",
    "note_ref",
    "ruby_reading",
    "language",
    "page_break",
    "emphasis",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A half-open interval [start, end) on the stream of the document `href`."""

    href: str
    start: int
    end: int
    element_id: str | None = None
    """`id` of the nearest element around it that has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A property of an interval of one document's stream.

    `alt`: alternative text of an image or formula. `hidden`: not shown to a reader (hidden
    attribute, display:none, visibility:hidden). `boilerplate`: a publisher's header or licence
    inside other text, such as Project Gutenberg's. `note_ref`: the mark that calls a note
    or leads back from it; `value` is the target as `href#id`.
    `ruby_reading`: rt and rp. `language`: `value` is a BCP 47 tag that differs from the book's.
    `page_break`: a printed page or line number. `emphasis`: em, i, strong, b.
    """

    kind: MarkKind
    start: int
    end: int
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One spine document, folded."""

    href: str
    """Path inside the archive; for Markdown and plain text the file's name."""
    text: str
    """The stream: text nodes and alternative text, white space folded, block boundaries as \\n."""
    marks: tuple[Mark, ...] = ()
    anchors: Mapping[str, int] = field(default_factory=dict)
    """Element id to the index of the stream at which the element starts."""
    semantics: frozenset[str] = frozenset()
    """epub:type and role words of html, body and the outermost sections."""
    raw: bytes = b""
    """The document as it stands in the archive, for the audit's own extraction."""
    media_type: str = "application/xhtml+xml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A stretch of text of one kind: a paragraph, a heading, a line of verse.

    Parameters
    ----------
    kind : BlockKind
    spans : tuple of Span
        Where it stands; not empty; ascending. Usually one.
    level : int
        Depth of a heading (1 to 6), of a list; for a cell of a table the number of its row in the
        document, so that the cells of a row are known; 0 otherwise.
    language : str
        BCP 47 tag, empty when it is the book's.
    note_id : str
        For a note: `href#id` of the element, so that note_ref marks find it.
    generated : str
        Text to speak that is not in the stream: the number of a list's item.
    """

    kind: BlockKind
    spans: tuple[Span, ...]
    level: int = 0
    language: str = ""
    note_id: str = ""
    generated: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A stretch of the book that a listener can jump to.

    Parameters
    ----------
    title : str
        As the table of contents has it, else the heading, else made from the file's place.
    blocks : tuple of Block
        In reading order. May be empty for a document that is missing.
    role : {"front", "body", "back"}
    level : int
        Depth in the table of contents, from 0.
    semantics : frozenset of str
        epub:type words that hold for the chapter, such as `colophon`, `titlepage`, `chapter`.
    title_in_text : bool
        A block of the chapter already says the title, or it is a file's name that nobody says.
    lost : bool
        The document is not in the archive: nothing can be read.
    """

    title: str
    blocks: tuple[Block, ...]
    role: Role = "body"
    level: int = 0
    semantics: frozenset[str] = frozenset()
    title_in_text: bool = True
    lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """The cover picture as it stands in the archive."""

    data: bytes
    media_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What the book says of itself; empty where it says nothing."""

    title: str
    authors: tuple[str, ...] = ()
    language: str = ""
    """BCP 47 tag; empty when the book names none."""
    subtitle: str = ""
    series: str = ""
    series_part: str = ""
    publisher: str = ""
    date: str = ""
    description: str = ""
    rights: str = ""
    identifiers: Mapping[str, str] = field(default_factory=dict)
    """Scheme in lower case (`isbn`, `uuid`, `uri`) to value."""
    subjects: tuple[str, ...] = ()
    cover: Cover | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """A book, read and folded, not yet planned."""

    metadata: Metadata
    documents: Mapping[str, Document]
    """href to document, in spine order."""
    chapters: tuple[Chapter, ...]
    source_sha256: str
    format: Literal["epub", "markdown", "text"]
    findings: tuple[Finding, ...] = ()

    def text_of(self, span: Span) -> str:
        """Return the stretch of stream that a span covers."""
        return self.documents[span.href].text[span.start : span.end]
