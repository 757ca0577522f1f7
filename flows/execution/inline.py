"""Run a render's stages in this process, without Prefect: notebooks, tests, debugging."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from flows import metrics
from flows.execution.protocol import OnStage

if TYPE_CHECKING:
    from loudr_core.render.book import BookRender
    from loudr_core.render.result import RenderResult

__all__ = ["Inline"]


class Inline:
    """The stages one after the other; engines still work in their own processes."""

    def run(self, render: BookRender, dest: str | Path | None, on_stage: OnStage) -> RenderResult:
        """Return the result of the book."""
        with metrics.counting(render):
            render.plan()
            on_stage("speaking")
            render.start_speaking()
            for number in dict.fromkeys(job.chapter for job in render.jobs):
                render.measure(number)
            for shard in render.shards:
                render.speak(shard)
            on_stage("mastering")
            render.master()
            on_stage("publishing")
            return render.publish(dest)
