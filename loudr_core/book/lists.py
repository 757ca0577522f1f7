"""Numbers of lists: what a reader sees before each item of an `ol`, which no text node holds.

HTML 4.4.8 (`start`, `reversed`, `value`, `type`) and CSS Lists 3 as far as `styles` reads sheets.
Where a sheet puts a `counter()` before the items, that is taken to count the items; counters of
anything else are not read. Letters are said as letters, every other numbering as a number.
"""

import re
from collections.abc import Iterator
from typing import Final

from loudr_core.book.archive import is_remote
from loudr_core.book.blocks import OUTSIDE, is_hidden
from loudr_core.book.parse import Element, attribute, iter_named, local_name
from loudr_core.book.styles import Styles

__all__ = ["LISTS", "UNNUMBERED", "item_numbers", "says_number"]

LISTS: Final = frozenset({"ol", "ul", "menu", "dir", "list"})
"""Elements that own `li` items; `list` is DTBook's."""
UNNUMBERED: Final = frozenset({"toc", "landmarks", "page-list", "loi", "lot", "index"})
"""Semantics of lists that are links to other places of the book."""


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_LETTERS: Final = _set("lower-alpha lower-latin upper-alpha upper-latin")
_FIGURES: Final = _LETTERS | _set(
    "decimal decimal-leading-zero lower-roman upper-roman lower-greek armenian upper-armenian "
    "lower-armenian georgian hebrew arabic-indic bengali cambodian khmer cjk-decimal "
    "cjk-earthly-branch cjk-heavenly-stem cjk-ideographic devanagari ethiopic-numeric gujarati "
    "gurmukhi hiragana hiragana-iroha japanese-formal japanese-informal kannada katakana "
    "katakana-iroha korean-hangul-formal korean-hanja-formal korean-hanja-informal lao malayalam "
    "mongolian myanmar oriya persian simp-chinese-formal simp-chinese-informal tamil telugu thai "
    "tibetan trad-chinese-formal trad-chinese-informal"
)
_TYPES: Final = {
    "1": "decimal", "a": "lower-alpha", "A": "upper-alpha", "i": "lower-roman", "I": "upper-roman",
}  # fmt: skip
_BULLETS: Final = frozenset({"disc", "circle", "square", "none"})
_BY_BROWSER: Final = frozenset({"", "revert", "revert-layer"})
_COUNTER: Final = re.compile(r"\bcounters?\(([^()]*)\)")
_WHOLE: Final = re.compile(r"\s*([+-]?\d{1,9})(?!\d)")
_OPENING: Final = re.compile(r"[(\[]?([^\W_]{1,12})[.):\]–—-]+(?:\s|\Z)")
_ROMANS: Final = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
    (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip


def item_numbers(element: Element, styles: Styles) -> list[str]:
    """Return what is said before each item of a list, in document order.

    Parameters
    ----------
    element : element
        One of `LISTS`.
    styles : Styles
        Of its document.

    Returns
    -------
    list of str
        One for each `li` that no list inside this one owns: `3.` or `C.`; empty for an item that
        shows no number.
    """
    items = list(_items(element))
    if _is_contents(items):
        return [""] * len(items)
    kinds = [_style(item, styles) if _is_shown(item, styles) else None for item in items]
    shown = [kind is not None for kind in kinds]
    backwards = element.get("reversed") is not None
    start = _whole(element.get("start", ""))
    number = start if start is not None else sum(shown) if backwards else 1
    numbers: list[str] = []
    for item, kind in zip(items, kinds, strict=True):
        if kind is None:
            numbers.append("")
            continue
        value = _whole(item.get("value", ""))
        number = number if value is None else value
        numbers.append(_marker(number, kind))
        number += -1 if backwards else 1
    return numbers


def says_number(text: str, number: str) -> bool:
    """Return whether an item's text opens with its number, as where both were written."""
    match = _OPENING.match(text)
    if match is None:
        return False
    said, value = match[1].lower(), number.rstrip(".").lower()
    return said.lstrip("0") == value or (value.isdecimal() and said == _roman(int(value)))


def _items(element: Element) -> Iterator[Element]:
    todo = list(reversed(element))
    while todo:
        node = todo.pop()
        name = local_name(node) if isinstance(node.tag, str) else ""
        if name == "li":
            yield node
        if name and name not in LISTS and name not in OUTSIDE:
            todo.extend(reversed(node))


def _is_shown(item: Element, styles: Styles) -> bool:
    """Return whether an item is shown as one: CSS counts only what is displayed as a list item."""
    if is_hidden(item) or styles.hides(item):
        return False
    return _is_list_item(item, styles) or bool(_COUNTER.search(styles.content(item, "before")))


def _is_list_item(item: Element, styles: Styles) -> bool:
    display = styles.list_value(item, "display")
    return display in _BY_BROWSER or "list-item" in display


def _is_contents(items: list[Element]) -> bool:
    """Return whether all items are links into the book, as in a table of contents."""
    return bool(items) and all(
        _letters(item) == sum(map(_letters, _links_of(item))) > 0 for item in items
    )


def _links_of(item: Element) -> Iterator[Element]:
    for link in iter_named(item, ("a",)):
        target = attribute(link, "href")
        if target and not is_remote(target):
            yield link


def _letters(element: Element) -> int:
    return sum(c.isalpha() for text in element.itertext() for c in text)


def _style(item: Element, styles: Styles) -> str:
    """Return how an item is numbered, by its marker or by a counter before its text."""
    marker = styles.content(item, "marker")
    if not _is_list_item(item, styles):
        style = ""
    elif marker in {"", "normal"}:
        style = _list_style(item, styles)
    else:
        style = _of_counter(marker)
    return style if style in _FIGURES else _of_counter(styles.content(item, "before"))


def _of_counter(content: str) -> str:
    match = _COUNTER.search(content)
    if match is None:
        return ""
    last = match[1].rpartition(",")[2].strip()
    return last if last in _FIGURES | _BULLETS else "decimal"


def _list_style(item: Element, styles: Styles) -> str:
    """Return the type of an item's marker, by cascade and inheritance."""
    node: Element | None = item
    while node is not None:
        name = local_name(node)
        value = styles.list_value(node, "list-style-type")
        if value in _BY_BROWSER:
            value = _by_attribute(node, name)
        if value == "initial":
            return "disc"
        if value not in {"", "inherit", "unset"}:
            return value
        if value == "" and name in LISTS:
            return "decimal" if name == "ol" else "disc"
        node = node.getparent()
    return "disc"


def _by_attribute(element: Element, name: str) -> str:
    if name == "list":
        kind = element.get("type", "").lower()
        return _TYPES.get(element.get("enum", "1"), "decimal") if kind == "ol" else "none"
    if name not in {"ol", "ul", "li"}:
        return ""
    given = str(element.get("type", "")).strip()
    if given.lower() in _BULLETS:
        return given.lower()
    return _TYPES.get(given, "") if name != "ul" else ""


def _marker(number: int, style: str) -> str:
    if style not in _FIGURES:
        return ""
    if style in _LETTERS and number > 0:
        return f"{' '.join(_alphabetic(number))}."
    return f"{number}."


def _alphabetic(number: int) -> str:
    """Return the letters of a number: A to Z, then AA. CSS Counter Styles 3, section 3.1.4."""
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _roman(number: int) -> str:
    numeral = ""
    for value, sign in _ROMANS if 0 < number < 4000 else ():
        count, number = divmod(number, value)
        numeral += sign * count
    return numeral


def _whole(text: str) -> int | None:
    """Return the whole number a text begins with, as HTML's parser does; None without one."""
    match = _WHOLE.match(text)
    return int(match[1]) if match else None
