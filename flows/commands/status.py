"""`loudr status`: where books stand, read from the store."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from flows.configuration import Settings
from flows.opening import open_settings_store
from flows.output import print_json, results
from loudr_core.errors import BookError
from loudr_core.jobs.plan import Plan, find_books, find_plans, load_plan
from loudr_core.jobs.standing import Standing, standing_of
from loudr_core.render.deliver import read_result
from loudr_core.store.protocol import ObjectStore

__all__ = ["find_book", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    plan: Plan
    standing: Standing
    files: tuple[dict[str, Any], ...]

    @property
    def state(self) -> str:
        """One word: finished, spoken, under way, planned."""
        if self.files and self.standing.left == 0:
            return "finished"
        if self.standing.left == 0:
            return "spoken"
        return "under way" if self.standing.done else "planned"

    def as_dict(self) -> dict[str, Any]:
        return {
            "book_id": self.plan.book_id,
            "plan_id": self.plan.plan_id,
            "title": self.plan.metadata["title"],
            "state": self.state,
            "segments": self.standing.as_dict(),
            "files": list(self.files),
        }


def run(book_id: str | None, settings: Settings, *, json_out: bool) -> None:
    """Print a row for each plan of each book, or of one."""
    store = open_settings_store(settings)
    books = [find_book(store, book_id)] if book_id else find_books(store)
    rows = [row for book in books for row in _rows(store, book)]
    if json_out:
        print_json({"books": [row.as_dict() for row in rows]})
        return
    if not rows:
        results.print("no books yet; start with: loudr render BOOK.epub -o audiobooks")
        return
    table = Table(box=None, pad_edge=False)
    for column in ("book", "plan", "state", "segments", "suspect", "failed", "file"):
        table.add_column(column, overflow="fold")
    for row in rows:
        where = row.files[0]["path"] if row.files else ""
        standing = row.standing
        table.add_row(
            row.plan.book_id,
            row.plan.plan_id,
            row.state,
            f"{standing.done}/{standing.total}",
            str(standing.suspect),
            str(standing.failed),
            where,
        )
    results.print(table)


def find_book(store: ObjectStore, start: str) -> str:
    """Return the id of the one book whose id starts so.

    Raises
    ------
    BookError
        None does, or several do.
    """
    books = find_books(store)
    if start in books:
        return start
    matching = [book for book in books if book.startswith(start)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise BookError(f"{start!r} may be {', '.join(matching)}: give more of it", book=start)
    known = f"there are {', '.join(books)}" if books else "there are none yet"
    raise BookError(f"no book {start!r} in the store: {known}", book=start)


def _rows(store: ObjectStore, book_id: str) -> Iterator[_Row]:
    for plan_id in find_plans(store, book_id):
        loaded = load_plan(store, book_id, plan_id)
        if loaded is None:
            continue
        plan, jobs = loaded
        document = read_result(store, plan)
        files = tuple(document["result"]["files"]) if document else ()
        yield _Row(plan=plan, standing=standing_of(store, jobs), files=files)
