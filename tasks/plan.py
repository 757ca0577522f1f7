"""Read the book, write the job table."""

from prefect import task

from loudr_core.jobs.plan import Plan
from loudr_core.render.book import BookRender
from tasks.retrying import STEP

__all__ = ["plan"]


@task(name="plan", task_run_name="plan {label}", tags=["plan"], **STEP)
def plan(render: BookRender, label: str) -> Plan:
    """Return the audited plan of the book, made now or found in the store."""
    return render.plan()
