"""Run a render's stages in this process, without Prefect: notebooks, tests, debugging."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from flows import metrics
from flows.execution.protocol import OnStage
from loudr_core.patience import patiently

if TYPE_CHECKING:
    from loudr_core.render.book import BookRender
    from loudr_core.render.result import RenderResult

__all__ = ["Inline"]


class Inline:
    """The stages one after the other; engines still work in their own processes.

    Each is tried again as often as the task of it would be.
    """

    def run(self, render: BookRender, dest: str | Path | None, on_stage: OnStage) -> RenderResult:
        """Return the result of the book."""
        with metrics.counting(render):
            patiently(render.plan, render.cancel)
            on_stage("speaking")
            patiently(render.start_speaking, render.cancel)
            for number in dict.fromkeys(job.chapter for job in render.jobs):
                patiently(partial(render.measure, number), render.cancel)
            for shard in render.shards:
                patiently(partial(render.speak, shard), render.cancel)
            on_stage("mastering")
            patiently(render.master, render.cancel)
            on_stage("publishing")
            return patiently(partial(render.publish, dest), render.cancel)
