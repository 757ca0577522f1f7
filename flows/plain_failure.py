"""A fact of the world ends a run with one line, not with a traceback."""

import functools
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from prefect.states import Failed

from loudr_core.errors import LoudrError

__all__ = ["plain_failure"]

_Request = TypeVar("_Request")

logger = logging.getLogger(__name__)


def plain_failure(body: Callable[[_Request], Any]) -> Callable[[_Request], Any]:
    """Have a flow's body end as failed with the message of a `LoudrError`; bugs are raised."""

    @functools.wraps(body)
    def run(request: _Request) -> Any:
        try:
            return body(request)
        except LoudrError as error:
            logger.error("%s", error.message)
            return Failed(message=error.message)

    return run
