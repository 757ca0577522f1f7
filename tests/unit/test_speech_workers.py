import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import psutil
import pytest

from loudr_core.canonical import digest
from loudr_core.errors import BundleError, ConfigError, DeviceError, StoreError
from loudr_core.speech.limits import FAKE
from loudr_core.speech.orders import Attempt, Choice, Order, audio_key
from loudr_core.speech.wire import EngineSpec
from loudr_core.speech.workers import EnginePool, worker_count
from loudr_core.store.local import LocalStore

Opener = Callable[..., EnginePool]


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


@pytest.fixture
def open_pool(store: LocalStore, tmp_path: Path) -> Iterator[Opener]:
    pools: list[EnginePool] = []

    def open_(
        *,
        engine: str = "fake",
        size: int = 1,
        limits: dict[str, float] | None = None,
        **options: Any,
    ) -> EnginePool:
        spec = EngineSpec(engine=engine, store_url=store.url, policy={}, options=options)
        pool = EnginePool(spec, size=size, log_dir=tmp_path / "logs", **(limits or {}))
        pool.start()
        pools.append(pool)
        return pool

    yield open_
    for pool in pools:
        pool.close(cancel=True)


def order(text: str, *, attempts: int = 1, voice: str = "low", name: str = "") -> Order:
    keys = [digest([text, voice, number]) for number in range(attempts)]
    return Order(
        id=name or text[:12],
        job_key=keys[0],
        choice_key=f"choice/{keys[0]}.json",
        text=text,
        language="en",
        voice=voice,
        attempts=tuple(
            Attempt(number=number, seed=2**63 + number, take_key=key)
            for number, key in enumerate(keys)
        ),
    )


def texts(count: int) -> list[str]:
    return [
        f"Sentence number {number} is {'quite ' * (number % 5)}long." for number in range(count)
    ]


def test_a_take_and_a_choice_are_stored(open_pool: Opener, store: LocalStore) -> None:
    wanted = order("A lamp was lit.")
    outcome = open_pool().submit(wanted).result(30)
    assert outcome.choice.status == "ok"
    assert (outcome.rendered, outcome.reused) == (1, 0)
    assert outcome.choice.seed == 2**63
    stored = store.get(wanted.choice_key)
    assert stored is not None
    assert Choice.from_dict(json.loads(stored)) == outcome.choice
    assert store.exists(audio_key(outcome.choice.take_key))
    assert outcome.results[0].pcm_sha256 == outcome.choice.pcm_sha256


def test_a_stored_take_is_not_rendered_again(open_pool: Opener, store: LocalStore) -> None:
    wanted = order("A lamp was lit.")
    pool = open_pool()
    first = pool.submit(wanted).result(30)
    again = pool.submit(wanted).result(30)
    assert (again.rendered, again.reused) == (0, 1)
    assert again.choice == first.choice
    assert again.results[0].compute_s == first.results[0].compute_s


def test_info_comes_from_a_child(open_pool: Opener) -> None:
    info = open_pool(batch=3).info(30)
    assert info.name == "fake"
    assert info.limits.batch == 3
    assert info.limits.languages == {"en", "de"}
    assert len(info.voice("high").sha256) == 64
    with pytest.raises(ConfigError, match="no voice 'bass': it has low, high"):
        info.voice("bass")


@pytest.mark.parametrize("batch", [1, 3])
def test_worker_count_does_not_move_samples(tmp_path: Path, batch: int) -> None:
    seen = []
    for size in (1, 2):
        spec = EngineSpec(
            engine="fake",
            store_url=str(tmp_path / str(size)),
            policy={},
            options={"batch": batch},
        )
        with EnginePool(spec, size=size, log_dir=tmp_path / "logs") as pool:
            futures = [pool.submit(order(text)) for text in texts(25)]
            seen.append([future.result(60).choice.pcm_sha256 for future in futures])
    assert seen[0] == seen[1]
    assert len(set(seen[0])) == 25


@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGTERM])
def test_killed_worker_is_replaced_and_nothing_lost(open_pool: Opener, kind: int) -> None:
    pool = open_pool(size=2, sleep_s=0.02)
    futures = [pool.submit(order(text)) for text in texts(60)]
    futures[3].result(30)
    os.kill(pool.pids[0], kind)
    outcomes = [future.result(60) for future in futures]
    assert {outcome.choice.status for outcome in outcomes} == {"ok"}
    assert pool.stats.restarts == 1
    # What was in flight may have been stored before the kill; nothing is answered twice.
    assert pool.stats.answered == 60


def test_a_poison_segment_fails_alone(open_pool: Opener, store: LocalStore) -> None:
    pool = open_pool(size=2)
    poison = order("This one is a fakekill for all.", attempts=3)
    orders = [order(text) for text in texts(20)]
    orders.insert(7, poison)
    outcomes = [pool.submit(each) for each in orders]
    results = {outcome.id: outcome for outcome in (future.result(60) for future in outcomes)}
    failed = results.pop(poison.id)
    assert failed.choice.status == "failed"
    assert failed.choice.error.startswith("engine process died twice (signal 9, which")
    assert {outcome.choice.status for outcome in results.values()} == {"ok"}
    assert pool.stats.restarts == 2
    stored = store.get(poison.choice_key)
    assert stored is not None
    assert json.loads(stored)["status"] == "failed"


@pytest.mark.parametrize("kind", ["fakehang", "fakefreeze"])
def test_a_hanging_segment_is_killed(open_pool: Opener, kind: str) -> None:
    pool = open_pool(limits={"hang_floor_s": 0.4})
    pool.info(30)
    futures = [pool.submit(order(text)) for text in ("Before it.", f"A {kind} here.", "After it.")]
    before, hanging, after = (future.result(60) for future in futures)
    assert before.choice.status == after.choice.status == "ok"
    assert hanging.choice.status == "failed"
    assert "died twice (no answer for 0 s)" in hanging.choice.error


def test_a_process_without_memory_is_replaced_and_the_segment_tried_once_more(
    open_pool: Opener,
) -> None:
    pool = open_pool()
    said = ("Before it.", "There is fakememory here.", "After it.", "And one more.")
    before, starved, *after = [
        future.result(60)
        for future in [pool.submit(order(text, attempts=3, name=text)) for text in said]
    ]
    assert {outcome.choice.status for outcome in (before, *after)} == {"ok"}
    assert starved.choice.status == "failed"
    assert starved.choice.error.startswith("engine process died twice (out of memory), see worker-")
    assert pool.stats.restarts == 2, "once beside others, once alone"


def test_errors_of_one_segment_stay_with_it(open_pool: Opener) -> None:
    pool = open_pool()
    futures = {
        kind: pool.submit(order(f"Here is {kind} now.", attempts=2))
        for kind in ("fakeerror", "fakeraise", "fakenan", "fakeprint")
    }
    errors = {kind: future.result(30).choice.error for kind, future in futures.items()}
    assert errors["fakeerror"] == "fakeerror was in the text"
    assert "RuntimeError: fakeraise was in the text" in errors["fakeraise"]
    assert errors["fakenan"] == "the engine gave samples that are not finite"
    assert errors["fakeprint"] == ""
    assert pool.stats.restarts == 0


def test_each_attempt_is_made_until_one_is_good(open_pool: Opener) -> None:
    outcome = open_pool().submit(order("It fails as fakeerror always.", attempts=3)).result(30)
    assert [result.attempt for result in outcome.results] == [0, 1, 2]
    assert {result.status for result in outcome.results} == {"failed"}


def test_an_order_without_attempts_is_answered(open_pool: Opener) -> None:
    bare = Order(
        id="x",
        job_key="k",
        choice_key="choice/k",
        text="Hm.",
        language="en",
        voice="low",
        attempts=(),
    )
    assert open_pool().submit(bare).result(30).choice.status == "failed"


def test_an_engine_that_cannot_load_is_named(open_pool: Opener) -> None:
    pool = open_pool(size=2, refuse="the model file is missing")
    early = pool.submit(order("Never spoken."))
    with pytest.raises(BundleError, match="the model file is missing") as caught:
        pool.info(30)
    assert caught.value.context == {"path": "fake"}
    with pytest.raises(BundleError):
        early.result(30)
    with pytest.raises(BundleError):
        pool.submit(order("Neither this.")).result(30)


def test_an_engine_that_dies_loading_is_given_up(open_pool: Opener) -> None:
    with pytest.raises(DeviceError, match=r"ends while it loads \(signal 9, which"):
        open_pool(die_loading=True).info(30)


def test_an_unknown_option_is_refused(open_pool: Opener) -> None:
    with pytest.raises(ConfigError, match="did you mean 'sleep_s'"):
        open_pool(sleeps=1.0).info(30)


def test_a_store_that_fails_is_an_error_not_a_failed_segment(
    open_pool: Opener, store: LocalStore
) -> None:
    pool = open_pool()
    wanted = order("A lamp was lit.")
    blocked = Path(store.url) / "audio"
    blocked.write_text("a file where a folder should be")
    with pytest.raises(StoreError):
        pool.submit(wanted).result(30)
    blocked.unlink()
    assert pool.submit(wanted).result(30).choice.status == "ok"


def test_close_finishes_what_was_submitted(open_pool: Opener) -> None:
    pool = open_pool(sleep_s=0.01)
    futures = [pool.submit(order(text)) for text in texts(8)]
    pool.close()
    assert all(future.done() and future.result().choice.status == "ok" for future in futures)
    with pytest.raises(ValueError, match="closed"):
        pool.submit(order("Too late."))


def test_close_with_cancel_ends_at_once(open_pool: Opener) -> None:
    pool = open_pool(size=2, sleep_s=5.0)
    pool.info(30)
    futures = [pool.submit(order(text)) for text in texts(8)]
    time.sleep(0.2)
    pids = pool.pids
    started = time.monotonic()
    pool.close(cancel=True)
    assert time.monotonic() - started < 2.0
    for future in futures:
        with pytest.raises(CancelledError):
            future.result(1)
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_a_cancelled_future_is_not_rendered(open_pool: Opener, store: LocalStore) -> None:
    pool = open_pool(sleep_s=0.1)
    futures = [pool.submit(order(text)) for text in texts(6)]
    assert futures[5].cancel()
    pool.close()
    assert len(list(store.list("choice/"))) == 5


def runs(process: psutil.Process) -> bool:
    """Say whether a process does anything; one that only waits to be reaped does not."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


def test_children_end_with_a_killed_parent(tmp_path: Path) -> None:
    script = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from loudr_core.speech.wire import EngineSpec\n"
        "from loudr_core.speech.workers import EnginePool\n"
        "here = Path(sys.argv[1])\n"
        "spec = EngineSpec(engine='fake', store_url=str(here / 'store'), policy={})\n"
        "pool = EnginePool(spec, size=2, log_dir=here)\n"
        "pool.start()\n"
        "pool.info(30)\n"
        "print(*pool.pids, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    with parent.stdout:
        children = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
    assert len(children) == 2
    parent.kill()
    parent.wait(60)
    until = time.monotonic() + 2.0
    while any(runs(child) for child in children) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(runs(child) for child in children)


@pytest.mark.parametrize(
    ("requested", "free_mib", "expected"),
    [(None, 10_000, 4), (2, 10_000, 2), (9, 10_000, 9), (9, 450, 2), (None, 160, 1)],
)
def test_worker_count(requested: int | None, free_mib: int, expected: int) -> None:
    free = free_mib * 2**20
    assert worker_count(requested, FAKE, cpus=4, free_memory_bytes=free) == expected


def test_worker_count_refuses_what_cannot_fit() -> None:
    with pytest.raises(DeviceError, match="needs 150 MiB and 100 MiB are free"):
        worker_count(None, FAKE, cpus=4, free_memory_bytes=100 * 2**20)
    with pytest.raises(ValueError, match="at least 1"):
        worker_count(0, FAKE, cpus=4, free_memory_bytes=2**40)
