"""A pool of workers as one book sees it: orders in, outcomes out, shards in between.

A thread of the book cuts orders into shards, and its campaign gives them out until every order is
answered.
"""

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING

from flows.execution.campaign import Campaign
from flows.execution.shard_runs import Unreachable, as_loudr_error
from loudr_core.errors import DeviceError, LoudrError
from loudr_core.jobs.choices import finished
from loudr_core.jobs.orders import cut_shards
from loudr_core.jobs.plan import Plan
from loudr_core.render.reconcile import ShardStanding
from loudr_core.render.shard import found_outcome
from loudr_core.render.shard_files import Entry, clear_shards, write_orders
from loudr_core.speech.orders import Order, Outcome
from loudr_core.speech.wire import EngineInfo
from loudr_core.store.lanes import in_lanes

if TYPE_CHECKING:
    from flows.execution.pool import ShardPool

__all__ = ["BookPart", "BookPool"]

logger = logging.getLogger(__name__)

_QUIET_S = 0.3
"""Orders come in one after the other; when none has come for so long, they are cut into shards."""
_SHARD_AUDIO_MOST_S = 18_000.0


class BookPool:
    """The pool as one book sees it; made by `ShardPool.for_book`."""

    def __init__(self, pool: "ShardPool") -> None:
        self._pool = pool
        self._plan: Callable[[], Plan] | None = None
        self._cancel = threading.Event()
        self._campaign: Campaign | None = None
        self._parts: dict[str, BookPart] = {}
        self._engine: dict[str, str] = {}
        self._engine_of_shard: dict[int, str] = {}
        self._notes: deque[tuple[Order, Future[Outcome]]] = deque()
        self._open: dict[str, tuple[Order, Future[Outcome]]] = {}
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._fatal: LoudrError | None = None
        self._guard = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="shards", daemon=True)

    def attach(self, plan: Callable[[], Plan], cancel: threading.Event) -> None:
        """Say where the plan is to be had, once there is an order, and what stops the render.

        Whoever waits for the orders may be slow to give up, so runs are called off from here.
        """
        self._plan, self._cancel = plan, cancel

    def part(self, name: str) -> "BookPart":
        """Return the pool as one voice of the book sees it; voices of one engine have the same."""
        engine = self._pool.engine_of(name)
        return self._parts.setdefault(engine, BookPart(self, engine))

    def info(self, timeout_s: float | None = None, name: str = "") -> EngineInfo:
        """Return what a voice's engine is, as `ShardPool.info`."""
        return self._pool.info(timeout_s, name)

    def submit(self, order: Order, name: str = "") -> "Future[Outcome]":
        """Queue an order for a voice's engine; the future is as that of `EnginePool.submit`.

        Raises
        ------
        LoudrError
            Shards can no longer be given out.
        ValueError
            The pool is closed.
        """
        future: Future[Outcome] = Future()
        with self._guard:
            if self._fatal is not None:
                raise self._fatal
            if self._cancel.is_set():
                future.cancel()
                return future
            if self._stop.is_set():
                raise ValueError("the pool is closed")
            self._engine[order.job_key] = self._pool.engine_of(name)
            self._notes.append((order, future))
            if self._thread.ident is None:
                self._thread.start()
        self._wake.set()
        return future

    def close(self) -> None:
        """End; runs that still work for this book are called off, what is finished stays."""
        with self._guard:
            self._stop.set()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join()

    # Everything below runs in the book's thread.

    def _run(self) -> None:
        try:
            if self._plan is None:
                raise ValueError("attach() was not called")
            plan = self._plan()
            self._campaign = self._begin(plan)
            while not (self._stop.is_set() or self._cancel.is_set()):
                self._take_in(plan, self._campaign)
                self._campaign.round()
                self._wake.wait(self._pool.terms.poll_s if self._open else None)
            with self._guard:
                self._stop.set()
            self._campaign.end()
            if not self._open:
                clear_shards(self._pool.store, plan.folder, self._pool.owner)
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
            self._fail(error)
        self._settle_all(None)

    def _begin(self, plan: Plan) -> Campaign:
        return Campaign(
            self._pool.store,
            plan.folder,
            owner=self._pool.owner,
            runs=self._pool.runs,
            terms=self._pool.terms,
            request=lambda shard: self._pool.request(
                shard, plan, self._engine_of_shard[shard.number]
            ),
            listener=self,
        )

    def _take_in(self, plan: Plan, campaign: Campaign) -> None:
        """Cut what was ordered into shards, when no more orders come."""
        self._wake.clear()
        if not self._notes:
            return
        count = 0
        while count < len(self._notes) and not self._stop.is_set():
            count = len(self._notes)
            time.sleep(_QUIET_S)
        orders = []
        while self._notes:
            order, future = self._notes.popleft()
            self._open[order.job_key] = (order, future)
            orders.append(order)
        workers = 1
        with contextlib.suppress(Unreachable):
            workers = max(1, self._pool.runs.workers())
        least = self._pool.terms.shard_audio_s
        bounds = (least, max(_SHARD_AUDIO_MOST_S, least))
        for cut in cut_shards(orders, workers=workers, audio_s=bounds, engine_of=self._engine_for):
            shard = campaign.board.add(cut.orders)
            self._engine_of_shard[shard.number] = self._engine_for(cut.orders[0])
            owner = self._pool.owner
            write_orders(self._pool.store, plan.folder, owner, shard.number, cut.orders)

    def _engine_for(self, order: Order) -> str:
        return self._engine[order.job_key]

    def hear(self, entry: Entry) -> None:
        """Answer the orders whose outcomes a run has written."""
        for outcome in entry.outcomes:
            self._settle(outcome.job_key, outcome)

    def confirm(self, shard: ShardStanding) -> None:
        """Answer the orders of a shard that are finished, whoever did it."""
        store = self._pool.store
        orders = [self._open[key][0] for key in shard.missing if key in self._open]
        found = in_lanes(store, lambda order: finished(store, order), orders)
        for order, choice in zip(orders, list(found), strict=True):
            if choice is not None:
                shard.missing.pop(order.job_key)
                self._settle(order.job_key, found_outcome(order, choice))

    def give_up(self, shard: ShardStanding, error: LoudrError) -> None:
        """Answer the orders of a shard with the error."""
        logger.error("%s", error)
        for job_key in shard.missing:
            self._settle(job_key, error)
        shard.missing.clear()

    def _settle(self, job_key: str, answer: Outcome | LoudrError | None) -> None:
        """Answer an order, or cancel it."""
        _, future = self._open.pop(job_key, (None, None))
        if future is None:
            return
        if answer is None:
            future.cancel()
        if not future.set_running_or_notify_cancel():
            return
        if isinstance(answer, Outcome):
            future.set_result(answer)
        else:
            future.set_exception(answer or DeviceError("the pool is closed"))

    def _fail(self, error: Exception) -> None:
        if not isinstance(error, LoudrError):
            logger.error("giving shards to workers failed", exc_info=error)
        with self._guard:
            self._fatal = as_loudr_error(error)
        self._settle_all(self._fatal)
        if self._campaign is not None:
            self._campaign.end()

    def _settle_all(self, error: LoudrError | None) -> None:
        while self._notes:
            order, future = self._notes.popleft()
            self._open[order.job_key] = (order, future)
        for job_key in list(self._open):
            self._settle(job_key, error)


class BookPart:
    """One engine of a book's pool; made by `BookPool.part`."""

    def __init__(self, book: BookPool, name: str) -> None:
        self._book, self._name = book, name

    def info(self, timeout_s: float | None = None) -> EngineInfo:
        """Return what the engine is, as `ShardPool.info`."""
        return self._book.info(timeout_s, self._name)

    def submit(self, order: Order) -> "Future[Outcome]":
        """Queue an order, as `BookPool.submit`."""
        return self._book.submit(order, self._name)
