"""Several engines on the room of one: pools of engine processes that take turns.

A process loads one engine. So that a book of several engines needs neither more processes nor more
memory than one of the largest, one pool is open at a time: what is ordered of an engine is spoken,
then its processes end and those of the next one start. At the beginning each engine is loaded once
by itself, so that all is known of it when a book is planned.

One thread opens and closes the pools; `submit` only leaves notes for it.
"""

import contextlib
import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import Protocol

from loudr_core.errors import DeviceError, LoudrError
from loudr_core.speech.orders import Order, Outcome
from loudr_core.speech.wire import EngineInfo, EngineSpec

__all__ = ["Ensemble", "EnsemblePart", "OpenPool"]

_POLL_S = 0.2
_QUIET_S = 0.3
"""Orders come one after the other; before an engine makes room for another, no more of it come."""

_log = logging.getLogger(__name__)


class OpenPool(Protocol):
    """A pool that was started: what an ensemble needs of `speech.workers.EnginePool`."""

    def info(self, timeout_s: float | None = None) -> EngineInfo:
        """Return what the engine is; TimeoutError when it is not loaded by then."""
        ...

    def submit(self, order: Order) -> "Future[Outcome]":
        """Queue an order."""
        ...

    def close(self, *, cancel: bool = False) -> None:
        """End the processes, after what was submitted is done, or at once."""
        ...


@dataclass(frozen=True, slots=True)
class _Note:
    number: int
    order: Order
    future: "Future[Outcome]"


class EnsemblePart:
    """One engine of an ensemble, to its users a pool of its own."""

    def __init__(self, ensemble: "Ensemble", spec: EngineSpec) -> None:
        self.spec = spec
        self.described: Future[EngineInfo] = Future()
        self.waiting: deque[_Note] = deque()
        self._ensemble = ensemble

    def info(self, timeout_s: float | None = None) -> EngineInfo:
        """Return what the engine is, as `EnginePool.info`."""
        return self.described.result(timeout_s)

    def submit(self, order: Order) -> "Future[Outcome]":
        """Queue an order; the future is as that of `EnginePool.submit`.

        Raises
        ------
        LoudrError
            No engine can be run any more.
        ValueError
            The ensemble is closed.
        """
        return self._ensemble.submit(self, order)


class Ensemble:
    """Engines that take turns.

    Parameters
    ----------
    specs : sequence of EngineSpec
        The first one is opened first, and stays open until another one is needed. Equal ones are
        one engine.
    size : int
        Processes of an engine at its turn.
    start : callable
        Starts a pool of so many processes of a spec, and returns at once.
    """

    def __init__(
        self,
        specs: Sequence[EngineSpec],
        *,
        size: int,
        start: Callable[[EngineSpec, int], OpenPool],
    ) -> None:
        if not specs or size < 1:
            raise ValueError(f"an ensemble of {len(specs)} engines with {size} processes each")
        self._size = size
        self._start = start
        self._parts: list[EnsemblePart] = []
        for spec in specs:
            if all(part.spec != spec for part in self._parts):
                self._parts.append(EnsemblePart(self, spec))
        self._changed = threading.Condition()
        self._turn: EnsemblePart | None = None
        self._pool: OpenPool | None = None
        self._numbers = itertools.count()
        self._in_flight = 0
        self._told = 0.0
        self._fatal: LoudrError | None = None
        self._closing = self._stopping = False
        self._thread = threading.Thread(target=self._run, name="ensemble", daemon=True)

    def part(self, spec: EngineSpec) -> EnsemblePart:
        """Return the pool of one engine; equal specs have the same one."""
        return next(part for part in self._parts if part.spec == spec)

    def __enter__(self) -> "Ensemble":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(cancel=kind is not None)

    def close(self, *, cancel: bool = False) -> None:
        """End the processes, after what was submitted is done, or at once with `cancel`."""
        with self._changed:
            self._closing = True
            self._stopping = self._stopping or cancel
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join()

    def submit(self, part: EnsemblePart, order: Order) -> "Future[Outcome]":
        """Queue an order for a part; see `EnsemblePart.submit`."""
        future: Future[Outcome] = Future()
        with self._changed:
            if self._fatal is not None:
                raise self._fatal
            if self._closing:
                raise ValueError("the ensemble is closed")
            part.waiting.append(_Note(next(self._numbers), order, future))
            self._told = time.monotonic()
            self._changed.notify_all()
        return future

    # Everything below runs in the ensemble's thread, `_answer` in that of a pool.

    def _run(self) -> None:
        try:
            self._describe()
            while not self._stopping and self._step():
                pass
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
            self._give_up(error)
        finally:
            self._leave()

    def _describe(self) -> None:
        """Load every engine once, as many at a time as there may be processes, the first last."""
        first, *others = self._parts
        loading: deque[tuple[EnsemblePart, OpenPool]] = deque()
        try:
            for part in others:
                if len(loading) == self._size:
                    self._note(*loading.popleft())
                loading.append((part, self._start(part.spec, 1)))
            while loading:
                self._note(*loading.popleft())
        finally:
            for _, pool in loading:
                pool.close(cancel=True)
        self._open(first)

    def _note(self, part: EnsemblePart, pool: OpenPool) -> None:
        try:
            part.described.set_result(self._loaded(pool))
        finally:
            pool.close(cancel=True)

    def _open(self, part: EnsemblePart) -> None:
        """Give an engine its turn.

        Raises
        ------
        DeviceError
            It is not what it was when it was described.
        """
        self._turn, self._pool = part, self._start(part.spec, self._size)
        info = self._loaded(self._pool)
        if not part.described.done():
            part.described.set_result(info)
        elif info != part.described.result():
            raise DeviceError(
                f"engine {part.spec.engine!r} is not the same as when the book was planned: its "
                "files or packages were changed; run again"
            )

    def _loaded(self, pool: OpenPool) -> EngineInfo:
        while not self._stopping:
            with contextlib.suppress(TimeoutError):
                return pool.info(_POLL_S)
        raise CancelledError

    def _step(self) -> bool:
        """Hand over what is for the engine at its turn, or change turns; say whether to go on."""
        with self._changed:
            notes = self._take()
            following = None if notes else self._following()
            if not notes and following is None:
                if self._closing and not self._in_flight:
                    return False
                waiting = any(part.waiting for part in self._parts)
                self._changed.wait(_QUIET_S if waiting else None)
        for note in notes:
            self._hand_over(note)
        if following is not None:
            self._change_to(following)
        return True

    def _take(self) -> list[_Note]:
        """Return what waits for the engine at its turn; it counts as in flight."""
        turn = self._turn
        if turn is None:
            return []
        notes = list(turn.waiting)
        turn.waiting.clear()
        self._in_flight += len(notes)
        return notes

    def _following(self) -> EnsemblePart | None:
        """Return whose turn is next, the one whose first order has waited longest.

        None while this turn lasts, or more orders of it may come.
        """
        quiet = self._closing or time.monotonic() - self._told >= _QUIET_S
        if self._in_flight or not quiet:
            return None
        waiting = [part for part in self._parts if part.waiting]
        return min(waiting, key=lambda part: part.waiting[0].number, default=None)

    def _change_to(self, part: EnsemblePart) -> None:
        _log.info("engine %s takes its turn", part.spec.engine)
        ended, self._pool, self._turn = self._pool, None, None
        if ended is not None:
            ended.close()
        self._open(part)

    def _hand_over(self, note: _Note) -> None:
        pool, future = self._pool, note.future
        if pool is None:
            raise ValueError("no engine has its turn")
        try:
            inner = pool.submit(note.order)
        except LoudrError as error:
            self._count_down()
            if future.set_running_or_notify_cancel():
                future.set_exception(error)
            return
        inner.add_done_callback(lambda done: self._answer(future, done))

    def _answer(self, future: "Future[Outcome]", done: "Future[Outcome]") -> None:
        try:
            if done.cancelled():
                future.cancel()
                future.set_running_or_notify_cancel()
            elif future.set_running_or_notify_cancel():
                error = done.exception()
                if error is not None:
                    future.set_exception(error)
                else:
                    future.set_result(done.result())
        finally:
            self._count_down()

    def _count_down(self) -> None:
        with self._changed:
            self._in_flight -= 1
            self._changed.notify_all()

    def _give_up(self, error: Exception) -> None:
        """Tell everybody who waits, or will, what keeps the engines from running."""
        if isinstance(error, LoudrError):
            fatal = error
        elif isinstance(error, CancelledError):
            return
        else:
            _log.exception("changing engines failed")
            fatal = DeviceError(f"changing engines failed: {error}")
        with self._changed:
            self._fatal = fatal
        for part in self._parts:
            if not part.described.done():
                part.described.set_exception(fatal)

    def _leave(self) -> None:
        """End the open pool; nothing is to wait for an answer that nobody will give."""
        with self._changed:
            self._closing = True
            left = [note.future for part in self._parts for note in part.waiting]
            for part in self._parts:
                part.waiting.clear()
        for future in left:
            if self._fatal is None:
                future.cancel()
            if future.set_running_or_notify_cancel() and self._fatal is not None:
                future.set_exception(self._fatal)
        if self._pool is not None:
            self._pool.close(cancel=self._stopping or self._fatal is not None)
        for part in self._parts:
            if not part.described.done():
                part.described.set_exception(CancelledError())
