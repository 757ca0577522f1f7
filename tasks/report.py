"""Write the listening report."""

from prefect import task

from loudr_core.jobs.plan import Plan
from loudr_core.render.stored_report import store_report
from loudr_core.store.protocol import ObjectStore
from tasks.retrying import STEP

__all__ = ["report"]


@task(name="report", task_run_name="report {label}", tags=["report"], **STEP)
def report(store: ObjectStore, plan: Plan, label: str) -> str:
    """Return where the listening page of the latest render lies in the store."""
    return store_report(store, plan)
