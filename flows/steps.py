"""The steps of a flow: task runs while the server answers, plain calls when it does not."""

import logging
from dataclasses import dataclass
from typing import Any

from prefect.futures import PrefectFuture
from prefect.tasks import Task

from flows import contact
from loudr_core.errors import LoudrError
from loudr_core.render.speak import Interrupted

__all__ = ["Step", "run_step", "submit_step"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Step:
    """A step that was submitted."""

    task: "Task[..., Any]"
    arguments: tuple[Any, ...]
    future: PrefectFuture[Any] | None

    def result(self) -> Any:
        """Return what came of it; when its task run was lost with the server, do it here."""
        if self.future is None:
            return self.task.fn(*self.arguments)
        try:
            return self.future.result()
        except Exception as error:
            if not _is_only_lost(error):
                raise
        return self.task.fn(*self.arguments)


def run_step(task: "Task[..., Any]", *arguments: Any) -> Any:
    """Run a step, as a task run if that can be had. Steps find what is done, and do the rest."""
    try:
        return task(*arguments)
    except Exception as error:
        if not _is_only_lost(error):
            raise
    return task.fn(*arguments)


def submit_step(task: "Task[..., Any]", *arguments: Any) -> Step:
    """Submit a step to the flow's task runner, or leave it for whoever asks for its result."""
    try:
        return Step(task, arguments, task.submit(*arguments))
    except Exception as error:
        if not _is_only_lost(error):
            raise
    return Step(task, arguments, None)


def _is_only_lost(error: Exception) -> bool:
    """Say whether an error is about a server that is gone and nothing else."""
    if isinstance(error, (LoudrError, Interrupted)) or not contact.comes_from_server(error):
        return False
    logger.debug("a step goes on without its task run", exc_info=error)
    contact.answers()  # which says so, once
    return True
