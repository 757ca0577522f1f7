import pytest

from loudr_core.book.model import Block, Book, Chapter, Document, Mark, Metadata, Span
from loudr_core.errors import BookError
from loudr_core.text.audit import audit
from loudr_core.text.model import Pauses, TextOptions
from loudr_core.text.segment import segment_book
from loudr_core.text.sentences import split_sentences

OPTIONS = TextOptions(max_characters=200, target_characters=120)


def make_book(*chapters, language="en", marks=()):
    """Return a book of one document; a chapter is (title, [(kind, text, extra), …], extra)."""
    text = ""
    made = []
    for title, blocks, extra in chapters:
        made_blocks = []
        for kind, content, block_extra in blocks:
            if text:
                text += "\n"
            span = Span(href="a.xhtml", start=len(text), end=len(text) + len(content))
            text += content
            made_blocks.append(Block(kind=kind, spans=(span,), **block_extra))
        made.append(Chapter(title=title, blocks=tuple(made_blocks), **extra))
    found = []
    for kind, needle, value in marks:
        start = text.index(needle)
        found.append(Mark(kind=kind, start=start, end=start + len(needle), value=value))
    document = Document(href="a.xhtml", text=text, marks=tuple(found))
    return Book(
        metadata=Metadata(title="T", language=language),
        documents={"a.xhtml": document},
        chapters=tuple(made),
        source_sha256="0" * 64,
        format="epub",
    )


def p(text, **extra):
    return ("paragraph", text, extra)


def extract(document):
    return "".join(document.text.split())


def plan(book, options=OPTIONS):
    segmentation = segment_book(book, options)
    assert audit(book, segmentation, extract=extract).lossless
    return segmentation


def spoken(segmentation):
    return [segment.spoken for segment in segmentation.segments]


def test_ids_chapters_and_pauses():
    book = make_book(
        (
            "One",
            [
                ("heading", "One", {}),
                p("First words. " * 12),
                p("More of it, and at some length, so that it stands alone here."),
            ],
            {},
        ),
        ("Empty", [], {}),
        ("Two", [("heading", "Two", {}), p("Last.")], {}),
    )
    result = plan(book)
    assert [chapter.title for chapter in result.chapters] == ["One", "Two"]
    assert [chapter.number for chapter in result.chapters] == [1, 2]
    assert [segment.segment_id for segment in result.segments] == [
        "c001-s0001", "c001-s0002", "c001-s0003", "c001-s0004", "c002-s0001", "c002-s0002",
    ]  # fmt: skip
    pauses = Pauses()
    assert [segment.pause_after_ms for segment in result.segments] == [
        pauses.heading, pauses.sentence, pauses.paragraph, pauses.chapter, pauses.heading,
        pauses.chapter,
    ]  # fmt: skip
    assert [segment.ordinal for segment in result.segments] == list(range(6))


def test_short_lines_share_a_segment_and_say_where_they_start():
    book = make_book(("One", [p("“Yes.”"), p("“No.”"), p("“Why not?”")], {}))
    result = plan(book)
    assert spoken(result) == ['"Yes." "No." "Why not?"']
    (segment,) = result.segments
    assert segment.text == "“Yes.”\n“No.”\n“Why not?”"
    assert [segment.spoken[offset:][:4] for offset in segment.inner] == ['"No.', '"Why']
    assert len(segment.spans) == 3
    apart = TextOptions(max_characters=200, target_characters=120, merge_short=False)
    assert len(plan(book, apart).segments) == 3


def test_nothing_is_merged_across_a_scene_break_kind_or_language():
    book = make_book(
        ("One", [
            p("Yes."), ("scene_break", "* * *", {}), p("No."), ("list_item", "Eggs.", {}),
            p("Oui.", language="fr"), p("Ja.", language="de"),
        ], {})
    )  # fmt: skip
    result = plan(book)
    assert spoken(result) == ["Yes.", "No.", "Eggs.", "Oui.", "Ja."]
    assert result.segments[0].pause_after_ms == Pauses().scene_break
    assert [segment.language for segment in result.segments[-2:]] == ["fr", "de"]


def test_a_sentence_in_another_language_is_a_segment_of_its_own():
    book = make_book(
        ("One", [p("He stood up. C’est 5 francs. She laughed.")], {}),
        marks=[("language", "C’est 5 francs.", "fr")],
    )
    result = plan(book)
    assert [(s.language, s.spoken) for s in result.segments] == [
        ("en", "He stood up."), ("fr", "C'est cinq francs."), ("en", "She laughed."),
    ]  # fmt: skip


def test_an_overlong_sentence_is_cut_at_the_strongest_mark():
    left = "the rain had come down all that night upon the roofs of the town, and all the next day"
    right = (
        "nobody went out, nobody called, and the river rose until it stood at the doors of the mill"
    )
    book = make_book(("One", [p(f"{left}, as they say, without an end; {right}.")], {}))
    result = plan(book)
    assert [segment.spoken[-1] for segment in result.segments] == [";", "."]
    words = make_book(("One", [p("word " * 200)], {}))
    assert all(len(segment.spoken) <= 200 for segment in plan(words).segments)
    blob = make_book(("One", [p("x" * 1000)], {}))
    assert all(len(segment.spoken) <= 200 for segment in plan(blob).segments)


@pytest.mark.parametrize("size", [20, 45, 128, 400])
def test_no_segment_exceeds_the_limit(size):
    text = "On 3 May 1907 Mr. Lund paid $1,999,999.99 (i.e. a lot) to Dr. Osei; then he left. " * 6
    book = make_book(("One", [p(text), ("heading", "A very long heading " * 8, {})], {}))
    options = TextOptions(max_characters=size, target_characters=size)
    for segment in plan(book, options).segments:
        assert len(segment.spoken) <= size or len(segment.text.split()) == 1


def test_hidden_marks_and_note_marks_leave_holes_with_a_reason():
    book = make_book(
        ("One", [p("The king12 was here. Unseen. Gone.")], {}),
        marks=[("note_ref", "12", "a.xhtml#n1"), ("hidden", "Unseen. ", "")],
    )
    result = plan(book)
    assert spoken(result) == ["The king was here. Gone."]
    assert {item.reason for item in result.left_out} == {"note_mark", "hidden"}
    kept = TextOptions(max_characters=200, target_characters=120, note_marks="read")
    assert "king twelve" in plan(book, kept).segments[0].spoken


def test_an_initial_in_a_picture_is_read_and_other_alt_text_by_policy():
    book = make_book(
        ("One", [p("Once upon a time."), p("A ship at sea A caption here.")], {}),
        marks=[("alt", "O", ""), ("alt", "A ship at sea", "")],
    )
    assert spoken(plan(book)) == ["Once upon a time. A caption here."]
    read = TextOptions(max_characters=200, target_characters=120, alt_text="read")
    assert "A ship at sea" in " ".join(spoken(plan(book, read)))


def note_book():
    return make_book(
        ("One", [p("He came.1 She went."), ("note", "The first note.", {"note_id": "a.xhtml#n1"}),
                 p("The chapter goes on after the note, at some length, and then it ends.")], {}),
        ("Two", [p("Later.2 Much later.")], {}),
        ("Notes", [("heading", "Notes", {}),
                   ("note", "The second note.", {"note_id": "a.xhtml#n2"})], {"role": "back"}),
        marks=[("note_ref", "1", "a.xhtml#n1"), ("note_ref", "2", "a.xhtml#n2")],
    )  # fmt: skip


def test_notes_move_to_the_end_of_the_chapter_that_calls_them():
    result = plan(note_book())
    assert [chapter.title for chapter in result.chapters] == ["One", "Two"]
    by_chapter = {}
    for segment in result.segments:
        by_chapter.setdefault(segment.chapter, []).append(segment.spoken)
    assert by_chapter[1][-1] == "The first note."
    assert by_chapter[2] == ["Later. Much later.", "The second note."]
    moved = [claim for claim in result.claims if claim.reason == "moved"]
    assert len(moved) == 2
    assert all(claim.segment_id for claim in moved)
    assert ("Notes", "note") in [(item.chapter, item.reason) for item in result.left_out]


def test_notes_can_be_left_out_or_read_in_place():
    without = plan(
        note_book(), TextOptions(max_characters=200, target_characters=120, notes="omit")
    )
    assert "The first note." not in spoken(without)
    assert [item.reason for item in without.left_out].count("note") == 3
    placed = plan(
        note_book(), TextOptions(max_characters=200, target_characters=120, notes="in_place")
    )
    assert spoken(placed).index("The first note.") == 1
    assert spoken(placed)[-1] == "The second note."


def test_a_note_that_nobody_calls_is_read_where_it_stands():
    book = make_book(("One", [p("Text."), ("note", "Alone.", {"note_id": "a.xhtml#n"})], {}))
    assert spoken(plan(book)) == ["Text.", "Alone."]


def test_boilerplate_is_left_out_by_semantics_or_title():
    book = make_book(
        ("Imprint", [p("Made somewhere.")], {"semantics": frozenset({"imprint"}), "role": "front"}),
        ("Title Page", [p("T, by A.")], {"role": "front"}),
        ("One", [p("Text.")], {}),
    )
    result = plan(book)
    assert spoken(result) == ["Text."]
    assert [item.reason for item in result.left_out] == ["boilerplate", "boilerplate"]
    assert result.chapters[0].number == 1
    read = TextOptions(max_characters=200, target_characters=120, boilerplate="read")
    assert len(plan(book, read).chapters) == 3


def test_titles_that_no_block_says_are_generated():
    book = make_book(("Part IV", [p("Text.")], {"title_in_text": False}))
    result = plan(book)
    first = result.segments[0]
    assert (first.origin, first.kind, first.spoken, first.spans) == (
        "generated", "title", "Part Four.", (),
    )  # fmt: skip
    silent = TextOptions(max_characters=200, target_characters=120, announce_titles=False)
    assert spoken(plan(book, silent)) == ["Text."]


def test_a_part_without_a_page_is_announced_and_a_picture_page_is_not():
    book = make_book(
        ("Plates", [], {"title_in_text": False}),
        ("Part II", [], {"title_in_text": False}),
        ("One", [p("Text.")], {"level": 1}),
    )
    result = plan(book)
    assert [chapter.title for chapter in result.chapters] == ["Part II", "One"]
    assert spoken(result) == ["Part Two.", "Text."]


def test_list_numbers_of_a_style_sheet_are_generated_and_bullets_are_not():
    items = [("Eggs.", "1."), ("Milk.", "2."), ("Bread.", "•")]
    blocks = [("list_item", text, {"generated": number}) for text, number in items]
    result = plan(make_book(("One", blocks, {})))
    assert [(s.origin, s.spoken) for s in result.segments] == [
        ("generated", "one."), ("source", "Eggs."), ("generated", "two."),
        ("source", "Milk. Bread."),
    ]  # fmt: skip


def test_numbers_of_lists_may_be_left_unsaid():
    blocks = [("list_item", "Eggs.", {"generated": "1."})]
    options = TextOptions(max_characters=200, target_characters=120, list_numbers="omit")
    assert spoken(plan(make_book(("One", blocks, {})), options)) == ["Eggs."]


def test_the_letter_of_a_list_before_a_heading_is_no_roman_numeral():
    result = plan(make_book(("One", [("heading", "Mix", {"generated": "I."}), p("Text.")], {})))
    assert spoken(result) == ["I.", "Mix.", "Text."]


def test_short_items_that_share_a_segment_are_parted():
    items = ["eggs", "2 cups of milk", "Bread"]
    result = plan(make_book(("One", [("list_item", text, {}) for text in items], {})))
    assert spoken(result) == ["eggs. two cups of milk. Bread"]
    result = plan(make_book(("One", [("list_item", text, {}) for text in ["eggs", "milk"]], {})))
    assert spoken(result) == ["eggs, milk"]


def test_a_word_broken_at_a_line_is_one_word():
    result = plan(make_book(("One", [p("The self-\nmade man."), p("An end.")], {})))
    assert spoken(result)[0].startswith("The self-made man.")
    result = plan(make_book(("One", [p("The pre-\nand post-war man."), p("An end.")], {})))
    assert spoken(result)[0].startswith("The pre- and post-war man.")


@pytest.mark.parametrize(
    "amount", ["of £2 10s. 6d. a year", "of 6 ft. 2 in. at least", "from 2001–05 in all"]
)
def test_a_cut_parts_no_amount(amount):
    sentence = f"They had counted a good deal {amount}, as they said, and were glad of it."
    for limit in range(60, 120):
        options = TextOptions(max_characters=limit, target_characters=limit)
        for segment in plan(make_book(("One", [p(sentence)], {})), options).segments:
            assert not segment.text.rstrip().endswith(("10s.", "ft.", "–"))


def test_tables_code_and_captions_follow_their_policies():
    blocks = [("table", "a b", {}), ("code", "x = 1", {}), ("caption", "A map", {}), p("Text.")]
    result = plan(make_book(("One", blocks, {})))
    assert spoken(result) == ["a b", "A map", "Text."]
    assert [item.reason for item in result.left_out] == ["code"]


def test_a_block_without_words_is_claimed_as_such():
    result = plan(make_book(("One", [p("Text."), p("— — —"), p("More.")], {})))
    assert [claim.reason for claim in result.claims] == ["", "no_words", ""]


def test_a_lost_chapter_is_a_severe_finding_and_has_no_number():
    book = make_book(("Lost", [], {"lost": True}), ("One", [p("Text.")], {}))
    result = plan(book)
    assert [(f.code, f.severity) for f in result.findings] == [("text-chapter-lost", "error")]
    assert [chapter.title for chapter in result.chapters] == ["One"]


def test_a_book_with_nothing_to_read_is_refused_in_one_line():
    book = make_book(("One", [p("***")], {}))
    with pytest.raises(BookError, match="nothing to read") as caught:
        segment_book(book, OPTIONS)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(("limit", "target"), [(0, 0), (100, 0), (100, 101)])
def test_options_that_cannot_be_are_refused(limit, target):
    with pytest.raises(ValueError, match="target_characters"):
        segment_book(make_book(), TextOptions(max_characters=limit, target_characters=target))


def test_books_of_the_shared_set_pass_the_audit(test_data):
    from loudr_core.book.read import read_book

    options = TextOptions(max_characters=400, target_characters=300)
    for name in ("c01_order_nested", "c04_broken_refs", "c06_inline", "idpf_wasteland"):
        book = read_book(test_data / f"epubs/{name}.epub")
        segmentation = segment_book(book, options)
        report = audit(book, segmentation)
        assert report.lossless
        assert report.source_chars == report.claimed_chars >= report.spoken_chars > 0
        assert max(len(segment.spoken) for segment in segmentation.segments) <= 400


def test_a_note_that_a_note_calls_follows_it():
    note = {"note_id": "a.xhtml#n1"}
    inner = {"note_id": "a.xhtml#n2"}
    book = make_book(
        (
            "One",
            [
                p("Read me1 first."),
                ("note", "Outer one*.", note),
                ("note", "Inner one.", inner),
                p("The end."),
            ],
            {},
        ),
        marks=[("note_ref", "1", "a.xhtml#n1"), ("note_ref", "*", "a.xhtml#n2")],
    )
    assert spoken(plan(book)) == ["Read me first. The end.", "Outer one.", "Inner one."]


@pytest.mark.parametrize(
    "sentence",
    [
        "He paid £3 4s. 6d. for it.",
        "It was c. 1850 that he came.",
        "It cost 10l. 5s. 6d. in all.",
    ],
)
def test_figures_stay_with_the_abbreviation_before_them(sentence):
    assert split_sentences(f"{sentence} She stayed.", "en")[0] == (0, len(sentence) + 1)


def test_the_cells_of_a_row_share_a_segment():
    cells = [("Name", 1), ("Age", 1), ("Ann", 2), ("7", 2)]
    book = make_book(("One", [p("See:")] + [("table", t, {"level": r}) for t, r in cells], {}))
    assert spoken(plan(book)) == ["See:", "Name, Age", "Ann, seven"]


@pytest.mark.parametrize("title", ["Mr.", "Mrs.", "Dr.", "St.", "Capt.", "J."])
@pytest.mark.parametrize("limit", [60, 75, 90])
def test_a_cut_in_a_long_sentence_leaves_a_title_with_its_name(title, limit):
    words = "the ladies all declared that he was very much handsomer than"
    book = make_book(
        ("One", [p(f"{words} {title} Bingley and {words} {title} Darcy was. Yes.")], {})
    )
    options = TextOptions(max_characters=limit, target_characters=limit)
    result = plan(book, options)
    assert len(result.segments) >= 2
    for segment in result.segments:
        assert not segment.text.endswith(title)
