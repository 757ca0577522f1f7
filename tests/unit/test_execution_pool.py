"""A book's orders through a pool whose machines are threads of the test and die as told."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from typing import Any

import pytest

from flows.execution import book_pool as module
from flows.execution import campaign
from flows.execution.campaign import Terms
from flows.execution.pool import ShardPool
from flows.execution.shard_runs import RunView, Unreachable
from flows.shard_request import ShardRequest
from loudr_core.errors import ConfigError, DeviceError, LoudrError, StoreUnavailable, SynthesisError
from loudr_core.render.reconcile import ReconcileRule
from loudr_core.render.shard import found_outcome, run_order, speak_shard
from loudr_core.render.shard_files import Journal, read_orders, write_info
from loudr_core.speech.choosing import failed_choice, store_choice
from loudr_core.speech.limits import FAKE
from loudr_core.speech.orders import Attempt, Order, Outcome, audio_key
from loudr_core.speech.protocol import VoiceInfo
from loudr_core.speech.wire import EngineInfo, EngineSpec
from loudr_core.testing import MemoryStore

RULE = ReconcileRule(stall_s=0.4, start_s=0.8, attempts=3)
SPEC = EngineSpec(engine="fake", store_url="s3://bucket/store", policy={})
INFO = EngineInfo(
    name="fake",
    fingerprint="f" * 64,
    sample_rate_hz=24_000,
    limits=FAKE,
    voices=(VoiceInfo(name="low", language="en", sha256="0" * 64),),
)


class Died(BaseException):
    """A machine's end, without a word."""


def order(number: int) -> Order:
    return Order(
        id=f"c001-s{number:04d}",
        job_key=f"{number:064x}",
        choice_key=f"choice/{number:02x}/{number:064x}",
        text=f"Line {number}.",
        language="en",
        voice="low",
        attempts=(Attempt(number=0, seed=number, take_key=f"{number:064x}"),),
        est_audio_s=5.0,
    )


class Plan:
    book_id, plan_id, fingerprint = "book-1", "plan1", "f" * 64
    folder = "books/book-1/plans/plan1"


class Machines:
    """Runs of shards in threads, each of which ends as `fate(request)` says.

    A number kills it after so many segments and the server is told; a negative one kills it and
    the server never learns of it; an error is what it ends with; None is a good end.
    """

    def __init__(self, store: MemoryStore, fate: Callable[[ShardRequest], Any]) -> None:
        self.store, self.fate = store, fate
        self.spoken: Counter[str] = Counter()
        self.requests: list[ShardRequest] = []
        self.called_off: list[str] = []
        self.away = 0
        self.open = threading.Event()
        self.open.set()
        self.refuse: LoudrError | None = None
        self._views: dict[str, RunView] = {}
        self._guard = threading.Lock()

    def _answer(self) -> None:
        if self.refuse:
            raise self.refuse
        if self.away > 0:
            self.away -= 1
            raise Unreachable("nobody answers")

    def workers(self) -> int:
        self._answer()
        return 2

    def submit(self, request: ShardRequest) -> str:
        self._answer()
        with self._guard:
            if request.key not in self._views:
                self.requests.append(request)
                self._views[request.key] = RunView(phase="waiting")
                threading.Thread(target=self._run, args=(request,), daemon=True).start()
        return request.key

    def until_asked(self) -> None:
        """Return when the first run was asked for."""
        deadline = time.monotonic() + 60
        while not self.requests:
            assert time.monotonic() < deadline, "no run was asked for"
            time.sleep(0.01)

    def look(self, runs: Iterable[str]) -> Mapping[str, RunView]:
        self._answer()
        return {run: self._views[run] for run in runs if run in self._views}

    def call_off(self, runs: Iterable[str]) -> None:
        self.called_off += runs

    def _run(self, request: ShardRequest) -> None:
        if not self.open.wait(60):
            return
        self._views[request.key] = RunView(phase="running")
        fate, cause = self.fate(request), ""
        journal = Journal(
            self.store, request.folder, owner=request.owner, shard=request.shard,
            attempt=request.attempt, part_s=0.02,
        )  # fmt: skip
        try:
            if isinstance(fate, LoudrError):
                journal.fail(fate)
                cause = f"Failed: {fate}"
            else:
                self._speak(request, journal, fate)
        except Died:
            if fate < 0:
                return
            cause = "Crashed: killed"
        self._views[request.key] = RunView(phase="ended", cause=cause)

    def _speak(self, request: ShardRequest, journal: Journal, fate: int | None) -> None:
        journal.begin(INFO)
        if not request.book_id:
            return
        orders = read_orders(self.store, request.folder, request.owner, request.shard)
        assert orders is not None
        left = None if fate is None else abs(fate)

        def submit(given: Order) -> "Future[Outcome]":
            nonlocal left
            if left == 0:
                raise Died
            left = left - 1 if left is not None else None
            time.sleep(0.005)
            self.spoken[given.id] += 1
            future: Future[Outcome] = Future()
            future.set_result(self.finish(given))
            return future

        speaker: Any = type("Speaker", (), {"submit": staticmethod(submit)})
        speak_shard(
            run_order(orders, request.key), number=request.shard, pool=speaker, store=self.store,
            journal=journal, width=1,
        )  # fmt: skip

    def finish(self, given: Order) -> Outcome:
        key = given.attempts[0].take_key
        choice = replace(failed_choice(given, ""), status="ok", take_key=key)
        self.store.put(audio_key(key), b"flac")
        store_choice(self.store, given, choice)
        return replace(found_outcome(given, choice), rendered=1, reused=0)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_QUIET_S", 0.02)


@pytest.fixture
def start() -> Iterator[Callable[..., tuple[ShardPool, Machines]]]:
    pools: list[ShardPool] = []

    def begin(
        fate: Callable[[ShardRequest], Any] = lambda request: None,
        *,
        store: MemoryStore | None = None,
        known: bool = True,
        **terms: Any,
    ) -> tuple[ShardPool, Machines]:
        shelf = store or MemoryStore()
        if known:
            write_info(shelf, SPEC, INFO)
        machines = Machines(shelf, fate)
        settings = Terms(rule=RULE, shard_audio_s=50.0, poll_s=0.02, **terms)
        pools.append(ShardPool(SPEC, shelf, runs=machines, terms=settings).__enter__())
        return pools[-1], machines

    yield begin
    for each in pools:
        each.__exit__()


def give(
    pool: ShardPool, count: int = 40, cancel: threading.Event | None = None
) -> "dict[str, Future[Outcome]]":
    book = pool.for_book()
    plan: Any = Plan()
    book.attach(lambda: plan, cancel or threading.Event())
    return {each.id: book.submit(each) for each in map(order, range(count))}


def results(futures: "dict[str, Future[Outcome]]") -> dict[str, Outcome]:
    return {name: future.result(20) for name, future in futures.items()}


def test_a_book_is_spoken_by_several_runs(start: Callable[..., Any]) -> None:
    pool, machines = start()
    done = results(give(pool))
    assert {name: outcome.choice.status for name, outcome in done.items()} == dict.fromkeys(
        machines.spoken, "ok"
    )
    assert len(done) == 40
    assert set(machines.spoken.values()) == {1}
    assert len(machines.requests) == 4
    first = machines.requests[0]
    assert (first.fingerprint, first.store, first.attempt) == ("f" * 64, SPEC.store_url, 1)
    pool.__exit__()
    assert not list(machines.store.list(f"{Plan.folder}/shards/")), "nothing is left behind"
    assert not machines.called_off


@pytest.mark.parametrize("left", [0, 3, -3, -1])
def test_a_run_that_dies_is_followed_by_another(start: Callable[..., Any], left: int) -> None:
    """Killed with and without the server learning of it, early and late."""
    pool, machines = start(
        lambda request: left if request.shard == 1 and request.attempt == 1 else None
    )
    assert len(results(give(pool))) == 40
    assert set(machines.spoken.values()) == {1}, "what was finished is not spoken again"
    assert [r.attempt for r in machines.requests if r.shard == 1] == [1, 2]
    if left < 0:
        assert len(machines.called_off) == 1


def test_work_that_nobody_takes_is_told_of_and_waits(
    start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = threading.Event()
    monkeypatch.setattr(campaign, "_LONELY_S", 0.1)
    monkeypatch.setattr(
        campaign.logger,
        "warning",
        lambda text, *of: told.set() if "no worker has" in text else None,
    )
    pool, machines = start()
    machines.open.clear()
    futures = give(pool)
    assert told.wait(60), "it waits without a word"
    time.sleep(3 * RULE.stall_s)  # longer than a silent run is borne with
    machines.open.set()
    assert len(results(futures)) == 40
    assert {request.attempt for request in machines.requests} == {1}


def test_a_shard_is_given_up_after_so_many_runs(start: Callable[..., Any]) -> None:
    pool, machines = start(lambda request: 2 if request.shard == 0 else None)
    futures = give(pool)
    failed = [future for future in futures.values() if future.exception(20) is not None]
    assert len(failed) == 10 - 2 * RULE.attempts
    error = failed[0].exception()
    assert isinstance(error, SynthesisError)
    assert "after 3 runs" in error.message
    assert "Crashed: killed" in error.message
    assert "\n" not in error.message
    assert len([r for r in machines.requests if r.shard == 0]) == RULE.attempts


def test_what_a_run_ends_with_is_what_is_reported(start: Callable[..., Any]) -> None:
    pool, machines = start(lambda request: DeviceError("no such provider: cuda", provider="cuda"))
    error = give(pool, 1)["c001-s0000"].exception(20)
    assert isinstance(error, DeviceError)
    assert error.message == "no such provider: cuda"
    assert len(machines.requests) == RULE.attempts


def test_an_engine_is_described_by_a_worker(start: Callable[..., Any]) -> None:
    pool, machines = start(known=False)
    assert pool.info(20) == INFO
    assert [request.book_id for request in machines.requests] == [""]


def test_an_engine_that_no_worker_can_load_is_its_error(start: Callable[..., Any]) -> None:
    pool, _ = start(lambda request: DeviceError("no cuda here"), known=False)
    with pytest.raises(DeviceError, match="no cuda here"):
        pool.info(20)


def test_a_deployment_that_is_not_there_is_known_at_once(start: Callable[..., Any]) -> None:
    store = MemoryStore()
    write_info(store, SPEC, INFO)
    machines = Machines(store, lambda request: None)
    machines.refuse = ConfigError("no deployment 'a/b'")
    terms = Terms(rule=RULE, poll_s=0.02)
    with (
        ShardPool(SPEC, store, runs=machines, terms=terms) as pool,
        pytest.raises(ConfigError, match="a/b"),
    ):
        pool.info(20)


def test_a_server_that_is_away_for_a_while_does_no_harm(start: Callable[..., Any]) -> None:
    pool, machines = start()
    futures = give(pool)
    machines.away = 40  # about twice the stall time
    assert len(results(futures)) == 40
    assert set(machines.spoken.values()) == {1}
    assert {request.attempt for request in machines.requests} == {1}


def test_a_server_that_stays_away_is_an_error(start: Callable[..., Any]) -> None:
    pool, machines = start(lambda request: -1, outage_s=0.2)
    pool.info(20)
    machines.away = 10**9
    error = give(pool, 1)["c001-s0000"].exception(20)
    assert isinstance(error, DeviceError)
    assert "nobody answers" in error.message


def test_a_store_that_is_away_for_a_while_does_no_harm(start: Callable[..., Any]) -> None:
    class Leaving(MemoryStore):
        away = 0

        def list(self, prefix: str) -> Iterator[str]:
            if self.away > 0 and "/shards/" in prefix:
                self.away -= 1
                raise StoreUnavailable("the store is away")
            return super().list(prefix)

    store = Leaving()
    pool, machines = start(store=store)
    futures = give(pool)
    store.away = 40
    assert len(results(futures)) == 40
    assert set(machines.spoken.values()) == {1}


def test_what_another_render_finishes_counts(start: Callable[..., Any]) -> None:
    """Its journal is read too, and runs that have not begun are called off."""
    pool, machines = start(lambda request: -1)
    futures = give(pool, 5)
    machines.until_asked()
    other = Journal(machines.store, Plan.folder, owner="other", shard=0, attempt=1)
    other.add(machines.finish(order(number)) for number in range(5))
    other.flush()
    assert len(results(futures)) == 5


def test_closing_calls_off_what_is_not_finished(start: Callable[..., Any]) -> None:
    pool, machines = start(lambda request: -1)
    futures = give(pool, 5)
    machines.until_asked()
    pool.__exit__()
    assert machines.called_off == [machines.requests[0].key]
    with pytest.raises(CancelledError):
        futures["c001-s0004"].result(5)


def test_a_render_that_is_stopped_calls_off_its_runs_at_once(start: Callable[..., Any]) -> None:
    """Also when nobody closes the pool for a while."""
    pool, machines = start(lambda request: -1)
    cancel = threading.Event()
    futures = give(pool, 5, cancel)
    machines.until_asked()
    cancel.set()
    with pytest.raises(CancelledError):
        futures["c001-s0004"].result(5)
    assert machines.called_off == [machines.requests[0].key]
    assert give(pool, 1, cancel)["c001-s0000"].cancelled()


def test_orders_belong_to_a_book(start: Callable[..., Any]) -> None:
    pool, _ = start()
    with pytest.raises(ValueError, match="for_book"):
        pool.submit(order(1))
    book = pool.for_book()
    book.close()
    with pytest.raises(ValueError, match="closed"):
        book.submit(order(1))


def test_a_shard_is_of_one_engine_of_the_cast() -> None:
    """Two voices of one engine share runs; another engine's are asked for by its own voice."""
    other = replace(SPEC, engine="koko", bundle="/models/koko")
    store = MemoryStore()
    write_info(store, SPEC, INFO)
    write_info(store, other, replace(INFO, name="koko", fingerprint="k" * 64))
    machines = Machines(store, lambda request: None)
    terms = Terms(rule=RULE, shard_audio_s=50.0, poll_s=0.02)
    voices = {"aunt": type("Voice", (), {"fingerprint": "k" * 64})}
    plan: Any = type("Cast", (Plan,), {"voices": voices})()
    specs = {"": SPEC, "boy": SPEC, "aunt": other}
    with ShardPool(specs, store, runs=machines, terms=terms) as pool:
        book = pool.for_book()
        assert book.part("boy") is book.part("")
        assert book.part("aunt").info(20).name == "koko"
        assert book.part("").info(20).name == "fake"
        book.attach(lambda: plan, threading.Event())
        speaks = ["", "aunt", "boy", "aunt"]
        futures = {}
        for number in range(40):
            given = order(number)
            futures[given.id] = book.part(speaks[number % 4]).submit(given)
        assert len(results(futures)) == 40
    assert set(machines.spoken.values()) == {1}
    asked = {(r.engine.engine, r.engine.bundle, r.engine.voice, r.fingerprint[0])
             for r in machines.requests}  # fmt: skip
    assert asked == {("fake", None, "", "f"), ("koko", "/models/koko", "aunt", "k")}
    assert len(machines.requests) == 4
