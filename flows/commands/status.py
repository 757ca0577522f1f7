"""`loudr status`: where books stand, read from the store."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.markup import escape
from rich.table import Table

from flows.configuration import Settings
from flows.opening import open_kept_store
from flows.output import command_line, console, print_json, results
from loudr_core.errors import BookError, StoreError
from loudr_core.jobs.plan import find_books, find_plans
from loudr_core.jobs.standing import Standing, latest_choices, standing_of
from loudr_core.render.results import KnownPlan, known_plan, one_plan
from loudr_core.store.protocol import ObjectStore

__all__ = ["choose_plan", "find_book", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    known: KnownPlan
    standing: Standing
    beyond: bool
    """Whether something was spoken outside the chapters that were finished."""

    @property
    def state(self) -> str:
        """In a word: finished, spoken, part finished, under way, planned."""
        if any(not document["result"].get("chapters") for document in self.known.results):
            return "finished" if self.standing.left == 0 else "under way"
        if self.standing.left == 0:
            return "spoken"
        if self.known.results and not self.beyond:
            return "part finished"
        return "under way" if self.standing.done else "planned"

    @property
    def files(self) -> list[dict[str, Any]]:
        """The finished files, with the chapters of those that hold only some."""
        return [
            {**file, "only": document["result"].get("chapters")}
            for document in self.known.results
            for file in document["result"]["files"]
        ]

    def as_dict(self) -> dict[str, Any]:
        plan = self.known.plan
        return {
            "book_id": plan.book_id,
            "plan_id": plan.plan_id,
            "profile": plan.profile_name,
            "title": plan.metadata["title"],
            "state": self.state,
            "segments": self.standing.as_dict(),
            "files": self.files,
        }


def run(book_id: str | None, settings: Settings, *, plan_start: str = "", json_out: bool) -> None:
    """Print a row for each plan of each book, or of one."""
    store = open_kept_store(settings)
    books = [find_book(store, book_id)] if book_id else find_books(store)
    if plan_start:
        known = [choose_plan(store, book_id or "", plan_start)]
    else:
        known = [plan for book in books for plan in _readable_plans(store, book)]
    rows = [_row(store, plan) for plan in known]
    if json_out:
        print_json({"books": [row.as_dict() for row in rows]})
    elif rows:
        results.print(_table(rows))
    else:
        start = command_line("render", "BOOK.epub", "-o", "audiobooks")
        results.print(f"no books yet; start with: {start}", markup=False)


def _table(rows: Sequence[_Row]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("book", "plan", "profile", "state", "segments", "suspect", "failed", "file"):
        table.add_column(column, overflow="fold")
    for row in rows:
        standing = row.standing
        plan = row.known.plan
        table.add_row(
            plan.book_id,
            plan.plan_id,
            escape(plan.profile_name),
            row.state,
            f"{standing.done}/{standing.total}",
            str(standing.suspect),
            str(standing.failed),
            "\n".join(escape(file["path"]) for file in row.files),
        )
    return table


def choose_plan(store: ObjectStore, book_id: str, start: str) -> KnownPlan:
    """Return the plan that is meant, and say which that is when the book has several.

    Raises
    ------
    BookError
        No book or no plan is called so, or several are.
    """
    known, others = one_plan(store, find_book(store, book_id), start)
    if others and not start:
        rest = "; ".join(other.label for other in others)
        console.print(
            f"plan {known.label}; --plan chooses another: {rest}", markup=False, style="dim"
        )
    return known


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


def _readable_plans(store: ObjectStore, book_id: str) -> Iterator[KnownPlan]:
    """Yield the plans that can be read; a person hears of the others."""
    for plan_id in find_plans(store, book_id):
        try:
            known = known_plan(store, book_id, plan_id)
        except StoreError as error:
            console.print(error.message, markup=False, style="yellow")
            continue
        if known is not None:
            yield known


def _row(store: ObjectStore, known: KnownPlan) -> _Row:
    jobs = known.jobs
    finished = {
        number for document in known.results for number in document["result"].get("chapters") or ()
    }
    choices = latest_choices(store, known.plan, jobs)
    inside = {job.job_key for job in jobs if job.chapter in finished}
    beyond = {job.segment_id for job in jobs if job.job_key not in inside}
    return _Row(
        known=known, standing=standing_of(choices, jobs), beyond=not beyond.isdisjoint(choices)
    )
