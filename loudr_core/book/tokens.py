"""Markdown source to tokens, with footnotes: the one importer of markdown-it-py.

CommonMark, tables and strikethrough come with the library; `[^name]` and `[^name]: …` are two
rules of ours. Both the reading and the audit start from these tokens and then part: `as_html`
renders a page for the walk, `markdown_as_markup` writes the bare texts one by one for `extract`.
"""

import html
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

__all__ = ["as_html", "front_matter", "markdown_as_markup"]

_DEFINITION: Final = re.compile(r"\[\^([^\]\s]+)\]:[ \t]*")
_REFERENCE: Final = re.compile(r"\[\^([^\]\s]+)\]")
_FRONT_MATTER: Final = re.compile(
    r"\A\ufeff?---[ \t]*\r?\n(.*?\r?\n)?(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.S
)


_TOML: Final = re.compile(r"\A\ufeff?(\+\+\+[ \t]*\r?\n.*?)\+\+\+[ \t]*(?:\r?\n|\Z)", re.S)
_ATTRIBUTES: Final = re.compile(r"\s*\{[#.:][^{}\n]*\}\s*\Z")
_SOUND: Final = re.compile(
    r"""(?:[^<]|<!--.*?-->|<(?![A-Za-z/!?])
    |<(script|style|template)\b[^<>]*>.*?</\1\s*>
    |</?[A-Za-z](?:[^<>"']|"[^"]*"|'[^']*')*>)*""",
    re.S | re.X | re.I,
)


def front_matter(text: str) -> tuple[str, str]:
    """Return the lines between `---` marks at the top, and the text behind them.

    TOML between `+++` marks comes with its first mark, to be told from the other kind.
    """
    if (toml := _TOML.match(text)) is not None:
        return toml.group(1), text[toml.end() :]
    match = _FRONT_MATTER.match(text)
    if match is None or (match.group(1) and not _is_mapping(match.group(1))):
        return "", text
    return match.group(1) or "", text[match.end() :]


def _is_mapping(lines: str) -> bool:
    first = next((line for line in lines.splitlines() if line.strip()), "")
    return bool(re.match(r"(?:#|[\w.-]+[ \t]*:(?:\s|$))", first))


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.block.ruler.before(
        "reference", "footnote", _footnote_block, {"alt": ["paragraph", "reference"]}
    )
    parser.inline.ruler.before("link", "footnote_ref", _footnote_mark)
    parser.core.ruler.push("heading_attributes", _hide_attributes)
    return parser


def _hide_attributes(state: Any) -> None:
    """Hide the `{#name .class}` that Pandoc's Markdown puts behind a heading."""
    for opened, inline in pairwise(state.tokens):
        if opened.type != "heading_open" or not inline.children:
            continue
        last = inline.children[-1]
        match = _ATTRIBUTES.search(last.content) if last.type == "text" else None
        if match is not None:
            hidden = Token("text", "", 0, content=match[0])
            last.content = last.content[: match.start()]
            start = Token("html_inline", "", 0, content="<span hidden>")
            inline.children += [start, hidden, Token("html_inline", "", 0, content="</span>")]


def _footnote_block(state: Any, start: int, end: int, silent: bool) -> bool:
    """Read `[^name]: text` and its lazy or indented lines as one note."""
    begin = state.bMarks[start] + state.tShift[start]
    match = _DEFINITION.match(state.src, begin, state.eMarks[start])
    if match is None or state.is_code_block(start):
        return False
    if silent:
        return True
    after = start + 1
    while after < end:
        if state.isEmpty(after):
            following = after + 1
            if following >= end or state.isEmpty(following) or state.sCount[following] < 2:
                break
        elif state.sCount[after] < 2 and (
            state.isEmpty(after - 1) or _starts_block(state.src, state.bMarks[after])
        ):
            break
        after += 1
    opened = state.push("footnote_open", "aside", 1)
    opened.map, opened.meta = [start, after], {"name": match.group(1)}
    _inner(state, start, after, match.end())
    state.push("footnote_close", "aside", -1)
    state.line = after
    return True


def _inner(state: Any, start: int, after: int, text_at: int) -> None:
    """Let the block rules read a note's lines as if its mark and indent were not there."""
    saved = [list(getattr(state, n)) for n in ("bMarks", "tShift", "sCount")]
    state.bMarks[start], state.tShift[start], state.sCount[start] = text_at, 0, 0
    for line in range(start + 1, after):
        cut = min(state.sCount[line], 4)
        spaces = min(state.tShift[line], cut)
        state.bMarks[line] += spaces
        state.tShift[line] -= spaces
        state.sCount[line] -= cut
    parent, line_max = state.parentType, state.lineMax
    state.parentType, state.lineMax = "root", after
    state.md.block.tokenize(state, start, after)
    state.parentType, state.lineMax = parent, line_max
    state.bMarks, state.tShift, state.sCount = saved


def _starts_block(source: str, at: int) -> bool:
    return bool(re.compile(r"#{1,6}\s|>|[-*_]{3}|```|\[\^[^\]\s]+\]:").match(source, at))


def _footnote_mark(state: Any, silent: bool) -> bool:
    match = _REFERENCE.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        token = state.push("footnote_ref", "", 0)
        token.meta = {"name": match.group(1)}
    state.pos = match.end()
    return True


def _raw_html(content: str) -> str:
    """Return HTML that stands in Markdown; what is cut short would swallow text and is text."""
    return content if _SOUND.fullmatch(content) else html.escape(content)


def _anchor(name: str) -> str:
    return "fn-" + re.sub(r"[^\w-]", "-", name)


def as_html(text: str) -> str:
    """Return Markdown, without its front matter, rendered as the body of a page."""
    parser = _parser()
    rules = parser.renderer.rules  # type: ignore[attr-defined]  # of RendererHTML
    rules["footnote_open"] = lambda tokens, i, _o, _e: (
        f'<aside epub:type="footnote" id="{_anchor(tokens[i].meta["name"])}">'
    )
    rules["footnote_close"] = lambda _t, _i, _o, _e: "</aside>"
    rules["footnote_ref"] = lambda tokens, i, _o, _e: (
        f'<a epub:type="noteref" href="#{_anchor(tokens[i].meta["name"])}">'
        f"{html.escape(tokens[i].meta['name'])}</a>"
    )
    rules["code_block"] = lambda tokens, i, _o, _e: (  # by its indent only: maybe no code at all
        f"<pre>{html.escape(tokens[i].content)}</pre>\n"
    )
    rules["html_block"] = lambda tokens, i, _o, _e: _raw_html(tokens[i].content)
    rules["html_inline"] = lambda tokens, i, _o, _e: _raw_html(tokens[i].content)
    return str(parser.render(text))


def markdown_as_markup(source: str) -> str:
    """Return the texts of Markdown source as HTML without structure, for the audit to parse."""
    parts: list[str] = []
    _collect(_parser().parse(front_matter(source)[1]), parts)
    return "".join(parts)


def _collect(tokens: Sequence[Token], parts: list[str]) -> None:
    for token in tokens:
        if token.type == "image":
            parts.append(html.escape(_plain(token.children or ())))
        elif token.type == "footnote_ref":
            parts.append(html.escape(token.meta["name"]))
        elif token.type in {"html_block", "html_inline"}:
            parts.append(_raw_html(token.content))
        elif token.children is not None:
            _collect(token.children, parts)
        elif token.content:
            parts.append(html.escape(token.content))
        parts.append("\n")


def _plain(tokens: Sequence[Token]) -> str:
    """Return the text of an image's description."""
    found = []
    for token in tokens:
        if token.type == "image":
            found.append(_plain(token.children or ()))
        elif token.type == "footnote_ref":
            found.append("")  # the renderer leaves marks out of descriptions
        else:
            found.append(token.content)
    return "".join(found)
