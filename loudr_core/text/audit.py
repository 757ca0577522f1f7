"""The proof that a plan loses nothing: the lossless rule, clause by clause.

It reads the finished segmentation and trusts none of the code that made it, save the normaliser,
which it runs again. The last clause compares each stream with an extraction of the raw document
that shares no code with the walker.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NoReturn

from loudr_core.book.extract import extract_characters
from loudr_core.book.model import Book, Document
from loudr_core.errors import BookError
from loudr_core.text.draft import unspoken_words
from loudr_core.text.model import Claim, Normalizer, Segment, Segmentation
from loudr_core.text.speak import has_word, speak

__all__ = ["AuditReport", "audit"]

_EXCERPT = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """What the audit counted; it exists only for a plan that passed.

    Parameters
    ----------
    source_chars : int
        Characters of all streams that are no white space.
    claimed_chars : int
        Those of them that are claimed; equal to `source_chars`.
    spoken_chars : int
        Those of them that a segment speaks.
    lossless : bool
        True.
    """

    source_chars: int
    claimed_chars: int
    spoken_chars: int
    lossless: bool


def audit(
    book: Book,
    segmentation: Segmentation,
    *,
    extract: Callable[[Document], str] = extract_characters,
) -> AuditReport:
    """Check a segmentation against the lossless rule.

    Parameters
    ----------
    book : Book
    segmentation : Segmentation
    extract : callable
        Returns the characters of a raw document without white space.

    Returns
    -------
    AuditReport

    Raises
    ------
    BookError
        A clause does not hold; the message names the document, the position and an excerpt.
    """
    for document in book.documents.values():
        _check_extraction(document, extract(document))
    source = claimed = spoken = 0
    by_document: dict[str, list[Claim]] = {href: [] for href in book.documents}
    for claim in segmentation.claims:
        if claim.href not in by_document:
            raise BookError(
                f"a claim names {claim.href}, which is no document of the book", href=claim.href
            )
        by_document[claim.href].append(claim)
    for href, document in book.documents.items():
        claims = sorted(by_document[href], key=lambda claim: (claim.start, claim.end))
        _check_claims(document, claims)
        source += _visible(document.text)
        for claim in claims:
            count = _visible(document.text[claim.start : claim.end])
            claimed += count
            spoken += count if claim.segment_id else 0
    _check_segments(book, segmentation)
    return AuditReport(
        source_chars=source, claimed_chars=claimed, spoken_chars=spoken, lossless=source == claimed
    )


def _visible(text: str) -> int:
    return len("".join(text.split()))


def _refuse(document: Document, position: int, what: str) -> NoReturn:
    excerpt = document.text[max(0, position - 10) : position + _EXCERPT].replace("\n", " ")
    raise BookError(
        f"{document.href}, character {position}: {what}, near {excerpt!r}",
        href=document.href,
        position=position,
        excerpt=excerpt,
    )


def _check_extraction(document: Document, raw: str) -> None:
    folded = "".join(document.text.split())
    if folded == raw:
        return
    at = next(
        (
            index
            for index, (left, right) in enumerate(zip(folded, raw, strict=False))
            if left != right
        ),
        min(len(folded), len(raw)),
    )
    position = _position_of(document.text, at)
    found = raw[at : at + _EXCERPT]
    _refuse(
        document,
        position,
        f"the text read differs from the raw document, which has {found!r} there",
    )


def _position_of(text: str, visible: int) -> int:
    """Return where the visible character with a number stands in a stream."""
    for position, character in enumerate(text):
        if not character.isspace():
            if visible == 0:
                return position
            visible -= 1
    return len(text)


def _check_claims(document: Document, claims: list[Claim]) -> None:
    position = 0
    for claim in claims:
        if not 0 <= claim.start < claim.end <= len(document.text):
            _refuse(
                document,
                claim.start,
                f"a claim [{claim.start}, {claim.end}) is empty or outside the text",
            )
        if claim.start < position:
            _refuse(document, claim.start, "two claims overlap")
        if bool(claim.segment_id) == bool(claim.reason) and claim.reason != "moved":
            _refuse(document, claim.start, "a claim must have either a segment or a reason")
        if claim.reason == "moved" and not claim.segment_id:
            _refuse(document, claim.start, "a moved note is read by no segment")
        _check_gap(document, position, claim.start)
        position = claim.end
    _check_gap(document, position, len(document.text))


def _check_gap(document: Document, start: int, end: int) -> None:
    gap = document.text[start:end]
    if gap and not gap.isspace():
        _refuse(
            document,
            start + len(gap) - len(gap.lstrip()),
            "text that no segment and no omission claims",
        )


def _check_segments(book: Book, segmentation: Segmentation) -> None:
    claimed: dict[str, list[tuple[str, int, int]]] = {}
    moved: set[str] = set()
    order = {href: place for place, href in enumerate(book.documents)}
    for claim in segmentation.claims:
        if claim.segment_id:
            claimed.setdefault(claim.segment_id, []).append((claim.href, claim.start, claim.end))
        if claim.reason == "moved":
            moved.add(claim.segment_id)
    position = (-1, 0)
    for segment in segmentation.segments:
        if not has_word(segment.spoken):
            _refuse_segment(book, segment, "nothing of it would be spoken")
        places = [(span.href, span.start, span.end) for span in segment.spans]
        if sorted(places) != sorted(claimed.pop(segment.segment_id, [])):
            _refuse_segment(book, segment, "its spans are not what is claimed for it")
        if segment.origin == "source" and not places:
            _refuse_segment(book, segment, "it stands nowhere in the book")
        ordered = [(order[href], start) for href, start, _ in places]
        if any(left >= right for left, right in pairwise(ordered)):
            _refuse_segment(book, segment, "its spans do not ascend")
        if ordered and segment.segment_id not in moved:
            if ordered[0] < position:
                _refuse_segment(book, segment, "it stands before the segment that precedes it")
            position = ordered[-1]
        _check_text(book, segment)
        _check_words(book, segment, segmentation.normalizer)
    for segment_id, places in claimed.items():
        href, start, _ = places[0]
        _refuse(
            book.documents[href], start, f"claimed for segment {segment_id}, which does not exist"
        )


def _refuse_segment(book: Book, segment: Segment, what: str) -> NoReturn:
    if segment.spans:
        span = segment.spans[0]
        _refuse(book.documents[span.href], span.start, f"segment {segment.segment_id}: {what}")
    raise BookError(
        f"generated segment {segment.segment_id}, {segment.text[:_EXCERPT]!r}: {what}",
        segment=segment.segment_id,
    )


def _check_text(book: Book, segment: Segment) -> None:
    if not segment.spans:
        return
    at = 0
    for index, span in enumerate(segment.spans):
        piece = book.text_of(span)
        if index and segment.text[at : at + 1] == "\n" and not segment.text.startswith(piece, at):
            at += 1
        if not segment.text.startswith(piece, at):
            _refuse_segment(book, segment, "its text is not its slices joined")
        at += len(piece)
    if at != len(segment.text):
        _refuse_segment(book, segment, "its text is longer than its slices joined")


def _check_words(book: Book, segment: Segment, normalizer: Normalizer) -> None:
    normalized = speak(segment.text, segment.kind, segment.language, normalizer)
    if normalized.spoken != segment.spoken:
        _refuse_segment(book, segment, "what is spoken is not its text normalised")
    missing = unspoken_words(segment.text, normalized)
    if missing:
        start, end = missing[0]
        _refuse_segment(book, segment, f"the word {segment.text[start:end]!r} would not be spoken")
