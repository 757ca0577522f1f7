"""What of a book is not read, and where its notes are read.

Every answer here is a reason that ends up in a claim and in the plan's list of what was left out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from loudr_core.book.model import Block, Book, Chapter, Document, Mark, Span
from loudr_core.text.marks import MarkIndex
from loudr_core.text.model import TextOptions

__all__ = [
    "ReadBlock",
    "ReadChapter",
    "block_reason",
    "first_words",
    "is_boilerplate",
    "mark_reason",
    "reading_order",
]

_TITLES = frozenset(
    {
        "title page", "titlepage", "half title", "half-title", "halftitle", "half title page",
        "imprint",
        "copyright", "copyright page", "copyright notice", "colophon", "uncopyright", "contents",
        "table of contents", "list of illustrations", "illustrations", "landmarks", "cover",
        "cover page", "list of figures", "list of tables", "about this ebook", "legal notice",
        "the full project gutenberg license", "project gutenberg license",
    }
)  # fmt: skip
_MARK_REASONS = {
    "hidden": "hidden",
    "ruby_reading": "ruby_reading",
    "page_break": "page_number",
    "note_ref": "note_mark",
}
_INITIAL = 3
"""Longest alternative text that is taken for a picture of a word's first letters."""


@dataclass(frozen=True, slots=True)
class ReadBlock:
    """A block in the order in which it is read, with what becomes of it."""

    block: Block
    reason: str = ""
    """Why it is not read; empty when it is."""
    moved: bool = False
    """A note that is read at the end of the chapter that calls it."""


@dataclass(frozen=True, slots=True)
class ReadChapter:
    """A chapter with its blocks in reading order."""

    chapter: Chapter
    blocks: tuple[ReadBlock, ...]


def is_boilerplate(chapter: Chapter, options: TextOptions) -> bool:
    """Return whether a chapter is a title page, an imprint and the like, and is to be left out."""
    if options.boilerplate == "read":
        return False
    if chapter.semantics & options.omit_semantics:
        return True
    if chapter.semantics & {"chapter", "part", "volume"}:
        return False
    if chapter.role == "body" and chapter.level > 0:
        return False
    title = " ".join(chapter.title.casefold().split()).strip(" .:")
    return title in _TITLES or (title == "index" and chapter.role == "back")


def block_reason(block: Block, options: TextOptions) -> str:
    """Return why a block of a chapter that is read is left out; empty when it is read."""
    if block.kind == "scene_break":
        return "scene_break"
    policies = {"table": options.tables, "code": options.code, "caption": options.captions}
    return block.kind if policies.get(block.kind) == "omit" else ""


def mark_reason(mark: Mark, document: Document, block: Block, options: TextOptions) -> str:
    """Return why the text under a mark is left out; empty when it is read."""
    if mark.kind == "note_ref":
        return "note_mark" if options.note_marks == "omit" else ""
    if mark.kind == "alt":
        read = options.alt_text == "read" or block.kind in {"title", "heading"}
        return "" if read or _is_initial(mark, document.text) else "alt_text"
    if mark.kind == "boilerplate":
        return "boilerplate" if options.boilerplate == "omit" else ""
    return _MARK_REASONS.get(mark.kind, "")


def _is_initial(mark: Mark, text: str) -> bool:
    """Whether a picture stands for letters of the word it is glued to, as a drop cap does."""
    alternative = text[mark.start : mark.end]
    glued = (
        text[mark.end : mark.end + 1].isalnum()
        or text[max(0, mark.start - 1) : mark.start].isalnum()
    )
    return 0 < len(alternative) <= _INITIAL and alternative.isalnum() and glued


def reading_order(
    book: Book, marks: Mapping[str, MarkIndex], options: TextOptions
) -> list[ReadChapter]:
    """Return the chapters with each block's fate, notes put where the options want them.

    A note that no read chapter calls stays where it stands. A chapter of notes from which every
    note went to its caller keeps only headings; those are left out with the reason `note`.
    """
    boilerplate = [is_boilerplate(chapter, options) for chapter in book.chapters]
    homes = _note_homes(book, marks, boilerplate) if options.notes == "end_of_chapter" else {}
    moved: dict[int, list[ReadBlock]] = {}
    plans: list[list[ReadBlock]] = []
    for number, chapter in enumerate(book.chapters):
        plan: list[ReadBlock] = []
        tail = _tail_of_notes(chapter)
        for position, block in enumerate(chapter.blocks):
            home = homes.get(block.note_id) if block.kind == "note" and block.note_id else None
            if boilerplate[number] and home is None:
                plan.append(ReadBlock(block, "boilerplate"))
            elif block.kind == "note" and options.notes == "omit":
                plan.append(ReadBlock(block, "note"))
            elif home is None or (home == number and position >= tail):
                plan.append(ReadBlock(block, block_reason(block, options)))
            else:
                moved.setdefault(home, []).append(ReadBlock(block, moved=True))
        plans.append(plan)
    return [
        ReadChapter(
            chapter, (*_drop_headings(chapter, plan), *_in_call_order(moved.get(number, []), homes))
        )
        for number, (chapter, plan) in enumerate(zip(book.chapters, plans, strict=True))
    ]


def _note_homes(
    book: Book, marks: Mapping[str, MarkIndex], boilerplate: list[bool]
) -> dict[str, int]:
    """Return the first chapter that calls each note, in the order of the calls.

    A note that another note calls follows it, wherever the first of them goes.
    """
    notes: dict[str, list[Block]] = {}
    for chapter in book.chapters:
        for block in chapter.blocks:
            if block.note_id:
                notes.setdefault(block.note_id, []).append(block)
    homes: dict[str, int] = {}
    for number, chapter in enumerate(book.chapters):
        if boilerplate[number]:
            continue
        for block in chapter.blocks:
            todo = [] if block.kind == "note" else list(_calls(marks, block))[::-1]
            while todo:
                target = todo.pop()
                if target in homes or target not in notes:
                    continue
                homes[target] = number
                todo.extend([c for note in notes[target] for c in _calls(marks, note)][::-1])
    return homes


def _calls(marks: Mapping[str, MarkIndex], block: Block) -> Iterator[str]:
    for span in block.spans:
        for mark in marks[span.href].over(span):
            if mark.kind == "note_ref" and span.start <= mark.start < span.end:
                yield mark.value


def _tail_of_notes(chapter: Chapter) -> int:
    """Return the position from which a chapter holds notes only: they stand at its end already."""
    position = len(chapter.blocks)
    while position and chapter.blocks[position - 1].kind == "note":
        position -= 1
    return position


def _in_call_order(blocks: list[ReadBlock], homes: dict[str, int]) -> list[ReadBlock]:
    order = {note: place for place, note in enumerate(homes)}
    return sorted(blocks, key=lambda item: order[item.block.note_id])


def _drop_headings(chapter: Chapter, plan: list[ReadBlock]) -> list[ReadBlock]:
    notes_gone = len(plan) < len(chapter.blocks) or any(item.reason == "note" for item in plan)
    headings = {"title", "heading", "scene_break"}
    rest = [item for item in plan if item.block.kind not in headings and not item.reason]
    if not notes_gone or rest:
        return plan
    return [item if item.reason else ReadBlock(item.block, "note") for item in plan]


def first_words(book: Book, spans: tuple[Span, ...], limit: int = 200) -> tuple[str, int]:
    """Return the first characters of a stretch, on one line, and how many characters it has."""
    whole = " ".join(" ".join(book.text_of(span) for span in spans).split())
    return whole[:limit], sum(not c.isspace() for span in spans for c in book.text_of(span))
