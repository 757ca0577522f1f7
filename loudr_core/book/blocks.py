"""What an element means: whether it starts a block, of which kind, and what its words say.

Semantics come from `epub:type`, from `role` (the `doc-` prefix of DPUB-ARIA removed, so that both
vocabularies meet) and, where a book has neither, from a few class names that are common enough to
be trusted.
"""

import re
from dataclasses import dataclass, replace
from typing import Final

from loudr_core.book.languages import language_tag
from loudr_core.book.model import BlockKind
from loudr_core.book.parse import Element, attribute, local_name, prefixed

__all__ = [
    "OUTSIDE",
    "Context",
    "enter",
    "is_block",
    "is_boilerplate",
    "is_hidden",
    "is_scene_break",
    "words_of",
]

OUTSIDE: Final = frozenset({"script", "style", "template", "head", "noframes"})
"""Elements whose text is no text of the book."""


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_BLOCKS: Final = _set(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav "
    "ol optgroup option p pre search section summary table text tbody td tfoot th thead tr ul "
    "desc title case default switch "
    # DTBook, which EPUB 2 allows beside XHTML
    "book frontmatter bodymatter rearmatter level level1 level2 level3 level4 level5 level6 "
    "doctitle docauthor covertitle hd bridgehead list line linegroup poem sidebar prodnote note "
    "imggroup epigraph byline dateline author"
)
_UNSHOWN: Final = frozenset(
    {"audio", "video", "canvas", "annotation", "annotation-xml", "datalist", "metadata"}
)
_HIDDEN_STYLE: Final = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.I)

_VERSE_WORDS: Final = frozenset({"poem", "verse", "song", "hymn", "lyrics", "stanza"})
_VERSE_CLASS: Final = re.compile(r"(?:^|[\s_-])(?:poem|poetry|verse|stanza|linegroup)(?:$|[\s_-])")
_NOTE_WORDS: Final = frozenset({"footnote", "endnote", "rearnote", "note"})
_NOTE_LISTS: Final = frozenset({"footnotes", "endnotes", "rearnotes", "notes"})
_NOTE_CLASS: Final = re.compile(r"(?:^|\s)(?:foot|end|rear)note(?:$|\s)")
_HEADING_WORDS: Final = frozenset(
    {"title", "subtitle", "fulltitle", "halftitle", "covertitle", "label", "ordinal", "bridgehead"}
)
_TITLE_SECTIONS: Final = frozenset({"titlepage", "halftitlepage", "halftitle", "cover"})
_QUOTE_WORDS: Final = frozenset({"epigraph", "pullquote", "letter"})

_CODE: Final = frozenset({"code", "samp", "kbd", "var"})
_CODE_CLASS: Final = re.compile(
    r"(?:^|[\s_-])(?:code|source(?:code)?|listing|program(?:listing)?|screen|console|terminal|"
    r"highlight|brush|prettyprint|language|lang|hljs|literallayout-mono)(?:$|[\s_:-])"
)
_STATEMENT: Final = re.compile(
    r"\w\(.*\)\s*[;:{]?\s*$|^\s*(?:import|def|return|#include|var|let)\s"
    r"|^\s*(?:if|for|while|else|elif|class|try|except|with)\b.*:\s*$"
)
_FEW_WORDS: Final = 5
_LETTER_SHARE: Final = 0.8
_STRANGE_SHARE: Final = 0.02
_LONG_LINE: Final = 100
"""Lines of verse are shorter."""

_ORNAMENT: Final = re.compile(r"[\s*⁂⁎⁑✱✲✳✻✼✽❋❦❧☙❖✦✧★☆•·∙●○◦◆◇■□▪▫♦♣♠♥†‡§¶~–—―_#=+\-]{1,40}")


@dataclass(frozen=True, slots=True)
class Context:
    """What holds for the text directly inside an element."""

    kind: BlockKind = "paragraph"
    level: int = 0
    language: str = ""
    note_id: str = ""
    element_id: str | None = None
    in_notes: bool = False
    """Inside a list of notes, whose items are notes."""
    in_titles: bool = False
    """On a title page, whose headings are titles."""
    in_verse: bool = False
    preformatted: bool = False
    list_depth: int = 0


def words_of(element: Element) -> frozenset[str]:
    """Return the words of `epub:type` and `role`, without prefixes such as `z3998:` and `doc-`."""
    found = set()
    for word in f"{prefixed(element, 'type')} {element.get('role', '')}".lower().split():
        found.add(word.rsplit(":", 1)[-1].removeprefix("doc-"))
    return frozenset(found)


def is_block(element: Element) -> bool:
    """Return whether the element begins and ends a block of text."""
    return local_name(element) in _BLOCKS


def is_hidden(element: Element) -> bool:
    """Return whether a reader does not see the element, as far as its own attributes tell."""
    name = local_name(element)
    if name in _UNSHOWN or element.get("hidden") is not None:
        return True
    if name == "case":  # the markup of `epub:switch` that needs a special reader
        return True
    return bool(_HIDDEN_STYLE.search(element.get("style", "")))


def is_boilerplate(element: Element) -> bool:
    """Return whether an element holds the header or licence that Project Gutenberg adds."""
    marked = "pg-boilerplate" in element.get("class", "").lower().split()
    return marked or element.get("id", "") in {"pg-header", "pg-footer"}


def is_scene_break(text: str) -> bool:
    """Return whether a paragraph is nothing but ornaments, such as `* * *` or `❦`."""
    return bool(text) and _ORNAMENT.fullmatch(text) is not None


def enter(outer: Context, element: Element, *, href: str) -> Context:
    """Return what holds inside an element, given what holds around it."""
    context = outer
    if found := element.get("id"):
        context = replace(context, element_id=found)
    if (language := language_tag(attribute(element, "lang"))) and language != outer.language:
        context = replace(context, language=language)
    words = words_of(element)
    classes = element.get("class", "").lower()
    name = local_name(element)
    if words & _TITLE_SECTIONS and is_block(element):
        context = replace(context, in_titles=True)
    if words & _NOTE_LISTS:
        context = replace(context, in_notes=True)
    if words & _VERSE_WORDS or _VERSE_CLASS.search(classes):
        context = replace(context, kind="verse", in_verse=True)
    note = words & _NOTE_WORDS or _NOTE_CLASS.search(classes) or (outer.in_notes and name == "li")
    if note and not outer.note_id and is_block(element):
        inside = next((found for node in element.iter() if (found := node.get("id"))), "")
        target = f"{href}#{inside}" if inside else href
        return replace(context, kind="note", note_id=target)
    return _by_name(context, name, words, element)


def _by_name(context: Context, name: str, words: frozenset[str], element: Element) -> Context:
    """Return the context with the kind that the tag and its words give."""
    if len(name) == 2 and name[0] == "h" and name[1] in "123456":
        kind: BlockKind = "title" if context.in_titles and name == "h1" else "heading"
        return replace(context, kind=kind, level=int(name[1]))
    if "heading" in words or (words & _HEADING_WORDS and is_block(element)):
        if context.kind in {"heading", "title"}:
            return context
        level = element.get("aria-level", "")
        level = int(level) if level in {"1", "2", "3", "4", "5", "6"} else 2
        return replace(context, kind="heading", level=level)
    if name == "p" and _parent_name(element) == "hgroup":
        return replace(context, kind="heading", level=context.level or 2)
    if context.note_id:  # everything in a note is the note
        return context
    if name in {"figcaption", "caption", "legend"}:
        return replace(context, kind="caption")
    if name in {"td", "th"}:
        return replace(context, kind="table")
    if name == "pre":
        kind = "verse" if context.in_verse else _kind_of_preformatted(element)
        return replace(context, kind=kind, preformatted=True)
    if name in {"ol", "ul", "dl", "menu", "dir"}:
        return replace(context, list_depth=context.list_depth + 1)
    if name in {"li", "dt", "dd"}:
        return replace(context, kind="list_item", level=context.list_depth)
    if context.in_verse:
        return context
    if name == "blockquote" or words & _QUOTE_WORDS:
        return replace(context, kind="quote")
    return context


def _kind_of_preformatted(element: Element) -> BlockKind:
    """Return what a `pre` holds: programs are marked as such or look it; the rest is writing."""
    marked = any(local_name(node) in _CODE for node in element.iter())
    named = f"{element.get('class', '')} {_parent_class(element)}".lower()
    text = "".join(element.itertext())
    if marked or _CODE_CLASS.search(named) or not _is_writing(text):
        return "code"
    lines = text.split("\n")
    return "verse" if max(map(len, lines)) < _LONG_LINE else "paragraph"


def _is_writing(text: str) -> bool:
    """Return whether preformatted text is words for a reader and no program, drawing or listing."""
    signs = [c for c in text if not c.isspace()]
    letters = sum(c.isalpha() for c in signs)
    strange = sum(c in "{}<>=$\\|^`@#%&~+/_" for c in signs)
    lines = [line for line in text.split("\n") if line.strip()]
    called = sum(bool(_STATEMENT.search(line)) for line in lines)
    return bool(
        len(text.split()) >= _FEW_WORDS
        and letters >= _LETTER_SHARE * len(signs)
        and strange <= _STRANGE_SHARE * len(signs)
        and 4 * called <= len(lines)
    )


def _parent_class(element: Element) -> str:
    parent = element.getparent()
    return "" if parent is None else str(parent.get("class", ""))


def _parent_name(element: Element) -> str:
    parent = element.getparent()
    return "" if parent is None else local_name(parent)
