"""Run a render's stages in this process, without Prefect: notebooks, tests, debugging."""

from pathlib import Path

from loudr_core.render.book import BookRender
from loudr_core.render.result import RenderResult

__all__ = ["run"]


def run(render: BookRender, dest: Path | None) -> RenderResult:
    """Return the result of every stage in order.

    Raises
    ------
    LoudrError, Interrupted
        As the stages do.
    """
    render.plan()
    render.start_speaking()
    chapters = {job.chapter: None for job in render.jobs}
    for shard in render.shards:
        render.speak(shard)
    for number in chapters:
        render.measure(number)
    render.master()
    return render.publish(dest)
