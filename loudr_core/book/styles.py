"""What style sheets hide, and how they number lists.

Books hide by class what is not for reading: a heading that only feeds the table of contents, a
fallback for another device. Of selectors, names, classes and ids with descendant and child
combinators are understood; a rule with anything else, or for another medium than a screen, does
nothing, since text read too much is better than text lost. CSS 2.2, sections 5, 6.4 and 9.2.4;
CSS Lists 3, sections 3 and 4.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from loudr_core.book.parse import Element, first, iter_named, local_name

__all__ = ["NO_STYLES", "StyleReader", "Styles"]

_COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.S)
_STRING: Final = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_IMPORT: Final = re.compile(
    r"@import\s+(?:url\(\s*)?[\"']?([^\"'()\s;]+)[\"']?\s*\)?([^;]*);", re.I
)
_SHOWN_MEDIA: Final = re.compile(r"\s*(?:only\s+)?(?:all|screen)?\s*", re.I)
_COMPOUND: Final = re.compile(r"([A-Za-z][\w-]*|\*)?((?:[.#][A-Za-z_-][\w-]*)*)")
_DECLARATION: Final = re.compile(
    r"(?:^|;)\s*(display|visibility)\s*:\s*([A-Za-z-]+)\s*(!\s*important)?", re.I
)
_LIST_DECLARATION: Final = re.compile(
    r"(?:^|;)\s*(display|list-style(?:-type)?)\s*:\s*([^;!]*?)\s*(!\s*important)?\s*(?=;|\Z)", re.I
)
_CONTENT_DECLARATION: Final = re.compile(
    r"(?:^|;)\s*(content)\s*:\s*([^;!]*?)\s*(!\s*important)?\s*(?=;|\Z)", re.I
)
_PSEUDO: Final = re.compile(r"(.+?)::?(before|marker)\Z", re.I | re.S)
_PLACES: Final = frozenset({"inside", "outside"})
_MAX_IMPORTS: Final = 4
"""Sheets that import one another, at most."""


@dataclass(frozen=True, slots=True)
class _Compound:
    """One step of a selector, `p.note#x`; a `child` stands right inside the step before."""

    name: str
    classes: frozenset[str]
    ids: frozenset[str]
    child: bool = False

    def fits(self, element: Element) -> bool:
        if self.name and self.name != local_name(element):
            return False
        if self.ids and not self.ids <= {element.get("id")}:
            return False
        return not self.classes or self.classes <= set(element.get("class", "").split())


@dataclass(frozen=True, slots=True)
class _Rule:
    steps: tuple[_Compound, ...]
    what: str
    value: str
    rank: tuple[bool, int, int, int, int]
    """Importance, ids, classes and names of the selector, and order: the greatest counts."""

    @property
    def hides(self) -> bool:
        return self.value in {"none", "hidden"}

    def fits(self, element: Element) -> bool:
        return self.steps[-1].fits(element) and _fits_above(
            self.steps[:-1], element, self.steps[-1].child
        )


def _fits_above(steps: tuple[_Compound, ...], element: Element, child: bool) -> bool:
    if not steps:
        return True
    for ancestor in element.iterancestors():
        if steps[-1].fits(ancestor) and _fits_above(steps[:-1], ancestor, steps[-1].child):
            return True
        if child:
            return False
    return False


class Styles:
    """The rules of one document's sheets.

    Parameters
    ----------
    sheets : iterable of str
        Texts of the sheets in the order of the cascade.
    """

    def __init__(self, sheets: tuple[str, ...] = ()) -> None:
        css = "\n".join(sheets)
        hiding = list(_compiled(css, _DECLARATION))
        self._hiding = _indexed(hiding) if any(rule.hides for rule in hiding) else {}
        self._lists = _indexed(_compiled(css, _LIST_DECLARATION))
        self._content = _indexed(_compiled(css, _CONTENT_DECLARATION))

    def hides(self, element: Element) -> bool:
        """Return whether the sheets keep an element from being shown."""
        if not self._hiding:
            return False
        best = _cascaded(self._hiding, element)
        for what, _, important in _DECLARATION.findall(element.get("style", "")):
            rival = best.get(what.lower())
            if rival is not None and (important or not rival.rank[0]):
                del best[what.lower()]  # the element's own word; what it hides itself is seen there
        return any(rule.hides for rule in best.values())

    def list_value(self, element: Element, what: Literal["display", "list-style-type"]) -> str:
        """Return what sheets and the element's own `style` say of it; empty when nothing.

        Parameters
        ----------
        element : element
        what : {"display", "list-style-type"}
            The latter also by the shorthand `list-style`.

        Returns
        -------
        str
            In small letters; not inherited from the elements around.
        """
        rule = _cascaded(self._lists, element).get(what) if self._lists else None
        value = "" if rule is None else rule.value
        for name, given, important in _LIST_DECLARATION.findall(element.get("style", "")):
            own, said = _list_declaration(name, given)
            if own == what and (important or rule is None or not rule.rank[0]):
                value = said
        return value

    def content(self, element: Element, what: Literal["before", "marker"]) -> str:
        """Return what sheets put before an element or for its list marker; empty when nothing.

        Parameters
        ----------
        element : element
        what : {"before", "marker"}
            Of which pseudo-element.

        Returns
        -------
        str
            The value of `content` in small letters, its strings empty: `counter(item) ""`.
        """
        rule = _cascaded(self._content, element).get(what) if self._content else None
        return "" if rule is None else rule.value


def _indexed(rules: Iterable[_Rule]) -> dict[str, list[_Rule]]:
    index: dict[str, list[_Rule]] = {}
    for rule in rules:
        index.setdefault(_key(rule.steps[-1]), []).append(rule)
    return index


def _cascaded(index: Mapping[str, list[_Rule]], element: Element) -> dict[str, _Rule]:
    """Return the rule that counts for each property of an element."""
    keys = [local_name(element), f"#{element.get('id', '')}"]
    keys += (f".{word}" for word in element.get("class", "").split())
    best: dict[str, _Rule] = {}
    for key in keys:
        for rule in index.get(key, ()):
            held = best.get(rule.what)
            if (held is None or rule.rank > held.rank) and rule.fits(element):
                best[rule.what] = rule
    return best


def _list_declaration(name: str, value: str) -> tuple[str, str]:
    """Return property and value, the shorthand `list-style` resolved to the type it sets."""
    name, value = name.lower(), " ".join(value.lower().split())
    if not name.startswith("list-style"):
        return name, value
    words = [w for w in value.split() if w not in _PLACES and not w.startswith("url(")]
    if name == "list-style" and not words:
        words = ["disc"]  # what a shorthand leaves out is set to its initial value
    return "list-style-type", next((w for w in words if w != "none"), "none")


def _key(compound: _Compound) -> str:
    if compound.ids:
        return f"#{min(compound.ids)}"
    return f".{min(compound.classes)}" if compound.classes else compound.name


def _compiled(css: str, declaration: re.Pattern[str]) -> Iterator[_Rule]:
    order = 0
    for selectors, body in _rules(_STRING.sub('""', _COMMENT.sub(" ", css))):
        found = declaration.findall(body)
        for selector in selectors.split(",") if found else ():
            pseudo = _PSEUDO.fullmatch(selector.strip())
            steps = _steps(pseudo[1] if pseudo else selector)
            if steps is None or (pseudo is None) == (declaration is _CONTENT_DECLARATION):
                continue
            for name, given, important in found:
                order += 1
                what, value = _list_declaration(name, given)
                what = pseudo[2].lower() if pseudo else what
                yield _Rule(
                    steps,
                    what,
                    value,
                    (
                        bool(important),
                        sum(len(step.ids) for step in steps),
                        sum(len(step.classes) for step in steps),
                        sum(bool(step.name) for step in steps),
                        order,
                    ),
                )


def _rules(css: str) -> Iterator[tuple[str, str]]:
    """Yield selector and declarations of each rule that holds on a screen."""
    position = 0
    while (brace := css.find("{", position)) >= 0:
        prelude = css[position:brace].rpartition(";")[2].strip()
        end = _closing(css, brace)
        body = css[brace + 1 : end]
        position = end + 1
        if not prelude.startswith("@"):
            yield prelude, body
        elif prelude.lower().startswith("@media") and any(
            _SHOWN_MEDIA.fullmatch(part) for part in prelude[6:].split(",")
        ):
            yield from _rules(body)


def _closing(css: str, brace: int) -> int:
    depth = 0
    for match in re.compile(r"[{}]").finditer(css, brace):
        depth += 1 if match[0] == "{" else -1
        if not depth:
            return match.start()
    return len(css)


def _steps(selector: str) -> tuple[_Compound, ...] | None:
    """Return the steps of a selector from the outermost in; None when it says more than we know."""
    steps: list[_Compound] = []
    child = False
    for word in selector.replace(">", " > ").split():
        if word == ">":
            child = True
            continue
        match = _COMPOUND.fullmatch(word)
        if match is None or word == "*":
            return None
        marks = re.findall(r"([.#])([\w-]+)", match[2])
        steps.append(
            _Compound(
                "" if match[1] in {None, "*"} else match[1].lower(),
                frozenset(name for sign, name in marks if sign == "."),
                frozenset(name for sign, name in marks if sign == "#"),
                child,
            )
        )
        child = False
    return tuple(steps) or None


NO_STYLES: Final = Styles()
"""Nothing is hidden, and lists are numbered as HTML does."""


class StyleReader:
    """Finds the sheets of documents; what several of them name is read once.

    Parameters
    ----------
    fetch : callable
        Given the path of a file and a reference in it, returns path and text of the sheet that is
        meant, or None when the book does not have it.
    """

    def __init__(self, fetch: Callable[[str, str], tuple[str, str] | None]) -> None:
        self._fetch = fetch
        self._made: dict[tuple[str, ...], Styles] = {}

    def styles_of(self, root: Element, href: str) -> Styles:
        """Return the rules for a parsed document."""
        head = first(root, "head")
        sheets: list[str] = []
        for element in iter_named(head, ("link", "style")) if head is not None else ():
            if local_name(element) == "style":
                sheets += self._with_imports(href, element.text or "", _MAX_IMPORTS)
            elif element.get("rel", "").lower().split() == [
                "stylesheet"
            ] and _SHOWN_MEDIA.fullmatch(element.get("media", "")):
                sheets += self._sheet(href, element.get("href", ""), _MAX_IMPORTS)
        key = tuple(sheets)
        if key not in self._made:
            self._made[key] = Styles(key) if key else NO_STYLES
        return self._made[key]

    def _sheet(self, base: str, reference: str, left: int) -> list[str]:
        found = self._fetch(base, reference) if left else None
        return [] if found is None else self._with_imports(*found, left - 1)

    def _with_imports(self, base: str, css: str, left: int) -> list[str]:
        bare = _COMMENT.sub(" ", css)
        sheets = [
            sheet
            for reference, media in _IMPORT.findall(bare)
            if _SHOWN_MEDIA.fullmatch(media)
            for sheet in self._sheet(base, reference, left)
        ]
        return [*sheets, css]
