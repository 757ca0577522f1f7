"""How a step of a render is tried again: when the error says that the same call may succeed later.

A store that does not answer has been asked for minutes by then (`store.s3`); this is on top of it.
"""

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from loudr_core.errors import Interrupted, LoudrError

__all__ = ["WAITS_S", "patiently"]

logger = logging.getLogger(__name__)

WAITS_S = (2.0, 4.0, 8.0)
"""Seconds before each further try."""

_T = TypeVar("_T")


def patiently(step: Callable[[], _T], cancel: threading.Event) -> _T:
    """Return what the step gives, tried again after an error that is `retryable`.

    Parameters
    ----------
    step : callable
        Does nothing twice: what it has finished it finds.
    cancel : threading.Event
        Set to stop waiting.

    Raises
    ------
    Interrupted
        It was told to stop between two tries.
    LoudrError
        Of the last try, or one that no other try would change.
    """
    for wait_s in WAITS_S:
        try:
            return step()
        except LoudrError as error:
            if not error.retryable:
                raise
            logger.warning("%s; trying again in %.0f s", error.message, wait_s)
        if cancel.wait(wait_s):
            raise Interrupted
    return step()
