"""A step is tried again only when its error says that this can help."""

from typing import Any, cast

import pytest
from prefect.client.schemas.objects import State, TaskRun

from loudr_core.errors import (
    BookError,
    DeviceError,
    LoudrError,
    QualityError,
    StoreError,
    StoreUnavailable,
)
from loudr_core.render.speak import Interrupted
from tasks import assemble, plan, publish, report, synthesize
from tasks.retrying import STEP, is_retryable

TASKS = (
    plan.plan,
    synthesize.synthesize,
    assemble.measure,
    assemble.master,
    publish.publish,
    report.report,
)


class Failed:
    """As much of a failed state as the condition looks at."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def result(self, *, raise_on_failure: bool) -> BaseException:
        assert not raise_on_failure
        return self._error


def retried(error: BaseException, run: TaskRun | None = None) -> bool:
    run = run or TaskRun(task_key="speak", dynamic_key="0", name="speak shard 003")
    return is_retryable(plan.plan, run, cast(State[Any], Failed(error)))


def test_a_store_that_did_not_answer_is_worth_another_try() -> None:
    assert retried(StoreUnavailable("no answer"))


@pytest.mark.parametrize(
    "error",
    [
        StoreError("x"),
        BookError("x"),
        DeviceError("x"),
        QualityError("x"),
        LoudrError("x"),
        Interrupted(),
        ValueError("x"),
        KeyboardInterrupt(),
    ],
)
def test_nothing_else_is(error: BaseException) -> None:
    assert not retried(error)


def test_the_name_of_a_run_says_which_attempt_it_is() -> None:
    run = TaskRun(task_key="speak", dynamic_key="0", name="speak shard 003", run_count=1)
    assert retried(StoreUnavailable("no answer"), run)
    assert run.name == "speak shard 003, try 2"
    run.run_count = 2
    assert retried(StoreUnavailable("no answer"), run)
    assert run.name == "speak shard 003, try 3"
    assert not retried(BookError("x"), run)
    assert run.name == "speak shard 003, try 3"


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_task_follows_the_rule(task: Any) -> None:
    assert task.retry_condition_fn is is_retryable
    assert task.retries == STEP["retries"]
    assert task.persist_result is False
    assert task.task_run_name, "a person reads its name in a list of runs"
    assert task.fn.__doc__


def test_tasks_have_names_of_their_own() -> None:
    assert len({task.name for task in TASKS}) == len(TASKS)
