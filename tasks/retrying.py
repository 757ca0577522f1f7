"""How a step is tried again: only when the error says that the same call may succeed later."""

import re
from typing import Any, Final

from prefect.client.schemas.objects import State, TaskRun
from prefect.tasks import Task

from loudr_core.errors import LoudrError
from loudr_core.patience import WAITS_S

__all__ = ["STEP", "is_retryable"]


_TRY = re.compile(r", try [0-9]+$")


def is_retryable(task: "Task[..., Any]", run: TaskRun, state: State[Any]) -> bool:
    """Say whether the error that failed a task run is marked `retryable`.

    A run that is tried again gets the number of the attempt into its name, since Prefect names a
    run once and people read lists of names.
    """
    error = state.result(raise_on_failure=False)
    again = isinstance(error, LoudrError) and error.retryable
    if again:
        run.name = f"{_TRY.sub('', run.name)}, try {run.run_count + 1}"
    return again


STEP: Final[dict[str, Any]] = {
    "retries": len(WAITS_S),
    "retry_delay_seconds": list(WAITS_S),
    "retry_condition_fn": is_retryable,
    "persist_result": False,
}
"""Options of every task. Results stay in loudr's own store, under content keys."""
