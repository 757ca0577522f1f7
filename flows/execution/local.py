"""Run a render as a Prefect flow on this machine, with a server of its own unless there is one.

The server is started at once and waited for only when the flow is about to begin; until then the
book is planned and spoken.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from flows import contact, live, prefect_environment
from flows.api_server import ApiServer
from flows.execution.inline import Inline
from flows.execution.protocol import OnStage
from flows.home import ready_home
from flows.importing import PREFECT
from loudr_core.errors import DeviceError, Interrupted, LoudrError

if TYPE_CHECKING:
    from loudr_core.render.book import BookRender
    from loudr_core.render.result import RenderResult

__all__ = ["LocalExecution", "local_execution", "require_server"]

logger = logging.getLogger(__name__)

_DRAIN_S = 20.0
_HAND_OVER_S = 5.0
_ANSWER_BYTES = 1024
_ASK_S = 10.0
_OWN_RETRIES = "2"
"""Calls again, within 6 s, for a server on this machine that was never far away."""


class LocalExecution:
    """The flow `render-book` in this process, its state in `PREFECT_API_URL`'s server."""

    def __init__(self, server: ApiServer | None) -> None:
        self._server = server
        # No daemon: an interpreter must not end while a thread of it imports.
        self._imported = threading.Thread(target=_import_flow, name="import-flow")
        self._imported.start()

    def run(self, render: BookRender, dest: str | Path | None, on_stage: OnStage) -> RenderResult:
        """Return the result of the book."""
        self._imported.join()
        try:
            if self._server is not None:
                self._server.wait(cancel=render.cancel)
        except DeviceError as error:
            logger.warning("%s; this book goes on without it", error.message)
            return Inline().run(render, dest, on_stage)
        if render.cancel.is_set():
            raise Interrupted
        from prefect.exceptions import TerminationSignal

        from flows.render_book import render_book
        from flows.request import RenderRequest
        from loudr_core.render.planning import StoredPlan

        name = f"{os.getpid()}-{id(render)}"
        request = RenderRequest(
            book=render.label if isinstance(render.source, StoredPlan) else str(render.source),
            dest=None if dest is None else str(dest),
            report=self._server is None,  # a link has a reader where the server outlives us
            live=name,
        )
        with live.registered(name, render, on_stage, _stop_as_before()):
            try:
                render_book(request)
            except (LoudrError, Interrupted):
                raise
            except TerminationSignal as error:  # before the flow had begun
                raise Interrupted from error
            except Exception as error:
                if (cause := _cause_of(error)) is not None:
                    raise cause from error
                if not _is_loss(error, name):
                    raise
            found = live.find(name)
            if found is not None and found.result is not None:
                return found.result
            return Inline().run(render, dest, on_stage)  # lost before the flow had begun

    def hand_over(self) -> None:
        """Send what is still queued for our server, logs and events, before that stops."""
        if self._server is None or not self._server.answered or not self._server.alive:
            return
        from prefect.events.worker import EventsWorker
        from prefect.logging.handlers import APILogWorker

        for worker in (APILogWorker, EventsWorker):
            worker.drain_all(timeout=_HAND_OVER_S, at_exit=False)

    def drain(self) -> None:
        """Return when the server has recorded every task run, or after a while."""
        if self._server is None:
            return
        deadline = time.monotonic() + _DRAIN_S
        while self._server.alive and time.monotonic() < deadline:
            if live.recorded(_count_task_runs):
                return
            time.sleep(0.2)


@contextlib.contextmanager
def local_execution(home: Path) -> Iterator[LocalExecution]:
    """Start what the flow needs; when the block ends, drain the records and stop it.

    Raises
    ------
    StoreError
        loudr's home cannot be written, or is full.
    DeviceError
        There is no server where `PREFECT_API_URL` says.
    """
    ready_home(home)
    prefect_environment.apply(home)
    server = None
    if url := os.environ.get("PREFECT_API_URL"):
        require_server(url)
    else:
        server = ApiServer(home, prefect_environment.quiet(home))
        server.start()
        os.environ["PREFECT_API_URL"] = server.url
        os.environ.setdefault("PREFECT_CLIENT_MAX_RETRIES", _OWN_RETRIES)
    execution = LocalExecution(server)
    try:
        yield execution
        execution.drain()
    finally:
        execution.hand_over()
        if server is not None:
            server.stop()
            os.environ.pop("PREFECT_API_URL", None)


def require_server(url: str) -> None:
    """Ask a Prefect server that is not ours whether it is there.

    Raises
    ------
    DeviceError
        Nothing answers, or something else.
    """
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/health", timeout=_ASK_S) as answer:
            healthy = answer.read(_ANSWER_BYTES).strip() == b"true"
        if not healthy:  # the page of the UI, or somebody else's server
            raise DeviceError(
                f"what answers at {url} is no Prefect API: PREFECT_API_URL ends in /api", url=url
            )
    except urllib.error.HTTPError as error:
        error.close()  # it answers, if only to those whom it knows
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise DeviceError(
            f"no Prefect server at {url} ({' '.join(str(reason).split())}): start it, unset "
            "PREFECT_API_URL, or use --executor inline",
            url=url,
        ) from None


def _is_loss(error: Exception, name: str) -> bool:
    """Say whether an error is only that the server of a render's flow is gone, or was."""
    if not contact.comes_from_server(error):
        return False
    if not contact.answers():
        return True
    found = live.find(name)
    if found is None or found.result is None:
        return False
    said = " ".join(str(error).split())[:300]
    logger.warning("the Prefect server was not told that a run has ended: %s", said)
    return True


def _stop_as_before() -> Callable[[], None]:
    """Return what has SIGTERM do again what it does now.

    A flow in the main thread makes it raise, in the middle of whatever runs there; what stops a
    render cleanly is set by whoever started it.
    """
    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    ours = signal.getsignal(signal.SIGTERM)

    def restore() -> None:
        signal.signal(signal.SIGTERM, ours)

    return restore


def _cause_of(error: BaseException) -> LoudrError | Interrupted | None:
    """Return what ended a run, when a server that could not be told of it hides that."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (LoudrError, Interrupted)):
            return cause
        cause = cause.__cause__ or cause.__context__
    return None


def _import_flow() -> None:
    # First what whoever opens a book imports too: threads that import the same packages from other
    # ends would meet half-made modules; so one of them waits for the other.
    import loudr_core.render.book  # noqa: F401

    with PREFECT:
        import flows.render_book  # noqa: F401 - four seconds of imports, while the book is planned

    # The server keeps what these loggers say. A person gets the error itself, in one line, and not
    # the traceback that Prefect writes for a run that failed or was stopped.
    for name in ("prefect.flow_runs", "prefect.task_runs", "prefect.engine"):
        logging.getLogger(name).propagate = False
    contact.quieten()


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
