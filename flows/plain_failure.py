"""A fact of the world ends a run with one line, not with a traceback."""

import functools
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from prefect import runtime
from prefect.exceptions import FailedRun
from prefect.states import Failed

from loudr_core.errors import Interrupted, LoudrError

__all__ = ["plain_failure", "without_tracebacks"]

_Request = TypeVar("_Request")
_Answer = TypeVar("_Answer")

logger = logging.getLogger(__name__)


def plain_failure(body: Callable[[_Request], _Answer]) -> Callable[[_Request], _Answer]:
    """Have the run of a deployment end as failed with the message of a `LoudrError`.

    Bugs are raised, and so is everything to whoever calls the flow as a function.
    """
    without_tracebacks()

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


def without_tracebacks() -> None:
    """Have Prefect log a fact of the world without its traceback, wherever in a run it ended one.

    The line that says what it was stays. A flow's, a subflow's and a task's end is logged by one of
    these two.
    """
    for name in ("prefect.flow_runs", "prefect.task_runs"):
        logging.getLogger(name).addFilter(_one_line)  # once, however often it is added


def _one_line(record: logging.LogRecord) -> bool:
    if record.exc_info and isinstance(record.exc_info[1], (LoudrError, Interrupted, FailedRun)):
        record.exc_info, record.exc_text = None, None
    return True
