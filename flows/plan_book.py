"""Book to job table: the flow behind a plan asked for in the Prefect UI."""

from pathlib import Path
from typing import Any

from prefect import flow, runtime

from flows import artifacts
from flows.commands.plan import plan_json
from flows.configuration import load
from flows.opening import engine_pool, open_render, open_settings_store
from flows.request import PlanRequest
from loudr_core.render.book import RenderOptions
from tasks.plan import plan

__all__ = ["plan_book"]


def _run_name() -> str:
    request: PlanRequest = runtime.flow_run.parameters["request"]
    return f"plan {Path(request.book).stem}"


@flow(name="plan-book", flow_run_name=_run_name, persist_result=False)
def plan_book(request: PlanRequest) -> dict[str, Any]:
    """Read, segment and audit one book; returns the JSON of `loudr plan`."""
    settings = load(request.profile)
    store = open_settings_store(settings)
    book = Path(request.book)
    with engine_pool(settings, store, size=1) as pool:
        render = open_render(
            book, settings, store=store, pool=pool, options=RenderOptions(replan=request.replan)
        )
        made = plan(render, book.stem)
    artifacts.publish_plan(made)
    return plan_json(made)
