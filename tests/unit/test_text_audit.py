from dataclasses import replace

import pytest

from loudr_core.book.model import Block, Book, Chapter, Document, Metadata, Span
from loudr_core.errors import BookError
from loudr_core.text.audit import audit
from loudr_core.text.model import TextOptions
from loudr_core.text.segment import segment_book

TEXT = "The first paragraph says this.\nThe second paragraph says that."
CUT = TEXT.index("\n")


def book():
    spans = [
        Span(href="a.xhtml", start=0, end=CUT),
        Span(href="a.xhtml", start=CUT + 1, end=len(TEXT)),
    ]
    return Book(
        metadata=Metadata(title="T", language="en"),
        documents={"a.xhtml": Document(href="a.xhtml", text=TEXT)},
        chapters=(
            Chapter(title="One", blocks=tuple(Block(kind="paragraph", spans=(s,)) for s in spans)),
        ),
        source_sha256="0" * 64,
        format="text",
    )


def extract(document):
    return "".join(document.text.split())


def plan():
    return segment_book(
        book(), TextOptions(max_characters=80, target_characters=40, merge_short=False)
    )


def refused(segmentation, match, extract=extract):
    with pytest.raises(BookError, match=match) as caught:
        audit(book(), segmentation, extract=extract)
    assert "\n" not in caught.value.message
    return caught.value


def with_segment(segmentation, index, **changes):
    segments = list(segmentation.segments)
    segments[index] = replace(segments[index], **changes)
    return replace(segmentation, segments=tuple(segments))


def test_a_whole_plan_passes_and_is_counted():
    report = audit(book(), plan(), extract=extract)
    visible = len("".join(TEXT.split()))
    assert report.lossless
    assert (report.source_chars, report.claimed_chars, report.spoken_chars) == (visible,) * 3


def test_text_without_a_claim_names_document_position_and_excerpt():
    plan_ = plan()
    error = refused(replace(plan_, claims=plan_.claims[:1]), "no segment and no omission claims")
    assert error.context["href"] == "a.xhtml"
    assert error.context["position"] == CUT + 1
    assert "second" in str(error.context["excerpt"])
    assert "a.xhtml" in error.message
    assert str(CUT + 1) in error.message


def test_overlapping_claims():
    plan_ = plan()
    wide = replace(plan_.claims[1], start=5)
    refused(replace(plan_, claims=(plan_.claims[0], wide)), "overlap")


@pytest.mark.parametrize(("start", "end"), [(-1, 5), (5, 5), (3, 9999)])
def test_a_claim_outside_the_text(start, end):
    plan_ = plan()
    refused(
        replace(plan_, claims=(replace(plan_.claims[0], start=start, end=end), *plan_.claims[1:])),
        "empty or outside",
    )


def test_a_claim_on_no_document():
    plan_ = plan()
    refused(
        replace(plan_, claims=(replace(plan_.claims[0], href="b"), *plan_.claims[1:])),
        "no document",
    )


def test_a_claim_with_both_or_neither_of_segment_and_reason():
    plan_ = plan()
    for changes in ({"segment_id": ""}, {"reason": "hidden"}):
        claims = (replace(plan_.claims[0], **changes), plan_.claims[1])
        refused(replace(plan_, claims=claims), "either a segment or a reason")


def test_a_moved_claim_must_be_read_by_a_segment():
    plan_ = plan()
    claims = (replace(plan_.claims[0], segment_id="", reason="moved"), plan_.claims[1])
    refused(replace(plan_, claims=claims), "read by no segment")


def test_segment_text_must_be_its_slices():
    refused(with_segment(plan(), 0, text="The first paragraph says."), "slices joined")
    refused(with_segment(plan(), 0, text="The first paragraph says this. And more."), "longer than")


def test_segments_must_ascend():
    plan_ = plan()
    refused(replace(plan_, segments=plan_.segments[::-1]), "precedes it")


def test_a_moved_segment_need_not_ascend():
    plan_ = plan()
    first = plan_.segments[0].segment_id
    claims = tuple(
        replace(claim, reason="moved") if claim.segment_id == first else claim
        for claim in plan_.claims
    )
    moved = replace(plan_, segments=plan_.segments[::-1], claims=claims)
    assert audit(book(), moved, extract=extract).lossless


def test_a_segment_must_say_something_and_say_its_text():
    refused(with_segment(plan(), 0, spoken="..."), "nothing of it would be spoken")
    refused(with_segment(plan(), 0, spoken="Something else."), "not its text normalised")


def test_a_word_must_not_vanish(monkeypatch):
    import loudr_core.text.audit as module
    from loudr_core.text.draft import Draft

    def forgetful(text, kind, language, normalizer):
        draft = Draft(text)
        import re

        draft.rewrite("forget", re.compile("paragraph "), "")
        return draft.finish()

    plan_ = plan()
    monkeypatch.setattr(module, "speak", forgetful)
    shorter = replace(
        plan_,
        segments=tuple(
            replace(s, spoken=s.spoken.replace("paragraph ", "")) for s in plan_.segments
        ),
    )
    refused(shorter, "'paragraph' would not be spoken")


def test_spans_and_claims_must_agree():
    plan_ = plan()
    span = replace(plan_.segments[0].spans[0], end=5)
    refused(with_segment(plan_, 0, spans=(span,), text="The f"), "not what is claimed")
    refused(replace(plan_, segments=plan_.segments[:1]), "does not exist")


def test_the_stream_must_equal_the_raw_document():
    error = refused(
        plan(),
        "differs from the raw document",
        extract=lambda document: extract(document)[:-5] + "thus.",
    )
    assert error.context["position"] == TEXT.rindex("that.") + 2
    refused(plan(), "differs", extract=lambda document: "")
