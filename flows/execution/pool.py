"""Speak books on other machines: shards become runs of `render-shard` on a pool of workers.

To the stages of a render this is a pool of engine processes like the one on this machine: orders
in, outcomes out. Behind it stands a thread for each book, whose campaign gives the shards out. Only
the store is believed.
"""

import contextlib
import logging
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future

from flows.execution.campaign import Campaign, Terms
from flows.execution.shard_runs import ShardRuns, Unreachable
from flows.shard_request import ShardEngine, ShardRequest
from loudr_core.errors import DeviceError, LoudrError
from loudr_core.jobs.choices import finished
from loudr_core.jobs.orders import cut_shards
from loudr_core.jobs.plan import Plan
from loudr_core.render.reconcile import ShardStanding
from loudr_core.render.shard import found_outcome
from loudr_core.render.shard_files import (
    Entry,
    clear_shards,
    engine_folder,
    read_info,
    write_orders,
)
from loudr_core.speech.orders import Order, Outcome
from loudr_core.speech.wire import EngineInfo, EngineSpec
from loudr_core.store.lanes import in_lanes
from loudr_core.store.protocol import ObjectStore

__all__ = ["BookPart", "BookPool", "ShardPool"]

logger = logging.getLogger(__name__)

_QUIET_S = 0.3
"""Orders come in one after the other; when none has come for so long, they are cut into shards."""
_SHARD_AUDIO_MOST_S = 18_000.0


class ShardPool:
    """The workers of a pool, as the engine of one or several books.

    Parameters
    ----------
    specs : EngineSpec, or mapping of str to EngineSpec
        What a worker loads for each voice, by its name; the narrator's is empty.
    store : ObjectStore
        One that the workers reach too.
    runs : ShardRuns
    terms : Terms
    """

    def __init__(
        self,
        specs: EngineSpec | Mapping[str, EngineSpec],
        store: ObjectStore,
        *,
        runs: ShardRuns,
        terms: Terms,
    ) -> None:
        self.store, self.runs, self.terms = store, runs, terms
        self.owner = uuid.uuid4().hex[:12]
        self._specs = {"": specs} if isinstance(specs, EngineSpec) else dict(specs)
        self._infos: dict[str, Future[EngineInfo]] = {
            name: Future() for name in map(self.engine_of, self._specs)
        }
        self._stop = threading.Event()
        self._books: list[BookPool] = []
        self._threads = [
            threading.Thread(target=self._describe, args=(name,), name="describe", daemon=True)
            for name in self._infos
        ]

    def __enter__(self) -> "ShardPool":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for book in self._books:
            book.close()
        for thread in self._threads:
            thread.join()

    def engine_of(self, name: str) -> str:
        """Return the first of the voices that have the same engine, which stands for it."""
        return next(each for each, spec in self._specs.items() if spec == self._specs[name])

    def info(self, timeout_s: float | None = None, name: str = "") -> EngineInfo:
        """Return what a voice's engine is, from the store or from the first worker that loads it.

        Raises
        ------
        LoudrError
            There is no such deployment, or no worker can load the engine.
        TimeoutError
            It took longer than `timeout_s`.
        """
        return self._infos[self.engine_of(name)].result(timeout_s)

    def submit(self, order: Order) -> "Future[Outcome]":
        """Refuse: orders belong to a book."""
        raise ValueError(f"order {order.id} was given to no book: use for_book()")

    def for_book(self) -> "BookPool":
        """Return the pool for one more book."""
        self._books.append(BookPool(self))
        return self._books[-1]

    def request(self, shard: ShardStanding, plan: Plan | None, name: str = "") -> ShardRequest:
        """Return what a run of a shard is asked for; without a plan, to describe the engine.

        Parameters
        ----------
        name : str
            Of a voice that has the engine.
        """
        spec = self._specs[name]
        fingerprint = ""
        if plan is not None:
            fingerprint = plan.voices[name].fingerprint if name else plan.fingerprint
        return ShardRequest(
            store=spec.store_url,
            engine=ShardEngine(
                engine=spec.engine,
                bundle=spec.bundle,
                provider=spec.provider,
                options=dict(spec.options),
                detectors=dict(spec.policy),
                voice=name,
            ),
            owner=self.owner,
            book_id=plan.book_id if plan else "",
            plan_id=plan.plan_id if plan else "",
            shard=shard.number,
            attempt=shard.attempt,
            fingerprint=fingerprint,
        )

    def _describe(self, name: str) -> None:
        described, spec = self._infos[name], self._specs[name]
        try:
            self.runs.workers()  # a deployment that is not there is known now
            info = read_info(self.store, spec)
            if info is None:
                info = _Description(self, engine_folder(spec), name).wait(self._stop)
        except CancelledError as stopped:
            described.set_exception(stopped)
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
            described.set_exception(_as_ours(error))
        else:
            described.set_result(info)


class _Description:
    """Asks a worker what its engine is: a shard with one thing missing, and no book."""

    def __init__(self, pool: ShardPool, folder: str, name: str) -> None:
        self._pool, self._folder = pool, folder
        self._info: EngineInfo | None = None
        self._campaign = Campaign(
            pool.store,
            folder,
            owner=pool.owner,
            runs=pool.runs,
            terms=pool.terms,
            request=lambda shard: pool.request(shard, None, name),
            listener=self,
        )
        self._campaign.board.shards[0] = ShardStanding(number=0, missing={"description": 0.0})

    def wait(self, stop: threading.Event) -> EngineInfo:
        try:
            while not stop.is_set():
                self._campaign.round()
                if self._info is not None:
                    return self._info
                stop.wait(self._pool.terms.poll_s)
        finally:
            self._campaign.end()
            with contextlib.suppress(LoudrError):
                clear_shards(self._pool.store, self._folder, self._pool.owner)
        raise CancelledError

    def hear(self, entry: Entry) -> None:
        if entry.info is not None and entry.owner == self._pool.owner:
            self._info = entry.info
            self._campaign.board.shards[0].missing.clear()

    def confirm(self, shard: ShardStanding) -> None:
        """Nothing but the journal says it."""

    def give_up(self, shard: ShardStanding, error: LoudrError) -> None:
        raise error


class BookPool:
    """The pool as one book sees it; made by `ShardPool.for_book`."""

    def __init__(self, pool: ShardPool) -> None:
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
            self._fatal = _as_ours(error)
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


def _as_ours(error: Exception) -> LoudrError:
    if isinstance(error, LoudrError):
        return error
    if isinstance(error, Unreachable):
        return DeviceError(f"{error}: see that it runs, and that PREFECT_API_URL names it")
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return DeviceError(f"shards could not be given to workers ({reason})")
