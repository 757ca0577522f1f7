import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.book.model import Block, Book, Chapter, Document, Metadata, Span
from loudr_core.text.audit import audit
from loudr_core.text.merge import group_short
from loudr_core.text.model import TextOptions
from loudr_core.text.segment import segment_book

OPTIONS = TextOptions(max_characters=160, target_characters=120)
WORDS = [
    "the", "a", "river", "stone", "went", "home", "Mr.", "Lund", "1907", "said", "oh", "yes", "no",
    "never—", "“quite”", "£5", "and", "IV", "U.S.", "what",
]  # fmt: skip
ENDS = (".", "!", "?", "…", ".”", "")


@st.composite
def paragraphs(draw):
    words = draw(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=draw(st.sampled_from([4, 8, 60])))
    )
    return " ".join(words) + draw(st.sampled_from(ENDS))


def make_book(texts, kind="paragraph"):
    stream = "\n".join(texts)
    blocks = []
    position = 0
    for text in texts:
        span = Span(href="a", start=position, end=position + len(text))
        blocks.append(Block(kind=kind, spans=(span,)))
        position += len(text) + 1
    return Book(
        metadata=Metadata(title="T", language="en"),
        documents={"a": Document(href="a", text=stream)},
        chapters=(Chapter(title="One", blocks=tuple(blocks)),),
        source_sha256="0" * 64,
        format="text",
    )


def extract(document):
    return "".join(document.text.split())


@settings(max_examples=150, deadline=None)
@given(
    texts=st.lists(paragraphs(), min_size=1, max_size=12),
    normalizer=st.sampled_from(["loudr", "loudr", "none"]),
)
def test_every_plan_is_lossless_and_within_its_limit(texts, normalizer):
    book = make_book(texts)
    segmentation = segment_book(book, replace(OPTIONS, normalizer=normalizer))
    report = audit(book, segmentation, extract=extract)
    assert report.lossless
    assert report.spoken_chars == report.source_chars
    assert all(len(segment.spoken) <= 160 for segment in segmentation.segments)
    assert "".join("".join(s.text.split()) for s in segmentation.segments) == extract(
        book.documents["a"]
    )


def segments_by_block(texts):
    """Return each segment as (first block, last block, what it says)."""
    book = make_book(texts)
    starts = [block.spans[0].start for block in book.chapters[0].blocks]
    found = []
    for segment in segment_book(book, OPTIONS).segments:
        places = [sum(start <= span.start for start in starts) - 1 for span in segment.spans]
        found.append((places[0], places[-1], segment.text))
    return found


def changed(before, after, edited):
    """Return how many segments wholly left and wholly right of an edited block did not survive."""
    kept = {(first, text) for first, _, text in after}
    gone = [item for item in before if (item[0], item[2]) not in kept]
    return (
        sum(last < edited for _, last, _ in gone),
        sum(first > edited for first, _, _ in gone),
    )


@settings(max_examples=200, deadline=None)
@given(
    texts=st.lists(paragraphs(), min_size=1, max_size=30),
    new=paragraphs(),
    place=st.integers(0, 29),
)
def test_editing_a_paragraph_changes_at_most_two_segments_on_either_side(texts, new, place):
    place %= len(texts)
    after = [*texts[:place], new, *texts[place + 1 :]]
    left, right = changed(segments_by_block(texts), segments_by_block(after), place)
    assert left <= 2
    assert right <= 2


def test_the_promise_on_many_lines_of_dialogue():
    rng = random.Random(7)
    lines = [
        "“" + "".join(rng.choice("abcdefgh ") for _ in range(rng.randint(4, 36))) + "x.”"
        for _ in range(60)
    ]
    before = segments_by_block(lines)
    assert len(before) <= 0.5 * len(lines)
    for place in range(60):
        for new in ("“Short.”", "“" + "long words " * 14 + "”"):
            after = [*lines[:place], new, *lines[place + 1 :]]
            left, right = changed(before, segments_by_block(after), place)
            assert left <= 2
            assert right <= 2


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.text(alphabet="abc", max_size=3), st.integers(1, 40)), max_size=40))
def test_groups_cover_the_run_and_fit(items):
    groups = group_short([text for text, _ in items], [size for _, size in items], 120)
    assert [index for start, end in groups for index in range(start, end)] == list(
        range(len(items))
    )
    for start, end in groups:
        assert sum(size for _, size in items[start:end]) + 2 * (end - start - 1) <= 120
