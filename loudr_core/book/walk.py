"""The fold: one walk over a document's body that makes its stream, blocks, marks and anchors.

Text nodes and alternative texts go into one string in document order. Script, style and template
stay outside. Soft hyphens, zero-width spaces, word joiners, byte order marks and bidi controls are
deleted (ZWJ and ZWNJ stay, since they shape words); Latin ligatures become their letters; the C1
codes that old files carry become the Windows-1252 characters they were meant to be. Runs of white
space become one space, `br` one newline, a block boundary one newline, an inline boundary nothing.
So two blocks are always parted by exactly one newline that belongs to neither.

`extract` does the same from the raw bytes by other means; keep the two apart.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from loudr_core.book.archive import is_remote, resolve, split_fragment
from loudr_core.book.blocks import (
    OUTSIDE,
    Context,
    enter,
    is_block,
    is_boilerplate,
    is_hidden,
    is_scene_break,
    words_of,
)
from loudr_core.book.languages import language_tag
from loudr_core.book.lists import LISTS, UNNUMBERED, item_numbers, says_number
from loudr_core.book.model import Block, Mark, MarkKind, Span
from loudr_core.book.parse import C1, Element, attribute, first, local_name
from loudr_core.book.styles import NO_STYLES, Styles

__all__ = ["FOLD", "Section", "Walked", "walk"]

_DELETED: Final = (
    [0x00AD, 0x200B, 0x2060, 0xFEFF, 0x061C, 0x200E, 0x200F]
    + list(range(0x202A, 0x202F))
    + list(range(0x2066, 0x206A))
    + [c for c in range(0x20) if not chr(c).isspace()]
    + [0x7F]
)
_LIGATURES: Final = dict(
    zip(range(0xFB00, 0xFB07), ("ff", "fi", "fl", "ffi", "ffl", "st", "st"), strict=True)
)
FOLD: Final[dict[int, str | None]] = {**dict.fromkeys(_DELETED), **_LIGATURES, **C1}
"""Character by character part of the fold, for `str.translate`."""

_SECTIONS: Final = frozenset({"section", "article", "div", "nav", "main"})
_LEVELLED: Final = frozenset({"heading", "title", "list_item"})
_EMPHASIS: Final = frozenset({"em", "i", "strong", "b"})
_NOTE_SIGN: Final = re.compile(r"[\[(]?(?:\d{1,4}|[*†‡§¶‖]{1,4}|[a-z]|[ivxlc]{1,6})[\])]?", re.I)
_RAISED_SIGN: Final = re.compile(r"\d{1,3}(?: ?[,–-] ?\d{1,3}){0,7}|[*†‡§¶‖]{1,3}|\[\d{1,3}\]")
_BEFORE_RAISED: Final = re.compile(
    r"(?!.?(?:sec|min|log|sin|cos|tan|exp)\Z)[^\W\d_]?[^\W\d_]{3}\Z|[.,;:!?)\]”’\"']\Z"
)
"""Behind a short word a raised figure may be a power: `cm²`."""
_BEFORE_RAISED_YEAR: Final = re.compile(r"(?:\A|[^\w.,])(?:1[1-9]|20)\d\d\s?\Z")
_INITIAL_NAMED: Final = re.compile(
    r"(?:(?:the|an?|large|ornate|decorated|illuminated|illustrated|decorative|initial|drop|drop-?cap|"
    r"cap|capital|letter)[\s:-]+)+[\"“‘']?([A-Z])[\"”’']?\Z",
    re.I,
)
_LINE_NUMBER: Final = re.compile(r"(?:^|[\s_-])(?:lnum|linenum|line-?number|pagenum)(?:$|[\s_-])")
_BACK_SIGN: Final = re.compile(r"[↩↑⤴⏎←^\s\uFE0E]+")


@dataclass(frozen=True, slots=True)
class Section:
    """A block element with semantics, and the stretch of stream it covers."""

    start: int
    end: int
    words: frozenset[str]
    depth: int
    """Sections with semantics around it."""


@dataclass(slots=True)
class Walked:
    """What one walk found; intervals are on `text`."""

    text: str = ""
    blocks: list[Block] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    anchors: dict[str, int] = field(default_factory=dict)
    links: list[Mark] = field(default_factory=list)
    """Links of a number only that open a block: a note's way back, if the place calls the note."""
    sections: list[Section] = field(default_factory=list)
    semantics: frozenset[str] = frozenset()
    heading_title: str = ""
    """The head's `title`, for a chapter that nothing else names."""
    names_itself: bool = False
    """`heading_title` is one that the author wrote for a reader, so that it may be announced."""
    left_out: int = 0
    """Script, style and template elements inside the body."""


def walk(root: Element, *, href: str, language: str = "", styles: Styles = NO_STYLES) -> Walked:
    """Fold a parsed document.

    Parameters
    ----------
    root : element
        Of `parse.parse_document`.
    href : str
        Path of the document inside the archive; spans carry it.
    language : str
        The book's BCP 47 tag: stretches of another language are marked.
    styles : Styles
        What the document's style sheets hide.
    """
    fold = _Fold(href, language, styles)
    head, body = first(root, "head"), first(root, "body")
    if head is not None and (title := first(head, "title")) is not None:
        fold.out.heading_title = " ".join("".join(title.itertext()).split())
    fold.run(root)  # all but the head: a mended page may have text beside its body
    outermost = words_of(root) | (frozenset() if body is None else words_of(body))
    for section in fold.out.sections:
        if section.depth == 0:
            outermost |= section.words
    fold.out.semantics = outermost
    fold.out.marks.sort(key=lambda mark: (mark.start, -mark.end))
    return fold.out


@dataclass(slots=True)
class _Open:
    """An element that the walk is inside of."""

    element: Element
    context: Context
    start: int | None = None
    """Index of its first character, once there is one."""
    marks: tuple[tuple[MarkKind, str], ...] = ()
    words: frozenset[str] = frozenset()
    block: bool = False
    section: bool = False
    depth: int = 0
    numbers: Iterator[str] | None = None
    """Of a list: the numbers of its items that are still to come."""


class _Fold:
    def __init__(self, href: str, language: str, styles: Styles) -> None:
        self.href = href
        self.language = language
        self.styles = styles
        self.out = Walked()
        self._parts: list[str] = []
        self._length = 0
        self._gap = ""  # "", " ", "\n" inside a block, or "\n\n" for a block boundary
        self._block_start: int | None = None
        self._block_context = Context()
        self._stack: list[_Open] = []
        self._waiting: list[_Open] = []
        self._ids: list[str] = []
        self._rows = 0  # of tables, so far
        self._numbers: list[tuple[_Open, str]] = []  # of items whose text is still to come
        self._block_number = ""
        self._in_alternative = False

    def run(self, root: Element) -> None:
        """Walk without recursion, so that depth costs no Python stack."""
        todo: list[tuple[str, Element]] = [("open", root)]
        while todo:
            step, element = todo.pop()
            if step == "tail":
                self._add_text(element.tail)
            elif step == "close":
                self._close()
            elif self._open(element):
                todo.append(("close", element))
                for child in reversed(element):
                    todo.append(("tail", child))
                    if isinstance(child.tag, str):
                        todo.append(("open", child))
                self._add_text(element.text)
        self._end_block()
        for name in self._ids:
            self.out.anchors.setdefault(name, self._length)
        self.out.text = "".join(self._parts)

    # Elements

    def _open(self, element: Element) -> bool:
        """Enter an element; return whether its content belongs to the stream."""
        name = local_name(element)
        if name in OUTSIDE or (name == "title" and not self._in_drawing()):
            self.out.left_out += name != "head"
            return False
        self._ids.extend(v for v in (element.get("id"), _anchor_name(element)) if v)
        self._rows += name == "tr"
        if name == "br":
            self._break_line()
        elif name == "hr":
            self._scene_break()
        around = self._stack[-1].context if self._stack else Context()
        context = enter(around, element, href=self.href)
        block = is_block(element)
        if name in {"sup", "sub"} and self._is_figure_raised(element):
            self._gap = " "  # or "10" and its power would be one number
        if block:
            self._end_block()
        words = words_of(element)
        here = _Open(element, context, None, self._marks_of(element, around, words), words, block)
        if self._stack:
            here.section = bool(words) and name in _SECTIONS
            here.depth = self._stack[-1].depth + self._stack[-1].section
        self._number(here, name)
        self._stack.append(here)
        self._waiting.append(here)
        self._add_alternative(element, name)
        return True

    def _number(self, here: _Open, name: str) -> None:
        """Work out the numbers of a list that begins; take the next one for an item that begins."""
        if name in LISTS:
            if not self._is_unnumbered(here):
                here.numbers = iter(item_numbers(here.element, self.styles))
        elif name == "li":
            around = (o for o in reversed(self._stack) if local_name(o.element) in LISTS)
            owner = next(around, None)
            held = None if owner is None else owner.numbers
            number = "" if held is None else next(held, "")
            if number and not here.context.note_id:
                self._numbers.append((here, number))

    def _is_unnumbered(self, here: _Open) -> bool:
        """Return whether numbers of a list are said elsewhere: a note's, a verse's, a contents'."""
        context = here.context
        return bool(context.note_id or context.in_notes or context.in_verse) or any(
            opened.words & UNNUMBERED or local_name(opened.element) == "nav"
            for opened in (*self._stack, here)
        )

    def _in_drawing(self) -> bool:
        return any(local_name(opened.element) == "svg" for opened in self._stack)

    def _close(self) -> None:
        here = self._stack.pop()
        if here.block:
            self._end_block()
        self._numbers = [held for held in self._numbers if held[0] is not here]
        if here.start is None:
            self._waiting = [w for w in self._waiting if w is not here]
            return
        start, end = here.start, self._length
        raised = self._raised_number(here, start)
        for kind, value in (*here.marks, *raised, *self._note_marks(here, start)):
            self.out.marks.append(Mark(kind=kind, start=start, end=end, value=value))
        if here.section:
            self.out.sections.append(Section(start, end, here.words, here.depth))

    def _marks_of(
        self, element: Element, around: Context, words: frozenset[str]
    ) -> tuple[tuple[MarkKind, str], ...]:
        found: list[tuple[MarkKind, str]] = []
        name = local_name(element)
        if is_hidden(element) or self.styles.hides(element):
            found.append(("hidden", ""))
        if is_boilerplate(element):
            found.append(("boilerplate", ""))
        if name in {"title", "desc"}:  # of a drawing
            found.append(("alt", ""))
        if name in {"rt", "rp", "rtc"}:
            found.append(("ruby_reading", ""))
        if "pagebreak" in words or _LINE_NUMBER.search(element.get("class", "").lower()):
            found.append(("page_break", ""))
        if name in _EMPHASIS:
            found.append(("emphasis", ""))
        language = language_tag(attribute(element, "lang"))
        base = around.language or self.language
        if language and language.lower() != base.lower():
            found.append(("language", language))
        return tuple(found)

    def _note_marks(self, here: _Open, start: int) -> tuple[tuple[MarkKind, str], ...]:
        """Return the note_ref mark of a link that calls a note or leads back from one."""
        if local_name(here.element) != "a":
            return ()
        target = self._target(here.element)
        if here.words & {"noteref", "backlink", "glossref"} and "glossref" not in here.words:
            return (("note_ref", target),)
        if "#" not in target:
            return ()
        text = self._text_from(start).strip()
        if _BACK_SIGN.fullmatch(text):
            return (("note_ref", target),)
        if not _NOTE_SIGN.fullmatch(text):
            return ()
        if start == self._block_start:
            self.out.links.append(
                Mark(kind="note_ref", start=start, end=self._length, value=target)
            )
        raised = first(here.element, "sup") is not None or any(
            local_name(o.element) == "sup" for o in self._stack
        )
        signed = text[0] in "[(*†‡§¶‖" and not text[-1].isalpha()
        named = "note" in here.element.get("class", "").lower()
        return (("note_ref", target),) if raised or signed or named else ()

    def _raised_number(self, here: _Open, start: int) -> tuple[tuple[MarkKind, str], ...]:
        """Return the mark of a note's number that has lost its link: raised, behind a word."""
        if local_name(here.element) != "sup" or any(
            local_name(opened.element) in {"a", "sup", "sub"} for opened in self._stack
        ):
            return ()
        if first(here.element, "a") is not None or self._block_start is None:
            return ()
        begin = max(self._block_start, start - 7)
        before, text = self._text_from(begin)[: start - begin], self._text_from(start)
        called = _RAISED_SIGN.fullmatch(text) and (
            _BEFORE_RAISED.search(before[-4:]) or _BEFORE_RAISED_YEAR.search(before)
        )
        return (("note_ref", ""),) if called else ()

    def _is_figure_raised(self, element: Element) -> bool:
        """Return whether a raised or lowered figure follows a figure at once."""
        inside = "".join(element.itertext()).translate(FOLD)
        return self._before().isdigit() and inside[:1].isdigit() and inside.strip().isdigit()

    def _target(self, element: Element) -> str:
        href = attribute(element, "href")
        if not href or is_remote(href):
            return href
        path = resolve(self.href, href)
        fragment = split_fragment(href)[1]
        return f"{path}#{fragment}" if fragment else path

    # Characters

    def _add_alternative(self, element: Element, name: str) -> None:
        if name == "img" and (alt := element.get("alt")):
            if _is_initial(element, alt, self._before()):
                self._add_text(alt)
                return
            if (letter := _named_initial(element, alt, self._before())) is not None:
                self._add_marked(alt[: letter.start(1)])
                self._add_text(alt[letter.start(1) :].strip())
                return
            self._add_marked(alt)
        elif name == "math" and (alt := element.get("alttext")):
            self._add_marked(alt)

    def _add_marked(self, alt: str) -> None:
        """Add alternative text parted from its neighbours by spaces, and mark it."""
        if not alt.translate(FOLD).split():
            return
        self._add_text(" ")
        self._in_alternative = True
        self._add_text(alt.strip(), keep=True)
        self._in_alternative = False
        size = len(" ".join(alt.translate(FOLD).split()))
        self.out.marks.append(Mark(kind="alt", start=self._length - size, end=self._length))
        self._add_text(" ")

    def _before(self) -> str:
        """Return the character before the present place in this block; "" at its start."""
        if self._gap or self._block_start is None or not self._parts:
            return ""
        return self._parts[-1][-1]

    def _add_text(self, text: str | None, *, keep: bool = False) -> None:
        if not text:
            return
        text = text.translate(FOLD)
        if not text:
            return
        context = self._stack[-1].context
        if context.preformatted and not keep and "\n" in text:
            self._add_lines(text)
            return
        words = text.split()
        if text[0].isspace():
            self._gap = self._gap or " "
        if words:
            self._emit(" ".join(words))
            if text[-1].isspace():
                self._gap = " "

    def _add_lines(self, text: str) -> None:
        """Add preformatted text, whose line ends are line ends."""
        for number, line in enumerate(text.split("\n")):
            if number:
                self._break_line()
            words = line.split()
            if line[:1].isspace():
                self._gap = self._gap or " "
            if words:
                self._emit(" ".join(words))
                if line[-1].isspace():
                    self._gap = " "

    def _break_line(self) -> None:
        if self._stack and self._stack[-1].context.kind == "verse":
            self._end_block()  # a line of verse is a block
        elif self._gap != "\n\n":
            self._gap = "\n"

    def _emit(self, text: str) -> None:
        if self._block_start is not None and self._gap == "\n\n":
            self._end_block()
        if self._gap and self._length:
            separator = "\n" if "\n" in self._gap else " "
            self._parts.append(separator)
            self._length += 1
        self._gap = ""
        if self._block_start is None:
            self._block_start = self._length
            self._block_context = self._around()
        if self._numbers and self._is_read():
            self._block_number = " ".join([number for _, number in self._numbers])
            self._numbers.clear()
        for opened in self._waiting:
            opened.start = self._length
        self._waiting.clear()
        for name in self._ids:
            self.out.anchors.setdefault(name, self._length)
        self._ids.clear()
        self._parts.append(text)
        self._length += len(text)

    def _is_read(self) -> bool:
        """Return whether text that comes now is what an item of a list begins with."""
        hidden = any(kind == "hidden" for opened in self._stack for kind, _ in opened.marks)
        return not (hidden or self._in_alternative or self._block_context.kind == "code")

    # Blocks

    def _around(self) -> Context:
        """Return the context of the innermost block element: an inline one speaks for itself."""
        for opened in reversed(self._stack):
            if opened.block:
                return opened.context
        return self._stack[0].context

    def _end_block(self) -> None:
        if self._block_start is not None:
            self._keep_block(self._block_start, self._length)
            self._block_start = None
            self._block_number = ""
        self._gap = "\n\n"

    def _keep_block(self, start: int, end: int) -> None:
        context = self._block_context
        kind = context.kind
        if kind in {"paragraph", "quote", "verse"} and is_scene_break(self._text_from(start)):
            kind = "scene_break"
        number = self._block_number
        if number and says_number(self._text_from(start), number):
            number = ""
        self.out.blocks.append(self._block(kind, start, end, context, number))

    def _block(
        self, kind: str, start: int, end: int, context: Context, generated: str = ""
    ) -> Block:
        differs = context.language.lower() != self.language.lower()
        return Block(
            kind=kind,  # type: ignore[arg-type]  # a BlockKind from the context
            spans=(Span(href=self.href, start=start, end=end, element_id=context.element_id),),
            level=self._rows if kind == "table" else context.level if kind in _LEVELLED else 0,
            language=context.language if differs else "",
            note_id=context.note_id,
            generated=generated,
        )

    def _scene_break(self) -> None:
        """Record a rule, which has no text: an empty span at the end of the text so far."""
        self._end_block()
        if not self._length:
            return  # a rule above all text parts nothing
        context = self._stack[-1].context if self._stack else Context()
        self.out.blocks.append(self._block("scene_break", self._length, self._length, context))

    def _text_from(self, start: int) -> str:
        """Return the stream from `start` to its end, touching only the last parts."""
        wanted = self._length - start
        tail: list[str] = []
        size = 0
        for part in reversed(self._parts):
            tail.append(part)
            size += len(part)
            if size >= wanted:
                break
        return "".join(reversed(tail))[size - wanted :] if wanted else ""


def _anchor_name(element: Element) -> str:
    return str(element.get("name", "")) if local_name(element) == "a" else ""


def _is_initial(element: Element, alt: str, before: str) -> bool:
    """Return whether a picture stands for the first letters of the word that follows it.

    It does when its text is one to three letters, perhaps after an opening quote, with a letter
    right behind the picture and none before it.
    """
    letters = alt.strip().lstrip("“‘\"'«¿¡")
    if not (1 <= len(letters) <= 3 and letters.isalpha()) or before.isalnum():
        return False
    following = _following_character(element)
    return following.isalpha() or following in {"’", "'"}


def _named_initial(element: Element, alt: str, before: str) -> re.Match[str] | None:
    """Return where "Illuminated letter W" names the first letter of the word that follows."""
    found = _INITIAL_NAMED.match(alt.strip()) if alt == alt.strip() else None
    small = _following_character(element)
    return found if found and found[1].isupper() and small.islower() and not before else None


def _following_character(element: Element) -> str:
    """Return the character right behind an element in its block; "" when there is none."""
    node: Element | None = element
    while node is not None:
        if node.tail:
            kept = node.tail.translate(FOLD)
            if kept:
                return str(kept[0])
        sibling = node.getnext()
        while sibling is not None:
            if not isinstance(sibling.tag, str) or is_block(sibling) or local_name(sibling) == "br":
                return ""
            inside = "".join(sibling.itertext()).translate(FOLD)
            if inside:
                return str(inside[0])
            if sibling.tail and (kept := sibling.tail.translate(FOLD)):
                return str(kept[0])
            sibling = sibling.getnext()
        node = node.getparent()
        if node is None or is_block(node):
            return ""
    return ""
