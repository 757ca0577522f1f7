"""A book to segments: stretches of one kind in one voice, and a claim for every character.

Chapter by chapter: decide what is read (`policy`), cut each block into sentences (`sentences`), cut
and pack them (`cut`), let short neighbouring blocks share a segment (`merge`), number the result.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from loudr_core.book.model import Block, Book, Chapter, Span
from loudr_core.errors import BookError
from loudr_core.findings import Finding
from loudr_core.text.marks import MarkIndex, index_marks
from loudr_core.text.model import (
    Claim,
    LeftOut,
    PlannedChapter,
    Segment,
    Segmentation,
    TextOptions,
)
from loudr_core.text.passage import read_block
from loudr_core.text.pauses import pause_after
from loudr_core.text.policy import ReadChapter, first_words, reading_order
from loudr_core.text.speak import has_word, line_starts
from loudr_core.text.units import Unit, block_units, merge_short

__all__ = ["segment_book"]


@dataclass(slots=True)
class _Result:
    segments: list[Segment] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    chapters: list[PlannedChapter] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def segment_book(
    book: Book,
    options: TextOptions,
    *,
    of_chapter: Callable[[int, str], TextOptions] | None = None,
) -> Segmentation:
    """Cut a book into segments.

    Parameters
    ----------
    book : Book
    options : TextOptions
    of_chapter : callable, optional
        Number and title of a chapter to the options that it is cut by in place of `options`. They
        may differ in `language`, `max_characters` and `target_characters`: which chapters there
        are, and hence their numbers, depends on the others.

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
    _refuse_limits(options)
    marks = index_marks(book)
    result = _Result()
    chapters = reading_order(book, marks, options)
    for place, read in enumerate(chapters):
        deeper = chapters[place + 1 : place + 2]
        is_part = bool(deeper) and deeper[0].chapter.level > read.chapter.level
        own = options
        if of_chapter is not None:
            own = of_chapter(len(result.chapters) + 1, read.chapter.title)
            _refuse_limits(own)
        _add_chapter(book, read, marks, own, result, is_part=is_part)
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
        normalizer=options.normalizer,
    )


def _refuse_limits(options: TextOptions) -> None:
    if not 1 <= options.target_characters <= options.max_characters:
        raise ValueError(
            f"target_characters {options.target_characters} must be from 1 to max_characters "
            f"{options.max_characters}"
        )


def _add_chapter(
    book: Book,
    read: ReadChapter,
    marks: Mapping[str, MarkIndex],
    options: TextOptions,
    result: _Result,
    *,
    is_part: bool,
) -> None:
    chapter = read.chapter
    if chapter.lost:
        _report_lost(chapter, result)
    language = options.language or book.metadata.language or options.default_language
    units = merge_short(list(_units(book, read, marks, language, options, result)), options)
    heard = any(not unit.generated for unit in units)
    # A part that has no page of its own is still announced before its first chapter.
    bare_part = is_part and chapter.role == "body" and not chapter.blocks and not chapter.lost
    if not (heard or bare_part):
        return
    if options.announce_titles and not chapter.title_in_text:
        title = _title_unit(chapter, language, options)
        if has_word(title.spoken):
            units.insert(0, title)
    if units:
        number = len(result.chapters) + 1
        result.chapters.append(
            PlannedChapter(
                number=number, title=chapter.title, role=chapter.role, level=chapter.level
            )
        )
        _number_units(units, number, chapter, options, result)


def _number_units(
    units: list[Unit], number: int, chapter: Chapter, options: TextOptions, result: _Result
) -> None:
    for index, unit in enumerate(units):
        following = units[index + 1] if index + 1 < len(units) else None
        kind = unit.block.kind
        segment = Segment(
            segment_id=f"c{number:03d}-s{index + 1:04d}",
            chapter=number,
            ordinal=len(result.segments),
            kind=kind,
            role=chapter.role,
            origin="generated" if unit.generated else "source",
            text=unit.text,
            spoken=unit.spoken,
            spans=unit.spans,
            inner=line_starts(unit.text, kind, unit.language, unit.normalizer),
            language=unit.language,
            pause_after_ms=pause_after(
                kind,
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


def _title_unit(chapter: Chapter, language: str, options: TextOptions) -> Unit:
    block = Block(kind="title", spans=())
    how = options.normalizer
    return Unit(block, chapter.title, (), language, how, place=-1, whole=True, generated=True)


def _units(
    book: Book,
    read: ReadChapter,
    marks: Mapping[str, MarkIndex],
    language: str,
    options: TextOptions,
    result: _Result,
) -> Iterator[Unit]:
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
        units = list(block_units(passage, place, block.language or language, options))
        if not units:
            _leave_out(book, read.chapter, block, passage.slices, "no_words", result)
            continue
        if (number := _number_unit(block, place, language, options)) is not None:
            units.insert(0, number)
        units[0].breaks_before, scene_break = scene_break, False
        for unit in units:
            unit.moved = item.moved
            yield unit


def _number_unit(block: Block, place: int, language: str, options: TextOptions) -> Unit | None:
    """Return the unit that says a list's number before its item; None when there is none."""
    if not block.generated or options.list_numbers == "omit":
        return None
    said = replace(block, kind="list_item")  # in a heading the letter "I." would be a numeral
    own, how = block.language or language, options.normalizer
    unit = Unit(said, block.generated, (), own, how, place, generated=True)
    return unit if has_word(unit.spoken) else None


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
