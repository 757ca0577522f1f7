"""A fact of the world ends a run with one line, not with a traceback."""

import functools
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from prefect import runtime
from prefect.states import Failed

from loudr_core.errors import LoudrError

__all__ = ["plain_failure"]

_Request = TypeVar("_Request")
_Answer = TypeVar("_Answer")

logger = logging.getLogger(__name__)


def plain_failure(body: Callable[[_Request], _Answer]) -> Callable[[_Request], _Answer]:
    """Have the run of a deployment end as failed with the message of a `LoudrError`.

    Bugs are raised, and so is everything to whoever calls the flow as a function.
    """

    @functools.wraps(body)
    def run(request: _Request) -> _Answer:
        try:
            return body(request)
        except LoudrError as error:
            if not runtime.deployment.id or runtime.flow_run.parent_flow_run_id:
                raise  # a run inside another one has the other's deployment
            logger.error("%s", error.message)
            state: Any = Failed(message=error.message)  # which Prefect takes as the run's
            return state  # type: ignore[no-any-return]

    return run
