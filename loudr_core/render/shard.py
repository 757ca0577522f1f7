"""Speak one shard, on the machine that was given it.

Before a segment goes to the engine the store is asked whether it is finished, by an earlier run of
the shard or by another render of the same book. Each run takes the segments in an order of its own:
two runs of one shard at one time meet now and then, and do not walk through it side by side.
"""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait

from loudr_core.canonical import digest
from loudr_core.jobs.choices import finished
from loudr_core.render.progress import Progress
from loudr_core.render.shard_files import Journal
from loudr_core.render.speak import OrderPool, ShardResult
from loudr_core.speech.orders import Choice, Order, Outcome
from loudr_core.store.protocol import ObjectStore

__all__ = ["found_outcome", "run_order", "speak_shard"]

_POLL_S = 1.0


def run_order(orders: Sequence[Order], run: str) -> list[Order]:
    """Return the orders as the run of that name takes them."""
    return sorted(orders, key=lambda order: digest([run, order.job_key]))


def found_outcome(order: Order, choice: Choice) -> Outcome:
    """Return the outcome of an order that was found finished."""
    return Outcome(
        id=order.id, job_key=order.job_key, choice=choice, rendered=0, reused=1, results=()
    )


def speak_shard(
    orders: Sequence[Order],
    *,
    number: int,
    pool: OrderPool,
    store: ObjectStore,
    journal: Journal,
    width: int,
    progress: Progress | None = None,
) -> ShardResult:
    """Return when every order has its choice in the store.

    Parameters
    ----------
    orders : sequence of Order
        In the order in which they are to be spoken; each job key once.
    number : int
        Of the shard.
    pool : OrderPool
        The engine processes of this machine.
    journal : Journal
        Told of each outcome, also when this ends with an error.
    width : int
        Orders that the pool holds at one time, at least 1: enough to keep the engines busy, and
        not more, since what is held is not looked for in the store again.
    progress : Progress, optional
        Counts what comes.

    Raises
    ------
    LoudrError
        The engine cannot run, or the store failed. What is finished stays finished.
    """
    futures: set[Future[Outcome]] = set()
    waiting = list(reversed(orders))
    counts: Counter[str] = Counter()
    audio_s = {order.job_key: order.est_audio_s for order in orders}
    progress = progress or Progress()
    progress.begin(total=len(orders), reused=0, audio_left_s=sum(audio_s.values()))
    try:
        while waiting or futures:
            outcomes: list[Outcome] = []
            while waiting and len(futures) < width:
                order = waiting.pop()
                choice = finished(store, order)
                if choice is None:
                    futures.add(pool.submit(order))
                    continue
                outcomes.append(found_outcome(order, choice))
                journal.add(outcomes[-1:])
                journal.tick()
            done, futures = wait(futures, timeout=_POLL_S, return_when=FIRST_COMPLETED)
            fresh = [future.result() for future in done]
            journal.add(fresh)
            journal.tick()
            for outcome in (*outcomes, *fresh):
                counts[_kind(outcome)] += 1
                progress.add(outcome, segments=1, est_audio_s=audio_s[outcome.job_key])
    finally:
        journal.flush()
    return ShardResult(
        number=number,
        segments=len(orders),
        rendered=counts["rendered"] + counts["suspect"],
        reused=counts["reused"],
        failed=counts["failed"],
        suspect=counts["suspect"],
    )


def _kind(outcome: Outcome) -> str:
    if not outcome.choice.take_key:
        return "failed"
    if not outcome.rendered:
        return "reused"
    return "suspect" if outcome.choice.status == "suspect" else "rendered"
