"""What a machine may do to a render: a full disk, a wrong clock. The next run goes on."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import soundfile

from loudr_core.queue.ledger import Ledger
from loudr_core.store.local import LocalStore

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def faketime() -> str:
    """Return the library that gives a process another clock."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    if not found:
        pytest.skip("Debian's package libfaketime is not here")
    return str(found[0])


@pytest.fixture
def book(tone_book: Callable[..., Path]) -> Path:
    return tone_book(chapters=1, paragraphs=14)


@pytest.fixture
def plain(inline: Any) -> Any:
    """Return the command line where each paragraph is a segment."""
    return inline.with_(LOUDR_TEXT__MERGE_SHORT="false")


def last_line(said: Any, code: int) -> str:
    """Return how a command ended that failed as it should."""
    assert said.code == code, said.err
    assert "Traceback" not in said.err
    return str(said.err.splitlines()[-1])


def half_files(store: Path) -> list[Path]:
    return [path for path in (store / ".tmp").rglob("*") if path.is_file()]


def test_the_disk_fills_up_while_takes_are_stored(
    plain: Any, book: Path, small_disk: Any, tmp_path: Path
) -> None:
    store, out = small_disk.path / "store", tmp_path / "out"
    command = ("render", book, "--store", store, "-o", out, "--json")
    line = last_line(plain(*command), 9)
    assert line.startswith(f"loudr: cannot write {store}/")
    assert line.endswith("No space left on device; free some space and run again")
    assert half_files(store) == []
    takes = list(store.glob("audio/*/*.flac"))
    assert takes
    for take in takes:
        assert soundfile.info(str(take)).frames > 0, "what has its name is whole"

    small_disk.resize(60)
    counts = plain(*command).json["segments"]
    assert counts["failed"] == 0
    assert counts["rendered"] == counts["total"] - len(takes), "nothing is spoken twice"
    assert (out / "Tones.m4b").is_file()


@pytest.mark.integration
def test_the_disk_is_full_where_the_book_is_to_go(
    plain: Any, book: Path, small_disk: Any, tmp_path: Path
) -> None:
    small_disk.resize(0.5)
    store, out = tmp_path / "store", small_disk.path / "out"
    command = ("render", book, "--store", store, "-o", out, "--json")
    line = last_line(plain(*command), 10)
    assert f"{out}/Tones.m4b cannot be written: the disk is full; free some space" in line
    assert list(out.glob("*")) == [], "no half book, and nothing beside it"

    small_disk.resize(60)
    counts = plain(*command).json["segments"]
    assert counts["rendered"] == 0
    assert (out / "Tones.m4b").is_file()


@pytest.mark.integration
def test_the_disk_fills_up_while_the_book_is_encoded(
    plain: Any, book: Path, small_disk: Any, tmp_path: Path
) -> None:
    small_disk.resize(100)
    store, out = small_disk.path / "store", tmp_path / "out"
    command = ("render", book, "--store", store, "-o", out, "--json")
    whole = plain(*command).json
    for piece in [*store.glob("aac/*/*"), *out.glob("*")]:
        piece.unlink()
    used = sum(path.stat().st_blocks * 512 for path in store.rglob("*"))
    small_disk.resize(used / 1024**2 + 0.3)
    line = last_line(plain(*command), 9)
    assert line.startswith(f"loudr: cannot write {store}/aac/")
    assert line.endswith("No space left on device; free some space and run again")
    assert list(out.glob("*")) == []

    small_disk.resize(100)
    again = plain(*command).json
    assert again["segments"]["rendered"] == 0
    assert again["files"][0]["sha256"] == whole["files"][0]["sha256"]


@pytest.mark.integration
def test_temporary_files_have_no_room_on_the_way_to_a_bucket(
    plain: Any, book: Path, bucket: str, small_disk: Any, tmp_path: Path
) -> None:
    small_disk.resize(0.5)
    keys = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    command = ("render", book, "--store", tmp_path / "store", "-o", f"s3://{bucket}/out", "--json")
    line = last_line(plain.with_(TMPDIR=str(small_disk.path), **keys)(*command), 10)
    assert "Tones.m4b cannot be written: the disk is full; free some space" in line
    counts = plain.with_(**keys)(*command).json["segments"]
    assert counts["rendered"] == 0


@pytest.mark.parametrize("shift", ["+1h", "-1h"])
def test_a_clock_that_is_wrong_changes_nothing(
    plain: Any, book: Path, faketime: str, tmp_path: Path, shift: str
) -> None:
    """A chapter is spoken by the right clock, the rest and the file are made an hour off."""
    store = tmp_path / "store"
    wrong = plain.with_(LD_PRELOAD=faketime, FAKETIME=shift, NO_FAKE_STAT="1")
    first = plain("render", book, "--chapters", "1", "--store", store, "-o", tmp_path, "--json")
    assert first.code == 0
    moved = wrong("render", book, "--store", store, "-o", tmp_path / "out", "--json").json
    assert moved["segments"]["reused"] == first.json["segments"]["total"]
    assert moved["segments"]["failed"] == 0
    right = plain("render", book, "--store", tmp_path / "b", "-o", tmp_path / "b", "--json").json
    assert moved["pcm_sha256"] == right["pcm_sha256"]
    assert moved["files"][0]["sha256"] == right["files"][0]["sha256"]
    assert 0 <= moved["wall_s"] < 600


def test_nothing_is_thrown_away_by_a_clock_that_is_ahead(faketime: str, tmp_path: Path) -> None:
    """A file that another machine is writing is no leaving, whatever the time is here."""
    script = (
        "import json, sys, time\n"
        "from pathlib import Path\n"
        "from loudr_core.queue.ledger import Ledger\n"
        "from loudr_core.store.local import LocalStore\n"
        "store = LocalStore(Path(sys.argv[1]))\n"
        "ledger = Ledger(store, 'another')\n"
        "print(json.dumps([time.time(), store.now_s(), ledger.silent_s('book')]))\n"
    )
    store = LocalStore(tmp_path / "store")
    Ledger(store, "me").beat("book")
    under_way = tmp_path / "store" / ".tmp" / "half"
    under_way.write_bytes(b"half")
    for shift in ("+30d", "-1h"):
        said = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "store")],
            env={**os.environ, "LD_PRELOAD": faketime, "FAKETIME": shift, "NO_FAKE_STAT": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        here, there, silent = json.loads(said.stdout)
        assert abs(here - there) > 3000, "the clocks differ"
        assert 0 <= silent < 60, "and ages are by the store's"
        assert under_way.is_file()
