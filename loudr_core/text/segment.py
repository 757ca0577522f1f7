"""A book to segments: stretches of one kind in one voice, and a claim for every character.

Chapter by chapter: decide what is read (`policy`), cut each block into sentences (`sentences`), cut
and pack them (`cut`), let short neighbouring blocks share a segment (`merge`), number the result.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from loudr_core.book.model import Block, Book, Chapter, Mark, Span
from loudr_core.errors import BookError
from loudr_core.findings import Finding
from loudr_core.text.cut import cut_long, pack
from loudr_core.text.merge import SHORT_SHARE, group_short
from loudr_core.text.model import (
    Claim,
    LeftOut,
    PlannedChapter,
    Segment,
    Segmentation,
    TextOptions,
)
from loudr_core.text.passage import Passage, read_block
from loudr_core.text.pauses import pause_after
from loudr_core.text.policy import ReadChapter, first_words, reading_order
from loudr_core.text.sentences import split_sentences
from loudr_core.text.speak import has_word, line_starts, speak

__all__ = ["segment_book"]

_MERGED_KINDS = frozenset({"paragraph", "quote", "verse", "list_item"})
_Marks = dict[str, tuple[list[int], list[Mark]]]


@dataclass(slots=True)
class _Unit:
    """A segment in the making."""

    block: Block
    text: str
    spans: tuple[Span, ...]
    language: str
    place: int
    """Place of its block in the chapter's reading order."""
    whole: bool = False
    """It is all of its block that is read."""
    generated: bool = False
    moved: bool = False
    breaks_before: bool = False
    """A scene break stands before it."""

    @property
    def spoken(self) -> str:
        return speak(self.text, self.block.kind, self.language).spoken


@dataclass(slots=True)
class _Result:
    segments: list[Segment] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    chapters: list[PlannedChapter] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def segment_book(book: Book, options: TextOptions) -> Segmentation:
    """Cut a book into segments.

    Parameters
    ----------
    book : Book
    options : TextOptions

    Returns
    -------
    Segmentation
        Chapters are numbered from 1 over those that have a segment; every character of a block is
        claimed. Editing one paragraph changes at most two existing segments on either side of it.

    Raises
    ------
    BookError
        Nothing is left to read.
    ValueError
        `max_characters` or `target_characters` is below 1, or the target exceeds the maximum.
    """
    if not 1 <= options.target_characters <= options.max_characters:
        raise ValueError(
            f"target_characters {options.target_characters} must be from 1 to max_characters "
            f"{options.max_characters}"
        )
    marks: _Marks = {
        href: ([mark.start for mark in ordered], ordered)
        for href, ordered in (
            (href, sorted(document.marks, key=lambda mark: mark.start))
            for href, document in book.documents.items()
        )
    }
    result = _Result()
    for read in reading_order(book, options):
        _add_chapter(book, read, marks, options, result)
    if not any(segment.origin == "source" for segment in result.segments):
        raise BookError(
            f"{book.metadata.title or 'the book'} has nothing to read: all is left out by the "
            "profile or holds no words; set boilerplate to read if that is wanted",
            left_out=len(result.left_out),
        )
    order = {href: place for place, href in enumerate(book.documents)}
    result.claims.sort(key=lambda claim: (order[claim.href], claim.start))
    return Segmentation(
        chapters=tuple(result.chapters),
        segments=tuple(result.segments),
        claims=tuple(result.claims),
        left_out=tuple(result.left_out),
        findings=tuple(result.findings),
    )


def _add_chapter(
    book: Book, read: ReadChapter, marks: _Marks, options: TextOptions, result: _Result
) -> None:
    chapter = read.chapter
    if chapter.lost:
        _report_lost(chapter, result)
    language = book.metadata.language or options.default_language
    units = _merge_short(list(_units(book, read, marks, language, options, result)), options)
    if not any(not unit.generated for unit in units):
        return
    if options.announce_titles and not chapter.title_in_text and has_word(chapter.title):
        units.insert(0, _title_unit(chapter, language))
    number = len(result.chapters) + 1
    result.chapters.append(
        PlannedChapter(number=number, title=chapter.title, role=chapter.role, level=chapter.level)
    )
    for index, unit in enumerate(units):
        following = units[index + 1] if index + 1 < len(units) else None
        segment = Segment(
            segment_id=f"c{number:03d}-s{index + 1:04d}",
            chapter=number,
            ordinal=len(result.segments),
            kind=unit.block.kind,
            role=chapter.role,
            origin="generated" if unit.generated else "source",
            text=unit.text,
            spoken=unit.spoken,
            spans=unit.spans,
            inner=line_starts(unit.text, unit.block.kind, unit.language)
            if "\n" in unit.text
            else (),
            language=unit.language,
            pause_after_ms=pause_after(
                unit.block.kind,
                following.block.kind if following else None,
                same_block=following is not None and following.place == unit.place,
                scene_break=following is not None and following.breaks_before,
                pauses=options.pauses,
            ),
        )
        result.segments.append(segment)
        result.claims += (
            Claim(
                href=span.href,
                start=span.start,
                end=span.end,
                segment_id=segment.segment_id,
                reason="moved" if unit.moved else "",
            )
            for span in unit.spans
        )


def _report_lost(chapter: Chapter, result: _Result) -> None:
    result.findings.append(
        Finding(
            code="text-chapter-lost",
            severity="error",
            message=f"Chapter {chapter.title!r} is not in the archive and will not be heard.",
            where={"chapter": chapter.title},
        )
    )
    result.left_out.append(
        LeftOut(chapter=chapter.title, kind="chapter", reason="lost", text="", characters=0)
    )


def _title_unit(chapter: Chapter, language: str) -> _Unit:
    block = Block(kind="title", spans=())
    return _Unit(block, chapter.title, (), language, place=-1, whole=True, generated=True)


def _units(
    book: Book,
    read: ReadChapter,
    marks: _Marks,
    language: str,
    options: TextOptions,
    result: _Result,
) -> Iterator[_Unit]:
    """Yield the chapter's units block by block; claim and list what is left out."""
    scene_break = False
    for place, item in enumerate(read.blocks):
        block = item.block
        if item.reason:
            _leave_out(book, read.chapter, block, block.spans, item.reason, result)
            scene_break |= item.reason == "scene_break"
            continue
        passage = read_block(book, block, marks, options)
        for claim in passage.omitted:
            span = Span(href=claim.href, start=claim.start, end=claim.end)
            _leave_out(book, read.chapter, block, (span,), claim.reason, result)
        units = list(_block_units(passage, place, block.language or language, options))
        if not units:
            _leave_out(book, read.chapter, block, passage.slices, "no_words", result)
            continue
        if has_word(speak(block.generated, block.kind, language).spoken):
            units.insert(0, _Unit(block, block.generated, (), language, place, generated=True))
        units[0].breaks_before, scene_break = scene_break, False
        for unit in units:
            unit.moved = item.moved
            yield unit


def _leave_out(
    book: Book,
    chapter: Chapter,
    block: Block,
    spans: tuple[Span, ...],
    reason: str,
    result: _Result,
) -> None:
    spans = tuple(span for span in spans if span.start < span.end)  # <hr> takes no characters
    result.claims += (
        Claim(href=span.href, start=span.start, end=span.end, reason=reason) for span in spans
    )
    text, characters = first_words(book, spans)
    if characters:
        result.left_out.append(
            LeftOut(
                chapter=chapter.title,
                kind=block.kind,
                reason=reason,
                text=text,
                characters=characters,
            )
        )


def _block_units(
    passage: Passage, place: int, language: str, options: TextOptions
) -> Iterator[_Unit]:
    """Yield the units of one block; none when it holds nothing to say."""
    kind, text = passage.block.kind, passage.text
    if not has_word(speak(text, kind, language).spoken):
        return
    limit = options.max_characters
    for start, end, own in _by_language(passage, language):

        def length(low: int, high: int, own: str = own) -> int:
            spoken = speak(text[low:high].strip(), kind, own).spoken
            return len(spoken) if has_word(spoken) else 0

        if kind in {"title", "heading"}:
            whole = cut_long(text, start, end, length, limit)
        else:
            sentences = [
                part
                for low, high in split_sentences(text[start:end], own)
                for part in cut_long(text, start + low, start + high, length, limit)
            ]
            whole = pack(sentences, length, options.target_characters, limit)
        for low, high in whole:
            low, high = _strip(text, low, high)
            complete = not text[:low].strip() and not text[high:].strip()
            yield _Unit(
                passage.block, text[low:high], passage.spans(low, high), own, place, whole=complete
            )


def _by_language(passage: Passage, language: str) -> Iterator[tuple[int, int, str]]:
    """Yield stretches of sentences in one language that cover the passage."""
    start, current = 0, ""
    for low, high in split_sentences(passage.text, language):
        own = passage.language_of(low, high)
        if low and own != current and has_word(passage.text[start:low]):
            yield start, low, current or language
            start = low
        current = own
    yield start, len(passage.text), current or language


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _merge_short(units: list[_Unit], options: TextOptions) -> list[_Unit]:
    """Let runs of short whole blocks share segments."""
    if not options.merge_short:
        return units
    short = options.target_characters // SHORT_SHARE
    merged: list[_Unit] = []
    run: list[_Unit] = []
    for unit in units:
        fits = (
            unit.whole
            and not unit.generated
            and not unit.moved
            and unit.block.kind in _MERGED_KINDS
            and len(unit.spoken) <= short
        )
        if run and not (fits and _can_follow(run[-1], unit)):
            merged += _close_run(run, options.target_characters)
            run = []
        if fits:
            run.append(unit)
        else:
            merged.append(unit)
    return merged + _close_run(run, options.target_characters)


def _can_follow(left: _Unit, right: _Unit) -> bool:
    return (
        left.block.kind == right.block.kind
        and left.language == right.language
        and not right.breaks_before
        and right.place == left.place + 1
    )


def _close_run(run: list[_Unit], target: int) -> list[_Unit]:
    if not run:
        return []
    groups = group_short([unit.text for unit in run], [len(unit.spoken) for unit in run], target)
    return [_join(run[start:end]) for start, end in groups]


def _join(units: list[_Unit]) -> _Unit:
    if len(units) == 1:
        return units[0]
    return replace(
        units[0],
        text="\n".join(unit.text for unit in units),
        spans=tuple(span for unit in units for span in unit.spans),
        place=units[-1].place,
    )
