"""A run that `loudr serve` has started ends with it, however that ended."""

import os
import threading
import time

__all__ = ["VARIABLE", "watch"]

VARIABLE = "SERVED_BY_LOUDR"
"""Process id of the `loudr serve` whose runs inherit it."""

_LOOK_S = 2.0


def watch() -> None:
    """Leave at once when the parent that the variable names is gone; nothing where it is another.

    A server that is killed stops nothing, and a run without it would only try to reach it.
    What the run has finished lies in the store.
    """
    server = os.environ.get(VARIABLE, "")
    if server.isdecimal() and os.getppid() == int(server):
        name = "served-watch"
        threading.Thread(target=_leave_with, args=(int(server),), name=name, daemon=True).start()


def _leave_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os._exit(1)
