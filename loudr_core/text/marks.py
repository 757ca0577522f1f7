"""Which marks lie over a stretch of a document, found without looking at the others."""

from collections.abc import Mapping

from loudr_core.book.model import Book, Document, Mark, Span

__all__ = ["MarkIndex", "index_marks"]

_BUCKET = 256
"""Characters of a stream that share a bucket; about a paragraph."""


class MarkIndex:
    """The marks of one document by place, so that a book in one file stays linear.

    Parameters
    ----------
    document : Document
    """

    def __init__(self, document: Document) -> None:
        self._marks = sorted(document.marks, key=lambda mark: mark.start)
        self._buckets: dict[int, list[int]] = {}
        for number, mark in enumerate(self._marks):
            last = max(mark.start, mark.end - 1)
            for bucket in range(mark.start // _BUCKET, last // _BUCKET + 1):
                self._buckets.setdefault(bucket, []).append(number)

    def over(self, span: Span) -> list[Mark]:
        """Return the marks that share a character with a span, by where they start."""
        last = max(span.start, span.end - 1)
        numbers = {
            number
            for bucket in range(span.start // _BUCKET, last // _BUCKET + 1)
            for number in self._buckets.get(bucket, ())
        }
        return [
            mark
            for number in sorted(numbers)
            if (mark := self._marks[number]).end > span.start and mark.start < span.end
        ]


def index_marks(book: Book) -> Mapping[str, MarkIndex]:
    """Return the index of each document's marks."""
    return {href: MarkIndex(document) for href, document in book.documents.items()}
