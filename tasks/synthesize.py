"""Speak a shard."""

from prefect import task

from loudr_core.jobs.orders import Shard
from loudr_core.render.book import BookRender
from loudr_core.render.speak import ShardResult
from tasks.retrying import STEP

__all__ = ["synthesize"]


@task(
    name="synthesize",
    task_run_name="speak shard {number:03d} of {render.label}: {label}",
    tags=["speak"],
    **STEP,
)
def synthesize(render: BookRender, shard: Shard, number: int, label: str) -> ShardResult:
    """Return when every segment of the shard has its chosen take in the store."""
    return render.speak(shard)
