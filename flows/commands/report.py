"""`loudr report`."""

from pathlib import Path

from flows.commands.status import choose_plan
from flows.configuration import Settings
from flows.opening import open_kept_store
from flows.output import print_json, results
from loudr_core.render.report import book_report, deliver_report

__all__ = ["run"]


def run(
    book_id: str,
    settings: Settings,
    *,
    plan_start: str,
    dest: Path,
    overwrite: bool,
    json_out: bool,
) -> None:
    """Write the listening page of a book's plan into a folder."""
    store = open_kept_store(settings)
    known = choose_plan(store, book_id, plan_start)
    page = book_report(store, known)
    store.put(f"{known.plan.folder}/report/report.html", page.encode())
    path = deliver_report(known, page, dest, overwrite=overwrite)
    if json_out:
        plan = known.plan
        print_json({"book_id": plan.book_id, "plan_id": plan.plan_id, "path": str(path)})
    else:
        results.print("[bold green]done[/]  ", end="")
        results.print(str(path), markup=False)
