"""What is waited for comes once each; neither the last nor a failure waits for the next look."""

import threading
from concurrent.futures import Future

import pytest

from loudr_core.errors import StoreError
from loudr_core.render.answers import Answers
from loudr_core.speech.orders import Choice, Outcome

LONG_S = 300.0
"""More than any test takes: who waits for so long hangs."""


def outcome(number: int) -> Outcome:
    choice = Choice(
        job_key=str(number),
        status="ok",
        take_key="t",
        attempt=0,
        seed=1,
        n_samples=1,
        sample_rate_hz=24_000,
        pcm_sha256="p",
        findings=(),
    )
    return Outcome(
        id=str(number), job_key=str(number), choice=choice, rendered=1, reused=0, results=()
    )


class Looked(Future[Outcome]):
    """A future that counts how often it is asked anything."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def done(self) -> bool:
        self.looks += 1
        return super().done()

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self.looks += 1
        return super().exception(timeout)

    def cancelled(self) -> bool:
        self.looks += 1
        return super().cancelled()


def test_nothing_to_wait_for() -> None:
    answers = Answers([])
    assert answers.left == 0


def test_each_comes_once_in_the_order_of_its_end() -> None:
    futures: list[Future[Outcome]] = [Future() for _ in range(5)]
    futures[3].set_result(outcome(3))
    answers = Answers(futures)
    assert answers.come(0.0) == [futures[3]]
    for number in (4, 0):
        futures[number].set_result(outcome(number))
    assert answers.come(0.0) == [futures[4], futures[0]]
    assert answers.left == 2
    assert answers.come(0.0) == []
    for number in (1, 2):
        futures[number].set_result(outcome(number))
    assert answers.come(LONG_S) == [futures[1], futures[2]]
    assert answers.left == 0


@pytest.mark.parametrize("kind", ["last", "failed", "cancelled"])
def test_who_waits_is_woken(kind: str) -> None:
    futures: list[Future[Outcome]] = [Future() for _ in range(1 if kind == "last" else 3)]
    answers = Answers(futures)

    def end() -> None:
        if kind == "cancelled":
            futures[0].cancel()
        elif kind == "failed":
            futures[0].set_exception(StoreError("the bucket is full"))
        else:
            futures[0].set_result(outcome(0))

    timer = threading.Timer(0.01, end)
    timer.start()
    assert answers.come(LONG_S) == [futures[0]]
    timer.join(60)


def test_answers_of_many_threads_are_all_counted() -> None:
    futures: list[Future[Outcome]] = [Future() for _ in range(800)]
    answers = Answers(futures)

    def answer(start: int) -> None:
        for number in range(start, 800, 8):
            futures[number].set_result(outcome(number))

    threads = [threading.Thread(target=answer, args=(start,)) for start in range(8)]
    for thread in threads:
        thread.start()
    assert {future.result().id for future in answers.come(LONG_S)} == {str(n) for n in range(800)}
    assert answers.left == 0
    for thread in threads:
        thread.join(60)


def test_waiting_for_many_asks_each_a_few_times() -> None:
    futures = [Looked() for _ in range(300)]
    answers = Answers(futures)
    for number, future in enumerate(futures):
        future.set_result(outcome(number))
        answers.come(0.0)
    assert answers.left == 0
    assert max(future.looks for future in futures) <= 2
