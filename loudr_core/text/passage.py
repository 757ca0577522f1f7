"""The part of a block that is read: its visible text, and where each character of it stands."""

from collections.abc import Mapping
from dataclasses import dataclass

from loudr_core.book.model import Block, Book, Span
from loudr_core.text.marks import MarkIndex
from loudr_core.text.model import Claim, TextOptions
from loudr_core.text.policy import mark_reason

__all__ = ["Passage", "read_block"]


@dataclass(frozen=True, slots=True)
class Passage:
    """Visible text of a block.

    Parameters
    ----------
    block : Block
    text : str
        The slices that are read, joined by nothing.
    slices : tuple of Span
        Where they stand.
    omitted : tuple of Claim
        The rest of the block, each with its reason.
    foreign : tuple of (start, end, language)
        Stretches of `text` in a language of their own.
    """

    block: Block
    text: str
    slices: tuple[Span, ...]
    omitted: tuple[Claim, ...]
    foreign: tuple[tuple[int, int, str], ...]

    def spans(self, start: int, end: int) -> tuple[Span, ...]:
        """Return where a stretch of the text stands."""
        found = []
        position = 0
        for piece in self.slices:
            size = piece.end - piece.start
            low, high = max(start - position, 0), min(end - position, size)
            if low < high:
                found.append(
                    Span(
                        href=piece.href,
                        start=piece.start + low,
                        end=piece.start + high,
                        element_id=piece.element_id,
                    )
                )
            position += size
        return tuple(found)

    def language_of(self, start: int, end: int) -> str:
        """Return the language that covers every letter of a stretch; empty for the block's own."""
        for low, high, language in self.foreign:
            inside = (
                self.text[max(start, low) : min(end, high)] if low < end and high > start else ""
            )
            if inside and _letters(inside) == _letters(self.text[start:end]) > 0:
                return language
        return ""


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def read_block(
    book: Book, block: Block, marks: Mapping[str, MarkIndex], options: TextOptions
) -> Passage:
    """Cut what is not read out of a block.

    Parameters
    ----------
    book : Book
    block : Block
    marks : mapping of str to MarkIndex
        For each document, as `index_marks` makes them.
    options : TextOptions
    """
    text = ""
    slices: list[Span] = []
    omitted: list[Claim] = []
    foreign: list[tuple[int, int, str]] = []
    for span in block.spans:
        holes: list[tuple[int, int, str]] = []
        inside = marks[span.href].over(span)
        for mark in inside:
            reason = mark_reason(mark, book.documents[span.href], block, options)
            if reason:
                holes.append((max(mark.start, span.start), min(mark.end, span.end), reason))
        for start, end, reason in _cover(span, holes):
            if reason:
                omitted.append(Claim(href=span.href, start=start, end=end, reason=reason))
                continue
            base = len(text)
            text += book.documents[span.href].text[start:end]
            slices.append(Span(href=span.href, start=start, end=end, element_id=span.element_id))
            foreign += (
                (
                    base + max(mark.start, start) - start,
                    base + min(mark.end, end) - start,
                    mark.value,
                )
                for mark in inside
                if mark.kind == "language" and mark.start < end and mark.end > start
            )
    return Passage(block, text, tuple(slices), tuple(omitted), tuple(foreign))


def _cover(span: Span, holes: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return adjacent pieces of a span, each read (no reason) or left out; the first hole wins."""
    pieces = []
    position = span.start
    for start, end, reason in sorted(holes):
        if end <= max(position, start):
            continue
        if start > position:
            pieces.append((position, start, ""))
        pieces.append((max(start, position), end, reason))
        position = end
    if position < span.end:
        pieces.append((position, span.end, ""))
    return pieces
