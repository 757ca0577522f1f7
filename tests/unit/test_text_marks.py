"""Marks by place: the index finds what looking at every mark finds, and looks at few."""

import time

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


def test_a_long_document_of_notes_takes_time_in_proportion():
    def seconds(count: int) -> float:
        line = "One word1 more.\n"
        text = line * count
        starts = [k * len(line) for k in range(count)]
        marks = tuple(
            Mark(kind="note_ref", start=s + 8, end=s + 9, value=f"a#n{k}")
            for k, s in enumerate(starts)
        )
        blocks = tuple(
            Block(
                kind="note" if k % 2 else "paragraph",
                spans=(Span(href="a", start=s, end=s + len(line) - 1),),
                note_id=f"a#n{k - 1}" if k % 2 else "",
            )
            for k, s in enumerate(starts)
        )
        book = Book(
            metadata=Metadata(title="T", language="en"),
            documents={"a": Document(href="a", text=text, marks=marks)},
            chapters=(Chapter(title="One", blocks=blocks),),
            source_sha256="0" * 64,
            format="epub",
        )
        begun = time.process_time()
        segment_book(book, TextOptions(max_characters=200, target_characters=120))
        return time.process_time() - begun

    seconds(200)  # what is loaded once
    assert seconds(4000) < 30 * max(seconds(400), 0.02)  # 100 times, were it square
