"""A render whose own server does not start is a render all the same."""

import threading
from pathlib import Path
from typing import Any

import pytest

from flows.execution import local as module
from flows.execution.local import LocalExecution
from loudr_core.errors import DeviceError


class Broken:
    """A server that never starts."""

    def wait(self, cancel: threading.Event | None = None) -> None:
        raise DeviceError("the Prefect API server did not start: see server.log")


def test_a_server_that_does_not_start_costs_the_book_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[tuple[Any, ...]] = []
    warned: list[str] = []

    class Inline:
        def run(self, *given: Any) -> str:
            asked.append(given)
            return "the book"

    monkeypatch.setattr(module, "Inline", Inline)
    monkeypatch.setattr(module, "_import_flow", lambda: None)  # Prefect takes seconds
    monkeypatch.setattr(module.logger, "warning", lambda text, *of: warned.append(text % of))
    render: Any = type("Render", (), {"cancel": threading.Event()})()
    server: Any = Broken()
    said: Any = LocalExecution(server).run(render, tmp_path, print)
    assert said == "the book"
    assert asked == [(render, tmp_path, print)]
    assert warned == [
        "the Prefect API server did not start: see server.log; this book goes on without it"
    ]
