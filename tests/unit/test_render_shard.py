"""Orders and journals of shards, and the loop that speaks one."""

import contextlib
import threading
from concurrent.futures import Future
from dataclasses import replace

import pytest

from loudr_core.errors import StoreError, StoreUnavailable, SynthesisError
from loudr_core.render.progress import Progress
from loudr_core.render.shard import found_outcome, run_order, speak_shard
from loudr_core.render.shard_files import (
    Journal,
    JournalReader,
    clear_shards,
    engine_folder,
    read_info,
    read_orders,
    write_info,
    write_orders,
)
from loudr_core.speech.choosing import failed_choice, store_choice
from loudr_core.speech.limits import FAKE
from loudr_core.speech.orders import Attempt, Choice, Order, Outcome, audio_key
from loudr_core.speech.protocol import VoiceInfo
from loudr_core.speech.wire import EngineInfo, EngineSpec
from loudr_core.testing import MemoryStore

FOLDER = "books/b/plans/p"
SPEC = EngineSpec(engine="fake", store_url="s3://one/two", policy={})
INFO = EngineInfo(
    name="fake",
    fingerprint="f" * 64,
    sample_rate_hz=24_000,
    limits=FAKE,
    voices=(VoiceInfo(name="low", language="en", sha256="0" * 64),),
)


def order(number: int) -> Order:
    return Order(
        id=f"c001-s{number:04d}",
        job_key=f"{number:064x}",
        choice_key=f"choice/{number:02x}/{number:064x}",
        text=f"Line {number}.",
        language="en",
        voice="low",
        attempts=(Attempt(number=0, seed=2**63 + number, take_key=f"{number:064x}"),),
        est_audio_s=1.0,
    )


def choice(of: Order) -> Choice:
    return replace(
        failed_choice(of, ""), status="ok", take_key=of.attempts[0].take_key, attempt=0,
        n_samples=24_000, sample_rate_hz=24_000,
    )  # fmt: skip


def finish(store: MemoryStore, of: Order) -> Choice:
    store.put(audio_key(of.attempts[0].take_key), b"flac")
    store_choice(store, of, choice(of))
    return choice(of)


class Engine:
    """Speaks at once; `fails` names orders that cannot be."""

    def __init__(self, store: MemoryStore, fails: frozenset[str] = frozenset()) -> None:
        self.store, self.fails = store, fails
        self.asked: list[str] = []

    def submit(self, given: Order) -> "Future[Outcome]":
        self.asked.append(given.id)
        future: Future[Outcome] = Future()
        if given.id in self.fails:
            future.set_exception(StoreUnavailable("the store is away"))
        else:
            made = replace(found_outcome(given, finish(self.store, given)), rendered=1, reused=0)
            future.set_result(made)
        return future


def journal(store: MemoryStore, *, owner: str = "me", attempt: int = 1) -> Journal:
    return Journal(store, FOLDER, owner=owner, shard=3, attempt=attempt)


def test_orders_come_back_as_they_were() -> None:
    store, orders = MemoryStore(), [order(number) for number in range(5)]
    write_orders(store, FOLDER, "me", 3, orders)
    assert read_orders(store, FOLDER, "me", 3) == orders
    assert read_orders(store, FOLDER, "me", 4) is None
    assert read_orders(store, FOLDER, "you", 3) is None


@pytest.mark.parametrize("data", [b"\xff\xfe", b"[1]\n", b'{"id": 1}\n', b"{"])
def test_orders_that_cannot_be_read_are_one_line(data: bytes) -> None:
    store = MemoryStore()
    store.put(f"{FOLDER}/shards/me/0003.orders", data)
    with pytest.raises(StoreError, match="must run one loudr") as caught:
        read_orders(store, FOLDER, "me", 3)
    assert "\n" not in caught.value.message


def test_a_journal_tells_info_outcomes_and_error() -> None:
    store = MemoryStore()
    reader = JournalReader(store, FOLDER)
    said = journal(store)
    said.begin(INFO)
    said.add([found_outcome(order(1), choice(order(1)))])
    said.fail(SynthesisError("no voice", voice="x"))
    first, second = reader.read_new()
    assert (first.owner, first.shard, first.attempt, first.info) == ("me", 3, 1, INFO)
    assert [outcome.choice for outcome in second.outcomes] == [choice(order(1))]
    assert isinstance(second.error, SynthesisError)
    assert second.error.context == {"voice": "x"}
    assert reader.read_new() == []


def test_a_run_that_has_nothing_to_say_says_that_it_is_alive() -> None:
    store = MemoryStore()
    reader = JournalReader(store, FOLDER)
    said = Journal(store, FOLDER, owner="me", shard=3, attempt=2, part_s=0.0)
    said.wake()
    said.tick()
    said.add([found_outcome(order(1), choice(order(1)))])
    said.tick()
    awake, alive, spoken = reader.read_new()
    assert awake == alive
    assert (alive.owner, alive.shard, alive.attempt) == ("me", 3, 2)
    assert (alive.outcomes, alive.info, alive.error) == ((), None, None)
    assert len(spoken.outcomes) == 1


def test_a_run_does_not_say_so_all_the_time() -> None:
    store = MemoryStore()
    said = journal(store)
    said.tick()
    said.flush()
    assert list(store.list(FOLDER)) == []


def test_a_reader_leaves_out_what_was_there_before_it() -> None:
    store = MemoryStore()
    journal(store, owner="earlier").begin(INFO)
    reader = JournalReader(store, FOLDER)
    assert reader.read_new() == []
    journal(store, owner="later").begin(INFO)
    assert [entry.owner for entry in reader.read_new()] == ["later"]


def test_what_a_reader_could_not_get_comes_with_the_next_look() -> None:
    class Failing(MemoryStore):
        fails = True

        def get(self, key: str) -> bytes | None:
            if self.fails and key.endswith("-00001.journal"):
                raise StoreUnavailable("away")
            return super().get(key)

    store = Failing()
    reader = JournalReader(store, FOLDER)
    said = journal(store)
    said.begin(INFO)
    said.fail(SynthesisError("why"))
    with pytest.raises(StoreUnavailable):
        reader.read_new()
    store.fails = False
    assert len(reader.read_new()) == 2


def test_a_damaged_journal_is_one_line() -> None:
    store = MemoryStore()
    reader = JournalReader(store, FOLDER)
    store.put(f"{FOLDER}/shards/me/0001-01-00000.journal", b'{"song": {}}\n')
    with pytest.raises(StoreError, match="no journal"):
        reader.read_new()


def test_clearing_leaves_other_owners_alone() -> None:
    store = MemoryStore()
    for owner in ("me", "me2"):
        write_orders(store, FOLDER, owner, 0, [order(1)])
        journal(store, owner=owner).begin(INFO)
    clear_shards(store, FOLDER, "me")
    assert {key.split("/")[5] for key in store.list(FOLDER)} == {"me2"}


def test_an_engine_is_known_again_whatever_the_store() -> None:
    store = MemoryStore()
    assert read_info(store, SPEC) is None
    write_info(store, SPEC, INFO)
    there = replace(SPEC, store_url="/elsewhere", policy={"peak": 1.0})
    assert read_info(store, there) == INFO
    assert engine_folder(there) == engine_folder(SPEC)
    assert engine_folder(replace(SPEC, options={"variant": "b"})) != engine_folder(SPEC)
    store.put(f"{engine_folder(SPEC)}/info.json", b"{}")
    assert read_info(store, SPEC) is None


def test_a_shard_is_spoken_and_what_is_finished_is_not() -> None:
    store = MemoryStore()
    orders = [order(number) for number in range(9)]
    for number in (2, 5):
        finish(store, orders[number])
    engine, reader = Engine(store), JournalReader(store, FOLDER)
    progress = Progress()
    result = speak_shard(
        orders, number=3, pool=engine, store=store, journal=journal(store), width=2,
        progress=progress,
    )  # fmt: skip
    counts = progress.now()
    assert (counts.total, counts.rendered, counts.reused, counts.failed) == (9, 7, 2, 0)
    assert counts.audio_left_s == 0.0
    assert (result.segments, result.rendered, result.reused, result.failed) == (9, 7, 2, 0)
    assert engine.asked == [each.id for each in orders if each.id[-1] not in "25"]
    said = [each.job_key for entry in reader.read_new() for each in entry.outcomes]
    assert sorted(said) == sorted(each.job_key for each in orders)


def test_what_was_spoken_before_an_error_is_said() -> None:
    store = MemoryStore()
    reader = JournalReader(store, FOLDER)
    orders = [order(number) for number in range(6)]
    engine = Engine(store, fails=frozenset({orders[4].id}))
    with pytest.raises(StoreUnavailable):
        speak_shard(orders, number=3, pool=engine, store=store, journal=journal(store), width=1)
    said = [each.job_key for entry in reader.read_new() for each in entry.outcomes]
    assert said == [each.job_key for each in orders[:4]]


def test_two_runs_side_by_side_hardly_speak_a_segment_twice() -> None:
    store = MemoryStore()
    orders = [order(number) for number in range(60)]
    step = threading.Barrier(2)
    asked: list[str] = []

    class Slow(Engine):
        def submit(self, given: Order) -> "Future[Outcome]":
            asked.append(given.id)
            with contextlib.suppress(threading.BrokenBarrierError):
                step.wait(5)  # both have a segment in hand before either is finished
            return super().submit(given)

    def run(name: str) -> None:
        try:
            speak_shard(
                run_order(orders, name), number=3, pool=Slow(store), store=store,
                journal=journal(store, owner=name), width=1,
            )  # fmt: skip
        finally:
            step.abort()

    threads = [threading.Thread(target=run, args=(name,), daemon=True) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(asked) - len(set(asked)) <= 6
    assert run_order(orders, "one") != run_order(orders, "two")
    assert run_order(orders, "one") == run_order(orders[::-1], "one")
