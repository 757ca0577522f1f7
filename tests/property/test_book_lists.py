"""Lists of any shape have the numbers that HTML says, and lose no character."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.book.extract import extract_characters
from loudr_core.book.model import Document
from loudr_core.book.parse import parse_document
from loudr_core.book.walk import walk


@dataclass
class Item:
    value: int | None
    hidden: bool
    inner: "list[List]"


@dataclass
class List:
    ordered: bool
    start: int | None
    backwards: bool
    items: list[Item]


values = st.none() | st.integers(-50, 5000)


def _lists(inner: st.SearchStrategy[List]) -> st.SearchStrategy[List]:
    item = st.builds(Item, values, st.booleans(), st.lists(inner, max_size=2))
    return st.builds(List, st.booleans(), values, st.booleans(), st.lists(item, max_size=5))


leaf = st.builds(List, st.booleans(), values, st.booleans(), st.just([]))
trees = st.recursive(leaf, _lists, max_leaves=12)


def _written(one: List) -> str:
    """Return the markup of a list."""
    name = "ol" if one.ordered else "ul"
    start = f' start="{one.start}"' if one.start is not None else ""
    backwards = ' reversed=""' if one.backwards else ""
    items = ""
    for item in one.items:
        value = f' value="{item.value}"' if item.value is not None else ""
        hidden = ' hidden=""' if item.hidden else ""
        items += f"<li{value}{hidden}><p>word</p>{''.join(map(_written, item.inner))}</li>"
    return f"<{name}{start}{backwards}>{items}</{name}>"


def _wanted(one: List, *, seen: bool = True) -> list[str]:
    """Return the numbers of the items as the walk meets their texts, by HTML's own words."""
    found: list[str] = []
    shown = [item for item in one.items if not item.hidden]
    at = one.start if one.start is not None else len(shown) if one.backwards else 1
    for item in one.items:
        if not item.hidden:
            at = at if item.value is None else item.value
        heard = seen and not item.hidden
        found.append(f"{at}." if one.ordered and heard else "")
        if not item.hidden:
            at += -1 if one.backwards else 1
        for inner in item.inner:
            found += _wanted(inner, seen=heard)
    return found


@settings(max_examples=150, deadline=None)
@given(trees)
def test_numbers_of_any_list(one: List) -> None:
    raw = f"<html><head><title>t</title></head><body>{_written(one)}<p>end</p></body></html>"
    root = parse_document(raw.encode(), href="a.xhtml", findings=[])
    assert root is not None
    walked = walk(root, href="a.xhtml", language="en")
    numbers = [block.generated for block in walked.blocks[:-1]]
    assert numbers == _wanted(one)
    document = Document(href="a.xhtml", text=walked.text, raw=raw.encode())
    assert "".join(walked.text.split()) == extract_characters(document)
