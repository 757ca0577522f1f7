"""Futures as they come to an end, each looked at once.

`concurrent.futures.wait` locks every future that is still open each time that one is done: over the
thousands of a long chapter that costs more than all the rest of a render's bookkeeping.
"""

import itertools
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue

from loudr_core.speech.orders import Outcome

__all__ = ["Answers"]


class Answers:
    """What one thread waits for.

    Parameters
    ----------
    futures : sequence of Future of Outcome
        Each is noted by a callback when it is done, in whatever thread that happens.
    """

    def __init__(self, futures: Sequence["Future[Outcome]"]) -> None:
        self.left = len(futures)
        """Futures that `come` has not returned yet."""
        self._done: SimpleQueue[Future[Outcome]] = SimpleQueue()
        self._last = threading.Event()
        self._open = itertools.count(len(futures) - 1, -1)  # next() is atomic
        for future in futures:
            future.add_done_callback(self._note)

    def _note(self, future: "Future[Outcome]") -> None:
        self._done.put(future)
        # What comes in between is looked at a few times a second; these are not to wait for that.
        if next(self._open) == 0 or future.cancelled() or future.exception() is not None:
            self._last.set()

    def come(self, timeout_s: float) -> list["Future[Outcome]"]:
        """Return what was done in a while, which ends early with the last one and with a failure.

        Returns
        -------
        list of Future of Outcome
            Each once, in the order in which they were done.
        """
        self._last.wait(timeout_s)
        done = []
        with suppress(Empty):
            while True:
                done.append(self._done.get_nowait())
        self.left -= len(done)
        return done
