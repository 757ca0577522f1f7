"""Declared books: what a manifest may say, in which order they come, and how long a night is."""

import json
import os
import random
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.errors import BookError, ConfigError
from loudr_core.queue.manifest import BookEntry, Listed, in_order, read_entry
from loudr_core.queue.night import (
    Night,
    NightBook,
    night_id,
    read_manifests,
    summary,
)
from loudr_core.queue.sidecar import Sidecar, read_sidecar
from loudr_core.queue.source import Superseded, check_source, fetch_ticket, local_file
from loudr_core.queue.watch import ticket_of
from loudr_core.queue.window import Window, open_window, parse_time
from loudr_core.store.open import open_store
from loudr_core.testing import MemoryStore

ROOT = Path(__file__).parents[2]


def listed(name: str, **fields: object) -> Listed:
    return Listed(name=name, entry=BookEntry.model_validate({"source": "x.epub", **fields}))


def test_the_examples_of_the_repository_are_good() -> None:
    books = read_manifests(str(ROOT / "manifests" / "books"))
    assert books
    assert [book.fault for book in books] == [""] * len(books)
    for book in books:
        assert book.entry is not None
        path = local_file(book.entry.source, Path(), base=ROOT)
        check_source(path, n_bytes=book.entry.bytes, sha256=book.entry.sha256, name=book.name)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[", "m.toml is not TOML"),
        ("\xff", "m.toml is not TOML"),
        ("", "m.toml: source: field required"),
        ('source = ""', "m.toml: source: string should have at least 1 character"),
        ('source = "a"\nprioritty = 3', "m.toml: prioritty: extra inputs are not permitted"),
        ('source = "a"\npriority = 101', "m.toml: priority: input should be less than or equal"),
        ('source = "a"\npriority = "high"', "m.toml: priority: input should be a valid integer"),
        ('source = "a"\nsha256 = "12"', "m.toml: sha256: string should match"),
        ('source = "a"\ndeadline = "soon"', "m.toml: deadline: input should be a valid date"),
        ('source = "a"\nchapters = "x"', "m.toml: chapters: string should match"),
        ('source = "a"\n' + "#" * 300_000, "more than a manifest needs"),
        ('source = "a"\nx = ' + "[" * 5000 + "]" * 5000, "m.toml is not TOML: it is nested"),
        ('source = "a"\n"x\\ny" = 1', "m.toml: x y: extra inputs are not permitted"),
    ],
)
def test_a_bad_manifest_has_one_line(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        read_entry(text.encode("latin-1"), name="m.toml")
    assert "\n" not in caught.value.message


def test_a_good_manifest() -> None:
    text = 'source = "a.epub"\nvoice = "nova"\npriority = 80\ndeadline = 2026-12-24\n'
    entry = read_entry(b"\xef\xbb\xbf" + text.encode(), name="m.toml")
    assert (entry.source, entry.voice, entry.priority) == ("a.epub", "nova", 80)
    assert entry.due is not None
    assert entry.due.date() == date(2026, 12, 24)
    assert read_entry(b'source = "a"\ndeadline = 2026-12-24T06:00:00Z', name="m").due == datetime(
        2026, 12, 24, 6, tzinfo=UTC
    )


def test_a_broken_manifest_keeps_no_other_from_being_read(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("[[")
    (tmp_path / "b.toml").write_text('source = "b.epub"')
    (tmp_path / "c.toml").mkdir()
    (tmp_path / ".d.toml").write_text("[[")
    (tmp_path / "notes.txt").write_text("nothing")
    os.mkfifo(tmp_path / "e.toml")  # would be waited for without end
    (tmp_path / "f.toml").symlink_to("nowhere")
    (tmp_path / "g.toml").symlink_to("g.toml")
    with (tmp_path / "h.toml").open("wb") as huge:
        huge.truncate(1 << 40)  # would not fit into memory
    (tmp_path / os.fsdecode(b"i\xe9.toml")).write_text("[[")
    books = read_manifests(str(tmp_path))
    assert [book.name for book in books] == [
        *(f"{letter}.toml" for letter in "abcefgh"),
        "i\\xe9.toml",
    ]
    assert [book.name for book in books if not book.fault] == ["b.toml"]
    assert books[6].fault == f"h.toml: {1 << 40} bytes are more than a manifest needs"
    assert [book.name for book in in_order(books)] == ["b.toml"]


def test_manifests_of_a_bucket(bucket: str) -> None:
    store = open_store(f"s3://{bucket}/books")
    store.put("b.toml", b'source = "s3://x/b.epub"')
    store.put("a.toml", b"[[")
    for odd in ("/c.toml", "d\\e.toml"):  # as other programs may name an object
        boto3.client("s3").put_object(Bucket=bucket, Key=f"books/{odd}", Body=b"x")
    assert [(book.name, bool(book.fault)) for book in read_manifests(store.url)] == [
        ("/c.toml", True),
        ("a.toml", True),
        ("b.toml", False),
        ("d\\e.toml", True),
    ]


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no folder of manifests at"):
        read_manifests(str(tmp_path / "nowhere"))


def test_a_title_is_one_line_in_the_summary() -> None:
    book = listed("a.toml", title="A\n\x1b[31mB\u202e")
    assert book.title == r"A \x1b[31mB\u202e"


def test_the_highest_priority_first_then_the_deadline_then_the_name() -> None:
    books = [
        listed("low", priority=1, deadline=date(2026, 1, 1)),
        listed("later", deadline=date(2026, 6, 1)),
        listed("sooner", deadline=datetime(2026, 5, 31, 12)),
        listed("a-last"),
        listed("b-last"),
        listed("high", priority=100),
        listed("off", priority=100, enabled=False),
    ]
    random.Random(7).shuffle(books)
    wanted = ["high", "sooner", "later", "a-last", "b-last", "low"]
    assert [book.name for book in in_order(books)] == wanted


@settings(max_examples=200, deadline=None)
@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)),
    st.times(),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia"]),
)
def test_a_window_closes_within_a_day_when_clocks_show_its_end(
    start: datetime, end: object, zone: str
) -> None:
    now = start.replace(tzinfo=UTC)
    until = f"{end:%H:%M}"
    left_s = open_window(now, until=until, timezone=zone).left_s(now)
    assert 0 < left_s <= 25 * 3600 + 1


def test_a_window_over_a_change_of_clocks() -> None:
    """The night of 29 March 2026 has an hour less in Berlin."""
    now = datetime(2026, 3, 29, 0, 0, tzinfo=UTC)  # 01:00 there
    assert open_window(now, until="06:00", timezone="Europe/Berlin").left_s(now) == 4 * 3600
    assert open_window(now, until="06:00").left_s(now) == 6 * 3600
    assert open_window(now, until=None).left_s(now) == float("inf")
    assert Window(now - timedelta(hours=1)).left_s(now) == 0


@pytest.mark.parametrize("text", ["", "6", "24:00", "12:60", "6:5", "-1:00", "six", "12:00:00"])
def test_what_is_no_time_is_said(text: str) -> None:
    with pytest.raises(ConfigError, match="is no time of a clock"):
        parse_time(text)


def test_what_is_no_time_zone_is_said() -> None:
    now = datetime.now(UTC)
    for zone in ("Middle/Earth", "", "../../etc/passwd", "Europe"):
        with pytest.raises(ConfigError, match="no time zone"):
            open_window(now, until="06:00", timezone=zone)


def test_what_a_night_has_finished_is_found_again() -> None:
    said: dict[str, Any] = {
        "sha256": "a" * 64, "profile": {"engine": "fake"}, "dest": "out", "chapters": None,
    }  # fmt: skip
    identity = night_id(**said, allow_gaps=False)
    others: list[dict[str, Any]] = [
        {**said, "sha256": "b" * 64},
        {**said, "profile": {"engine": "other"}},
        {**said, "dest": None},
        {**said, "chapters": [1]},
    ]
    assert len({identity, *(night_id(**other, allow_gaps=False) for other in others)}) == 5
    night = Night(MemoryStore())
    assert night.finished(identity) is None
    night.finish(identity, {"book_id": "x"})
    assert night.finished(identity) == {"book_id": "x"}


def test_the_summary_counts_what_there_is() -> None:
    books = [
        NightBook(name="a", title="A", state="done"),
        NightBook(name="b", title="B", state="refused", reason="no"),
        NightBook(name="c", title="C", state="unfinished", late=True),
    ]
    assert summary(books) == "1 done, 1 unfinished, 1 refused, 1 past the deadline"
    assert summary([]) == "no books"
    assert books[1].as_dict() == {"name": "b", "title": "B", "state": "refused", "reason": "no"}
    json.dumps([book.as_dict() for book in books])


# --- what is dropped


def test_a_sidecar_says_how_a_book_is_read() -> None:
    data = b'profile = "acx"\nvoice = "high"\nchapters = "1-2"\n[lexicon]\nLeigh = "lee"\n'
    assert read_sidecar(data, name="a.toml") == Sidecar(
        profile="acx",
        chapters="1-2",
        settings={"voice": "high", "lexicon": {"Leigh": "lee"}},
    )
    said = read_sidecar('[pronunciations]\nLeigh = "liː"\n'.encode(), name="a.toml")
    assert said.settings == {"pronunciations": {"Leigh": "liː"}}
    assert read_sidecar(None, name="a.toml") == Sidecar()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"[[", "a.toml is not TOML"),
        (b"\xff", "a.toml is not TOML"),
        (b'bundle = "/etc"', "bundle is not for a sidecar to decide"),
        (b'engine = "fake"', "engine is not for a sidecar to decide"),
        (b'dest = "/"', "dest is not for a sidecar to decide"),
        (b"profile = 3", "profile = 3 is not text"),
        (b"allow_gaps = 1", "allow_gaps = 1 is not true or false"),
        (b"#" * 300_000, "more than a sidecar needs"),
        (b"x = " + b"[" * 5000 + b"]" * 5000, "a.toml is not TOML: it is nested too deeply"),
    ],
)
def test_a_bad_sidecar_has_one_line(data: bytes, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        read_sidecar(data, name="a.toml")
    assert "\n" not in caught.value.message


def test_a_ticket_is_fetched_as_it_was_taken(tmp_path: Path) -> None:
    store = MemoryStore()
    store.put("sub/a.md", b"# A\n")
    store.put("sub/a.md.toml", b'voice = "high"')
    ticket = ticket_of(store, "sub/a.md")
    assert ticket is not None
    path, sidecar = fetch_ticket(store, ticket, tmp_path)
    assert (path.name, path.read_bytes(), sidecar.settings) == (
        "a.md",
        b"# A\n",
        {"voice": "high"},
    )
    store.put("sub/a.md.toml", b'voice = "low"')
    with pytest.raises(Superseded):
        fetch_ticket(store, ticket, tmp_path)
    store.delete("sub/a.md")
    with pytest.raises(Superseded):
        fetch_ticket(store, ticket, tmp_path)


def test_a_sidecar_too_large_is_not_read(tmp_path: Path) -> None:
    class Unread(MemoryStore):
        def get(self, key: str) -> bytes | None:
            assert not key.endswith(".toml")
            return super().get(key)

    store = Unread()
    store.put("a.md", b"# A\n")
    store.put("a.md.toml", b"#" * 300_000)
    ticket = ticket_of(store, "a.md")
    assert ticket is not None
    with pytest.raises(ConfigError, match="300000 bytes are more than a sidecar needs"):
        fetch_ticket(store, ticket, tmp_path)


def test_a_book_is_found_where_it_lies(tmp_path: Path, bucket: str) -> None:
    (tmp_path / "a.md").write_bytes(b"# A\n")
    assert local_file("a.md", tmp_path / "x", base=tmp_path) == tmp_path / "a.md"
    assert local_file(str(tmp_path / "a.md"), tmp_path) == tmp_path / "a.md"
    open_store(f"s3://{bucket}/deep/down").put("b.md", b"# B\n")
    fetched = local_file(f"s3://{bucket}/deep/down/b.md", tmp_path)
    assert (fetched, fetched.read_bytes()) == (tmp_path / "b.md", b"# B\n")
    for missing in (f"s3://{bucket}/c.md", str(tmp_path / "c.md")):
        with pytest.raises(BookError, match="no such"):
            local_file(missing, tmp_path)
    for strange in ("http://example.org/a.epub", "ftp://x/a.md"):
        with pytest.raises(ConfigError, match="from s3:// only"):
            local_file(strange, tmp_path)
    with pytest.raises(BookError, match="holds no backslash"):
        local_file(rf"s3://{bucket}/a\b.md", tmp_path)
    with pytest.raises(BookError, match="is a bucket"):
        local_file(f"s3://{bucket}", tmp_path)


def test_another_file_under_a_declared_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"# A\n")
    found = check_source(path, n_bytes=4, sha256=None, name="m")
    assert check_source(path, n_bytes=None, sha256=found, name="m") == found
    with pytest.raises(BookError, match="has 4 bytes, declared are 5"):
        check_source(path, n_bytes=5, sha256=None, name="m")
    with pytest.raises(BookError, match="it is another file"):
        check_source(path, n_bytes=None, sha256="0" * 64, name="m")
    with pytest.raises(BookError, match="cannot read"):
        check_source(tmp_path, n_bytes=None, sha256=None, name="m")
