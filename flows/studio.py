"""Renders inside another flow: the engine processes stay while books need the same ones."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.states import Cancelled

from flows import live
from flows.configuration import Settings
from flows.opening import engine_spec, open_render, open_settings_store, pool_size
from flows.render_book import render_book
from flows.request import RenderRequest
from loudr_core.render.book import BookRender, RenderOptions
from loudr_core.render.result import RenderResult
from loudr_core.render.speak import Interrupted
from loudr_core.speech.wire import EngineSpec
from loudr_core.speech.workers import EnginePool
from loudr_core.store.protocol import ObjectStore

__all__ = ["Studio", "studio"]


class Studio:
    """Where several books are rendered one after the other, each as a run of `render-book`."""

    def __init__(self) -> None:
        self._spec: EngineSpec | None = None
        self._pool: EnginePool | None = None

    def render(
        self,
        source: Path,
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
        size = pool_size(settings)
        render = open_render(
            source,
            settings,
            store=store,
            pool=self._engines(settings, store, size),
            options=replace(options, workers=size),
            cancel=cancel,
        )
        try:
            return _run(render, RenderRequest(book=str(source), dest=dest, live=f"{id(render)}"))
        except BaseException:
            self.close()  # what is left of this book in their queue is not for them to speak
            raise

    def close(self) -> None:
        """End the engine processes; what they have not begun they leave."""
        if self._pool is not None:
            self._pool.close(cancel=True)
        self._spec = self._pool = None

    def _engines(self, settings: Settings, store: ObjectStore, size: int) -> EnginePool:
        spec = engine_spec(settings.profile, store)
        if self._pool is None or spec != self._spec:
            self.close()
            self._pool = EnginePool(spec, size=size, log_dir=settings.home.expanduser() / "logs")
            self._pool.start()
            self._spec = spec
        return self._pool


@contextmanager
def studio() -> Iterator[Studio]:
    """Yield a studio; its engine processes end with the block."""
    here = Studio()
    try:
        yield here
    finally:
        here.close()


def _run(render: BookRender, request: RenderRequest) -> RenderResult:
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
