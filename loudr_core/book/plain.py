"""Plain text to one page of HTML: paragraphs, headings, verse, and what Project Gutenberg adds.

Paragraphs are parted by blank lines; in files without them by indents, or each line is one. A short
line that reads `CHAPTER I` or the like is a heading, a stretch of short indented lines is verse.
White space is all that changes, so that the audit can compare every character.
"""

import html
import re
from collections.abc import Iterator
from typing import Final

__all__ = ["text_as_html", "told_by_gutenberg"]

_HEADING: Final = re.compile(
    r"(?:(?:chapter|book|part|volume|letter|canto|act|scene|stave)\s+"
    r"(?:[ivxlcdm]+|\d+|[a-z]+(?:-[a-z]+)?)\b.{0,60}"
    r"|prologue|epilogue|preface|foreword|introduction|afterword|contents|appendix.{0,20}"
    r"|[ivxlcdm]{1,7}\.?)",
    re.I | re.S,
)
_PART: Final = re.compile(r"(?:book|part|volume|act)\s", re.I)
_START: Final = re.compile(
    r"^[ \t]*\*{2,3} ?START OF (?:THE|THIS) PROJECT GUTENBERG E(?:BOOK|TEXT)[^*]{0,300}\*{2,3}"
    r"(?:\s+(?:E-?text )?(?:produced|prepared|transcribed) by(?:[^\n]|\n(?!\s*\n))*)?"
    r"|^[ \t]*\*END[ *]*THE SMALL PRINT![^\n]*$",
    re.M | re.I,
)
_END: Final = re.compile(
    r"^[ \t]*(?:\*{2,3} ?END OF (?:THE|THIS) PROJECT GUTENBERG E(?:BOOK|TEXT)"
    r"|End of (?:the |this )?Project Gutenberg(?:'s|’s)?\b)",
    re.M | re.I,
)
_TOLD: Final = re.compile(r"^(Title|Author|Language):[ \t]*(.+(?:\n[ \t]{2,}\S.*)*)$", re.M)
_PICTURE: Final = re.compile(r"\[Illustration(:?)[^\]]*\]", re.I)
_CUT_WORD: Final = re.compile(r"(?<=[^\W\d_])-\n[ \t]*(?=[a-zà-ÿ])(?!(?:and|or|to|nor)\b)")
_VERSE_LINE: Final = 64
_WRAPPED_LINE: Final = 100
"""Lines of text that is broken by hand are shorter."""


def text_as_html(text: str) -> str:
    """Return plain text as the body of a page.

    Parameters
    ----------
    text : str
        Lines end in newlines.

    Returns
    -------
    str
        Header and licence of Project Gutenberg stand in elements of class `pg-boilerplate`.
    """
    head, body, tail = _parts(text.replace("\f", "\n\n"))
    page = [_boilerplate(head), *map(_element, _paragraphs(body)), _boilerplate(tail)]
    return "\n".join(part for part in page if part)


def told_by_gutenberg(text: str) -> dict[str, list[str]]:
    """Return what Project Gutenberg's header says of title, author and language."""
    head = _parts(text)[0]
    return {
        name.lower(): [" ".join(value.split())] for name, value in reversed(_TOLD.findall(head))
    }


def _parts(text: str) -> tuple[str, str, str]:
    """Return what Project Gutenberg put before the book, the book, and what it put behind."""
    start = _START.search(text)
    begin = start.end() if start else 0
    end = _END.search(text, begin)
    if end is not None and not start and end.start() * 2 < len(text):
        end = None  # a book that speaks of Project Gutenberg
    until = end.start() if end else len(text)
    return text[:begin], text[begin:until], text[until:]


def _boilerplate(text: str) -> str:
    written = "".join(f"<p>{html.escape(p.strip())}</p>" for p in _blocks(text))
    return f'<div class="pg-boilerplate">{written}</div>' if written else ""


def _blocks(text: str) -> Iterator[str]:
    for block in re.split(r"\n[^\S\n]*\n", text):
        if block.strip():
            yield block.strip("\n")


def _paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs, also of files that have no blank lines between them."""
    for block in _blocks(text):
        lines = block.split("\n")
        indented = [line[:1].isspace() for line in lines]
        if len(lines) > 1 and all(len(line) > _WRAPPED_LINE for line in lines[:-1]):
            yield from lines
        elif indented[0] and not all(indented):
            yield from re.split(r"\n(?=[^\S\n])", block)
        else:
            yield block


def _element(paragraph: str) -> str:
    written = html.escape(paragraph.strip())
    line = " ".join(paragraph.split())
    if _HEADING.fullmatch(line.strip(" *_.")):
        tag = "h1" if _PART.match(line) else "h2"
        return f"<{tag}>{written}</{tag}>"
    if (picture := _PICTURE.fullmatch(line)) is not None:
        # a picture without a caption says as much as an alternative text
        tag = "figcaption" if picture[1] else "desc"
        return f"<{tag}>{written}</{tag}>"
    if _is_verse(paragraph):
        return '<div class="verse"><p>' + written.replace("\n", "<br>") + "</p></div>"
    return f"<p>{_CUT_WORD.sub('-', written)}</p>"


def _is_verse(paragraph: str) -> bool:
    """Return whether all lines are indented and short, as verse is in plain text."""
    lines = paragraph.split("\n")
    return len(lines) > 1 and all(len(li) < _VERSE_LINE and li[:2].isspace() for li in lines)
