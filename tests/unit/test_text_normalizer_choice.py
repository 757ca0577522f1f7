"""The words of a book as they are printed, for engines with a text front end of their own."""

from dataclasses import replace

import pytest

from loudr_core.book.model import Block, Book, Chapter, Document, Metadata, Span
from loudr_core.errors import BookError, ConfigError
from loudr_core.settings import Profile
from loudr_core.text.audit import audit
from loudr_core.text.draft import unspoken_words
from loudr_core.text.model import TextOptions
from loudr_core.text.segment import segment_book
from loudr_core.text.speak import line_starts, speak

BLOCKS = [
    ("heading", "II"),
    ("paragraph", "In 1984  Dr. Lund paid £5\u00a0—\n  twice."),
    ("list_item", "12 eggs"),
    ("list_item", "“Milk …”"),
    ("list_item", "3 kg of flour"),
]
PRINTED = TextOptions(max_characters=200, target_characters=120, normalizer="none")


def make_book():
    text, blocks = "", []
    for kind, content in BLOCKS:
        text += "\n" if text else ""
        span = Span(href="a", start=len(text), end=len(text) + len(content))
        text += content
        blocks.append(Block(kind=kind, spans=(span,)))
    return Book(
        metadata=Metadata(title="T", language="en"),
        documents={"a": Document(href="a", text=text)},
        chapters=(Chapter(title="2", blocks=tuple(blocks), title_in_text=False),),
        source_sha256="0" * 64,
        format="text",
    )


def extract(document):
    return "".join(document.text.split())


def test_words_and_marks_stay_as_they_are_printed():
    segmentation = segment_book(make_book(), PRINTED)
    spoken = [segment.spoken for segment in segmentation.segments]
    assert spoken == [
        "2",
        "II",
        "In 1984 Dr. Lund paid £5 — twice.",
        "12 eggs. “Milk …” 3 kg of flour",
    ]
    merged = segmentation.segments[-1]
    assert [merged.spoken[at:].split()[0] for at in merged.inner] == ["“Milk", "3"]


def test_nothing_is_lost_and_the_audit_knows_which_words_were_meant():
    book = make_book()
    printed = segment_book(book, PRINTED)
    assert audit(book, printed, extract=extract).lossless
    with pytest.raises(BookError, match="is not its text normalised"):
        audit(book, replace(printed, normalizer="loudr"), extract=extract)
    spelled = segment_book(book, replace(PRINTED, normalizer="loudr"))
    assert any("nineteen eighty-four" in segment.spoken for segment in spelled.segments)
    assert audit(book, spelled, extract=extract).lossless


@pytest.mark.parametrize("text", ["a\t b\u2009c\n\n d ", " 7 ", "", " \n ", "x\n—\ny"])
def test_every_word_is_spoken_and_every_run_of_white_space_is_one_space(text):
    normalized = speak(text, "paragraph", "en", "none")
    assert unspoken_words(text, normalized) == []
    assert normalized.spoken.split(" ") == (normalized.spoken.split() or [""])
    assert len(line_starts(text, "paragraph", "en", "none")) <= text.count("\n")


def test_two_front_ends_do_not_work_on_the_same_words():
    both = Profile(options={"text_funnel": "loudkit"})
    with pytest.raises(ConfigError, match=r"set text\.normalizer to 'none'"):
        both.text_options(max_characters=100, target_characters=50)
    one = Profile(options={"text_funnel": "loudkit"}, text={"normalizer": "none"})
    assert one.text_options(max_characters=100, target_characters=50).normalizer == "none"
    assert Profile().text_options(max_characters=100, target_characters=50).normalizer == "loudr"
