"""`loudr report`."""

from pathlib import Path

from flows.commands.status import find_book
from flows.configuration import Settings
from flows.opening import open_settings_store
from flows.output import print_json, results
from loudr_core.errors import PublishError
from loudr_core.publish.names import file_name
from loudr_core.render.report import book_report, latest_plan

__all__ = ["run"]


def run(book_id: str, settings: Settings, *, dest: Path, json_out: bool) -> None:
    """Write the listening page of a book into a folder."""
    store = open_settings_store(settings)
    book = find_book(store, book_id)
    plan, _, _ = latest_plan(store, book)
    page = book_report(store, book)
    store.put(f"{plan.folder}/report/report.html", page.encode())
    path = dest / file_name(f"{plan.metadata['title']} report", ".html", fallback=book)
    try:
        dest.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise PublishError(f"{path} cannot be written: {error.strerror}", path=str(path)) from error
    if json_out:
        print_json({"book_id": book, "plan_id": plan.plan_id, "path": str(path)})
    else:
        results.print(f"[bold green]done[/]  {path}", highlight=False)
