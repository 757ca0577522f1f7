"""Stitch and measure a chapter; master the book."""

from collections.abc import Sequence

from prefect import task

from loudr_core.render.book import BookRender
from loudr_core.render.finish import Mastered
from tasks.retrying import STEP

__all__ = ["master", "measure"]


@task(
    name="measure",
    task_run_name="measure chapter {label} of {render.label}",
    tags=["measure"],
    **STEP,
)
def measure(render: BookRender, numbers: Sequence[int], label: str) -> None:
    """Measure the loudness of chapters as soon as their last segment is spoken."""
    for number in numbers:
        render.measure(number)


@task(name="master", task_run_name="master {label}", tags=["master"], **STEP)
def master(render: BookRender, label: str) -> Mastered:
    """Lay the book out, refuse gaps, and choose its one gain."""
    return render.master()
