"""A step is tried again when its error says that this can help, and only then."""

import threading

import pytest

from loudr_core import patience
from loudr_core.errors import Interrupted, StoreError, StoreUnavailable
from loudr_core.patience import WAITS_S, patiently


class Step:
    """Fails with each error in turn, and then gives an answer."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


class Clock(threading.Event):
    """An event that waits in no time, and remembers for how long it was to wait."""

    def __init__(self, told_after: int = 99) -> None:
        super().__init__()
        self.waits: list[float] = []
        self.told_after = told_after

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout or 0.0)
        return len(self.waits) >= self.told_after


def away() -> StoreUnavailable:
    return StoreUnavailable("the store is away")


def test_an_outage_is_waited_out_as_long_as_by_a_task() -> None:
    clock, step = Clock(), Step(away(), away(), away())
    assert patiently(step, clock) == "done"
    assert clock.waits == [2.0, 4.0, 8.0] == list(WAITS_S)
    assert step.calls == 4


def test_an_outage_that_lasts_is_the_error() -> None:
    step = Step(*(away() for _ in range(9)))
    with pytest.raises(StoreUnavailable, match="away"):
        patiently(step, Clock())
    assert step.calls == len(WAITS_S) + 1


def test_what_another_try_would_not_change_is_raised_at_once() -> None:
    for error in (StoreError("full"), ValueError("x"), Interrupted()):
        clock, step = Clock(), Step(error)
        with pytest.raises(type(error)):
            patiently(step, clock)
        assert (step.calls, clock.waits) == (1, [])


def test_a_stop_ends_the_waiting() -> None:
    step = Step(away(), away())
    with pytest.raises(Interrupted):
        patiently(step, Clock(told_after=1))
    assert step.calls == 1


def test_each_try_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING", patience.__name__):
        patiently(Step(away()), Clock())
    assert [record.getMessage() for record in caplog.records] == [
        "the store is away; trying again in 2 s"
    ]
