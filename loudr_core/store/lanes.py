"""Many calls to a store side by side, where that is what it takes.

A call to a bucket is mostly waiting: sixteen of them take as long as one. A folder answers at once,
and threads would only cost.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from loudr_core.store.protocol import ObjectStore

__all__ = ["in_lanes", "lanes_of"]

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")


def lanes_of(store: ObjectStore) -> int:
    """Return how many calls to a store go well side by side; 1 for a folder."""
    return int(getattr(store, "lanes", 1))


def in_lanes(
    store: ObjectStore, call: Callable[[_Item], _Answer], items: Iterable[_Item]
) -> Iterator[_Answer]:
    """Yield `call(item)` for each item, in order, made side by side as the store carries it.

    At most twice as many calls as the store has lanes are ahead of the consumer, so memory holds
    few answers. The first error ends it; calls that wait are not made then.

    Parameters
    ----------
    call : callable
        May use the store from any thread.
    """
    lanes = lanes_of(store)
    rest = iter(items)
    first = list(islice(rest, 2)) if lanes > 1 else []
    if len(first) < 2:
        for item in (*first, *rest):
            yield call(item)
        return
    pool = ThreadPoolExecutor(lanes, thread_name_prefix="store")
    ahead: deque[Future[_Answer]] = deque()
    try:
        for item in (*first, *islice(rest, 2 * lanes - 2)):
            ahead.append(pool.submit(call, item))
        while ahead:
            yield ahead.popleft().result()
            ahead.extend(pool.submit(call, item) for item in islice(rest, 1))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
