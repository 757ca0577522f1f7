"""Give a plan's orders to the engine processes, and stop early when the set-up is bad.

All missing orders go to the pool at once, in book order; shards only look after the answers. So the
pool is never idle between shards, and a shard run twice does nothing the second time.
"""

import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass

from loudr_core.errors import Interrupted, LoudrError, QualityError
from loudr_core.jobs.choices import finished, split_finished
from loudr_core.jobs.orders import Shard
from loudr_core.jobs.plan import Plan
from loudr_core.jobs.table import write_results
from loudr_core.render.answers import Answers
from loudr_core.render.casting import OrderPool
from loudr_core.render.progress import Progress
from loudr_core.speech.orders import Choice, Order, Outcome, TakeResult
from loudr_core.store.protocol import ObjectStore

__all__ = ["Interrupted", "OrderPool", "ShardResult", "Speaking"]

CANARY_SEGMENTS = 20
_WATCHED_SEGMENTS = 50
_CONDEMNED_ALLOWED = 10
_PART_S = 60.0
_POLL_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardResult:
    """What became of one shard."""

    number: int
    segments: int
    rendered: int
    reused: int
    failed: int
    suspect: int


class Speaking:
    """The speaking of one plan.

    Parameters
    ----------
    plan : Plan
    orders : sequence of Order
        Of every segment that is wanted, in book order.
    store, pool, progress
        Where takes lie, who makes them, and who counts them.
    cancel : threading.Event
        Set from outside to stop; waiting then raises `Interrupted`.
    engine_of : callable
        A name for what must be loaded to speak an order: each engine's first segments are watched.
    """

    def __init__(
        self,
        plan: Plan,
        orders: Sequence[Order],
        *,
        store: ObjectStore,
        pool: OrderPool,
        progress: Progress,
        cancel: threading.Event,
        engine_of: Callable[[Order], str] = lambda order: "",
    ) -> None:
        self._plan = plan
        self._orders = orders
        self._store = store
        self._pool = pool
        self._progress = progress
        self._cancel = cancel
        self._segments = Counter(order.job_key for order in orders)
        self._futures: dict[str, Future[Outcome]] = {}
        self._choices: dict[str, Choice] = {}
        self._found: frozenset[str] = frozenset()
        self._filed: set[str] = set()
        self._engine_of = engine_of
        self._watch = {name: _Canary(name) for name in sorted(set(map(engine_of, orders)))}
        self._run = uuid.uuid4().hex[:8]
        self._started = False
        self._start_lock = threading.Lock()

    @property
    def choices(self) -> dict[str, Choice]:
        """Job key to the choice, for every order that is finished."""
        return dict(self._choices)

    @property
    def found(self) -> frozenset[str]:
        """Job keys of what was finished before `start` was called."""
        return self._found

    @property
    def unfiled(self) -> list[Order]:
        """The orders of which this run has filed no result row, since others have spoken them."""
        return [order for order in self._orders if order.job_key not in self._filed]

    def start(self) -> None:
        """Find what is finished and give the rest to the pool; a second call does nothing."""
        with self._start_lock:
            if self._started:
                return
            done, missing = split_finished(self._store, self._orders)
            self._choices.update(done)
            self._found = frozenset(done)
            self._progress.begin(
                total=len(self._orders),
                reused=sum(self._segments[key] for key in done),
                audio_left_s=sum(
                    order.est_audio_s * self._segments[order.job_key] for order in missing
                ),
            )
            for order in missing:
                if order.job_key not in self._futures:
                    self._give_out(order)
            self._started = True

    def wait_for(self, orders: Sequence[Order]) -> list[Outcome]:
        """Return when the orders are finished, with the outcomes of those this run gave out.

        Raises
        ------
        Interrupted
            The render was asked to stop.
        QualityError
            More than a fifth of the first segments are condemned.
        LoudrError
            The engine cannot be loaded, or the store refuses.
        """
        self.start()
        return list(self._answers(orders, lambda outcomes: None))

    def speak(self, shard: Shard) -> ShardResult:
        """Look after one shard: wait for its answers and file their result rows.

        Raises
        ------
        Interrupted, QualityError, LoudrError
            As `wait_for`.
        """
        self.start()
        parts = _Parts(self._store, f"{self._plan.folder}/results/{shard.number:04d}-{self._run}")
        try:
            outcomes = self._answers(shard.orders, parts.add)
        finally:
            parts.flush()
        self._filed.update(outcome.job_key for outcome in outcomes if outcome.results)
        failed = [order for order in shard.orders if not self._choices[order.job_key].take_key]
        suspect = [o for o in shard.orders if self._choices[o.job_key].status == "suspect"]
        spoken = sum(outcome.rendered > 0 for outcome in outcomes)
        return ShardResult(
            number=shard.number,
            segments=len(shard.orders),
            rendered=spoken,
            reused=len(shard.orders) - spoken - len(failed),
            failed=len(failed),
            suspect=len(suspect),
        )

    def _give_out(self, order: Order) -> None:
        future = self._pool.submit(order)
        self._futures[order.job_key] = future
        future.add_done_callback(self._counting(order))

    def _give_out_again(self, orders: Sequence[Order]) -> None:
        """Submit anew what failed for a reason that may have passed, such as a store's outage."""
        with self._start_lock:
            for order in orders:
                future = self._futures.get(order.job_key)
                if future is None or not future.done() or future.cancelled():
                    continue
                error = future.exception()
                if isinstance(error, LoudrError) and error.retryable:
                    self._give_out(order)

    def _answers(
        self, orders: Sequence[Order], file: Callable[[list[Outcome]], None]
    ) -> list[Outcome]:
        self._give_out_again(orders)
        keys = dict.fromkeys(order.job_key for order in orders)
        answers = Answers([self._futures[key] for key in keys if key in self._futures])
        outcomes: list[Outcome] = []
        while answers.left:
            if self._cancel.is_set():
                raise Interrupted
            self._check_watches()
            outcomes += self._taken_in(answers.come(_POLL_S), file)
        self._check_watches()
        for order in orders:
            if order.job_key not in self._choices:
                choice = finished(self._store, order)
                if choice is not None:
                    self._choices[order.job_key] = choice
        return outcomes

    def _taken_in(
        self, done: Sequence["Future[Outcome]"], file: Callable[[list[Outcome]], None]
    ) -> list[Outcome]:
        """Return the outcomes, filed; what came before an error is filed all the same."""
        fresh: list[Outcome] = []
        try:
            fresh.extend(future.result() for future in done)
        except CancelledError:
            raise Interrupted from None
        finally:
            self._choices.update((outcome.job_key, outcome.choice) for outcome in fresh)
            file(fresh)
        return fresh

    def _check_watches(self) -> None:
        for watch in self._watch.values():
            watch.check()

    def _counting(self, order: Order) -> "Callable[[Future[Outcome]], None]":
        def count(future: "Future[Outcome]") -> None:
            if future.cancelled() or future.exception() is not None:
                return
            outcome = future.result()
            segments = self._segments[order.job_key]
            self._choices[order.job_key] = outcome.choice
            engine = self._engine_of(order)
            self._watch[engine].add(outcome)
            self._progress.add(
                outcome,
                segments=segments,
                est_audio_s=order.est_audio_s * segments,
                engine=engine,
            )

        return count


class _Canary:
    """Stops a render whose first segments are bad, as with a wrong voice, bundle or language."""

    def __init__(self, engine: str = "") -> None:
        self._whose = f" of {engine}" if engine else ""
        self._seen = 0
        self._causes: Counter[str] = Counter()

    def add(self, outcome: Outcome) -> None:
        if self._seen >= _WATCHED_SEGMENTS:
            return
        self._seen += 1
        if outcome.choice.status != "ok":
            errors = [f.code for f in outcome.choice.findings if f.severity == "error"]
            self._causes[outcome.choice.error or ", ".join(sorted(set(errors)))] += 1

    def check(self) -> None:
        condemned = sum(self._causes.values())
        if condemned > _CONDEMNED_ALLOWED:
            cause, count = self._causes.most_common(1)[0]
            raise QualityError(
                f"stopped: {condemned} of the first {self._seen} segments{self._whose} are "
                f"condemned, "
                f"{count} of them for: {cause}; listen with `loudr report`, or change the voice "
                "or the [detectors] of the profile",
                condemned=condemned,
                seen=self._seen,
            )


class _Parts:
    """Result rows on their way to the store: a part a minute, each written once."""

    def __init__(self, store: ObjectStore, prefix: str) -> None:
        self._store = store
        self._prefix = prefix
        self._rows: list[TakeResult] = []
        self._number = 0
        self._since = time.monotonic()

    def add(self, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            self._rows += outcome.results
        if self._rows and time.monotonic() - self._since > _PART_S:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            self._store.put(f"{self._prefix}-{self._number:03d}.parquet", write_results(self._rows))
            self._rows, self._number = [], self._number + 1
        self._since = time.monotonic()
