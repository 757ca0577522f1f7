"""What the text stage makes: segments of spoken words, and claims for every character."""

from dataclasses import dataclass, field
from typing import Literal

from loudr_core.book.model import BlockKind, Role, Span
from loudr_core.findings import Finding

__all__ = [
    "Claim",
    "LeftOut",
    "Normalizer",
    "NotePolicy",
    "PartPolicy",
    "Pauses",
    "PlannedChapter",
    "Segment",
    "Segmentation",
    "TextOptions",
]

Normalizer = Literal["loudr", "none"]
NotePolicy = Literal["end_of_chapter", "omit", "in_place"]
PartPolicy = Literal["read", "omit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pauses:
    """Silence after a segment, in milliseconds, by what follows it."""

    sentence: int = 350
    """Between two segments cut out of one block."""
    verse_line: int = 300
    paragraph: int = 600
    list_item: int = 500
    heading: int = 1100
    """After a heading or title."""
    before_heading: int = 1300
    scene_break: int = 1800
    chapter: int = 2200
    """After the last segment of a chapter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions:
    """What to read, and how to cut it; part of the plan's identity.

    Parameters
    ----------
    max_characters, target_characters : int
        Of `spoken`; the engine's limits.
    omit_semantics : frozenset of str
        epub:type words of chapters that are not read when `boilerplate` is "omit".
    boilerplate : {"read", "omit"}
        Title page, imprint, colophon, licence, printed contents, index.
    notes : {"end_of_chapter", "omit", "in_place"}
        Where footnotes and endnotes are read. A note document of its own that is reached
        by marks follows the same policy.
    note_marks : {"read", "omit"}
        The marks that call notes.
    tables, code, captions, alt_text : {"read", "omit"}
        Whether blocks of that kind are read.
    list_numbers : {"read", "omit"}
        The numbers that a list shows before its items, as generated segments.
    merge_short : bool
        Whether short neighbouring blocks of one kind are merged into one segment.
    announce_titles : bool
        Whether a chapter title that no block says is spoken as a generated segment.
    default_language : str
        BCP 47 tag for a book that names none.
    language : str
        BCP 47 tag of what names none itself, in place of the book's; empty for the book's own.
    normalizer : {"loudr", "none"}
        What makes spoken words of the text; with "none" the words stay as they stand in the book,
        white space tidied, for an engine that has a text front end of its own.
    """

    max_characters: int
    target_characters: int
    boilerplate: PartPolicy = "omit"
    omit_semantics: frozenset[str] = frozenset(
        {
            "cover",
            "titlepage",
            "halftitlepage",
            "imprint",
            "copyright-page",
            "colophon",
            "toc",
            "landmarks",
            "page-list",
            "loi",
            "lot",
            "index",
        }
    )
    notes: NotePolicy = "end_of_chapter"
    note_marks: PartPolicy = "omit"
    tables: PartPolicy = "read"
    code: PartPolicy = "omit"
    captions: PartPolicy = "read"
    alt_text: PartPolicy = "omit"
    list_numbers: PartPolicy = "read"
    merge_short: bool = True
    announce_titles: bool = True
    default_language: str = "en"
    language: str = ""
    normalizer: Normalizer = "loudr"
    pauses: Pauses = field(default_factory=Pauses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One stretch of text in one voice: what becomes one job.

    Parameters
    ----------
    segment_id : str
        `c003-s0042`: chapter number and place in it. A label, never a key.
    chapter : int
        Number of the chapter in `Segmentation.chapters`, from 1.
    ordinal : int
        Place in the book, from 0.
    text : str
        The claimed slices of the streams, joined: block slices by a newline, others by nothing.
    spoken : str
        Normalised words and plain punctuation.
    spans : tuple of Span
        Where `text` stands, ascending; empty for a generated segment.
    inner : tuple of int
        Offsets in `spoken` at which the second and later blocks of a merged segment start.
    voice : str
        Role name (`narrator`), resolved to a voice profile by the plan.
    """

    segment_id: str
    chapter: int
    ordinal: int
    kind: BlockKind
    role: Role
    origin: Literal["source", "generated"]
    text: str
    spoken: str
    spans: tuple[Span, ...]
    inner: tuple[int, ...] = ()
    language: str = "en"
    voice: str = "narrator"
    phonemes: str | None = None
    pause_after_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What happens to one interval of one stream: spoken by a segment, or left out for a reason.

    Exactly one of `segment_id` and `reason` is set, but for a note that is read elsewhere: its
    claim has the reason `moved` and the segment that reads it, and that segment need not ascend.
    Reasons: `hidden`, `note_mark`, `ruby_reading`, `scene_break`, `page_number`, `boilerplate`,
    `table`, `code`, `caption`, `alt_text`, `note`, `moved`, `no_words` (nothing to say, "* * *").
    """

    href: str
    start: int
    end: int
    segment_id: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Text of the book that is not spoken, for the plan's listing."""

    chapter: str
    kind: str
    reason: str
    text: str
    """At most 200 characters of it."""
    characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChapter:
    """A chapter that will be heard."""

    number: int
    """From 1, over the chapters that have a segment."""
    title: str
    role: Role
    level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Segmentation:
    """Everything the text stage found out about a book."""

    chapters: tuple[PlannedChapter, ...]
    segments: tuple[Segment, ...]
    claims: tuple[Claim, ...]
    left_out: tuple[LeftOut, ...]
    findings: tuple[Finding, ...]
    normalizer: Normalizer = "loudr"
