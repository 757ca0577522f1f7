"""Keep the listening report of a finished render beside its plan, for a link to lead to."""

import tempfile
from pathlib import Path

from loudr_core.errors import StoreError
from loudr_core.jobs.plan import Plan, load_plan
from loudr_core.render.report import book_report
from loudr_core.render.results import KnownPlan, read_results
from loudr_core.store.address import object_url
from loudr_core.store.protocol import ObjectStore

__all__ = ["store_report"]


def store_report(store: ObjectStore, plan: Plan) -> str:
    """Write the page of the render that was finished last, and return its path or URL.

    Raises
    ------
    BookError
        The plan was not rendered to the end.
    StoreError
        The store refuses.
    """
    loaded = load_plan(store, plan.book_id, plan.plan_id)
    if loaded is None:
        raise StoreError(f"the plan of {plan.book_id} is gone from the store", book=plan.book_id)
    known = KnownPlan(plan=plan, jobs=loaded[1], results=read_results(store, plan))
    page = book_report(store, known)
    key = f"{plan.folder}/report/report.html"
    with tempfile.TemporaryDirectory(prefix="loudr-") as aside:
        file = Path(aside) / "report.html"  # by a file, a bucket learns what kind of object it is
        file.write_text(page, encoding="utf-8")
        store.put_file(key, file)
    return object_url(store.url, key)
