"""Under which name a finished file goes, so that it takes no other book's place.

Two books may have one title, and one book may be rendered by two profiles. A file of ours carries
whose it is: book, plan, and the chapters if it holds only some. The plain title is taken when it is
free or ours already. Where another book has it, the author joins the name, else a piece of the
book's id; where another plan of the same book has it, the profile's name does, else a piece of the
plan's id.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from loudr_core.errors import PublishError
from loudr_core.findings import Finding
from loudr_core.publish.names import cut_utf8, file_name

__all__ = ["SOMEBODY", "NameWish", "Owner", "choose_name", "renamed"]

_ID_DIGITS = 8
_MOST_NOTE_BYTES = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whose a file is.

    Parameters
    ----------
    book_id, plan_id : str
    chapters : str
        `1-3,7` for a file of some chapters, empty for the whole book.
    """

    book_id: str
    plan_id: str
    chapters: str = ""


SOMEBODY = Owner(book_id="", plan_id="")
"""Who owns a file that does not say whose it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameWish:
    """What a name can be made of.

    Parameters
    ----------
    title : str
    ending : str
        What always stays: `.m4b`, ` (chapter 1).m4b`, ` report.html`.
    owner : Owner
    author, profile : str
        Words that tell two files of one title apart; empty for none.
    """

    title: str
    ending: str
    owner: Owner
    author: str = ""
    profile: str = ""

    def plain(self) -> str:
        """Return the name that is taken where nothing is in the way."""
        return self._named("")

    def for_another_plan(self) -> Iterator[str]:
        """Yield names beside a file of another plan of the book, the nicest first."""
        if self.profile:
            yield self._named(f" ({_note(self.profile)})")
        yield self._named(f" ({self.owner.plan_id[:_ID_DIGITS]})")

    def for_another_book(self) -> Iterator[str]:
        """Yield names beside a file of another book, the nicest first."""
        book = self.owner.book_id.rpartition("-")[2][:_ID_DIGITS]
        if self.author:
            yield self._named(f" - {_note(self.author)}")
        yield self._named(f" ({book})")
        yield self._named(f" ({book}, {self.owner.plan_id[:_ID_DIGITS]})")

    def _named(self, note: str) -> str:
        return file_name(self.title, note + self.ending, fallback=self.owner.book_id)


def choose_name(
    wish: NameWish, owner_of: Callable[[str], Owner | None], *, overwrite: bool = False
) -> str:
    """Return the name under which a file can be written.

    Parameters
    ----------
    owner_of : callable
        Gives whose the file of a name is: None when there is none, `SOMEBODY` when it does not say.
    overwrite : bool
        Take the plain title whoever has it.

    Raises
    ------
    PublishError
        Every name is taken by others.
    """
    plain = wish.plain()
    owner = owner_of(plain)
    if overwrite or owner == wish.owner:
        return plain
    plans, books = list(wish.for_another_plan()), list(wish.for_another_book())
    for name in (*plans, *books):  # where it went before, though the plain name is free by now
        if owner_of(name) == wish.owner:
            return name
    if owner is None:
        return plain
    ways = (plans, books) if owner.book_id == wish.owner.book_id else (books, plans)
    for name in (*ways[0], *ways[1]):
        if owner_of(name) is None:
            return name
    raise PublishError(
        f"{plain} and every other name for it belong to other books: choose another folder, "
        "or replace the file by --overwrite",
        name=plain,
    )


def renamed(wish: NameWish, name: str, *, owner: Owner | None) -> Finding | None:
    """Return a finding when a file does not bear its plain name; `owner` has that."""
    plain = wish.plain()
    if name == plain or owner is None:
        return None
    if owner.book_id == wish.owner.book_id:
        who = f"plan {owner.plan_id[:_ID_DIGITS]} of this book"
    else:
        who = f"book {owner.book_id}" if owner.book_id else "another file"
    return Finding(
        code="publish-name-taken",
        severity="info",
        message=f"{plain} is of {who} and was left as it is; --overwrite replaces it",
        where={"name": name},
    )


def _note(text: str) -> str:
    return cut_utf8(file_name(text, "", fallback="other"), _MOST_NOTE_BYTES).strip()
