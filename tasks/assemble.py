"""Stitch and measure a chapter; master the book."""

from loudr_core.render.finish import Mastered
from prefect import task

from loudr_core.render.book import BookRender
from tasks.retrying import STEP

__all__ = ["master", "measure"]


@task(name="measure", task_run_name="measure chapter {number}: {title}", tags=["measure"], **STEP)
def measure(render: BookRender, number: int, title: str) -> None:
    """Measure a chapter's loudness as soon as its last segment is spoken."""
    render.measure(number)


@task(name="master", task_run_name="master {label}", tags=["master"], **STEP)
def master(render: BookRender, label: str) -> Mastered:
    """Lay the book out, refuse gaps, and choose its one gain."""
    return render.master()
