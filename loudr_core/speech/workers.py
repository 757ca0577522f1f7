"""The supervisor of engine processes: start, feed, replace the dead.

One thread owns the processes and everything about them; `submit` and `close` only leave notes for
it. It starts them itself, never a task's thread, and futures are resolved in it.

A process that dies takes only its orders in flight with it, and those are run again one at a time
in a process that has nothing else to do. An order that ends its process a second time is the
culprit and fails with the cause; the others were bystanders.
"""

import contextlib
import itertools
import logging
import os
import selectors
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loudr_core.errors import DeviceError, LoudrError
from loudr_core.speech.child import Child, Ticket
from loudr_core.speech.choosing import failed_choice, store_choice
from loudr_core.speech.orders import Order, Outcome
from loudr_core.speech.protocol import EngineLimits
from loudr_core.speech.wire import (
    EngineInfo,
    EngineSpec,
    error_from_json,
    info_from_json,
    order_to_json,
    outcome_from_json,
)
from loudr_core.store.open import open_store

__all__ = ["EnginePool", "PoolStats", "worker_count"]

_MEMORY_SHARE = 0.7
_DEATHS = 2
"""Processes that one order may end."""
_BARREN = 3
"""Processes in a row that end before they did anything, until the engine is given up."""
_TICK_S = 1.0
_FAREWELL_S = 5.0

_log = logging.getLogger(__name__)


def worker_count(
    requested: int | None, limits: EngineLimits, *, cpus: int, free_memory_bytes: int
) -> int:
    """Return how many engine processes to run.

    Parameters
    ----------
    requested : int, optional
        What the user asked for; one per core otherwise.
    limits : EngineLimits
        States the peak memory of one process.
    cpus : int
        Cores this process may use.
    free_memory_bytes : int

    Returns
    -------
    int
        At least 1, and no more than fit into 0.7 of the free memory.

    Raises
    ------
    ValueError
        The request is below 1.
    DeviceError
        Not even one process fits into the free memory.
    """
    if requested is not None and requested < 1:
        raise ValueError(f"{requested} workers: ask for at least 1")
    if limits.peak_memory_bytes > free_memory_bytes:
        raise DeviceError(
            f"an engine process needs {limits.peak_memory_bytes >> 20} MiB and "
            f"{free_memory_bytes >> 20} MiB are free: close something and run again"
        )
    fitting = int(_MEMORY_SHARE * free_memory_bytes / max(limits.peak_memory_bytes, 1))
    return max(1, min(requested or max(cpus, 1), fitting))


@dataclass(slots=True, kw_only=True)
class PoolStats:
    """What happened so far."""

    answered: int = 0
    restarts: int = 0
    peak_memory_bytes: int = 0
    """Of the largest engine process."""


class EnginePool:
    """Engine processes behind `submit`.

    Parameters
    ----------
    spec : EngineSpec
        What each process loads.
    size : int
        Processes; see `worker_count`.
    log_dir : Path
        One log file per worker is appended to here.
    hang_floor_s, hang_factor : float
        An order that is not answered for this long, or for so many times its estimated audio if
        that is longer, is taken to hang, and its process is killed.
    start_limit_s : float
        The same for loading the engine.
    """

    def __init__(
        self,
        spec: EngineSpec,
        *,
        size: int,
        log_dir: Path,
        hang_floor_s: float = 60.0,
        hang_factor: float = 20.0,
        start_limit_s: float = 300.0,
    ) -> None:
        if size < 1:
            raise ValueError(f"a pool of {size} processes: ask for at least 1")
        self._spec = spec
        self._size = size
        self._log_dir = log_dir
        self._hang_floor_s = hang_floor_s
        self._hang_factor = hang_factor
        self._start_limit_s = start_limit_s
        self.stats = PoolStats()
        self._info: Future[EngineInfo] = Future()
        self._notes: deque[Callable[[], None]] = deque()
        self._waiting: deque[Ticket] = deque()
        self._accused: deque[Ticket] = deque()
        self._children: list[Child] = []
        self._names = itertools.count()
        self._numbers = itertools.count()
        self._barren = 0
        self._fatal: LoudrError | None = None
        self._closing = False
        self._closed = False
        self._guard = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._selector.register(self._wake_read, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._supervise, name="engines", daemon=True)

    def start(self) -> None:
        """Start the processes and return at once; they load while the caller goes on."""
        self._log_dir.mkdir(parents=True, exist_ok=True)
        self._thread.start()

    def info(self, timeout_s: float | None = None) -> EngineInfo:
        """Return what the engine is, as soon as a process has loaded it.

        Raises
        ------
        LoudrError
            What kept it from loading, as the class it had there.
        TimeoutError
            It took longer than `timeout_s`.
        """
        return self._info.result(timeout_s)

    def submit(self, order: Order) -> "Future[Outcome]":
        """Queue an order; any thread may call this.

        Returns
        -------
        Future of Outcome
            A segment that cannot be spoken is an outcome with a failed choice. The future raises a
            `LoudrError` when the engine cannot run at all or the store failed.

        Raises
        ------
        LoudrError
            The engine is known not to run.
        ValueError
            The pool is closed.
        """
        future: Future[Outcome] = Future()
        ticket = Ticket(number=next(self._numbers), order=order, future=future)
        with self._guard:
            if self._fatal is not None:
                raise self._fatal
            if self._closing:
                raise ValueError("the pool is closed")
            self._notes.append(lambda: self._waiting.append(ticket))
            self._wake()
        return future

    def close(self, *, cancel: bool = False) -> None:
        """End the processes, after what was submitted is done, or at once with `cancel`.

        Cancelled futures raise `concurrent.futures.CancelledError`. What is stored stays stored.
        """
        with self._guard:
            if self._closed:
                return
            self._closing = self._closed = True
            if cancel:
                self._notes.append(self._drop_all)
        if self._thread.ident is None:  # was never started
            self._farewell()
        else:
            self._wake()
            self._thread.join()
        for descriptor in (self._wake_read, self._wake_write):
            os.close(descriptor)

    def __enter__(self) -> "EnginePool":
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(cancel=kind is not None)

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the engine processes that run now."""
        return tuple(child.pid for child in list(self._children))

    def _wake(self) -> None:
        with contextlib.suppress(OSError):  # full: a wake-up is waiting there already
            os.write(self._wake_write, b"\0")

    # Everything below runs in the supervisor's thread.

    def _supervise(self) -> None:
        try:
            while not self._step():
                pass
        except Exception as error:  # noqa: BLE001  # whoever waits must hear of it
            _log.exception("the supervisor of the engine processes failed")
            self._give_up(DeviceError(f"the supervisor of the engine processes failed: {error}"))
        finally:
            self._farewell()

    def _step(self) -> bool:
        """Do what there is to do, wait for more; say whether everything is over."""
        while self._notes:
            self._notes.popleft()()
        if self._fatal is not None:
            self._reject_all(self._fatal)
        if self._closing and not self._open_tickets():
            return True
        self._fill_up()
        self._feed()
        for child in self._children:
            self._watch_input(child)
        for key, _ in self._selector.select(_TICK_S):
            if key.data is None:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake_read, 4096)
            elif key.data in self._children:
                self._hear(key.data) if key.fd == key.data.output_fd else key.data.flush()
        self._find_hanging()
        return False

    def _watch_input(self, child: Child) -> None:
        watched = child.input_fd in self._selector.get_map()
        if child.wants_to_write and not watched:
            self._selector.register(child.input_fd, selectors.EVENT_WRITE, child)
        elif watched and not child.wants_to_write:
            self._selector.unregister(child.input_fd)

    def _open_tickets(self) -> bool:
        busy = any(child.in_flight for child in self._children)
        return bool(self._waiting or self._accused or busy)

    def _fill_up(self) -> None:
        wanted = self._size
        if self._closing:  # no more processes than there are orders for
            wanted = min(wanted, len(self._waiting) + len(self._accused) + len(self._children))
        while self._fatal is None and len(self._children) < wanted:
            name = f"worker-{next(self._names)}"
            try:
                child = Child(self._spec, worker=name, log=self._log_dir / f"{name}.log")
            except LoudrError as error:
                self._give_up(error)
                return
            self._children.append(child)
            self._selector.register(child.output_fd, selectors.EVENT_READ, child)

    def _feed(self) -> None:
        for child in self._children:
            if not child.ready or child.alone:
                continue
            if self._accused and not child.in_flight:
                ticket = self._take(self._accused)
                if ticket is not None:
                    child.alone = True
                    child.give(ticket, order_to_json(ticket.order))
                    continue
            while self._waiting and child.unspoken <= self._batch():
                ticket = self._take(self._waiting)
                if ticket is not None:
                    child.give(ticket, order_to_json(ticket.order))

    def _batch(self) -> int:
        return self._info.result().limits.batch

    @staticmethod
    def _take(tickets: "deque[Ticket]") -> Ticket | None:
        while tickets:
            ticket = tickets.popleft()
            if not ticket.future.cancelled():
                return ticket
            ticket.future.set_running_or_notify_cancel()  # whoever waits for it learns of it
        return None

    def _hear(self, child: Child) -> None:
        try:
            for message in child.receive():
                self._handle(child, message)
        except EOFError:
            self._mourn(child)
        except (ValueError, KeyError, TypeError) as error:
            child.kill(f"spoke nonsense ({error})")
            self._mourn(child)

    def _handle(self, child: Child, message: dict[str, Any]) -> None:
        peak = int(message.get("peak_memory_bytes", 0))
        self.stats.peak_memory_bytes = max(self.stats.peak_memory_bytes, peak)
        kind = message["type"]
        if kind == "ready":
            self._introduce(child, info_from_json(message["info"]))
        elif kind == "refused":
            self._give_up(error_from_json(message["error"]))
        elif kind == "spoken":
            child.spoken(int(message["number"]))
        elif kind == "waiting":
            pass  # for the store: that it says so keeps it from being taken to hang
        elif (ticket := child.in_flight.pop(int(message["number"]), None)) is not None:
            child.alone = False
            self.stats.answered += 1
            if kind == "done":
                self._resolve(ticket, outcome_from_json(message["outcome"]))
            else:
                self._resolve(ticket, error_from_json(message["error"]))

    def _introduce(self, child: Child, info: EngineInfo) -> None:
        child.ready = True
        self._barren = 0
        if not self._info.done():
            self._info.set_result(info)
        elif self._fatal is None and info != self._info.result():
            self._give_up(
                DeviceError(
                    f"engine {self._spec.engine!r} is not the same as when the pool was started: "
                    "its files or packages were changed; run again"
                )
            )

    def _mourn(self, child: Child) -> None:
        for descriptor in (child.output_fd, child.input_fd):
            with contextlib.suppress(KeyError):
                self._selector.unregister(descriptor)
        self._children.remove(child)
        cause = child.bury()
        if self._fatal is not None:
            return
        _log.warning("%s ended (%s), see %s", child.worker, cause, child.log)
        self.stats.restarts += 1
        if not child.ready:
            self._count_barren(child, cause)
        for ticket in child.in_flight.values():
            ticket.deaths.append(cause)
            if len(ticket.deaths) < _DEATHS:
                self._accused.append(ticket)
            else:
                self._condemn(ticket, child)

    def _count_barren(self, child: Child, cause: str) -> None:
        """Stop replacing processes that end while they load: go on with fewer, or not at all."""
        self._barren += 1
        if self._barren < _BARREN:
            return
        if any(other.ready for other in self._children):
            self._size = len(self._children)
            _log.error("going on with %d engine processes: more do not start", self._size)
            return
        self._give_up(
            DeviceError(
                f"engine {self._spec.engine!r} ends while it loads ({cause}): see {child.log}",
                log=str(child.log),
            )
        )

    def _condemn(self, ticket: Ticket, child: Child) -> None:
        causes = ", ".join(dict.fromkeys(ticket.deaths))
        error = f"engine process died twice ({causes}), see {child.log.name}"
        choice = failed_choice(ticket.order, error)
        try:
            store_choice(open_store(self._spec.store_url, ask=False), ticket.order, choice)
        except LoudrError as failure:
            self._resolve(ticket, failure)
            return
        outcome = Outcome(
            id=ticket.order.id,
            job_key=ticket.order.job_key,
            choice=choice,
            rendered=0,
            reused=0,
            results=(),
        )
        self._resolve(ticket, outcome)

    def _find_hanging(self) -> None:
        now = time.monotonic()
        for child in self._children:
            if child.ready and child.unspoken:
                longest = max(t.order.est_audio_s for t in child.in_flight.values())
                limit = max(self._hang_floor_s, self._hang_factor * longest)
            elif not child.ready:
                limit = self._start_limit_s
            else:
                continue
            if now - child.moved_at > limit:
                child.kill(f"no answer for {limit:.0f} s")

    @staticmethod
    def _resolve(ticket: Ticket, answer: Outcome | LoudrError) -> None:
        if not ticket.future.set_running_or_notify_cancel():
            return
        if isinstance(answer, Outcome):
            ticket.future.set_result(answer)
        else:
            ticket.future.set_exception(answer)

    def _give_up(self, error: LoudrError) -> None:
        """Stop everything with one cause; orders that come later get it too."""
        self._fatal = self._fatal or error
        if not self._info.done():
            self._info.set_exception(self._fatal)
        for child in self._children:
            child.kill()
        self._reject_all(self._fatal)

    def _reject_all(self, error: LoudrError) -> None:
        for ticket in self._all_tickets():
            self._resolve(ticket, error)

    def _drop_all(self) -> None:
        """Cancel every order; the processes are killed when the loop sees that nothing is open."""
        for ticket in self._all_tickets():
            ticket.future.cancel()
            ticket.future.set_running_or_notify_cancel()
        if not self._info.done():
            self._info.set_exception(CancelledError())
        for child in self._children:
            child.kill()

    def _all_tickets(self) -> list[Ticket]:
        tickets = [*self._waiting, *self._accused]
        self._waiting.clear()
        self._accused.clear()
        for child in self._children:
            tickets += child.in_flight.values()
            child.in_flight.clear()
        return tickets

    def _farewell(self) -> None:
        for child in self._children:
            child.close_input()
        until = time.monotonic() + _FAREWELL_S
        for child in self._children:
            child.wait(max(0.0, until - time.monotonic()))
            child.bury()
        self._children.clear()
        self._selector.close()
        with self._guard:  # nothing is to wait for an answer that nobody will give
            self._closing = True
            while self._notes:
                self._notes.popleft()()
        if self._fatal is not None:
            self._reject_all(self._fatal)
        self._drop_all()
