"""Prune takes what was begun and left, from a folder or a bucket, and nothing that is wanted."""

import itertools
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from loudr_core.errors import StoreError
from loudr_core.jobs.plan import plan_folder
from loudr_core.jobs.prune import prune_store
from loudr_core.queue.ledger import Ledger
from loudr_core.render.book import BookRender, RenderOptions
from loudr_core.render.shard_files import Journal, write_orders
from loudr_core.settings import Profile
from loudr_core.speech.wire import EngineSpec
from loudr_core.speech.workers import EnginePool
from loudr_core.store.open import open_store
from loudr_core.store.protocol import ObjectStore

TEXT = """# The Harbour

## One

The lamp was lit at dusk, and nobody came down to the water for a long while after that.
"""
DAY_S = 86_400.0
_names = itertools.count(1)


class Clock:
    """How far the clock of the store is ahead of what is written to it."""

    def __init__(self, store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.days = 0.0
        real = type(store).now_s
        monkeypatch.setattr(type(store), "now_s", lambda it: real(it) + self.days * DAY_S)


@pytest.fixture(params=["folder", "bucket"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    if request.param == "folder":
        return open_store(str(tmp_path / "store"))
    return open_store(f"s3://{request.getfixturevalue('bucket')}/stale-{next(_names)}")


@pytest.fixture
def clock(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(store, monkeypatch)


@pytest.fixture
def pool(store: ObjectStore, tmp_path: Path) -> Iterator[EnginePool]:
    (tmp_path / "logs").mkdir()
    spec = EngineSpec(engine="fake", store_url=store.url, policy={})
    with EnginePool(spec, size=1, log_dir=tmp_path / "logs") as pool:
        yield pool


def render(
    store: ObjectStore, pool: EnginePool, folder: Path, *, text: str = TEXT, finish: bool
) -> BookRender:
    source = folder / "harbour.md"
    source.write_text(text, encoding="utf-8")
    book = BookRender(
        source,
        profile=Profile(engine="fake", voice="low"),
        store=store,
        pool=pool,
        options=RenderOptions(),
        cancel=threading.Event(),
    )
    for shard in book.shards:
        book.speak(shard)
    if finish:
        book.publish(folder / "out")
    return book


def takes(store: ObjectStore) -> set[str]:
    return set(store.list("audio/"))


def test_a_plan_that_came_to_nothing_goes_with_what_it_alone_names(
    store: ObjectStore, clock: Clock, pool: EnginePool, tmp_path: Path
) -> None:
    done = render(store, pool, tmp_path, finish=True)
    needed = takes(store)
    left = render(store, pool, tmp_path, text=TEXT.replace("lamp", "lantern"), finish=False)
    assert takes(store) > needed
    clock.days = 60
    assert prune_store(store, older_than_days=14, dry_run=False).plans == (), "not so long ago"
    clock.days = 100
    book, plan = left.plan().book_id, left.plan().plan_id
    every = set(store.list(""))
    said = prune_store(store, older_than_days=14, dry_run=True)
    assert said.plans == (f"{book} {plan}",)
    assert set(store.list("")) == every, "a dry run removes nothing"
    went = prune_store(store, older_than_days=14, dry_run=False)
    assert (went.plans, went.objects) == (said.plans, said.objects)
    assert went.objects > 0
    assert takes(store) == needed
    assert list(store.list(f"books/{book}/")) == [], "its copy of the book, too"
    assert set(store.list(f"books/{done.plan().book_id}/")) == {
        key for key in every if key.startswith(f"books/{done.plan().book_id}/")
    }
    again = render(store, pool, tmp_path, finish=True)
    assert (again.progress.now().rendered, again.progress.now().failed) == (0, 0)
    more = prune_store(store, older_than_days=14, dry_run=False)
    assert (more.objects, more.leftovers, more.plans) == (0, 0, ())


def test_a_plan_that_somebody_works_on_or_has_given_seeds_stays(
    store: ObjectStore, clock: Clock, pool: EnginePool, tmp_path: Path
) -> None:
    left = render(store, pool, tmp_path, finish=False)
    folder = left.plan().folder
    needed = takes(store)
    store.put(f"books/{left.plan().book_id}/overrides/0123.json", b"{}")
    clock.days = 80
    assert (
        prune_store(store, older_than_days=14, plans_older_than_days=81, dry_run=False).plans == ()
    )
    assert store.exists(f"{folder}/plan.json")
    assert takes(store) == needed
    store.delete(f"books/{left.plan().book_id}/overrides/0123.json")
    store.put(f"{folder}/report/render-1-2.json", b"{}")  # a taste of some chapters
    clock.days = 500
    assert prune_store(store, older_than_days=14, dry_run=False).plans == ()
    assert takes(store) == needed


def test_seeds_given_by_hand_outlive_an_unfinished_plan(
    store: ObjectStore, clock: Clock, pool: EnginePool, tmp_path: Path
) -> None:
    left = render(store, pool, tmp_path, finish=False)
    book = f"books/{left.plan().book_id}"
    store.put(f"{book}/overrides/0123.json", b"{}")
    clock.days = 100
    assert len(prune_store(store, older_than_days=14, dry_run=False).plans) == 1
    assert {key.rpartition(book)[2] for key in store.list(f"{book}/")} == {
        "/overrides/0123.json",
        "/source.md",
    }


def test_old_shards_go_and_those_of_a_render_under_way_do_not(
    store: ObjectStore, clock: Clock
) -> None:
    folder = plan_folder("harbour-12345678", "0" * 16)
    places = [folder, "engines/0123456789abcdef"]
    for place in places:
        write_orders(store, place, "gone", 0, [])
        Journal(store, place, owner="gone", shard=0, attempt=1).flush()
        store.put(f"{place}/shards/gone/0000-01-00000.journal", b"")
    store.put("engines/0123456789abcdef/info.json", b"{}")
    clock.days = 3
    assert prune_store(store, older_than_days=1, dry_run=False).leftovers == 0, "a week at least"
    clock.days = 15
    assert prune_store(store, older_than_days=14, dry_run=True).leftovers == 4
    went = prune_store(store, older_than_days=14, dry_run=False)
    assert (went.leftovers, went.plans) == (4, ())
    assert set(store.list("")) == {"engines/0123456789abcdef/info.json"}


def test_an_owner_that_has_just_said_something_keeps_all_it_has(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store"))
    place = f"{plan_folder('harbour-12345678', '0' * 16)}/shards/alive"
    for name in ("0000.orders", "0000-01-00000.journal"):
        store.put(f"{place}/{name}", b"x")
    path = Path(store.url) / place / "0000.orders"
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 40 * DAY_S))
    assert prune_store(store, older_than_days=14, dry_run=False).leftovers == 0
    assert path.exists()


def test_the_ledger_keeps_what_became_of_a_book(store: ObjectStore, clock: Clock) -> None:
    ledger = Ledger(store, "poller")
    done, begun = "ab" * 16, "cd" * 16
    for ticket in (done, begun):
        ledger.see(ticket)
        assert ledger.claim(ticket, {})
        assert ledger.submitted(ticket, 1, "run")
        ledger.beat(ticket)
    ledger.finish(done, {"state": "done"})
    clock.days = 80
    assert prune_store(store, older_than_days=14, dry_run=False).leftovers == 0
    clock.days = 100
    assert prune_store(store, older_than_days=14, dry_run=False).leftovers == 8
    known = ledger.read()
    assert set(known) == {done}, "a second poll does nothing for it"
    assert known[done].done


def test_nothing_goes_when_another_plan_cannot_be_read(
    store: ObjectStore, clock: Clock, pool: EnginePool, tmp_path: Path
) -> None:
    render(store, pool, tmp_path, finish=False)
    bad = plan_folder("bad-12345678", "0" * 16)
    store.put(f"{bad}/plan.json", b"{")
    store.put(f"{bad}/jobs.parquet", b"")
    store.put(f"{bad}/report/render.json", b"{}")
    every = set(store.list(""))
    clock.days = 100
    with pytest.raises(StoreError, match="damaged"):
        prune_store(store, older_than_days=14, dry_run=False)
    assert set(store.list("")) == every
