"""Front, body or back: what part of the book a chapter belongs to.

In this order: what the book says of the chapter (`frontmatter`, `bodymatter`, `backmatter`), what
the chapter is (a dedication is front, an index is back), the landmarks or guide, and last the words
of its title. Titles also give a chapter the semantics that a book without markup leaves out.
"""

import re
from typing import Final

from loudr_core.book.model import Role

__all__ = ["KNOWN", "role_of", "title_semantics"]


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_FRONT: Final = _set(
    "cover titlepage halftitlepage halftitle imprint dedication epigraph foreword preface "
    "introduction preamble toc landmarks loi lot loa lov frontispiece seriespage abstract "
    "errata volume-info"
)
_BACK: Final = _set(
    "colophon endnotes rearnotes footnotes notes afterword appendix bibliography glossary index "
    "credits other-credits contributors acknowledgments answers index-group learning-resources "
    "revision-history loc advertisement uncopyright page-list"
)
_BODY: Final = _set(
    "chapter part volume subchapter prologue epilogue conclusion division scene act"
)
KNOWN: Final = _FRONT | _BACK | _BODY | frozenset({"copyright-page"})
"""Words that make a document a part of its own."""

_PARTITIONS: Final[dict[str, Role]] = {
    "frontmatter": "front",
    "bodymatter": "body",
    "backmatter": "back",
    "rearmatter": "back",
}
_TITLES: Final = tuple(
    (re.compile(pattern, re.I), word)
    for pattern, word in (
        (r"(?:front )?cover(?: page| image)?", "cover"),
        (r"title ?page", "titlepage"),
        (r"half[- ]?title(?: ?page)?", "halftitlepage"),
        (r"imprint", "imprint"),
        (r"(?:copyright|legal)(?: (?:page|notice|information))?", "copyright-page"),
        (r"un-?copyright", "uncopyright"),
        (r"(?:table of )?contents|toc", "toc"),
        (r"dedication", "dedication"),
        (r"epigraph", "epigraph"),
        (r"foreword", "foreword"),
        (r"preface", "preface"),
        (r"colophon", "colophon"),
        (r"(?:end|rear|foot)notes|notes", "endnotes"),
        (r"afterword|postscript", "afterword"),
        (r"bibliography|references|works cited", "bibliography"),
        (r"glossary", "glossary"),
        (r"(?:general )?index", "index"),
        (r"acknowledge?ments", "acknowledgments"),
        (r"list of (?:illustrations|figures)", "loi"),
        (r"list of tables", "lot"),
        (r"appendix(?: [\dA-Z]+)?(?:[:.].*)?", "appendix"),
        (r"prologue", "prologue"),
        (r"epilogue", "epilogue"),
    )
)


def title_semantics(title: str) -> frozenset[str]:
    """Return the epub:type word that a chapter's title stands for, if any."""
    bare = " ".join(title.split()).strip(" .:*—–-")
    return frozenset(word for pattern, word in _TITLES if pattern.fullmatch(bare))


def role_of(semantics: frozenset[str], landmark: Role | None, from_title: frozenset[str]) -> Role:
    """Return the role of a chapter.

    Parameters
    ----------
    semantics : frozenset of str
        From `epub:type` and `role`.
    landmark : Role or None
        What the nearest landmark before the chapter says.
    from_title : frozenset of str
        `title_semantics`, used where the markup says nothing.
    """
    for word, role in _PARTITIONS.items():
        if word in semantics:
            return role
    if semantics & _BODY:
        return "body"
    if found := _by_kind(semantics, landmark):
        return found
    if landmark is not None:
        return landmark
    return _by_kind(from_title, landmark) or "body"


def _by_kind(words: frozenset[str], landmark: Role | None) -> Role | None:
    if words & _FRONT:
        return "front"
    if words & _BACK:
        return "back"
    if "copyright-page" in words:  # stands at either end
        return "back" if landmark in {"body", "back"} else "front"
    return None
