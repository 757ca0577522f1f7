"""The folder store keeps the promises of `ObjectStore`."""

import errno
import os
import threading
from pathlib import Path

import pytest

from loudr_core.errors import ConfigError, StoreError
from loudr_core.store.local import LocalStore
from loudr_core.store.open import open_store
from loudr_core.store.protocol import ObjectStore


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    """Return an empty store."""
    return LocalStore(tmp_path / "store")


def test_is_an_object_store(store: LocalStore) -> None:
    """The class has every method of the protocol."""
    assert isinstance(store, ObjectStore)


def test_get_gives_what_put_wrote(store: LocalStore) -> None:
    """An object is the last bytes put under its key."""
    assert store.get("a/b") is None
    store.put("a/b", b"one")
    store.put("a/b", b"two")
    assert store.get("a/b") == b"two"
    assert store.exists("a/b")
    assert not store.exists("a")
    store.delete("a/b")
    store.delete("a/b")
    assert store.get("a/b") is None


def test_put_if_absent_has_one_winner(store: LocalStore) -> None:
    """Of many writers of one key exactly one is told that it wrote."""
    won = []

    def write(number: int) -> None:
        if store.put_if_absent("claim", b"%d" % number):
            won.append(b"%d" % number)

    threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(won) == 1
    assert store.get("claim") == won[0]


def test_list_is_sorted_and_takes_any_prefix(store: LocalStore) -> None:
    """A prefix need not end at a slash; files being written are not objects."""
    for key in ("b/2", "b/1", "bc", "a/x/y"):
        store.put(key, b"")
    (Path(store.url) / ".tmp" / "half").write_bytes(b"half")
    assert list(store.list("b")) == ["b/1", "b/2", "bc"]
    assert list(store.list("b/")) == ["b/1", "b/2"]
    assert list(store.list("")) == ["a/x/y", "b/1", "b/2", "bc"]
    assert list(store.list("nothing/")) == []


def test_what_cannot_be_listed_is_an_error_after_all_that_can(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever deletes what no plan names must not take a closed folder of plans for none."""
    store.put("a/1", b"x")
    store.put("b/1", b"x")
    scandir = os.scandir

    def refusing(path: str) -> object:
        if str(path).endswith("/a"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    found: list[str] = []
    with pytest.raises(StoreError, match=r"cannot list .*/a: Permission denied"):
        found.extend(store.list(""))
    assert found == ["b/1"]


def test_entries_are_files_alone(store: LocalStore) -> None:
    """A pipe that somebody put into a drop folder would be read without end."""
    store.put("a", b"x")
    root = Path(store.url)
    os.mkfifo(root / "pipe")
    (root / "loop").symlink_to("loop")
    (root / "dangling").symlink_to("nowhere")
    assert [entry.key for entry in store.entries("")] == ["a"]


@pytest.mark.parametrize("key", ["", "/etc/passwd", "../x", "a/../../x", "a\\b", "a\0"])
def test_a_key_cannot_leave_the_store(store: LocalStore, key: str) -> None:
    """A key that climbs out is the caller's mistake."""
    with pytest.raises(ValueError, match="not a store key"):
        store.put(key, b"")


def test_put_file_copies(store: LocalStore, tmp_path: Path) -> None:
    """The file stays where it was, and nothing is left aside."""
    path = tmp_path / "file"
    path.write_bytes(b"x" * 3_000_000)
    store.put_file("out/file", path)
    assert store.get("out/file") == path.read_bytes()
    assert list((Path(store.url) / ".tmp").iterdir()) == []


def test_something_in_the_way_of_a_folder_is_an_error(store: LocalStore) -> None:
    """Nothing is taken to be there because its folder cannot be made."""
    root = Path(store.url)
    (root / "file").write_bytes(b"")
    (root / "gone").symlink_to(root / "nowhere")
    for key in ("file/a", "gone/a"):
        with pytest.raises(StoreError, match=r"cannot write .*/a: "):
            store.put_if_absent(key, b"x")
        with pytest.raises(StoreError, match=r"cannot write .*/a: "):
            store.put(key, b"x")
    assert list((root / ".tmp").iterdir()) == []


@pytest.mark.parametrize("call", ["put", "put_if_absent"])
def test_a_write_that_fails_leaves_nothing_aside(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """A full disk is said so, and what was begun is removed."""

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="free some space"):
        getattr(store, call)("a/b", b"x")
    assert not store.exists("a/b")
    assert list((Path(store.url) / ".tmp").iterdir()) == []


def test_stores_of_one_folder_never_write_one_file_aside(tmp_path: Path) -> None:
    """Two of them, each from four threads, put objects of their own; all are whole."""
    stores = [LocalStore(tmp_path / "store") for _ in range(2)]

    def write(number: int) -> None:
        for each in range(20):
            key = f"{each % 3}/{number}-{each}"
            stores[number % 2].put(key, key.encode())

    threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    keys = list(stores[0].list(""))
    assert len(keys) == 160
    assert all(stores[1].get(key) == key.encode() for key in keys)
    assert list((tmp_path / "store" / ".tmp").iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """The error says what could not be done and where."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot open .*file/below"):
        LocalStore(tmp_path / "file" / "below")


def test_open_store_knows_folders(tmp_path: Path) -> None:
    """A path and a file URL open the same folder; another scheme is refused."""
    assert open_store(str(tmp_path)).url == open_store(f"file://{tmp_path}").url
    with pytest.raises(ConfigError, match="'gopher'"):
        open_store("gopher://hole")
