"""A place for finished files is tried at the start, and keeps what others put there."""

from collections.abc import Callable
from pathlib import Path

import pytest

from loudr_core.errors import PublishError
from loudr_core.publish.m4b import Written
from loudr_core.publish.naming import NameWish, Owner
from loudr_core.publish.tags import read_owner
from loudr_core.render.destination import Folder, StorePrefix, Write, open_destination
from loudr_core.store.open import open_store
from loudr_core.testing import MemoryStore

OWNERS = [Owner(book_id=f"same-{n}1111111", plan_id=f"{n}a00000000000000") for n in range(3)]


def wish(owner: Owner) -> NameWish:
    return NameWish(title="Same", ending=".m4b", owner=owner)


def writing(text: bytes) -> Write:
    """Return a writer of a file that says nothing of its owner."""

    def write(path: Path, guard: Callable[[Path], None] | None) -> Written:
        path.parent.mkdir(parents=True, exist_ok=True)
        if guard is not None:
            guard(path)
        path.write_bytes(text)
        return Written(path=path, n_bytes=len(text), sha256="", duration_s=1.0, findings=())

    return write


def test_a_folder_is_tried_and_left_as_it_was(tmp_path: Path) -> None:
    open_destination(tmp_path / "new" / "folder")
    open_destination(str(tmp_path))
    assert list(tmp_path.iterdir()) == []
    taken = tmp_path / "file"
    taken.write_text("")
    for place in (taken, taken / "below", taken / "two" / "below"):
        with pytest.raises(PublishError, match=r"cannot hold the finished file: .*give a folder"):
            open_destination(place)


def test_a_file_of_others_stays(tmp_path: Path) -> None:
    """One that does not say whose it is is others', too."""
    (tmp_path / "Same.m4b").write_bytes(b"bought")
    made = Folder(tmp_path).deliver(wish(OWNERS[0]), writing(b"ours"))
    assert Path(made.where).name == "Same (01111111).m4b"
    assert (tmp_path / "Same.m4b").read_bytes() == b"bought"
    assert [finding.code for finding in made.findings] == ["publish-name-taken"]
    made = Folder(tmp_path).deliver(wish(OWNERS[0]), writing(b"ours"), overwrite=True)
    assert Path(made.where).read_bytes() == (tmp_path / "Same.m4b").read_bytes() == b"ours"
    assert made.findings == ()


def test_a_name_taken_on_the_way_is_left(tmp_path: Path) -> None:
    """Another program may finish its file between our look and our writing."""
    write = writing(b"ours")

    def late(path: Path, guard: Callable[[Path], None] | None) -> Written:
        if not (tmp_path / "Same.m4b").exists():
            (tmp_path / "Same.m4b").write_bytes(b"theirs")
        return write(path, guard)

    made = Folder(tmp_path).deliver(wish(OWNERS[0]), late)
    assert Path(made.where).name == "Same (01111111).m4b"
    assert (tmp_path / "Same.m4b").read_bytes() == b"theirs"


def test_no_file_is_nobodys(tmp_path: Path) -> None:
    assert read_owner(tmp_path / "none.m4b") is None


def test_in_a_bucket_labels_say_whose_it_is(bucket: str) -> None:
    place = open_destination(f"s3://{bucket}/out")
    names = []
    for number, owner in enumerate((*OWNERS, OWNERS[1])):
        made = place.deliver(wish(owner), writing(b"x%d" % number))
        names.append(made.where.rpartition("/")[2])
    assert names == [
        "Same.m4b", "Same (11111111).m4b", "Same (21111111).m4b", "Same (11111111).m4b",
    ]  # fmt: skip
    store = open_store(f"s3://{bucket}/out")
    assert store.get("Same.m4b") == b"x0"
    assert store.get("Same (11111111).m4b") == b"x3"
    store.put("Other.m4b", b"of nobody")
    other = NameWish(title="Other", ending=".m4b", owner=OWNERS[0], author="A")
    assert place.deliver(other, writing(b"y")).where.endswith("/Other - A.m4b")


def test_a_store_without_labels_is_the_plans_own() -> None:
    store = MemoryStore()
    place = StorePrefix(store, "books/same/plans/1/out")
    for text in (b"one", b"two"):
        assert place.deliver(wish(OWNERS[0]), writing(text)).findings == ()
    assert list(store.list("")) == ["books/same/plans/1/out/Same.m4b"]
    assert store.get("books/same/plans/1/out/Same.m4b") == b"two"
