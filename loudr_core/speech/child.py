"""One engine process as its supervisor sees it: a pipe each way, and what is in flight.

Started with a fresh interpreter, in a session of its own so that a terminal's Ctrl-C does not
reach it. It lives as long as the supervisor holds the writing end of its input. Neither end ever
blocks here.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import loudr_core
from loudr_core.errors import DeviceError
from loudr_core.speech.memory import OUT_OF_MEMORY
from loudr_core.speech.orders import Order, Outcome
from loudr_core.speech.wire import EngineSpec, decode, encode

__all__ = ["Child", "Ticket"]

_READ_BYTES = 1 << 16
_ENDINGS = {
    OUT_OF_MEMORY: "out of memory",
    -signal.SIGKILL: "signal 9, which the system sends when memory is full",
}


@dataclass(slots=True, kw_only=True, eq=False)
class Ticket:
    """An order on its way, with the future that waits for its outcome."""

    number: int
    order: Order
    future: "Future[Outcome]"
    deaths: list[str] = field(default_factory=list)
    """What ended each process that had this order in flight."""
    spoken: bool = False
    """Whether the engine is done with it and only the store is not."""


class Child:
    """A running engine process.

    Parameters
    ----------
    spec : EngineSpec
    worker : str
        Its name in result rows and logs.
    log : Path
        Its standard error, and whatever libraries print, is appended here.

    Raises
    ------
    DeviceError
        The process cannot be started.
    """

    def __init__(self, spec: EngineSpec, *, worker: str, log: Path) -> None:
        self.worker = worker
        self.log = log
        self.ready = False
        self.alone = False
        """Serves one order that may be poison, and gets nothing beside it."""
        self.in_flight: dict[int, Ticket] = {}
        self.moved_at = time.monotonic()
        """When it last started, answered, or was given work while idle."""
        self.verdict = ""
        """Why it was killed here, when it was."""
        self._incoming = bytearray()
        self._outgoing = bytearray()
        # Started beside the package: whatever folder the caller is in, the same code is loaded.
        root = Path(loudr_core.__file__).resolve().parents[1]
        try:
            with log.open("ab") as errors:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "loudr_core.speech.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    cwd=root,
                    start_new_session=True,
                )
        except OSError as error:
            raise DeviceError(f"cannot start an engine process: {error}") from error
        assert self._process.stdin is not None and self._process.stdout is not None
        self.input_fd = self._process.stdin.fileno()
        self.output_fd = self._process.stdout.fileno()
        for descriptor in (self.input_fd, self.output_fd):
            os.set_blocking(descriptor, False)
        self._say({"type": "start", "worker": worker, **spec.as_dict()})

    @property
    def wants_to_write(self) -> bool:
        """Whether something did not fit into the pipe yet."""
        return bool(self._outgoing)

    @property
    def unspoken(self) -> int:
        """Orders in flight that the engine is not done with."""
        return sum(not ticket.spoken for ticket in self.in_flight.values())

    def spoken(self, number: int) -> None:
        """Note that the engine is done with an order."""
        if number in self.in_flight:
            self.in_flight[number].spoken = True

    def give(self, ticket: Ticket, order: dict[str, Any]) -> None:
        """Send an order; it is in flight from now on."""
        if not self.unspoken:
            self.moved_at = time.monotonic()
        ticket.spoken = False
        self.in_flight[ticket.number] = ticket
        self._say({"type": "order", "number": ticket.number, "order": order})

    def flush(self) -> None:
        """Write what the pipe takes. A closed pipe is left for `receive` to notice."""
        try:
            while self._outgoing:
                del self._outgoing[: os.write(self.input_fd, self._outgoing)]
        except BlockingIOError:
            pass
        except OSError:
            self._outgoing.clear()

    def receive(self) -> Iterator[dict[str, Any]]:
        """Yield the messages that have come.

        Raises
        ------
        EOFError
            The process has closed its output: it is dead or dying.
        """
        ended = False
        with contextlib.suppress(BlockingIOError):
            while True:
                data = os.read(self.output_fd, _READ_BYTES)
                if not data:
                    ended = True
                    break
                self._incoming += data
        while (end := self._incoming.find(b"\n")) >= 0:
            line = bytes(self._incoming[: end + 1])
            del self._incoming[: end + 1]
            self.moved_at = time.monotonic()
            yield decode(line)
        if ended:
            raise EOFError

    def kill(self, verdict: str = "") -> None:
        """End the process at once; objects in the store are whole, so nothing is lost."""
        self.verdict = self.verdict or verdict
        with contextlib.suppress(OSError):
            self._process.kill()

    def bury(self) -> str:
        """Reap the process, close the pipes, and say what ended it."""
        with contextlib.suppress(OSError):
            self._process.kill()
        code = self._process.wait()
        self.close_input()
        if self._process.stdout is not None:
            self._process.stdout.close()
        if self.verdict:
            return self.verdict
        return _ENDINGS.get(code) or (f"signal {-code}" if code < 0 else f"exit code {code}")

    def close_input(self) -> None:
        """Close its input, which it takes as the order to end."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def wait(self, timeout_s: float) -> None:
        """Give it time to end by itself."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def _say(self, message: dict[str, Any]) -> None:
        self._outgoing += encode(message)
        self.flush()
