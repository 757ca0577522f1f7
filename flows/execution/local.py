"""Run a render as a Prefect flow on this machine, with a server of its own unless there is one.

The server is started at once and waited for only when the flow is about to begin; until then the
book is planned and spoken.
"""

import contextlib
import json
import logging
import os
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from flows import live, prefect_environment
from flows.api_server import ApiServer
from flows.execution.protocol import OnStage
from loudr_core.render.book import BookRender
from loudr_core.render.planning import StoredPlan
from loudr_core.render.result import RenderResult
from loudr_core.render.speak import Interrupted

__all__ = ["LocalExecution", "local_execution"]

logger = logging.getLogger(__name__)

_DRAIN_S = 20.0


class LocalExecution:
    """The flow `render-book` in this process, its state in `PREFECT_API_URL`'s server."""

    def __init__(self, server: ApiServer | None) -> None:
        self._server = server
        self._imported = threading.Thread(target=_import_flow, name="import-flow", daemon=True)
        self._imported.start()

    def run(self, render: BookRender, dest: str | Path | None, on_stage: OnStage) -> RenderResult:
        """Return the result of the book."""
        self._imported.join()
        if self._server is not None:
            self._server.wait(cancel=render.cancel)
        if render.cancel.is_set():
            raise Interrupted
        from flows.render_book import render_book
        from flows.request import RenderRequest

        name = f"{os.getpid()}-{id(render)}"
        request = RenderRequest(
            book=render.label if isinstance(render.source, StoredPlan) else str(render.source),
            dest=None if dest is None else str(dest),
            report=self._server is None,  # a link has a reader where the server outlives us
            live=name,
        )
        with live.registered(name, render, on_stage):
            render_book(request)
            return live.result_of(name)

    def drain(self) -> None:
        """Return when the server has recorded every task run, or after a while."""
        if self._server is None:
            return
        deadline = time.monotonic() + _DRAIN_S
        while time.monotonic() < deadline and not live.recorded(_count_task_runs):
            time.sleep(0.2)


@contextlib.contextmanager
def local_execution(home: Path) -> Iterator[LocalExecution]:
    """Start what the flow needs; when the block ends, drain the records and stop it."""
    prefect_environment.apply(home)
    server = None
    if not os.environ.get("PREFECT_API_URL"):
        server = ApiServer(home, prefect_environment.quiet(home))
        server.start()
        os.environ["PREFECT_API_URL"] = server.url
    try:
        execution = LocalExecution(server)
        yield execution
        execution.drain()
    finally:
        if server is not None:
            server.stop()
            os.environ.pop("PREFECT_API_URL", None)


def _import_flow() -> None:
    import flows.render_book  # noqa: F401 - four seconds of imports, while the book is planned

    # The server keeps what these loggers say. A person gets the error itself, in one line, and not
    # the traceback that Prefect writes for a run that failed or was stopped.
    for name in ("prefect.flow_runs", "prefect.task_runs"):
        logging.getLogger(name).propagate = False


def _count_task_runs(flow_run_ids: list[str]) -> int:
    """Return how many task runs of these flow runs the server has recorded as finished."""
    body = {
        "flow_runs": {"id": {"any_": flow_run_ids}},
        "task_runs": {"state": {"type": {"any_": ["COMPLETED", "FAILED", "CRASHED"]}}},
    }
    request = urllib.request.Request(
        f"{os.environ['PREFECT_API_URL']}/task_runs/count",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=5) as answer:
        return int(json.load(answer))
