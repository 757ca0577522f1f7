"""Marks by place: the index finds what looking at every mark finds, and looks at few."""

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.book.model import Block, Book, Chapter, Document, Mark, Metadata, Span
from loudr_core.text.marks import MarkIndex
from loudr_core.text.model import TextOptions
from loudr_core.text.segment import segment_book

INTERVAL = st.tuples(st.integers(0, 2000), st.integers(0, 2000)).map(sorted)


@settings(max_examples=60, deadline=None)
@given(st.lists(INTERVAL, max_size=30), INTERVAL)
def test_the_index_finds_what_a_search_finds(places, wanted):
    marks = tuple(Mark(kind="emphasis", start=a, end=b) for a, b in places)
    document = Document(href="a", text="x" * 2001, marks=marks)
    span = Span(href="a", start=wanted[0], end=wanted[1])
    ordered = sorted(marks, key=lambda mark: mark.start)
    found = [m for m in ordered if m.end > span.start and m.start < span.end]
    assert MarkIndex(document).over(span) == found


def notes(count: int) -> Book:
    line = "One word1 more.\n"
    starts = [k * len(line) for k in range(count)]
    marks = tuple(
        Mark(kind="note_ref", start=s + 8, end=s + 9, value=f"a#n{k}") for k, s in enumerate(starts)
    )
    blocks = tuple(
        Block(
            kind="note" if k % 2 else "paragraph",
            spans=(Span(href="a", start=s, end=s + len(line) - 1),),
            note_id=f"a#n{k - 1}" if k % 2 else "",
        )
        for k, s in enumerate(starts)
    )
    return Book(
        metadata=Metadata(title="T", language="en"),
        documents={"a": Document(href="a", text=line * count, marks=marks)},
        chapters=(Chapter(title="One", blocks=blocks),),
        source_sha256="0" * 64,
        format="epub",
    )


def lines_run(work: Callable[[], object]) -> int:
    """Return how many lines of Python a piece of work runs: time that no load can stretch."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Callable[..., Any]:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def test_a_long_document_of_notes_takes_steps_in_proportion() -> None:
    options = TextOptions(max_characters=200, target_characters=120)
    segment_book(notes(20), options)  # what is loaded once
    few, many = (lines_run(partial(segment_book, notes(n), options)) for n in (200, 800))
    assert few > 200
    assert many < 6 * few, "four times for four times as many; sixteen, were it square"
