"""Takes and choices on their way into the store, beside the engine that makes the next ones.

What belongs to one order is stored in order, takes before the choice, so that a choice never names
a take that is not there. Different orders are stored side by side, as far as the store gains by it.
"""

import threading
from collections.abc import Callable
from queue import SimpleQueue

from loudr_core.errors import LoudrError
from loudr_core.speech.backlog import Task, failure_of
from loudr_core.speech.choosing import choose, store_choice
from loudr_core.speech.orders import Outcome, TakeResult
from loudr_core.speech.takes import NewTake, store_take
from loudr_core.store.protocol import ObjectStore

__all__ = ["Filing"]

_AHEAD = 4
"""Takes that may wait for a thread; more would only be memory."""


class Filing:
    """Threads that store.

    Parameters
    ----------
    store : ObjectStore
    threads : int
    done : callable (task, outcome)
        Told when an order's choice lies in the store.
    failed : callable (task, error)
        Told once when something of an order could not be stored.
    """

    def __init__(
        self,
        store: ObjectStore,
        *,
        threads: int,
        done: Callable[[Task, Outcome], None],
        failed: Callable[[Task, LoudrError], None],
    ) -> None:
        self._store = store
        self._done = done
        self._failed = failed
        self._room = threading.BoundedSemaphore(threads + _AHEAD)
        self._ready: SimpleQueue[Task] = SimpleQueue()
        self._guard = threading.Lock()
        for _ in range(threads):
            threading.Thread(target=self._run, name="filing", daemon=True).start()

    def put(self, task: Task, result: TakeResult | NewTake | None, *, last: bool) -> None:
        """Hand over what came of an attempt; wait when much is waiting already.

        Parameters
        ----------
        last : bool
            The order is spoken: its choice is stored too, and it is answered.
        """
        self._room.acquire()
        with self._guard:
            task.pending.append((result, last))
            free, task.filed = task.filed, False
        if free:
            self._ready.put(task)

    def _run(self) -> None:
        while True:
            task = self._ready.get()
            while True:
                with self._guard:
                    if not task.pending:
                        task.filed = True
                        break
                    result, last = task.pending.popleft()
                if not task.refused:
                    self._store_one(task, result, last=last)
                self._room.release()

    def _store_one(self, task: Task, result: TakeResult | NewTake | None, *, last: bool) -> None:
        try:
            if isinstance(result, NewTake):
                result = store_take(self._store, result)
            if result is not None:
                task.results.append(result)
            if not last:
                return
            choice = choose(task.order, task.results)
            store_choice(self._store, task.order, choice)
        except Exception as error:  # noqa: BLE001  # the orders after it are still served
            task.refused = True
            self._failed(task, failure_of(task, error, "a take could not be stored"))
            return
        outcome = Outcome(
            id=task.order.id,
            job_key=task.order.job_key,
            choice=choice,
            rendered=task.rendered,
            reused=task.reused,
            results=tuple(task.results),
        )
        self._done(task, outcome)
