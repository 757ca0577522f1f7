import threading
from typing import Any

import pytest

from flows.kept_server import kept
from loudr_core.errors import DeviceError


class Server:
    """A server that ends when it is told to, and whose first starts fail."""

    def __init__(self, failures: int = 0) -> None:
        self.alive = True
        self.starts = 0
        self.up = threading.Event()
        self._failures = failures

    def end(self) -> None:
        self.up.clear()
        self.alive = False

    def start(self) -> None:
        self.starts += 1

    def wait(self, *, cancel: threading.Event) -> None:
        if self.starts <= self._failures:
            raise DeviceError("the Prefect API server did not start: see its log")
        self.alive = True
        self.up.set()


@pytest.mark.parametrize("failures", [0, 2])
def test_a_server_that_ends_is_started_again(
    failures: int, capsys: pytest.CaptureFixture[str]
) -> None:
    server: Any = Server(failures)
    with kept(server, look_s=0.01):
        server.end()
        assert server.up.wait(30)
        server.end()
        assert server.up.wait(30)
    assert server.starts == failures + 2
    said = capsys.readouterr().err
    assert said.count("has ended: starting it again") == failures + 2
    assert said.count("did not start") == failures


def test_one_that_runs_is_left_alone() -> None:
    server: Any = Server()
    with kept(server, look_s=0.001):
        threading.Event().wait(0.05)
    assert server.starts == 0
    server.end()
    threading.Event().wait(0.05)
    assert server.starts == 0, "nobody looks after the block"
