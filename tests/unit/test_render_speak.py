"""Speaking gives out what is missing, once, and stops when it should."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace

import pytest

from loudr_core.canonical import canonical_json
from loudr_core.errors import QualityError, StoreError, StoreUnavailable
from loudr_core.findings import Finding
from loudr_core.jobs.orders import Shard, cut_shards
from loudr_core.jobs.plan import Plan
from loudr_core.jobs.table import read_results
from loudr_core.render.progress import Progress
from loudr_core.render.speak import Interrupted, Speaking
from loudr_core.speech.orders import Attempt, Choice, Order, Outcome, TakeResult, audio_key
from loudr_core.testing import MemoryStore

Answer = Callable[[Order], Choice]
PLAN = Plan(
    book_id="book",
    plan_id="plan",
    source_sha256="",
    format="markdown",
    metadata={},
    cover_key="",
    cover_media_type="",
    profile={},
    engine="fake",
    voice="low",
    voice_sha256="",
    fingerprint="f",
    sample_rate_hz=24_000,
    speed=1.0,
    chapters=(),
    segments=0,
    generated=(),
    left_out=(),
    findings=(),
    audit={},
    est_audio_s=0.0,
)


def order(number: int, *, words: int | None = None) -> Order:
    """Return the order of a segment; orders with the same `words` name the same take."""
    key = f"{number if words is None else words:064d}"
    return Order(
        id=f"c001-s{number:04d}",
        job_key=key,
        choice_key=f"choice/00/{key}.json",
        text=f"Sentence {key}.",
        language="en",
        voice="low",
        attempts=(Attempt(number=0, seed=1, take_key=key),),
        est_audio_s=2.0,
    )


def ok(wanted: Order) -> Choice:
    return Choice(
        job_key=wanted.job_key,
        status="ok",
        take_key=wanted.job_key,
        attempt=0,
        seed=1,
        n_samples=48_000,
        sample_rate_hz=24_000,
        pcm_sha256="p",
        findings=(),
    )


def suspect(wanted: Order) -> Choice:
    silent = Finding(code="audio-silence", severity="error", message="Silent.")
    return replace(ok(wanted), status="suspect", findings=(silent,))


def failed(wanted: Order) -> Choice:
    return replace(ok(wanted), status="failed", take_key="", n_samples=0, error="no samples")


class Pool:
    """Answers when told to, and stores what a worker would store."""

    def __init__(self, store: MemoryStore, answer: Answer | None = ok) -> None:
        self.store = store
        self.answer = answer
        self.submitted: list[Order] = []
        self.futures: list[Future[Outcome]] = []

    def submit(self, wanted: Order) -> "Future[Outcome]":
        future: Future[Outcome] = Future()
        self.submitted.append(wanted)
        self.futures.append(future)
        if self.answer is not None:
            self.resolve(len(self.futures) - 1, self.answer)
        return future

    def resolve(self, place: int, answer: Answer) -> None:
        wanted = self.submitted[place]
        choice = answer(wanted)
        if choice.take_key:
            self.store.put(audio_key(choice.take_key), b"flac")
        self.store.put(wanted.choice_key, canonical_json(choice.as_dict()))
        self.futures[place].set_result(
            Outcome(
                id=wanted.id,
                job_key=wanted.job_key,
                choice=choice,
                rendered=1,
                reused=0,
                results=(row(wanted, choice),),
            )
        )


def row(wanted: Order, choice: Choice) -> TakeResult:
    return TakeResult(
        segment_id=wanted.id,
        job_key=wanted.job_key,
        take_key=choice.take_key,
        attempt=0,
        seed=1,
        status=choice.status,
        n_samples=choice.n_samples,
        sample_rate_hz=24_000,
        pcm_sha256=choice.pcm_sha256,
        tokens=1,
        windows=1,
        findings=choice.findings,
        compute_s=0.1,
        worker="worker-0",
        fingerprint="f",
        error=choice.error,
    )


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def speaking(pool: Pool, orders: list[Order], cancel: threading.Event | None = None) -> Speaking:
    return Speaking(
        PLAN,
        orders,
        store=pool.store,
        pool=pool,
        progress=Progress(),
        cancel=cancel or threading.Event(),
    )


def orders_of(count: int) -> list[Order]:
    return [order(number) for number in range(1, count + 1)]


def rows_of(store: MemoryStore) -> list[TakeResult]:
    keys = list(store.list("books/book/plans/plan/results/"))
    return [each for key in keys for each in read_results(store.get(key) or b"")]


def test_everything_missing_is_given_out_at_once_in_book_order(store: MemoryStore) -> None:
    pool = Pool(store, None)
    orders = orders_of(30)
    speaking(pool, orders).start()
    assert pool.submitted == orders


def test_starting_twice_gives_out_nothing_twice(store: MemoryStore) -> None:
    pool = Pool(store)
    render = speaking(pool, orders_of(3))
    render.start()
    render.start()
    render.wait_for(orders_of(3))
    assert len(pool.submitted) == 3


def test_equal_words_are_one_order(store: MemoryStore) -> None:
    pool = Pool(store)
    orders = [order(1, words=9), order(2), order(3, words=9)]
    render = speaking(pool, orders)
    result = render.speak(Shard(number=0, orders=tuple(orders)))
    assert [each.id for each in pool.submitted] == ["c001-s0001", "c001-s0002"]
    assert (result.segments, result.failed) == (3, 0)
    assert set(render.choices) == {each.job_key for each in orders}


def test_what_is_finished_is_not_given_out(store: MemoryStore) -> None:
    orders = orders_of(5)
    speaking(Pool(store), orders[:3]).wait_for(orders[:3])
    pool = Pool(store)
    render = speaking(pool, orders)
    result = render.speak(Shard(number=0, orders=tuple(orders)))
    assert [each.id for each in pool.submitted] == ["c001-s0004", "c001-s0005"]
    assert (result.rendered, result.reused) == (2, 3)
    assert len(render.choices) == 5


def test_a_choice_whose_audio_is_gone_is_given_out_again(store: MemoryStore) -> None:
    orders = orders_of(2)
    speaking(Pool(store), orders).wait_for(orders)
    store.delete(audio_key(orders[1].job_key))
    pool = Pool(store)
    speaking(pool, orders).start()
    assert pool.submitted == orders[1:]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"null", b'{"job_key": 1}'])
def test_a_choice_that_cannot_be_read_is_made_again(store: MemoryStore, damage: bytes) -> None:
    orders = orders_of(1)
    speaking(Pool(store), orders).wait_for(orders)
    store.put(orders[0].choice_key, damage)
    pool = Pool(store)
    speaking(pool, orders).wait_for(orders)
    assert pool.submitted == orders


def test_a_failed_segment_is_tried_in_the_next_run(store: MemoryStore) -> None:
    orders = orders_of(2)
    first = speaking(Pool(store, failed), orders).speak(Shard(number=0, orders=tuple(orders)))
    assert first.failed == 2
    pool = Pool(store)
    second = speaking(pool, orders).speak(Shard(number=0, orders=tuple(orders)))
    assert pool.submitted == orders
    assert (second.rendered, second.failed) == (2, 0)


def test_result_rows_are_written_for_every_take(store: MemoryStore) -> None:
    orders = orders_of(7)
    render = speaking(Pool(store), orders)
    for shard in cut_shards(orders, workers=1, canary=3):
        render.speak(shard)
    assert sorted(each.segment_id for each in rows_of(store)) == [each.id for each in orders]
    keys = list(store.list("books/book/plans/plan/results/"))
    assert len(keys) == 2, "a part for each shard"


def test_two_runs_never_write_one_part(store: MemoryStore) -> None:
    orders = orders_of(2)
    shard = Shard(number=0, orders=tuple(orders))
    speaking(Pool(store, failed), orders).speak(shard)
    speaking(Pool(store), orders).speak(shard)
    assert sorted(each.status for each in rows_of(store)) == ["failed", "failed", "ok", "ok"]


def test_a_stop_keeps_the_rows_of_what_was_spoken(store: MemoryStore) -> None:
    cancel = threading.Event()
    pool = Pool(store, None)
    orders = orders_of(3)
    render = speaking(pool, orders, cancel)
    render.start()
    pool.resolve(0, ok)
    threading.Timer(0.3, cancel.set).start()
    with pytest.raises(Interrupted):
        render.speak(Shard(number=0, orders=tuple(orders)))
    assert [each.segment_id for each in rows_of(store)] == ["c001-s0001"]
    assert list(render.choices) == [orders[0].job_key]


def test_a_closed_pool_is_a_stop(store: MemoryStore) -> None:
    pool = Pool(store, None)
    render = speaking(pool, orders_of(2))
    render.start()
    for future in pool.futures:
        future.cancel()
        future.set_running_or_notify_cancel()  # as the pool does when it closes
    with pytest.raises(Interrupted):
        render.wait_for(orders_of(2))


def test_an_error_of_the_pool_reaches_whoever_waits(store: MemoryStore) -> None:
    pool = Pool(store, None)
    render = speaking(pool, orders_of(2))
    render.start()
    pool.resolve(0, ok)
    pool.futures[1].set_exception(StoreError("the disk is full"))
    with pytest.raises(StoreError, match="the disk is full"):
        render.wait_for(orders_of(2))


@pytest.mark.parametrize("answer", [failed, suspect])
def test_a_bad_set_up_stops_early_and_names_the_cause(store: MemoryStore, answer: Answer) -> None:
    pool = Pool(store, None)
    orders = orders_of(40)
    render = speaking(pool, orders)
    render.start()
    for place in range(11):
        pool.resolve(place, answer)
    cause = "no samples" if answer is failed else "audio-silence"
    with pytest.raises(QualityError, match=rf"11 of the first 11 .*11 of them for: {cause}"):
        render.wait_for(orders)
    assert not pool.futures[20].done(), "it waited for the rest"


def test_a_fifth_of_the_first_fifty_is_let_pass(store: MemoryStore) -> None:
    pool = Pool(store, None)
    orders = orders_of(70)
    render = speaking(pool, orders)
    render.start()
    for place in range(70):
        pool.resolve(place, failed if place < 10 or place >= 50 else ok)
    render.wait_for(orders)
    assert len(render.choices) == 70


def test_waiting_for_some_does_not_wait_for_all(store: MemoryStore) -> None:
    pool = Pool(store, None)
    orders = orders_of(4)
    render = speaking(pool, orders)
    render.start()
    pool.resolve(2, ok)
    (outcome,) = render.wait_for(orders[2:3])
    assert outcome.id == "c001-s0003"


def test_rows_of_what_was_spoken_before_an_error_are_filed(store: MemoryStore) -> None:
    pool = Pool(store, answer=None)
    orders = orders_of(3)
    render = speaking(pool, orders)
    render.start()
    pool.resolve(0, ok)
    pool.resolve(2, ok)
    pool.futures[1].set_exception(StoreError("denied"))
    with pytest.raises(StoreError, match="denied"):
        render.speak(Shard(number=0, orders=tuple(orders)))
    assert [each.segment_id for each in rows_of(store)] == ["c001-s0001"]


def test_what_an_outage_kept_from_being_stored_is_given_out_again() -> None:
    """A step that is tried again asks for the segment again, and only for that."""
    store = MemoryStore()
    pool = Pool(store, answer=None)
    orders = [order(number) for number in range(3)]
    render = speaking(pool, orders)
    render.start()
    pool.resolve(0, ok)
    pool.resolve(2, ok)
    down = StoreUnavailable("no answer")
    threading.Timer(0.1, pool.futures[1].set_exception, (down,)).start()
    shard = Shard(number=0, orders=tuple(orders))
    with pytest.raises(StoreUnavailable):
        render.speak(shard)
    pool.answer = ok
    result = render.speak(shard)
    assert [each.id for each in pool.submitted] == [each.id for each in (*orders, orders[1])]
    assert (result.segments, result.rendered, result.failed) == (3, 3, 0)


def test_what_a_store_refuses_is_not_given_out_again() -> None:
    store = MemoryStore()
    pool = Pool(store, answer=None)
    render = speaking(pool, [order(0)])
    render.start()
    pool.futures[0].set_exception(StoreError("denied"))
    for _ in range(2):
        with pytest.raises(StoreError, match="denied"):
            render.wait_for([order(0)])
    assert len(pool.submitted) == 1


def test_an_outage_at_the_start_gives_nothing_out_and_is_tried_again() -> None:
    class Down(MemoryStore):
        down = True

        def get(self, key: str) -> bytes | None:
            if self.down:
                raise StoreUnavailable("no answer")
            return super().get(key)

    store = Down()
    pool = Pool(store)
    render = speaking(pool, [order(0), order(1)])
    with pytest.raises(StoreUnavailable):
        render.start()
    assert pool.submitted == []
    store.down = False
    assert len(render.wait_for([order(0), order(1)])) == 2
    assert len(pool.submitted) == 2
