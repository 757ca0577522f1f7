"""Book to M4B: the flow behind `loudr render`.

Shards and chapters become task runs, at most about 200 of them; what happens to single segments is
in loudr's own tables. Truth is in the store: a flow run again finds what is finished.
"""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prefect import flow, runtime
from prefect.futures import PrefectFuture
from prefect.task_runners import ThreadPoolTaskRunner

from flows import artifacts, live
from flows.configuration import load
from flows.opening import engine_pool, open_render, open_settings_store, pool_size
from flows.request import RenderRequest
from loudr_core.render.book import BookRender, RenderOptions
from loudr_core.render.destination import open_destination
from tasks.assemble import master, measure
from tasks.plan import plan
from tasks.publish import publish
from tasks.synthesize import synthesize

__all__ = ["render_book"]

logger = logging.getLogger(__name__)

_THREADS = 8
_TASKS_OF_BOOK = 3  # plan, master, publish
_MEASURE_TASKS = 40
_ARTIFACT_S = 3.0


def _run_name() -> str:
    request: RenderRequest = runtime.flow_run.parameters["request"]
    return f"render {Path(request.book).stem}"


@flow(
    name="render-book",
    flow_run_name=_run_name,
    task_runner=ThreadPoolTaskRunner(max_workers=_THREADS),  # type: ignore[arg-type]
    persist_result=False,
)
def render_book(request: RenderRequest) -> dict[str, Any]:
    """Render one book and deliver it; returns the JSON of `RenderResult`."""
    with _opened(request) as opened:
        render, on_stage = opened.render, opened.on_stage
        label = render.source.stem
        made = plan(render, label)
        on_stage("speaking")
        render.start_speaking()
        futures = _speak_and_measure(render)
        live.note_run(str(runtime.flow_run.id), len(futures) + _TASKS_OF_BOOK)
        with _progress(render, label):
            for future in futures:
                future.result()
        on_stage("mastering")
        master(render, label)
        on_stage("publishing")
        result = publish(render, request.dest, label)
        artifacts.publish_tables(made, result)
        opened.result = result
    return result.as_dict()


def _speak_and_measure(render: BookRender) -> Sequence[PrefectFuture[Any]]:
    """Submit every shard, and after the shard that ends them, the chapters to measure."""
    last_shard = render.last_shards()
    chapters = sorted(last_shard)
    size = max(1, -(-len(chapters) // _MEASURE_TASKS))
    groups = [chapters[start : start + size] for start in range(0, len(chapters), size)]
    futures: list[PrefectFuture[Any]] = []
    for shard in render.shards:
        futures.append(synthesize.submit(render, shard, shard.number, shard.label))
        futures += [
            measure.submit(render, group, _span(group))
            for group in groups
            if last_shard[group[-1]] == shard.number
        ]
    return futures


def _span(chapters: Sequence[int]) -> str:
    return f"{chapters[0]}" if len(chapters) == 1 else f"{chapters[0]} to {chapters[-1]}"


@contextmanager
def _opened(request: RenderRequest) -> Iterator[live.LiveRender]:
    """Yield the render that the request names, or one of its own over new engine processes."""
    found = live.find(request.live) if request.live else None
    if found is not None:
        yield found
        return
    settings = load(request.profile)
    if request.dest:
        open_destination(request.dest)  # known now, and not after a night
    store = open_settings_store(settings)
    size = pool_size(settings)
    with engine_pool(settings, store, size=size) as pool:
        render = open_render(
            Path(request.book),
            settings,
            store=store,
            pool=pool,
            options=RenderOptions(
                chapters=frozenset(request.chapters) if request.chapters else None,
                allow_gaps=request.allow_gaps,
                replan=request.replan,
                workers=size,
            ),
        )
        yield live.LiveRender(render, lambda stage: logger.info("%s", stage))


@contextmanager
def _progress(render: BookRender, label: str) -> Iterator[None]:
    """Keep one progress artifact up to date while the block runs."""
    artifact = artifacts.start_progress(f"segments of {label}")
    done = threading.Event()

    def update() -> None:
        while not done.wait(_ARTIFACT_S):
            artifacts.update_progress(artifact, render.progress.now())

    thread = threading.Thread(target=update, name="progress-artifact", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        artifacts.update_progress(artifact, render.progress.now())
