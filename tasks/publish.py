"""Write the M4B, deliver it."""

from pathlib import Path

from prefect import task

from loudr_core.render.book import BookRender
from loudr_core.render.result import RenderResult
from tasks.retrying import STEP

__all__ = ["publish"]


@task(name="publish", task_run_name="publish {label}", tags=["publish"], **STEP)
def publish(render: BookRender, dest: str | Path | None, label: str) -> RenderResult:
    """Encode the book, write its M4B under the final name when whole, and file the result."""
    return render.publish(dest)
