"""Prune takes what no plan names and is old, and never what a plan needs."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from loudr_core.errors import StoreError
from loudr_core.jobs.overrides import next_seed, write_override
from loudr_core.jobs.plan import load_plan
from loudr_core.jobs.prune import prune_store
from loudr_core.jobs.reachable import Reachable, reachable
from loudr_core.render.book import BookRender, RenderOptions
from loudr_core.render.result import RenderResult
from loudr_core.settings import Profile
from loudr_core.speech.wire import EngineSpec
from loudr_core.speech.workers import EnginePool
from loudr_core.store.local import LocalStore
from loudr_core.store.protocol import ObjectStore

TEXT = """# The Harbour

## One

The lamp was lit at dusk, and nobody came down to the water for a long while after that.

## Two

It was the tide. It was only ever the tide, she said to the dog, who knew it well enough.
"""
DAY_S = 86_400.0
FOLDERS = ("audio/", "choice/", "aac/")


class LaterStore(LocalStore):
    """A folder whose clock is a month ahead: everything in it is old."""

    def now_s(self) -> float:
        return super().now_s() + 30 * DAY_S


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[EnginePool, LaterStore]]:
    store = LaterStore(tmp_path_factory.mktemp("store"))
    spec = EngineSpec(engine="fake", store_url=store.url, policy={})
    with EnginePool(spec, size=1, log_dir=tmp_path_factory.mktemp("logs")) as pool:
        yield pool, store


def render(
    made: tuple[EnginePool, LaterStore],
    folder: Path,
    text: str = TEXT,
    *,
    voice: str = "low",
    finish: bool = True,
) -> RenderResult | None:
    """Render a text to the end, or leave it when it is spoken."""
    source = folder / "harbour.md"
    source.write_text(text, encoding="utf-8")
    pool, store = made
    book = BookRender(
        source,
        profile=Profile(engine="fake", voice=voice),
        store=store,
        pool=pool,
        options=RenderOptions(),
        cancel=threading.Event(),
    )
    book.start_speaking()
    for shard in book.shards:
        book.speak(shard)
    return book.publish(folder / "out") if finish else None


def kept(store: ObjectStore) -> set[str]:
    return {key for folder in FOLDERS for key in store.list(folder)}


def add_loose(store: ObjectStore) -> set[str]:
    """Put objects that no plan names, of each kind, and return their keys."""
    keys = {
        f"audio/ab/ab{'0' * 62}.flac",
        f"choice/cd/cd{'0' * 62}-0123456789abcdef.json",
        f"aac/ef/ef{'0' * 62}",
    }
    for key in keys:
        store.put(key, b"{}")
    return keys


def test_only_what_no_plan_names_goes(pool: tuple[EnginePool, LaterStore], tmp_path: Path) -> None:
    store = pool[1]
    render(pool, tmp_path)
    render(pool, tmp_path, voice="high")
    render(pool, tmp_path, TEXT.replace("tide", "moon"), finish=False)
    needed = kept(store)
    assert {key.partition("/")[0] for key in needed} == {"audio", "choice", "aac"}
    others = set(store.list("books/"))
    loose = add_loose(store)
    said = prune_store(store, older_than_days=14, dry_run=True)
    assert (said.objects, said.kept, said.unlisted) == (3, len(needed), ())
    assert kept(store) == needed | loose, "a dry run removes nothing"
    went = prune_store(store, older_than_days=14, dry_run=False)
    assert (went.objects, went.n_bytes) == (3, 6)
    assert kept(store) == needed
    assert set(store.list("books/")) == others
    again = render(pool, tmp_path)
    assert again is not None
    assert (again.segments.rendered, again.segments.reused) == (0, again.segments.total)
    assert prune_store(store, older_than_days=14, dry_run=False).objects == 0


def test_what_is_young_stays(pool: tuple[EnginePool, LaterStore]) -> None:
    store = pool[1]
    loose = add_loose(store)
    said = prune_store(store, older_than_days=31, dry_run=False)
    assert (said.objects, said.young) == (0, 3)
    assert kept(store) >= loose
    assert prune_store(store, older_than_days=29, dry_run=False).objects == 3


def test_takes_of_a_seed_given_by_hand_stay_and_so_do_the_planned_ones(
    pool: tuple[EnginePool, LaterStore], tmp_path: Path
) -> None:
    store = pool[1]
    result = render(pool, tmp_path)
    assert result is not None
    loaded = load_plan(store, result.book_id, result.plan_id)
    assert loaded is not None
    plan, jobs = loaded
    before = kept(store)
    write_override(store, plan, jobs, {jobs[1].segment_id: next_seed(jobs[1], jobs[1].seed)})
    again = render(pool, tmp_path)
    assert again is not None
    assert again.segments.rendered == 1
    takes = {key for key in kept(store) - before if key.startswith("audio/")}
    assert len(takes) == 1
    prune_store(store, older_than_days=14, dry_run=False)
    assert takes <= kept(store)
    assert {key for key in before if not key.startswith("aac/")} <= kept(store)
    for key in list(store.list(f"books/{plan.book_id}/overrides/")):
        store.delete(key)


def test_pieces_of_an_earlier_loudr_stay(
    pool: tuple[EnginePool, LaterStore], tmp_path: Path
) -> None:
    """A finished plan that does not list its pieces keeps all of them."""
    store = pool[1]
    result = render(pool, tmp_path)
    assert result is not None
    folder = f"books/{result.book_id}/plans/{result.plan_id}"
    store.delete(f"{folder}/pieces.json")
    loose = add_loose(store)
    said = prune_store(store, older_than_days=14, dry_run=False)
    assert said.unlisted == (f"{result.book_id} {result.plan_id}",)
    assert {key.partition("/")[0] for key in loose & kept(store)} == {"aac"}
    render(pool, tmp_path)
    assert prune_store(store, older_than_days=14, dry_run=False).unlisted == ()


def test_a_take_that_only_a_choice_names_stays(
    pool: tuple[EnginePool, LaterStore], tmp_path: Path
) -> None:
    store = pool[1]
    result = render(pool, tmp_path)
    assert result is not None
    loaded = load_plan(store, result.book_id, result.plan_id)
    assert loaded is not None
    job = loaded[1][0]
    take = "ab" + "1" * 62
    store.put(f"audio/ab/{take}.flac", b"x")
    store.put(
        f"choice/{job.job_key[:2]}/{job.job_key}-{'f' * 16}.json",
        json.dumps({"take_key": take}).encode(),
    )
    prune_store(store, older_than_days=14, dry_run=False)
    assert store.exists(f"audio/ab/{take}.flac")


def test_nothing_goes_when_a_plan_cannot_be_read(
    pool: tuple[EnginePool, LaterStore], tmp_path: Path
) -> None:
    store = pool[1]
    loose = add_loose(store)
    store.put("books/bad/plans/0000000000000000/plan.json", b"{")
    store.put("books/bad/plans/0000000000000000/jobs.parquet", b"")
    with pytest.raises(StoreError, match="damaged"):
        prune_store(store, older_than_days=14, dry_run=False)
    assert loose <= kept(store)
    for key in (*loose, *store.list("books/bad/")):
        store.delete(key)


def test_a_plan_written_meanwhile_keeps_its_takes(
    pool: tuple[EnginePool, LaterStore], tmp_path: Path
) -> None:
    """A plan appears after the takes were listed and the plans were read the first time."""
    store = pool[1]
    result = render(pool, tmp_path, TEXT.replace("dog", "cat"))
    assert result is not None
    folder = f"books/{result.book_id}/plans/{result.plan_id}"
    hidden = {key: store.get(key) or b"" for key in store.list(f"books/{result.book_id}/")}
    for key in hidden:
        store.delete(key)
    needed = kept(store)

    class Meanwhile(LaterStore):
        looks = 0

        def list(self, prefix: str) -> Iterator[str]:
            yield from super().list(prefix)
            if prefix == "books/":
                self.looks += 1
                if self.looks == 2:  # `find_books` of the first reading: the plan comes after it
                    for key, data in hidden.items():
                        self.put(key, data)

    store.put(f"audio/ab/ab{'2' * 62}.flac", b"x")
    watched = Meanwhile(Path(store.url))
    said = prune_store(watched, older_than_days=14, dry_run=False)
    assert watched.looks >= 2
    assert store.exists(f"{folder}/plan.json")
    assert needed == kept(store)
    assert said.objects == 1


def test_an_empty_store_names_nothing(tmp_path: Path) -> None:
    store = LaterStore(tmp_path)
    assert reachable(store, choices=[]) == Reachable()
    assert prune_store(store, older_than_days=14, dry_run=False).objects == 0
