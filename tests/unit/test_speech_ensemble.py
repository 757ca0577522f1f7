"""Engines that take turns: one at a time, nothing lost, and what goes wrong reaches who waits."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any

import pytest

from loudr_core.canonical import digest
from loudr_core.errors import BundleError, DeviceError, LoudrError
from loudr_core.speech.choosing import failed_choice
from loudr_core.speech.ensemble import Ensemble, EnsemblePart
from loudr_core.speech.limits import FAKE
from loudr_core.speech.orders import Attempt, Order, Outcome
from loudr_core.speech.protocol import VoiceInfo
from loudr_core.speech.wire import EngineInfo, EngineSpec
from loudr_core.speech.workers import EnginePool
from loudr_core.store.local import LocalStore

SOON_S = 20.0


def spec(name: str) -> EngineSpec:
    return EngineSpec(engine=name, store_url="/nowhere", policy={})


def info(name: str, fingerprint: str = "") -> EngineInfo:
    return EngineInfo(
        name=name,
        fingerprint=fingerprint or name,
        sample_rate_hz=24_000,
        limits=FAKE,
        voices=(VoiceInfo(name="low", language="en", sha256="0" * 64),),
    )


def order(number: int, engine: str = "") -> Order:
    key = digest([number, engine])
    return Order(
        id=f"s{number}", job_key=key, choice_key=f"choice/{key}", text=f"Line {number}.",
        language="en", voice="low",
        attempts=(Attempt(number=0, seed=number, take_key=key),),
    )  # fmt: skip


def outcome(given: Order) -> Outcome:
    return Outcome(
        id=given.id, job_key=given.job_key, choice=failed_choice(given, "no audio here"),
        rendered=1, reused=0, results=(),
    )  # fmt: skip


class Stage:
    """Pools that answer at once or when told, and how many processes there are at a time."""

    def __init__(self) -> None:
        self.played: list[tuple[str, int]] = []
        self.spoken: list[tuple[str, str]] = []
        self.most = 0
        self.refuse: dict[str, LoudrError] = {}
        self.fingerprints: dict[str, str] = {}
        self.slow: set[str] = set()
        self.held = threading.Event()
        self.held.set()
        self._open = 0
        self._lock = threading.Lock()

    def start(self, wanted: EngineSpec, size: int) -> "FakePool":
        with self._lock:
            self.played.append((wanted.engine, size))
            self._open += size
            self.most = max(self.most, self._open)
        return FakePool(self, wanted.engine, size)

    def ended(self, size: int) -> None:
        with self._lock:
            self._open -= size

    @property
    def open(self) -> int:
        return self._open


class FakePool:
    def __init__(self, stage: Stage, name: str, size: int) -> None:
        self._stage, self._name, self._size = stage, name, size
        self._threads: list[threading.Thread] = []
        self._futures: list[Future[Outcome]] = []
        self._closed = False

    def info(self, timeout_s: float | None = None) -> EngineInfo:
        if self._name in self._stage.refuse:
            raise self._stage.refuse[self._name]
        if self._name in self._stage.slow:
            time.sleep(min(timeout_s or 0.0, 0.05))
            raise TimeoutError
        return info(self._name, self._stage.fingerprints.get(self._name, ""))

    def submit(self, given: Order) -> "Future[Outcome]":
        future: Future[Outcome] = Future()
        self._futures.append(future)

        def speak() -> None:
            assert self._stage.held.wait(60), "nobody lets it speak"
            if future.set_running_or_notify_cancel():
                self._stage.spoken.append((self._name, given.id))
                future.set_result(outcome(given))

        self._threads.append(threading.Thread(target=speak, daemon=True))
        self._threads[-1].start()
        return future

    def close(self, *, cancel: bool = False) -> None:
        assert not self._closed, "closed twice"
        self._closed = True
        if cancel:
            for future in self._futures:
                future.cancel()
            self._stage.held.set()
        for thread in self._threads:
            thread.join(60)
        self._stage.ended(self._size)


@pytest.fixture
def stage() -> Stage:
    return Stage()


Opener = Callable[..., tuple[Ensemble, dict[str, EnsemblePart]]]


@pytest.fixture
def opened(stage: Stage) -> Iterator[Opener]:
    made: list[Ensemble] = []

    def open_(*names: str, size: int = 2) -> tuple[Ensemble, dict[str, EnsemblePart]]:
        specs = [spec(name) for name in names]
        ensemble = Ensemble(specs, size=size, start=stage.start)
        made.append(ensemble)
        ensemble.__enter__()
        return ensemble, {name: ensemble.part(spec(name)) for name in names}

    yield open_
    for ensemble in made:
        ensemble.close(cancel=True)
    assert stage.open == 0, "a pool was left open"


def test_each_engine_is_described_and_the_first_one_stays(stage: Stage, opened: Opener) -> None:
    _, parts = opened("a", "b", "c")
    assert {name: part.info(SOON_S).name for name, part in parts.items()} == {
        "a": "a", "b": "b", "c": "c",
    }  # fmt: skip
    assert stage.played == [("b", 1), ("c", 1), ("a", 2)]
    assert stage.most == 2


def test_turns_follow_the_order_in_which_they_are_needed(stage: Stage, opened: Opener) -> None:
    """As a book gives them: a, c, a, b, a. Each engine has one turn, and no more than 2 live."""
    ensemble, parts = opened("a", "b", "c")
    told = [(1, "a"), (2, "c"), (3, "a"), (4, "b"), (5, "a"), (6, "c")]
    futures = [parts[name].submit(order(number)) for number, name in told]
    assert [future.result(SOON_S).id for future in futures] == [f"s{n}" for n, _ in told]
    assert [name for name, _ in dict.fromkeys((name, None) for name, _ in stage.spoken)] == [
        "a", "c", "b",
    ]  # fmt: skip
    assert stage.played[3:] == [("c", 2), ("b", 2)]
    assert stage.most == 2
    ensemble.close()
    assert stage.open == 0


def test_a_turn_lasts_until_the_last_answer(stage: Stage, opened: Opener) -> None:
    _, parts = opened("a", "b")
    parts["a"].info(SOON_S)
    stage.held.clear()
    first, second = parts["a"].submit(order(1)), parts["b"].submit(order(2))
    with pytest.raises(TimeoutError):
        second.result(0.8)
    assert stage.played == [("b", 1), ("a", 2)]
    late = parts["a"].submit(order(3))
    stage.held.set()
    for future in (first, second, late):
        future.result(SOON_S)
    assert [name for name, _ in stage.spoken] == ["a", "a", "b"]


def test_another_book_begins_where_the_last_one_ended(stage: Stage, opened: Opener) -> None:
    _, parts = opened("a", "b")
    for _ in range(2):
        futures = [parts[name].submit(order(n)) for n, name in enumerate(("a", "b"))]
        for future in futures:
            future.result(SOON_S)
    assert [name for name, _ in stage.played] == ["b", "a", "b", "a"]
    assert [name for name, _ in stage.spoken] == ["a", "b", "b", "a"]


def test_equal_specs_are_one_engine(stage: Stage, opened: Opener) -> None:
    ensemble, parts = opened("a", "b", "a")
    assert ensemble.part(spec("a")) is parts["a"]
    parts["a"].info(SOON_S)
    assert stage.played == [("b", 1), ("a", 2)]


def test_an_engine_that_does_not_load_is_an_error_for_all(stage: Stage, opened: Opener) -> None:
    stage.refuse["b"] = BundleError("bundle nowhere is missing")
    _, parts = opened("a", "b", "c")
    for part in parts.values():
        with pytest.raises(BundleError, match="nowhere is missing"):
            part.info(SOON_S)
    with pytest.raises(BundleError):
        parts["a"].submit(order(1))


def test_an_engine_that_changed_meanwhile_is_refused(stage: Stage, opened: Opener) -> None:
    _, parts = opened("a", "b")
    parts["a"].info(SOON_S)
    stage.fingerprints["b"] = "another"
    good, bad = parts["a"].submit(order(1)), parts["b"].submit(order(2))
    good.result(SOON_S)
    with pytest.raises(DeviceError, match="'b' is not the same as when the book was planned"):
        bad.result(SOON_S)


def test_cancelled_orders_are_told_so(stage: Stage, opened: Opener) -> None:
    ensemble, parts = opened("a", "b")
    parts["a"].info(SOON_S)
    stage.held.clear()
    futures = [parts[name].submit(order(n)) for n, name in enumerate(("a", "b", "b"))]
    time.sleep(0.1)
    ensemble.close(cancel=True)
    for future in futures:
        with pytest.raises(CancelledError):
            future.result(SOON_S)
    with pytest.raises(ValueError, match="closed"):
        parts["a"].submit(order(9))


@pytest.mark.parametrize("slow", ["a", "b"])
def test_a_stop_is_heard_while_an_engine_loads(stage: Stage, opened: Opener, slow: str) -> None:
    stage.slow.add(slow)
    ensemble, parts = opened("a", "b")
    with pytest.raises(TimeoutError):
        parts[slow].info(0.3)
    waiting = parts["a"].submit(order(1))
    ensemble.close(cancel=True)
    with pytest.raises(CancelledError):
        parts[slow].info(SOON_S)
    with pytest.raises(CancelledError):
        waiting.result(SOON_S)


def test_what_is_no_error_of_ours_reaches_who_waits(stage: Stage, opened: Opener) -> None:
    stage.fingerprints = None  # type: ignore[assignment]
    _, parts = opened("a", "b")
    with pytest.raises(DeviceError, match="changing engines failed"):
        parts["a"].info(SOON_S)


def test_closing_waits_for_every_turn(stage: Stage, opened: Opener) -> None:
    ensemble, parts = opened("a", "b", "c", size=1)
    futures = [parts[name].submit(order(n)) for n, name in enumerate("cbacba")]
    ensemble.close()
    assert all(future.done() for future in futures)
    assert len(stage.spoken) == 6
    assert stage.most == 1


def test_nothing_is_an_ensemble_of_nothing() -> None:
    with pytest.raises(ValueError, match="0 engines"):
        Ensemble([], size=1, start=Stage().start)


def test_real_processes_take_turns(tmp_path: Path) -> None:
    """Two engines of tones with other options: the same words give other takes, one pool lives."""
    store = LocalStore(tmp_path / "store")
    pools: list[EnginePool] = []

    def start(wanted: EngineSpec, size: int) -> EnginePool:
        pools.append(EnginePool(wanted, size=size, log_dir=tmp_path / "logs"))
        pools[-1].start()
        return pools[-1]

    def tones(**options: Any) -> EngineSpec:
        return EngineSpec(engine="fake", store_url=store.url, policy={}, options=options)

    specs = [tones(), tones(sleep_s=0.001)]
    with Ensemble(specs, size=1, start=start) as ensemble:
        one, two = (ensemble.part(each) for each in specs)
        futures = [
            part.submit(order(n, str(k))) for n in range(4) for k, part in enumerate((one, two))
        ]
        outcomes = [future.result(SOON_S * 3) for future in futures]
        assert all(each.choice.take_key for each in outcomes)
        assert sum(bool(pool.pids) for pool in pools) == 1
    assert not any(pool.pids for pool in pools)
