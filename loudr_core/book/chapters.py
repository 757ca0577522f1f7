"""Chapters over the streams: where each begins, what it is called, which blocks are its own.

A chapter begins at a block and reaches to the next beginning, so every character belongs to exactly
one. The rules, in order:

- Each entry of the table of contents begins a chapter at the block its anchor stands in, in spine
  order whatever the order of the table. Headings right above an anchor that say the entry's title
  come along. Entries at one place become one chapter: a part and its first chapter join titles.
- Text of a document before its first entry goes to that entry's chapter if it is only headings,
  begins a chapter of its own if it starts with a heading, and otherwise continues the one before.
- A document that no entry names begins a chapter of its own if it starts with a heading or says
  what it is (a dedication, a colophon), and otherwise continues the chapter before.
- A line of the table without a link is a chapter without text, before the first line below it.
- Without a table, headings take its place; without headings, each document is a chapter. A title
  made from a file's name or a page's head is never announced.
- An entry for a document that is not there is a chapter marked as lost.
"""

import bisect
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import PurePosixPath

from loudr_core.book.model import Block, Chapter, Role
from loudr_core.book.roles import KNOWN, role_of, title_semantics
from loudr_core.book.toc import Landmark, TocEntry
from loudr_core.book.walk import Walked
from loudr_core.findings import Finding

__all__ = ["SpineDocument", "make_chapters"]

_HEADINGS = frozenset({"heading", "title"})
_NUMBER_ONLY = re.compile(r"(?:(?:chapter|part|book|volume|letter)\s+)?[\w-]{1,14}[.:]?", re.I)
_NUMBERED = frozenset(
    {"act", "book", "canto", "chapter", "letter", "part", "scene", "section", "volume"}
)
_MAX_TITLE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SpineDocument:
    """A document of the spine, walked; `walked` is None when it is not in the archive."""

    href: str
    walked: Walked | None


@dataclass(slots=True)
class _Start:
    """Where a chapter begins: number of the document, number of the block in it."""

    document: int
    block: int
    title: str
    level: int = 0
    lost: bool = False
    listed: bool = True
    bare: bool = False
    """A line of the table that has no link: a part without a page."""
    said: bool = True
    """The title is the book's own, to be announced; a file's name is not."""

    @property
    def place(self) -> tuple[int, int]:
        return (self.document, self.block)


@dataclass(frozen=True, slots=True)
class _Mark:
    """What a landmark says of a place."""

    place: tuple[int, int]
    words: frozenset[str]
    role: Role | None


def make_chapters(
    documents: Sequence[SpineDocument],
    entries: Sequence[TocEntry],
    landmarks: Sequence[Landmark],
    findings: list[Finding],
) -> tuple[Chapter, ...]:
    """Return the chapters of a book in reading order; see the module for the rules."""
    starts = _from_toc(documents, entries, findings)
    if not starts:
        starts = _from_headings(documents)
    starts = _merge(starts, findings)
    starts = _fill(documents, starts)
    marks = _landmark_places(documents, landmarks)
    chapters: list[Chapter] = []
    for here, following in zip(starts, [*starts[1:], None], strict=True):
        chapter = _chapter(documents, here, following, marks)
        if chapter.blocks or chapter.lost or here.bare:
            chapters.append(chapter)
        elif here.listed:
            findings.append(
                _finding(
                    "book-empty-chapter", "info", f"chapter {here.title!r} has no text", here.title
                )
            )
    return tuple(chapters)


# Where chapters begin


def _from_toc(
    documents: Sequence[SpineDocument], entries: Sequence[TocEntry], findings: list[Finding]
) -> list[_Start]:
    places = {document.href: number for number, document in enumerate(documents)}
    starts: list[_Start] = []
    waiting: list[TocEntry] = []  # headings over other entries
    for entry in entries:
        name = entry.title or "an entry without a title"
        number = places.get(entry.path)
        waiting = [held for held in waiting if held.level < entry.level]
        if not entry.path:
            waiting += [entry] if entry.title else []
            continue
        if number is None:
            findings.append(
                _finding(
                    "book-toc-outside-spine",
                    "warning",
                    f"the table of contents names {entry.path} ({name}), which is not in the spine",
                    entry.title,
                )
            )
            continue
        walked = documents[number].walked
        if walked is None:
            starts += _over(waiting, number, 0)
            starts.append(_Start(number, 0, entry.title, entry.level, lost=True))
            continue
        if entry.fragment and entry.fragment not in walked.anchors:
            findings.append(
                _finding(
                    "book-missing-anchor",
                    "warning",
                    f"the table of contents names {entry.path}#{entry.fragment} ({name}), "
                    "which is not there; the document's start is taken",
                    entry.title,
                )
            )
        index = walked.anchors.get(entry.fragment, 0) if entry.fragment else 0
        block = _pull_back(walked, _block_at(walked, index), entry.title)
        named = waiting[-1].title if waiting else ""
        starts += _over(waiting, number, block)
        own = _says_at(walked, block, named)
        starts.append(_Start(number, block + own, entry.title, entry.level))
    ordered = sorted(starts, key=lambda s: s.place)
    if [s.place for s in starts] != [s.place for s in ordered]:
        findings.append(
            _finding(
                "book-toc-order",
                "info",
                "the table of contents is not in reading order; chapters follow the spine",
                "",
            )
        )
    return ordered


def _says_at(walked: Walked, block: int, title: str) -> bool:
    """Return whether a heading that others follow says a title."""
    here = walked.blocks[block : block + 2]
    return (
        len(here) == 2 and _is_heading(here[0]) and _words(_text(walked, here[0])) == _words(title)
    )


def _over(waiting: list[TocEntry], document: int, block: int) -> Iterator[_Start]:
    """Yield the lines without a link, now that the first line below them has a place."""
    for entry in waiting:
        yield _Start(document, block, entry.title, entry.level, bare=True)
    waiting.clear()


def _block_at(walked: Walked, index: int) -> int:
    """Return the number of the block that holds an index, or of the next one."""
    if not index:
        return 0
    return bisect.bisect_right(walked.blocks, index, key=lambda block: block.spans[-1].end)


def _pull_back(walked: Walked, block: int, title: str) -> int:
    """Return the number of the first of the headings above a block that say the title."""
    wanted = _words(title)
    first = block
    while first > 0 and walked.blocks[first - 1].kind in _HEADINGS and block - first < 3:
        first -= 1
    for candidate in range(first, block):
        said = [w for b in walked.blocks[candidate:block] for w in _words(_text(walked, b))]
        if wanted and said == wanted:
            return candidate
    return block


def _from_headings(documents: Sequence[SpineDocument]) -> list[_Start]:
    levels = _chapter_levels(documents)
    starts = []
    for number, document in enumerate(documents):
        walked = document.walked
        if walked is None:
            continue
        for place, block in enumerate(walked.blocks):
            if _is_heading(block) and block.level in levels:
                depth = sorted(levels).index(block.level)
                starts.append(_Start(number, place, _clip(_text(walked, block)), depth))
    return starts


def _is_heading(block: Block) -> bool:
    return block.kind in _HEADINGS and not block.note_id


def _chapter_levels(documents: Sequence[SpineDocument]) -> frozenset[int]:
    """Return the heading levels that begin chapters.

    The highest level there is; and the next one too, if the highest stands only once (the title
    of the book) or is somewhere followed by the next at once (parts that hold chapters).
    """
    run = [b for d in documents if d.walked is not None for b in d.walked.blocks]
    levels = sorted({b.level for b in run if _is_heading(b)})
    if len(levels) < 2:
        return frozenset(levels)
    top, below = levels[:2]
    once = sum(1 for b in run if _is_heading(b) and b.level == top) == 1
    parts = any(
        _is_heading(a) and a.level == top and _is_heading(b) and b.level == below
        for a, b in pairwise(run)
    )
    return frozenset({top, below} if once or parts else {top})


def _merge(starts: list[_Start], findings: list[Finding]) -> list[_Start]:
    """Join the starts that share one place."""
    merged: list[_Start] = []
    for start in starts:
        last = merged[-1] if merged else None
        if last is None or last.place != start.place or last.lost or last.bare:
            merged.append(start)
        elif start.level > last.level and last.title and start.title:
            if _words(start.title) != _words(last.title):
                last.title = f"{last.title}: {start.title}"
        elif not last.title:
            last.title = start.title
        elif _words(start.title) != _words(last.title):
            findings.append(
                _finding(
                    "book-toc-same-place",
                    "info",
                    f"{start.title!r} begins where {last.title!r} does; no chapter of its own",
                    start.title,
                )
            )
    return merged


def _fill(documents: Sequence[SpineDocument], starts: list[_Start]) -> list[_Start]:
    """Add starts for lost documents and for text that no start covers."""
    by_document: dict[int, list[_Start]] = {}
    for start in starts:
        by_document.setdefault(start.document, []).append(start)
    filled: list[_Start] = []
    for number, document in enumerate(documents):
        own = by_document.get(number, [])
        if document.walked is None:
            filled.extend(own or [_Start(number, 0, _place_title(document, number), lost=True)])
            continue
        blocks = document.walked.blocks
        leading = blocks[: own[0].block] if own else blocks
        if leading and own and all(b.kind in {*_HEADINGS, "caption"} for b in leading):
            own = _with_headings(document.walked, own)
        elif leading:
            alone = not filled or filled[-1].lost or (not own and _whole(document.walked))
            if alone or _is_heading(leading[0]):
                title, said = _made_title(document, number, leading)
                filled.append(_Start(number, 0, title, listed=False, said=said))
        filled.extend(own)
    return filled


def _with_headings(walked: Walked, own: Sequence[_Start]) -> list[_Start]:
    """Give the headings above the first start to it; a part without a link takes its own name."""
    says = own[0].bare and _says_at(walked, 0, own[0].title)
    count = next((n for n, start in enumerate(own) if not start.bare), len(own) - 1)
    above = [replace(start, block=0) for start in own[:count]]
    return [*above, replace(own[count], block=int(says)), *own[count + 1 :]]


def _whole(walked: Walked) -> bool:
    """Return whether a document says that it is a part of its own."""
    return bool(walked.semantics & KNOWN)


def _made_title(document: SpineDocument, number: int, blocks: Sequence[Block]) -> tuple[str, bool]:
    """Return a title for text that the table does not name, and whether to announce it."""
    walked = document.walked
    if walked is None:
        return _place_title(document, number), False
    headings: list[str] = []
    for block in blocks[:3]:
        if not _is_heading(block):
            break
        headings.append(_text(walked, block))
    if headings:
        joined = len(headings) > 1 and _NUMBER_ONLY.fullmatch(headings[0])
        title = f"{headings[0].rstrip('.:')}: {headings[1]}" if joined else headings[0]
        return _clip(title), True
    stem = PurePosixPath(document.href).stem
    if words := sorted(walked.semantics & KNOWN) or sorted(title_semantics(stem)):
        return words[0].replace("-", " ").capitalize(), True
    if title := _clip(walked.heading_title):
        return title, walked.names_itself
    return _place_title(document, number), False


def _place_title(document: SpineDocument, number: int) -> str:
    return PurePosixPath(document.href).stem or f"Section {number + 1}"


def _clip(title: str) -> str:
    text = " ".join(title.split())
    return text if len(text) <= _MAX_TITLE else text[: _MAX_TITLE - 1].rstrip() + "…"


# What a chapter is


def _chapter(
    documents: Sequence[SpineDocument],
    here: _Start,
    following: _Start | None,
    marks: Sequence[_Mark],
) -> Chapter:
    end = following.place if following is not None else (len(documents), 0)
    blocks: list[Block] = []
    opening: list[tuple[Block, str]] = []
    semantics: frozenset[str] = frozenset()
    for number in range(here.document, min(end[0] + 1, len(documents))):
        walked = documents[number].walked
        if walked is None:
            continue
        first = here.block if number == here.document else 0
        last = end[1] if number == end[0] else len(walked.blocks)
        own = walked.blocks[first:last]
        if own and not blocks:
            semantics = _semantics(walked, own)
        blocks.extend(own)
        shown = (b for b in own if not _is_hidden(walked, b))
        opening.extend((b, _text(walked, b)) for b in islice(shown, 8 - len(opening)))
    title = here.title or (_clip(opening[0][1]) if opening else "Untitled")
    for mark in marks:
        if mark.place == here.place:
            semantics |= mark.words & KNOWN
    landmark = next((m.role for m in reversed(marks) if m.role and m.place <= here.place), None)
    if landmark is None and any(m.role == "body" for m in marks):
        landmark = "front"  # stands before the start of the body
    named = title_semantics(title)
    return Chapter(
        title=title,
        blocks=tuple(blocks),
        role=role_of(semantics, landmark, named),
        level=here.level,
        semantics=semantics if semantics & KNOWN else semantics | named,
        title_in_text=not here.said or _says(opening, title),
        lost=here.lost,
    )


def _semantics(walked: Walked, blocks: Sequence[Block]) -> frozenset[str]:
    """Return the words of the document and of the sections that hold or begin these blocks."""
    start, end = blocks[0].spans[0].start, blocks[-1].spans[-1].end
    inside = [
        s
        for s in walked.sections
        if (s.start <= start and s.end >= end) or (s.start == start and s.end <= end)
    ]
    nested = {w for s in walked.sections if s.depth == 0 for w in s.words}
    words = walked.semantics - nested
    for section in inside:
        words |= section.words
    return words


def _landmark_places(
    documents: Sequence[SpineDocument], landmarks: Iterable[Landmark]
) -> list[_Mark]:
    """Return what the book says of places in its spine, in spine order."""
    roles: dict[str, Role] = {"frontmatter": "front", "bodymatter": "body", "backmatter": "back"}
    places = {document.href: number for number, document in enumerate(documents)}
    found = []
    for landmark in landmarks:
        number = places.get(landmark.path)
        walked = documents[number].walked if number is not None else None
        if number is not None and walked is not None:
            block = _block_at(walked, walked.anchors.get(landmark.fragment, 0))
            role = next((roles[w] for w in sorted(landmark.words & roles.keys())), None)
            found.append(_Mark((number, block), landmark.words, role))
    return sorted(found, key=lambda mark: mark.place)


def _is_hidden(walked: Walked, block: Block) -> bool:
    """Return whether no character of a block is shown, as of a heading made for the table only."""
    start, end = block.spans[0].start, block.spans[-1].end
    until = bisect.bisect_right(walked.marks, start, key=lambda mark: mark.start)
    return any(
        m.kind in {"hidden", "boilerplate"} and m.end >= end
        for m in walked.marks[max(0, until - 50) : until]
    )


def _text(walked: Walked, block: Block) -> str:
    return walked.text[block.spans[0].start : block.spans[-1].end]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _says(opening: Sequence[tuple[Block, str]], title: str) -> bool:
    """Return whether the first blocks of a chapter say its title, as its listener would hear it.

    A heading that says more ("Chapter 1. The Quay" for "1. The Quay"), all but the number ("The
    Quay") or the number alone ("I" for "Chapter I") counts: it would be said twice.
    """
    wanted = _words(title)
    said = [_words(text) for _, text in opening]
    if not wanted or any(words == wanted for words in said):
        return True
    joined = [word for words in said[:4] for word in words]
    if joined[: len(wanted)] == wanted:
        return True
    headings = [_words(text) for block, text in opening[:4] if _is_heading(block)]
    if len(wanted) > 1 and wanted[0] in _NUMBERED and wanted[1:] in headings:
        return True
    return any(
        _holds(words, wanted) or (2 * len(words) > len(wanted) and _holds(wanted, words))
        for words in headings
    )


def _holds(words: list[str], part: list[str]) -> bool:
    """Return whether one list of words stands inside another, unbroken."""
    places = range(len(words) - len(part) + 1)
    return bool(part) and any(words[at : at + len(part)] == part for at in places)


def _finding(code: str, severity: str, message: str, title: str) -> Finding:
    where: dict[str, str | int | float] = {"chapter": title} if title else {}
    return Finding(code=code, severity=severity, message=message, where=where)  # type: ignore[arg-type]  # literals above
