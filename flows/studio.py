"""Renders inside another flow: the engine processes stay while books need the same ones."""

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.states import Cancelled

from flows import live
from flows.configuration import Settings
from flows.opening import (
    Engines,
    engine_pool,
    engine_specs,
    open_render,
    open_settings_store,
    pool_size,
)
from flows.render_book import render_book
from flows.request import RenderRequest
from loudr_core.render.book import BookRender, RenderOptions
from loudr_core.render.planning import StoredPlan
from loudr_core.render.result import RenderResult
from loudr_core.render.speak import Interrupted
from loudr_core.speech.wire import EngineSpec
from loudr_core.store.protocol import ObjectStore

__all__ = ["Studio", "studio"]


class Studio:
    """Where several books are rendered one after the other, each as a run of `render-book`."""

    def __init__(self) -> None:
        self._engines: _Engines | None = None

    def render(
        self,
        source: Path | StoredPlan,
        settings: Settings,
        *,
        dest: str | None,
        options: RenderOptions,
        cancel: threading.Event,
    ) -> RenderResult:
        """Render one book and deliver it.

        Parameters
        ----------
        options : RenderOptions
            Without `workers`, which this machine decides.
        cancel : threading.Event
            Set to stop; what is finished stays finished.

        Raises
        ------
        Interrupted
            It was stopped.
        LoudrError
            As the stages do.
        """
        store = open_settings_store(settings)
        engines = self._started(settings, store)
        render = open_render(
            source,
            settings,
            store=store,
            pool=engines.pool,
            options=replace(options, workers=engines.size),
            cancel=cancel,
        )
        try:
            return _run(render, dest)
        except BaseException:
            self.close()  # what is left of this book in their queue is not for them to speak
            raise

    def close(self) -> None:
        """End the engine processes; what they have not begun they leave."""
        ended, self._engines = self._engines, None
        if ended is not None:
            stop = Interrupted()
            ended.stack.__exit__(Interrupted, stop, None)

    def _started(self, settings: Settings, store: ObjectStore) -> "_Engines":
        """Return engine processes for these settings: those that run, or others in their place."""
        key = (engine_specs(settings.profile, store), settings.executor)
        if self._engines is None or self._engines.key != key:
            self.close()
            stack, size = ExitStack(), pool_size(settings)
            pool = stack.enter_context(engine_pool(settings, store, size=size))
            self._engines = _Engines(key, size, pool, stack)
        return self._engines


@dataclass(frozen=True, slots=True)
class _Engines:
    """Engine processes, what they were started for, and how to end them."""

    key: tuple[Mapping[str, EngineSpec], str]
    size: int
    pool: Engines
    stack: ExitStack


@contextmanager
def studio() -> Iterator[Studio]:
    """Yield a studio; its engine processes end with the block."""
    here = Studio()
    try:
        yield here
    finally:
        here.close()


def _run(render: BookRender, dest: str | None) -> RenderResult:
    request = RenderRequest(book=render.label, dest=dest, live=f"{os.getpid()}-{id(render)}")
    with live.registered(request.live, render, lambda stage: None):
        state: State[Any] = render_book(request, return_state=True)
        if render.cancel.is_set() and not state.is_completed():
            _show_as_stopped(state)
            raise Interrupted
        state.result(raise_on_failure=True)
        return live.result_of(request.live)


def _show_as_stopped(state: State[Any]) -> None:
    """Have the run shown as cancelled: it was stopped on purpose, and has not failed."""
    run_id = state.state_details.flow_run_id
    with suppress(Exception), get_client(sync_client=True) as client:
        if run_id is not None:
            stopped: State[None] = Cancelled(message="stopped; the next run goes on where it was")
            client.set_flow_run_state(run_id, stopped, force=True)
