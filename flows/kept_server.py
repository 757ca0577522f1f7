"""A Prefect server that is started again whenever it ends."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from flows.api_server import ApiServer
from flows.output import console
from loudr_core.errors import LoudrError

__all__ = ["kept"]

_LOOK_S = 1.0
_LONGEST_S = 60.0


@contextmanager
def kept(server: ApiServer, *, look_s: float = _LOOK_S) -> Iterator[None]:
    """Start a server again whenever it ends while the block runs, and as often as that fails.

    Runs under way go on meanwhile, and what they then say reaches it at the same address.

    Parameters
    ----------
    server : ApiServer
        One that runs, at a port that was chosen.
    look_s : float
        Seconds from look to look; twice as many after each start that failed.
    """
    done = threading.Event()

    def keep() -> None:
        failures = 0
        while not done.wait(min(look_s * 2**failures, _LONGEST_S)):
            if server.alive:
                continue
            console.print("the Prefect server has ended: starting it again", style="yellow")
            try:
                server.start()
                server.wait(cancel=done)
                failures = 0
            except LoudrError as error:
                failures += 1
                console.print(error.message, markup=False)

    thread = threading.Thread(target=keep, name="keep-server", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
