"""Book to M4B: the flow behind `loudr render`.

Shards and chapters become task runs, at most about 200 of them; what happens to single segments is
in loudr's own tables. Truth is in the store: a flow run again finds what is finished.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from prefect import flow, runtime
from prefect.task_runners import ThreadPoolTaskRunner

from flows import live
from flows.configuration import load
from flows.costs import Price
from flows.events import book_crashed, reporting_failure
from flows.opening import engine_pool, open_render, open_settings_store, pool_size
from flows.places import refuse_relative
from flows.plain_failure import plain_failure
from flows.request import RenderRequest
from flows.steps import Step, run_step, submit_step
from flows.watching import watching
from loudr_core.queue.source import local_file
from loudr_core.render.book import BookRender, RenderOptions
from loudr_core.render.destination import open_destination
from tasks.assemble import master, measure
from tasks.plan import plan
from tasks.publish import publish
from tasks.report import report
from tasks.synthesize import synthesize

__all__ = ["render_book"]

logger = logging.getLogger(__name__)

_THREADS = 8
_TASKS_OF_BOOK = 3  # plan, master, publish
_MEASURE_TASKS = 40


def _run_name() -> str:
    request: RenderRequest = runtime.flow_run.parameters["request"]
    return f"render {Path(request.book).stem}"


@flow(
    name="render-book",
    flow_run_name=_run_name,
    task_runner=ThreadPoolTaskRunner(max_workers=_THREADS),  # type: ignore[arg-type]
    persist_result=False,
    on_crashed=[book_crashed],
)
@plain_failure
def render_book(request: RenderRequest) -> dict[str, Any]:
    """Render one book and deliver it; returns the JSON of `RenderResult`."""
    with (
        reporting_failure(_label(request)) as failure,
        _opened(request) as opened,
        watching(opened.render, failure, _price(request), opened.on_stage) as watch,
    ):
        render, label = opened.render, opened.render.label
        watch.planned(run_step(plan, render, label))
        watch.stage("speaking")
        render.start_speaking()
        watch.given_out()
        steps = _speak_and_measure(render)
        live.note_run(str(runtime.flow_run.id), len(steps) + _TASKS_OF_BOOK + request.report)
        for step in steps:
            step.result()
        watch.stage("mastering")
        mastered = run_step(master, render, label)
        watch.stage("publishing")
        result = run_step(publish, render, request.dest, label)
        page = _report(render, label) if request.report else ""
        watch.finished(result, mastered, report=page)
        opened.result = result
    return dict(result.as_dict())


def _label(request: RenderRequest) -> str:
    """Return what people know the book by before it is opened."""
    found = live.find(request.live) if request.live else None
    return found.render.label if found else Path(request.book).stem


def _price(request: RenderRequest) -> Price:
    settings = load(request.profile)
    return Price(per_hour=settings.price_per_hour, currency=settings.currency)


def _report(render: BookRender, label: str) -> str:
    """Return where the listening report lies; a book without one is finished all the same."""
    try:
        return str(run_step(report, render.store, render.plan(), label))
    except Exception:
        logger.warning("the listening report could not be written", exc_info=True)
        return ""


def _speak_and_measure(render: BookRender) -> Sequence[Step]:
    """Submit every shard, and after the shard that ends them, the chapters to measure."""
    last_shard = render.last_shards()
    chapters = sorted(last_shard)
    size = max(1, -(-len(chapters) // _MEASURE_TASKS))
    groups = [chapters[start : start + size] for start in range(0, len(chapters), size)]
    steps: list[Step] = []
    for shard in render.shards:
        steps.append(submit_step(synthesize, render, shard, shard.number, shard.label))
        steps += [
            submit_step(measure, render, group, _span(group))
            for group in groups
            if max(last_shard[number] for number in group) == shard.number
        ]
    return steps


def _span(chapters: Sequence[int]) -> str:
    return f"{chapters[0]}" if len(chapters) == 1 else f"{chapters[0]} to {chapters[-1]}"


@contextmanager
def _opened(request: RenderRequest) -> Iterator[live.LiveRender]:
    """Yield the render that the request names, or one of its own over new engine processes."""
    found = live.find(request.live) if request.live else None
    if found is not None:
        if found.on_begin is not None:
            found.on_begin()
        yield found
        return
    refuse_relative(book=request.book, destination=request.dest)
    settings = load(request.profile, voice=request.voice, store=request.store)
    if request.dest:
        open_destination(request.dest)  # known now, and not after a night
    store = open_settings_store(settings)
    size = pool_size(settings)
    with TemporaryDirectory(prefix="loudr-") as aside, ExitStack() as stack:
        source = local_file(request.book, Path(aside))
        pool = stack.enter_context(engine_pool(settings, store, size=size))
        render = open_render(
            source,
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
