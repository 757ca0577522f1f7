"""Notes without markup: found by the two links that a note and its mark have to one another.

Older books call a note by a raised number and lead back from the note's first word. Where a block
begins with a link back to the place that links to it, the block is a note, whatever it is called.
"""

import bisect
from collections.abc import Mapping
from dataclasses import replace

from loudr_core.book.model import Block, Mark
from loudr_core.book.roles import title_semantics
from loudr_core.book.walk import Walked

__all__ = ["find_notes"]

_CONTINUED = frozenset({"paragraph", "quote", "verse"})
_REACH = 8
"""Characters between an anchor and the mark it stands for, at most."""


def find_notes(documents: Mapping[str, Walked]) -> None:
    """Turn the blocks that are notes by their links into notes, in place."""
    for href, walked in documents.items():
        for mark in list(walked.marks):
            if mark.kind == "note_ref" and "#" in mark.value:
                _try_mark(documents, href, mark)
    for walked in documents.values():
        _join_paragraphs(walked)


def _try_mark(documents: Mapping[str, Walked], href: str, mark: Mark) -> None:
    """Make a note of the block that a mark calls, if that block leads back to the mark."""
    path, _, fragment = mark.value.partition("#")
    target = documents.get(path)
    if target is None or fragment not in target.anchors:
        return
    number = _block_number(target, target.anchors[fragment])
    if number is None or target.blocks[number].kind not in {"paragraph", "list_item"}:
        return
    block = target.blocks[number]
    start = block.spans[0].start
    if path == href and mark.start <= block.spans[-1].end and mark.end >= start:
        return  # a link within one paragraph
    first = bisect.bisect_left(target.marks, start, key=_start_of)  # marks ascend
    opening = target.marks[first : bisect.bisect_right(target.marks, start + 2, key=_start_of)]
    back = next((m for m in opening if m.kind == "note_ref"), None)
    link = next((m for m in target.links if m.start == start), None) if back is None else None
    found = back or link
    if found is None or not _leads_to(documents, found, href, mark):
        return
    # The number of an item that is a note was said, or left out, where the note is called.
    target.blocks[number] = replace(block, kind="note", note_id=mark.value, generated="")
    if link is not None:
        bisect.insort(target.marks, link, key=lambda m: (m.start, -m.end))


def _join_paragraphs(walked: Walked) -> None:
    """Give the later paragraphs of a note to it, in a document or part that is headed Notes."""
    begins = set(walked.anchors.values())
    in_notes, note_id = False, ""
    for number, block in enumerate(walked.blocks):
        start, end = block.spans[0].start, block.spans[-1].end
        if block.kind in {"heading", "title"}:
            in_notes = "endnotes" in title_semantics(walked.text[start:end])
            note_id = ""
        elif block.kind == "note":
            note_id = block.note_id
        elif block.kind not in _CONTINUED or start in begins:
            note_id = ""
        elif in_notes and note_id:
            walked.blocks[number] = replace(block, kind="note", note_id=note_id)


def _start_of(mark: Mark) -> int:
    return mark.start


def _leads_to(documents: Mapping[str, Walked], back: Mark, href: str, mark: Mark) -> bool:
    path, _, fragment = back.value.partition("#")
    place = documents[href].anchors.get(fragment) if path == href else None
    # the call comes before its note, or both marks would look alike from either side
    before = path != "" and place is not None and abs(place - mark.start) <= _REACH
    return before and not _begins_block(documents[href], mark)


def _begins_block(walked: Walked, mark: Mark) -> bool:
    number = _block_number(walked, mark.start)
    return number is not None and walked.blocks[number].spans[0].start >= mark.start - 2


def _block_number(walked: Walked, index: int) -> int | None:
    number = bisect.bisect_right(walked.blocks, index, key=lambda block: block.spans[-1].end)
    found: Block | None = walked.blocks[number] if number < len(walked.blocks) else None
    return number if found is not None and found.spans[0].start <= index else None
