"""Orders that wait for the engine, looked up in the store first.

A take that is stored already is not made again. Looking for it takes a bucket some tens of
milliseconds, so it is done by threads of their own while the engine speaks something else, and the
engine is given only what has to be spoken. Attempts made again come before new orders.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue

from loudr_core.audio.detectors import DetectorPolicy
from loudr_core.errors import LoudrError, StoreError
from loudr_core.speech.orders import Attempt, Order, TakeResult
from loudr_core.speech.takes import NewTake, load_take
from loudr_core.store.protocol import ObjectStore

__all__ = ["Backlog", "Task", "failure_of"]

_LOOK_WAIT_S = 1.0
"""How long an engine with work in hand waits for a look into the store."""

_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True, eq=False)
class Task:
    """An order under way.

    `pending`, `filed` and `results` belong to the filing, the rest to whoever holds the task: a
    thread that looks it up, then the engine's.
    """

    number: int
    order: Order
    next_attempt: int = 0
    reused: int = 0
    rendered: int = 0
    refused: bool = False
    """The store failed it and that was answered; what else comes of it is dropped."""
    pending: "deque[tuple[TakeResult | NewTake | None, bool]]" = field(default_factory=deque)
    filed: bool = True
    """Whether no thread stores anything of it now."""
    results: list[TakeResult] = field(default_factory=list)

    @property
    def attempt(self) -> Attempt:
        """The attempt that is to be made now."""
        return self.order.attempts[self.next_attempt]

    @property
    def exhausted(self) -> bool:
        """Whether there is no attempt left."""
        return self.next_attempt >= len(self.order.attempts)


class Backlog:
    """Tasks on their way to the engine.

    Parameters
    ----------
    store, policy
        Where stored takes lie, and how they are judged.
    threads : int
        Looks into the store side by side.
    found : callable (task, row)
        Told of each stored take that counts as an attempt made.
    failed : callable (task, error)
        Told when the store failed; the task is dropped then.
    """

    def __init__(
        self,
        store: ObjectStore,
        policy: DetectorPolicy,
        *,
        threads: int,
        found: Callable[[Task, TakeResult], None],
        failed: Callable[[Task, LoudrError], None],
    ) -> None:
        self._store = store
        self._policy = policy
        self._found = found
        self._failed = failed
        self._asked: SimpleQueue[tuple[Task, deque[Task]]] = SimpleQueue()
        self._again: deque[Task] = deque()
        self._fresh: deque[Task] = deque()
        self._looking = 0
        self._changed = threading.Condition()
        for _ in range(threads):
            threading.Thread(target=self._look, name="lookup", daemon=True).start()

    @property
    def looking(self) -> bool:
        """Whether a look into the store is under way."""
        return self._looking > 0

    def add(self, task: Task) -> None:
        """Take a new order in."""
        self._ask(task, self._fresh)

    def add_again(self, task: Task) -> None:
        """Take an order back whose last attempt was not good."""
        self._ask(task, self._again)

    def next(self, *, wait: bool) -> Task | None:
        """Return a task whose next attempt has to be spoken.

        Parameters
        ----------
        wait : bool
            Until there is one. Otherwise None comes when nothing is there, or when what is being
            looked up takes long.
        """
        with self._changed:
            timeout = None if wait else _LOOK_WAIT_S
            self._changed.wait_for(
                lambda: self._again or self._fresh or not (wait or self._looking), timeout
            )
            ready = self._again or self._fresh
            return ready.popleft() if ready else None

    def _ask(self, task: Task, queue: deque[Task]) -> None:
        with self._changed:
            self._looking += 1
        self._asked.put((task, queue))

    def _look(self) -> None:
        while True:
            task, queue = self._asked.get()
            wanted = False
            try:
                wanted = self._is_wanted(task)
            except Exception as error:  # noqa: BLE001  # the orders after it are still served
                self._failed(task, failure_of(task, error, "a take could not be looked up"))
            with self._changed:
                self._looking -= 1
                if wanted:
                    queue.append(task)
                self._changed.notify_all()

    def _is_wanted(self, task: Task) -> bool:
        """Take stored attempts into account; say whether one has to be made."""
        while not (task.exhausted or task.refused):
            row = load_take(self._store, task.order, task.attempt, self._policy)
            if row is None:
                return True
            task.reused += 1
            self._found(task, row)
            if row.status == "ok":
                return False
        return False


def failure_of(task: Task, error: Exception, what: str) -> LoudrError:
    """Return the error to answer an order with; a bug is logged with its traceback."""
    if isinstance(error, LoudrError):
        return error
    _log.error("order %s: %s", task.order.id, what, exc_info=error)
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return StoreError(f"{what} ({reason})")
