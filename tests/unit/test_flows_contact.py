import logging
import os
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from flows import contact
from flows.steps import run_step, submit_step
from loudr_core.errors import StoreError


class _Health(BaseHTTPRequestHandler):
    timeout = 10  # the server ends after the request in hand, and one may never be sent

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/api/health" else 404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HTTPServer]:
    """Return a server that answers, named as Prefect's."""
    monkeypatch.setattr(contact, "_lost", set())
    server = HTTPServer(("127.0.0.1", 0), _Health)
    monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{server.server_port}/api")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(60)


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name a server where nothing listens."""
    monkeypatch.setattr(contact, "_lost", set())
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")


def of_client() -> Exception:
    """Return an error as Prefect raises one when its server is gone."""
    error = type("ConcurrencySlotAcquisitionError", (Exception,), {"__module__": "prefect.x"})
    return error("Unable to acquire concurrency slots on ['tag:master']")  # type: ignore[no-any-return]


class Task:
    """What a step needs of a Prefect task."""

    def __init__(self, error: Exception | None, *, on_submit: bool = False) -> None:
        self.error, self.on_submit = error, on_submit
        self.direct = 0

    def __call__(self, *arguments: Any) -> Any:
        if self.error is not None:
            raise self.error
        return arguments

    def fn(self, *arguments: Any) -> Any:
        self.direct += 1
        return arguments

    def submit(self, *arguments: Any) -> "Task":
        if self.on_submit and self.error is not None:
            raise self.error
        return self

    def result(self) -> Any:
        return self("task")


def test_a_server_that_answers(server: HTTPServer) -> None:
    assert contact.answers()


def test_without_a_server_there_is_none_to_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    assert contact.answers()


def test_a_loss_is_said_once(gone: None, caplog: pytest.LogCaptureFixture) -> None:
    assert not contact.answers()
    assert not contact.answers()
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "http://127.0.0.1:9/api does not answer" in record.message
    assert "the book goes on without it" in record.message
    assert record.exc_info is None


def test_a_server_that_comes_back_may_be_lost_again(
    server: HTTPServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    there = os.environ["PREFECT_API_URL"]
    for _ in range(2):
        monkeypatch.setattr(urllib.request, "urlopen", _refuse)
        assert not contact.answers()
        monkeypatch.undo()
        monkeypatch.setenv("PREFECT_API_URL", there)
        assert contact.answers()
    assert len(caplog.records) == 2


def _refuse(*_: object, **__: object) -> None:
    raise urllib.error.URLError(ConnectionRefusedError(111, "Connection refused"))


def test_what_repeats_itself_is_not_said(gone: None, caplog: pytest.LogCaptureFixture) -> None:
    before = logging.raiseExceptions
    talkers = [logging.getLogger(name) for name in contact._TALKERS]
    filters = [list(talker.filters) for talker in talkers]
    try:
        contact.quieten()
        contact.quieten()
        assert [len(talker.filters) for talker in talkers] == [len(f) + 1 for f in filters]
        for talker in talkers:
            talker.error("Unable to connect")
    finally:
        logging.raiseExceptions = before
        for talker, own in zip(talkers, filters, strict=True):
            talker.filters[:] = own
    assert [record.name for record in caplog.records] == ["flows.contact"]


def test_a_step_goes_on_without_its_task_run(gone: None) -> None:
    task: Any = Task(of_client())
    assert run_step(task, "a", 1) == ("a", 1)
    assert submit_step(task, "b").result() == ("b",)
    early: Any = Task(of_client(), on_submit=True)
    assert submit_step(early, "c").result() == ("c",)
    assert (task.direct, early.direct) == (2, 1)


def test_a_step_that_worked_is_not_done_again(server: HTTPServer) -> None:
    task: Any = Task(None)
    assert run_step(task, "a") == ("a",)
    assert submit_step(task, "b").result() == ("task",)
    assert task.direct == 0


@pytest.mark.parametrize("error", [StoreError("full"), ValueError("a bug")])
def test_what_is_not_about_the_server_is_raised(gone: None, error: Exception) -> None:
    task: Any = Task(error)
    with pytest.raises(type(error)):
        run_step(task, "a")
    with pytest.raises(type(error)):
        submit_step(task, "a").result()
    assert task.direct == 0


def test_an_error_of_ours_counts_whatever_led_to_it(gone: None) -> None:
    ours = StoreError("no room")
    ours.__cause__ = of_client()
    task: Any = Task(ours)
    with pytest.raises(StoreError):
        run_step(task)


def test_prefect_errors_are_known_by_their_chain() -> None:
    outer = RuntimeError("the run crashed")
    outer.__cause__ = of_client()
    assert contact.comes_from_server(outer)
    assert contact.comes_from_server(ExceptionGroup("two", [ValueError("a bug"), of_client()]))
    assert not contact.comes_from_server(ExceptionGroup("one", [ValueError("a bug")]))
    assert not contact.comes_from_server(ValueError("a bug"))
