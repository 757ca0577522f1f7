"""The results table has a row for every choice, whatever was lost on the way."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from loudr_core.errors import StoreError
from loudr_core.jobs.table import read_results, read_row_keys
from loudr_core.render.book import BookRender, RenderOptions
from loudr_core.render.rows import add_missing_rows
from loudr_core.settings import Profile
from loudr_core.speech.choosing import failed_choice
from loudr_core.speech.orders import TakeResult, audio_key
from loudr_core.speech.take_tags import tagged_result
from loudr_core.speech.wire import EngineSpec
from loudr_core.speech.workers import EnginePool
from loudr_core.store.local import LocalStore

TEXT = """# The Harbour

## One

The lamp was lit at dusk, and nobody came down to the water for a long while after that.

## Two

It was the tide. It was only ever the tide, she said to the dog, who knew it well enough.

## Three

In the morning there was nothing on the sand but a rope, a lantern, and one wet glove.
"""


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


@pytest.fixture
def pool(store: LocalStore, tmp_path: Path) -> Iterator[EnginePool]:
    (tmp_path / "logs").mkdir()
    spec = EngineSpec(engine="fake", store_url=store.url, policy={})
    with EnginePool(spec, size=1, log_dir=tmp_path / "logs") as pool:
        yield pool


def opened(store: LocalStore, pool: EnginePool, folder: Path, voice: str = "low") -> BookRender:
    source = folder / "harbour.md"
    source.write_text(TEXT, encoding="utf-8")
    return BookRender(
        source,
        profile=Profile(engine="fake", voice=voice),
        store=store,
        pool=pool,
        options=RenderOptions(),
        cancel=threading.Event(),
    )


def render(render: BookRender, folder: Path) -> None:
    for shard in render.shards:
        render.speak(shard)
    render.publish(folder / "out")


def parts(store: LocalStore, render: BookRender) -> list[str]:
    return list(store.list(f"{render.plan().folder}/results/"))


def rows(store: LocalStore, render: BookRender) -> dict[str, TakeResult]:
    """Return job key to the row of its choice."""
    found = [row for key in parts(store, render) for row in read_results(store.get(key) or b"")]
    taken = {key: choice.take_key for key, choice in render.choices.items()}
    assert len({(row.job_key, row.attempt) for row in found}) == len(found), "a row twice"
    return {row.job_key: row for row in found if taken.get(row.job_key) == row.take_key}


def test_rows_that_were_lost_are_made_again_from_the_takes(
    store: LocalStore, pool: EnginePool, tmp_path: Path
) -> None:
    first = opened(store, pool, tmp_path)
    render(first, tmp_path)
    before = rows(store, first)
    assert set(before) == set(first.choices)
    for key in parts(store, first):  # a process that is killed writes none of them
        store.delete(key)
    second = opened(store, pool, tmp_path)
    render(second, tmp_path)
    again = rows(store, second)
    assert again == before, "tokens, engine time, worker and all"
    assert len(parts(store, second)) == 1
    third = opened(store, pool, tmp_path)
    render(third, tmp_path)
    assert len(parts(store, third)) == 1, "nothing is missing: nothing is written"


def test_only_missing_rows_are_made_again(
    store: LocalStore, pool: EnginePool, tmp_path: Path
) -> None:
    first = opened(store, pool, tmp_path)
    render(first, tmp_path)
    lost = parts(store, first)[0]
    gone = {job for job, _, _ in read_row_keys(store.get(lost) or b"")}
    store.delete(lost)
    kept = set(parts(store, first))
    before = len(first.choices)
    second = opened(store, pool, tmp_path)
    render(second, tmp_path)
    (new,) = set(parts(store, second)) - kept
    assert {job for job, _, _ in read_row_keys(store.get(new) or b"")} == gone
    assert len(rows(store, second)) == before


def test_a_run_that_has_spoken_everything_looks_for_nothing(
    store: LocalStore, pool: EnginePool, tmp_path: Path
) -> None:
    first = opened(store, pool, tmp_path)
    for shard in first.shards:
        first.speak(shard)
    assert first._need().speaking.unfiled == []


def test_a_damaged_part_stays_and_its_rows_are_made_again(
    store: LocalStore, pool: EnginePool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = opened(store, pool, tmp_path)
    render(first, tmp_path)
    for key in parts(store, first):
        store.put(key, b"PAR1")
    damaged = set(parts(store, first))
    second = opened(store, pool, tmp_path)
    with caplog.at_level("WARNING"):
        render(second, tmp_path)
    assert "its rows are made again" in caplog.text
    (new,) = set(parts(store, second)) - damaged
    said = {job for job, _, _ in read_row_keys(store.get(new) or b"")}
    assert said == set(second.choices)


def test_a_take_that_is_gone_has_the_row_of_its_choice(
    store: LocalStore, pool: EnginePool, tmp_path: Path
) -> None:
    book = opened(store, pool, tmp_path)
    for shard in book.shards:
        book.speak(shard)
    for key in parts(store, book):
        store.delete(key)
    order = book.orders[0]
    choice = book.choices[order.job_key]
    store.put(audio_key(choice.take_key), b"no flac")
    assert tagged_result(store, choice.take_key) is None
    assert tagged_result(store, "ab" * 32) is None
    choices = {**book.choices, book.orders[1].job_key: failed_choice(book.orders[1], "no voice")}
    assert add_missing_rows(store, book.plan(), book.orders, choices) == len(choices)
    found = {
        row.job_key: row
        for key in parts(store, book)
        for row in read_results(store.get(key) or b"")
    }
    row = found[order.job_key]
    assert (row.take_key, row.n_samples) == (choice.take_key, choice.n_samples)
    assert (row.status, row.pcm_sha256) == (choice.status, choice.pcm_sha256)
    assert row.fingerprint == book.plan().fingerprint
    failed = found[book.orders[1].job_key]
    assert (failed.status, failed.take_key, failed.error) == ("failed", "", "no voice")
    assert add_missing_rows(store, book.plan(), book.orders, choices) == 0


def test_a_store_that_refuses_is_the_error(
    store: LocalStore, pool: EnginePool, tmp_path: Path
) -> None:
    book = opened(store, pool, tmp_path)
    for shard in book.shards:
        book.speak(shard)
    for key in parts(store, book):
        store.delete(key)

    class Full(LocalStore):
        def put(self, key: str, data: bytes) -> None:
            raise StoreError("the disk is full")

    with pytest.raises(StoreError, match="full"):
        add_missing_rows(Full(Path(store.url)), book.plan(), book.orders, book.choices)
    assert add_missing_rows(store, book.plan(), book.orders, {}) == 0
