"""What every store promises: in a folder, in memory, and in a bucket."""

import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.store.lanes import in_lanes, lanes_of
from loudr_core.store.local import LocalStore
from loudr_core.store.open import open_store
from loudr_core.store.protocol import ObjectStore
from loudr_core.testing import MemoryStore

KEYS = ("a/b", "a/b2", "a/ü é/Kapitel 1 — „Anfang“.m4b", "a/~!$&'()*+,;=:@.flac", "b/+%20 x", "z")
_names = itertools.count()


@pytest.fixture(params=["folder", "memory", "bucket", "prefix"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    """Return an empty store of each kind."""
    match request.param:
        case "folder":
            return LocalStore(tmp_path / "store")
        case "memory":
            return MemoryStore()
        case "bucket":
            return open_store(f"s3://{request.getfixturevalue('bucket')}")
        case _:
            return open_store(f"s3://{request.getfixturevalue('bucket')}/some/where")


def test_has_every_method(store: ObjectStore) -> None:
    assert isinstance(store, ObjectStore)
    assert "secret" not in repr(store).lower()


def test_an_object_is_the_last_bytes_put(store: ObjectStore) -> None:
    assert store.get("a/b") is None
    assert not store.exists("a/b")
    store.put("a/b", b"one")
    store.put("a/b", b"two")
    assert store.get("a/b") == b"two"
    assert store.exists("a/b")
    assert not store.exists("a")
    assert store.get("a") is None


def test_an_empty_object_is_an_object(store: ObjectStore) -> None:
    store.put("empty", b"")
    assert store.get("empty") == b""
    assert store.exists("empty")
    assert [(entry.key, entry.size) for entry in store.entries("")] == [("empty", 0)]


def test_deleting_twice_is_deleting(store: ObjectStore) -> None:
    store.put("a/b", b"x")
    store.delete("a/b")
    store.delete("a/b")
    store.delete("never/there")
    assert store.get("a/b") is None
    assert list(store.list("")) == []


@pytest.mark.parametrize("key", KEYS)
def test_names_are_kept(store: ObjectStore, key: str) -> None:
    store.put(key, key.encode())
    assert store.get(key) == key.encode()
    assert list(store.list("")) == [key]
    assert store.exists(key)
    assert not store.put_if_absent(key, b"other")


@pytest.mark.parametrize(
    "key", ["", "/etc/passwd", "../x", "a/../../x", "a/..", "a//b", "a/", "a/./b", "a\\b", "a\0"]
)
def test_a_key_cannot_leave_the_store(store: ObjectStore, key: str) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: store.get(key),
        lambda: store.put(key, b""),
        lambda: store.put_if_absent(key, b""),
        lambda: store.exists(key),
        lambda: store.delete(key),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="not a store key"):
            call()


def test_put_if_absent_writes_once(store: ObjectStore) -> None:
    assert store.put_if_absent("claim", b"first")
    assert not store.put_if_absent("claim", b"second")
    assert not store.put_if_absent("claim", b"first"), "its bytes do not make it ours"
    assert store.get("claim") == b"first"
    store.delete("claim")
    assert store.put_if_absent("claim", b"third")
    assert store.get("claim") == b"third"


def test_of_many_writers_one_wins(store: ObjectStore) -> None:
    """Sixteen writers at once, eight keys: each key has one winner, and the winner's bytes."""
    barrier = threading.Barrier(16)

    def write(number: int) -> set[int]:
        barrier.wait(60)
        return {key for key in range(8) if store.put_if_absent(f"claim/{key}", b"%d" % number)}

    with ThreadPoolExecutor(16) as pool:
        won = list(pool.map(write, range(16)))
    for key in range(8):
        winners = [number for number, keys in enumerate(won) if key in keys]
        assert len(winners) == 1
        assert store.get(f"claim/{key}") == b"%d" % winners[0]


def test_a_list_is_sorted_and_takes_any_prefix(store: ObjectStore) -> None:
    for key in ("b/2", "b/10", "b/1", "bc", "a/x/y", "b-c/1", "ä"):
        store.put(key, b"")
    assert list(store.list("b")) == ["b-c/1", "b/1", "b/10", "b/2", "bc"]
    assert list(store.list("b/")) == ["b/1", "b/10", "b/2"]
    assert list(store.list("b/1")) == ["b/1", "b/10"]
    assert list(store.list("")) == ["a/x/y", "b-c/1", "b/1", "b/10", "b/2", "bc", "ä"]
    assert list(store.list("nothing/")) == []
    with pytest.raises(ValueError, match="not a store key"):
        list(store.list("../x"))


def test_a_long_list_is_whole(bucket: str) -> None:
    """More than the thousand that a bucket lists at a time."""
    store = open_store(f"s3://{bucket}/p")
    wanted = [f"many/{number:05d}" for number in range(1_010)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda key: store.put(key, b"x"), reversed(wanted)))
    assert list(store.list("many/")) == wanted


def test_entries_say_size_version_and_time(store: ObjectStore) -> None:
    before = time.time()
    store.put("one", b"123")
    (first,) = store.entries("one")
    assert (first.key, first.size) == ("one", 3)
    assert before - 5 < first.modified_s < time.time() + 5
    assert [entry.version for entry in store.entries("one")] == [first.version]
    store.put("one", b"12345")
    (second,) = store.entries("one")
    assert (second.size, second.version != first.version) == (5, True)
    assert second.modified_s >= first.modified_s


def test_its_clock_is_the_one_of_its_objects(store: ObjectStore) -> None:
    before = store.now_s()
    store.put("one", b"1")
    (entry,) = store.entries("one")
    after = store.now_s()
    assert before - 1.1 <= entry.modified_s <= after + 1.1
    assert list(store.list("")) == ["one"], "asking for the time leaves nothing behind"


@pytest.mark.parametrize("size", [0, 1, 3_000_000])
def test_a_file_is_put_whole_and_stays(store: ObjectStore, tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * (size // 256) + b"x" * (size % 256))
    store.put("out/file", b"old")
    store.put_file("out/file", path)
    store.put_file("out/file", path)
    assert store.get("out/file") == path.read_bytes()
    path.write_bytes(b"new")
    store.put_file("out/file", path)
    assert store.get("out/file") == b"new"


def test_its_url_opens_it_again(store: ObjectStore) -> None:
    if isinstance(store, MemoryStore):
        pytest.skip("a store in memory cannot be opened again")
    store.put("a", b"1")
    again = open_store(store.url)
    assert again.get("a") == b"1"
    assert again.url == store.url


def test_calls_side_by_side_come_back_in_order(store: ObjectStore) -> None:
    keys = [f"k/{number}" for number in range(50)]
    for key in keys:
        store.put(key, key.encode())
    assert list(in_lanes(store, store.get, keys)) == [key.encode() for key in keys]
    assert lanes_of(store) >= 1


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["put", "claim", "delete", "get", "list"]),
            st.sampled_from(["a", "a-b", "b/1", "b/2", "b/2x"]),
            st.binary(max_size=8),
        ),
        max_size=12,
    )
)
def test_any_calls_mean_the_same_in_a_folder_and_in_memory(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[str, str, bytes]]
) -> None:
    folder = LocalStore(tmp_path_factory.mktemp("calls"))
    assert _answers(folder, calls) == _answers(MemoryStore(), calls)


@pytest.mark.parametrize("seed", range(6))
def test_any_calls_mean_the_same_in_a_bucket_and_in_memory(bucket: str, seed: int) -> None:
    import random

    chance = random.Random(seed)
    calls = [
        (
            chance.choice(["put", "claim", "delete", "get", "list"]),
            chance.choice(["a", "a-b", "b/1", "b/2", "b/2x"]),
            chance.randbytes(chance.randrange(8)),
        )
        for _ in range(60)
    ]
    assert _answers(open_store(f"s3://{bucket}/p"), calls) == _answers(MemoryStore(), calls)


def _answers(store: ObjectStore, calls: list[tuple[str, str, bytes]]) -> list[object]:
    answers: list[object] = []
    for call, key, data in calls:
        match call:
            case "put":
                store.put(key, data)
            case "claim":
                answers.append(store.put_if_absent(key, data))
            case "delete":
                store.delete(key)
            case "get":
                answers.append((store.get(key), store.exists(key)))
            case _:
                answers.append([(entry.key, entry.size) for entry in store.entries(key)])
    return answers
