"""The drop folder: settled files are claimed once, by whoever is first; none is forgotten."""

import errno
import json
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from loudr_core.errors import ConfigError, StoreError, StoreUnavailable
from loudr_core.queue.intake import PollOptions, PollReport, poll
from loudr_core.queue.ledger import Ledger
from loudr_core.queue.status import Outcome
from loudr_core.queue.watch import Ticket, refuse_overlap, scan, status_key, ticket_of
from loudr_core.store.local import LocalStore
from loudr_core.store.open import open_store
from loudr_core.store.protocol import ObjectStore
from loudr_core.testing import MemoryStore

AT_ONCE = PollOptions(settle_s=0, stale_s=3600, retry_s=0)


class FakeRuns:
    """A server that knows runs by their idempotency key, as Prefect does."""

    def __init__(self) -> None:
        self.runs: dict[str, Ticket] = {}
        self.calls = 0
        self.over: dict[str, str] = {}
        self.stopped: set[str] = set()
        self.die = False
        self._lock = threading.Lock()

    def submit(self, ticket: Ticket, attempt: int, note: Callable[[str], bool]) -> None:
        key = f"{ticket.id}:{attempt}"
        with self._lock:
            self.calls += 1
            self.runs.setdefault(key, ticket)
        if self.die:
            raise KeyboardInterrupt
        note(key)

    def ended(self, ticket: Ticket, run: str) -> str:
        return self.over.get(run, "")

    def was_stopped(self, ticket: Ticket, run: str) -> bool:
        return run in self.stopped

    @property
    def keys(self) -> list[str]:
        return sorted(ticket.key for ticket in self.runs.values())


class Clock(MemoryStore):
    """A store whose clock a test moves."""

    def __init__(self) -> None:
        super().__init__()
        self.skew_s = 0.0

    def now_s(self) -> float:
        return super().now_s() + self.skew_s


def look(
    watched: ObjectStore,
    store: ObjectStore,
    runs: FakeRuns,
    options: PollOptions = AT_ONCE,
    *,
    owner: str = "one",
) -> PollReport:
    return poll(watched, Ledger(store, owner), runs, options)


@pytest.mark.parametrize("kind", ["memory", "folder", "bucket"])
def test_six_pollers_at_once_make_thirty_runs_of_thirty_books(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    watched: ObjectStore
    store: ObjectStore
    if kind == "memory":
        watched, store = MemoryStore(), MemoryStore()
    elif kind == "folder":
        watched, store = LocalStore(tmp_path / "in"), LocalStore(tmp_path / "store")
    else:
        bucket = request.getfixturevalue("bucket")
        watched, store = open_store(f"s3://{bucket}/in"), open_store(f"s3://{bucket}/loudr")
    for number in range(30):
        watched.put(f"book {number:02d}.epub", b"a book %d" % number)
    runs, barrier = FakeRuns(), threading.Barrier(6)

    def one(number: int) -> PollReport:
        barrier.wait(60)
        return look(watched, store, runs, owner=str(number))

    with ThreadPoolExecutor(6) as pool:
        reports = list(pool.map(one, range(6)))
    assert runs.keys == [f"book {number:02d}.epub" for number in range(30)]
    assert runs.calls == 30
    assert sum(len(report.submitted) for report in reports) == 30
    assert not any(report.troubled for report in reports)
    claims = [key for key in store.list("ledger/drop/") if key.endswith(".claim")]
    assert len(claims) == 30
    assert look(watched, store, runs).submitted == []
    assert runs.calls == 30


def test_a_second_poll_does_nothing_when_all_is_done() -> None:
    watched, store, runs = MemoryStore(), MemoryStore(), FakeRuns()
    watched.put("a.epub", b"a")
    assert len(look(watched, store, runs).submitted) == 1
    (ticket,) = scan(watched).tickets
    Ledger(store, "run").finish(ticket.id, Outcome(state="done").as_dict())
    before = [(entry.key, entry.version) for entry in store.entries("")]
    report = look(watched, store, runs, owner="two")
    assert report.finished == [ticket.place]
    assert [(entry.key, entry.version) for entry in store.entries("")] == before


def test_a_poller_that_died_between_claim_and_run() -> None:
    """Its claim is left alone for a while, and then leads to one run, by whoever comes."""
    watched, store, runs = MemoryStore(), Clock(), FakeRuns()
    watched.put("a.epub", b"a")
    (ticket,) = scan(watched).tickets
    assert Ledger(store, "dead").claim(ticket.id, {})
    patient = PollOptions(settle_s=0, stale_s=600)
    assert look(watched, store, runs, patient).running == [ticket.place]
    assert runs.calls == 0
    store.skew_s = 601
    assert look(watched, store, runs, patient).submitted == [ticket.place]
    assert look(watched, store, runs, patient).running == [ticket.place]
    assert list(runs.runs) == [f"{ticket.id}:1"]


def test_a_poller_that_died_before_it_noted_its_run() -> None:
    """The run is made once: the second poller's call finds it by its key."""
    watched, store, runs = MemoryStore(), Clock(), FakeRuns()
    watched.put("a.epub", b"a")
    runs.die = True
    with pytest.raises(KeyboardInterrupt):
        look(watched, store, runs, PollOptions(settle_s=0, stale_s=600))
    runs.die = False
    store.skew_s = 601
    look(watched, store, runs, PollOptions(settle_s=0, stale_s=600), owner="two")
    assert (runs.calls, len(runs.runs)) == (2, 1)


def test_a_file_that_grows_is_left_until_it_rests(tmp_path: Path) -> None:
    watched, store, runs = LocalStore(tmp_path), MemoryStore(), FakeRuns()
    growing = tmp_path / "a.epub"
    options = PollOptions(settle_s=0.3)
    for size in range(1, 4):
        growing.write_bytes(b"x" * size)
        assert look(watched, store, runs, options).settling == [str(growing)]
    assert list(store.list("")) == [], "nothing is claimed for what is not whole"
    threading.Event().wait(0.35)
    assert look(watched, store, runs, options).submitted == [str(growing)]
    assert [ticket.size for ticket in runs.runs.values()] == [3]


def test_the_servers_clock_decides_what_has_settled() -> None:
    watched, store, runs = Clock(), MemoryStore(), FakeRuns()
    watched.put("a.epub", b"a")
    assert look(watched, store, runs, PollOptions(settle_s=60)).submitted == []
    watched.skew_s = 61
    assert len(look(watched, store, runs, PollOptions(settle_s=60)).submitted) == 1


def test_a_file_from_the_future_settles_from_when_it_was_seen(tmp_path: Path) -> None:
    import os
    import time

    watched, store, runs = LocalStore(tmp_path), Clock(), FakeRuns()
    path = tmp_path / "a.epub"
    path.write_bytes(b"a")
    os.utime(path, (time.time() + 86_400,) * 2)
    options = PollOptions(settle_s=60)
    assert look(watched, store, runs, options).settling == [str(path)]
    assert look(watched, store, runs, options).settling == [str(path)]
    store.skew_s = 61
    assert look(watched, store, runs, options).submitted == [str(path)]


def test_a_sidecar_that_comes_late_is_another_run() -> None:
    watched, store, runs = MemoryStore(), MemoryStore(), FakeRuns()
    watched.put("a.epub", b"a")
    look(watched, store, runs)
    watched.put("a.epub.toml", b'voice = "high"')
    assert len(look(watched, store, runs).submitted) == 1
    assert len(runs.runs) == 2
    assert look(watched, store, runs).submitted == []


def test_a_sidecar_still_being_written_keeps_its_book_waiting(tmp_path: Path) -> None:
    watched, store, runs = LocalStore(tmp_path), MemoryStore(), FakeRuns()
    book, sidecar = tmp_path / "a.epub", tmp_path / "a.epub.toml"
    book.write_bytes(b"a")
    threading.Event().wait(0.35)
    sidecar.write_bytes(b"")
    assert look(watched, store, runs, PollOptions(settle_s=0.3)).settling == [str(book)]


@pytest.mark.parametrize("kind", ["memory", "bucket"])
def test_a_file_put_again_is_another_run(kind: str, request: pytest.FixtureRequest) -> None:
    watched: ObjectStore = MemoryStore()
    if kind == "bucket":
        watched = open_store(f"s3://{request.getfixturevalue('bucket')}/in")
    store, runs = MemoryStore(), FakeRuns()
    watched.put("a.epub", b"a")
    look(watched, store, runs)
    watched.put("a.epub", b"another")
    look(watched, store, runs)
    assert len(runs.runs) == 2
    assert len({ticket.id for ticket in runs.runs.values()}) == 2


def test_one_bad_book_keeps_no_other_from_its_turn() -> None:
    class Refusing(FakeRuns):
        def submit(self, ticket: Ticket, attempt: int, note: Callable[[str], bool]) -> None:
            if ticket.key == "b.epub":
                raise StoreUnavailable("the server is away")
            super().submit(ticket, attempt, note)

    watched, store, runs = MemoryStore(), MemoryStore(), Refusing()
    for name in "abc":
        watched.put(f"{name}.epub", name.encode())
    report = look(watched, store, runs)
    assert runs.keys == ["a.epub", "c.epub"]
    assert report.troubled == ["memory:///b.epub: the server is away"]


def test_a_run_that_ended_without_a_word_gets_successors_and_then_gives_up() -> None:
    watched, store, runs = MemoryStore(), MemoryStore(), FakeRuns()
    watched.put("a.epub", b"a")
    (ticket,) = scan(watched).tickets
    for attempt in (1, 2, 3):
        assert look(watched, store, runs).submitted == [ticket.place]
        assert look(watched, store, runs).running == [ticket.place]
        runs.over[f"{ticket.id}:{attempt}"] = "Crashed: out of memory"
    assert look(watched, store, runs).given_up[0].startswith(ticket.place)
    assert look(watched, store, runs).finished == [ticket.place]
    assert len(runs.runs) == 3
    status = json.loads(watched.get(status_key("a.epub")) or b"")
    assert status["state"] == "failed"
    assert "out of memory" in status["reason"]


def test_a_service_that_restarts_uses_up_no_run_of_a_book() -> None:
    """A book longer than the time between two restarts is not given up."""
    watched, store, runs = MemoryStore(), MemoryStore(), FakeRuns()
    watched.put("a.epub", b"a")
    (ticket,) = scan(watched).tickets
    patient = PollOptions(settle_s=0, retry_s=300)
    for attempt in range(1, 8):
        assert look(watched, store, runs, patient).submitted == [ticket.place], "at once"
        run = f"{ticket.id}:{attempt}"
        runs.over[run] = "Cancelled: Runner is shutting down."
        runs.stopped.add(run)
    for attempt in (8, 9, 10):
        assert look(watched, store, runs).submitted == [ticket.place]
        runs.over[f"{ticket.id}:{attempt}"] = "Crashed: out of memory"
    assert look(watched, store, runs).given_up[0].startswith(ticket.place)


def test_the_next_run_waits_its_time() -> None:
    watched, store, runs = MemoryStore(), Clock(), FakeRuns()
    watched.put("a.epub", b"a")
    (ticket,) = scan(watched).tickets
    patient = PollOptions(settle_s=0, retry_s=300)
    look(watched, store, runs, patient)
    runs.over[f"{ticket.id}:1"] = "Failed"
    assert look(watched, store, runs, patient).running == [ticket.place]
    store.skew_s = 301
    assert look(watched, store, runs, patient).submitted == [ticket.place]


def test_a_file_too_large_is_refused_and_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loudr_core.queue.intake.MAX_FILE_BYTES", 3)
    watched, store, runs = MemoryStore(), MemoryStore(), FakeRuns()
    watched.put("a.epub", b"four")
    assert len(look(watched, store, runs).given_up) == 1
    assert runs.calls == 0
    assert json.loads(watched.get("a.epub.status.json") or b"")["state"] == "refused"


def test_a_status_that_may_not_be_written_is_no_trouble() -> None:
    class ReadOnly(MemoryStore):
        def put(self, key: str, data: bytes) -> None:
            raise StoreError("read only")

    watched, store, runs = ReadOnly(), MemoryStore(), FakeRuns()
    MemoryStore.put(watched, "a.epub", b"a")
    assert len(look(watched, store, runs).submitted) == 1


def test_a_status_that_could_not_be_written_is_written_later() -> None:
    """The drop folder was away, or full, when the book was done."""
    watched, store, runs = Clock(), Clock(), FakeRuns()
    watched.put("a.epub", b"a")
    look(watched, store, runs)
    (ticket,) = scan(watched).tickets
    watched.skew_s = 3600  # the status is an hour old, the word in the ledger new
    Ledger(store, "run").finish(
        ticket.id, Outcome(state="done", result={"files": ["a.m4b"]}).as_dict()
    )
    assert json.loads(watched.get(status_key("a.epub")) or b"")["state"] == "queued"
    assert look(watched, store, runs).finished == [ticket.place]
    told = json.loads(watched.get(status_key("a.epub")) or b"")
    assert (told["state"], told["files"]) == ("done", ["a.m4b"])
    assert "owner" not in told


def test_what_is_no_book_is_named_and_left() -> None:
    watched, store, runs = MemoryStore(), MemoryStore(), FakeRuns()
    for key in (
        "a.epub",
        "a.epub.toml",
        "a.epub.status.json",
        "gone.epub.status.json",
        "cover.jpg",
        "sub/b.MD",
        ".hidden.epub",
        ".git/c.md",
        "lonely.toml",
    ):
        watched.put(key, b"x")
    report = look(watched, store, runs)
    assert runs.keys == ["a.epub", "sub/b.MD"]
    assert report.ignored == ["cover.jpg", "lonely.toml"]


def _odd(folder: Path, name: str) -> None:
    """Put something into a folder that a person may put there, and no book is made of."""
    match name:
        case "loop.md":
            (folder / name).symlink_to(name)
        case "dangling.md":
            (folder / name).symlink_to("nowhere")
        case "pipe.md":
            os.mkfifo(folder / name)
        case "folder.epub":
            (folder / name).mkdir()
        case "latin.md":
            Path(os.fsdecode(bytes(folder) + b"/latin\xe9.md")).write_text("x")
        case "back\\slash.md":
            (folder / name).write_text("x")
        case "out.md":
            (folder.parent / "secret").write_text("x")
            (folder / name).symlink_to("../secret")
        case "sidecar.md":
            (folder.parent / "secret.toml").write_text("speed = 1")
            (folder / name).write_text("x")
            (folder / "sidecar.md.toml").symlink_to("../secret.toml")
        case _:
            raise AssertionError(name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("loop.md", ""),
        ("dangling.md", ""),
        ("pipe.md", ""),
        ("folder.epub", ""),
        ("latin.md", "latin\\xe9.md: its name cannot be used"),
        ("back\\slash.md", "its name cannot be used"),
        ("out.md", "leads out of the drop folder"),
        ("sidecar.md", "leads out of the drop folder"),
    ],
)
def test_what_cannot_be_taken_keeps_no_book_from_its_turn(
    tmp_path: Path, name: str, said: str
) -> None:
    """Links, pipes and names that no ledger takes: each is left, and named where it is a book."""
    folder = tmp_path / "drop"
    folder.mkdir()
    _odd(folder, name)
    (folder / "good.epub").write_bytes(b"x")
    (folder / "link.epub").symlink_to("good.epub")
    store, runs = MemoryStore(), FakeRuns()
    report = look(open_store(str(folder)), store, runs)
    assert runs.keys == ["good.epub", "link.epub"]
    assert len(report.troubled) == bool(said)
    assert said in "".join(report.troubled)
    json.dumps(report.as_dict(), ensure_ascii=False).encode()


def test_a_closed_folder_keeps_no_book_from_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "open.epub").write_bytes(b"x")
    scandir = os.scandir

    def refusing(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    runs = FakeRuns()
    report = look(open_store(str(tmp_path)), MemoryStore(), runs)
    assert runs.keys == ["open.epub"]
    assert report.troubled == [f"cannot list {tmp_path}/closed: Permission denied"]


@pytest.mark.parametrize("key", ["a//b.md", "/a.md", "../a.md", "a/./b.md", "a\\b.md"])
def test_a_key_of_a_bucket_that_is_no_path_is_named_and_left(key: str) -> None:
    watched, runs = MemoryStore(), FakeRuns()
    watched.put("good.md", b"x")
    watched._objects[key] = b"x"
    report = look(watched, MemoryStore(), runs)
    assert runs.keys == ["good.md"]
    assert report.troubled[0].endswith("without backslashes and empty parts")


def test_a_claim_is_ours_after_a_lost_answer() -> None:
    """The owner's name in the body tells a claim that was stored before the answer got lost."""

    class Forgetful(MemoryStore):
        def put_if_absent(self, key: str, data: bytes) -> bool:
            super().put_if_absent(key, data)
            return False

    store = Forgetful()
    assert Ledger(store, "one").claim("f" * 64, {})
    assert not Ledger(store, "two").claim("f" * 64, {})


def test_a_ticket_knows_its_version() -> None:
    watched = MemoryStore()
    watched.put("a.epub", b"a")
    first = ticket_of(watched, "a.epub")
    assert first == ticket_of(watched, "a.epub")
    watched.put("a.epub.toml", b"")
    second = ticket_of(watched, "a.epub")
    assert first is not None
    assert second is not None
    assert first.id != second.id
    assert Ticket(**first.as_dict()).id == first.id
    assert ticket_of(watched, "b.epub") is None


def test_nothing_is_written_where_books_are_looked_for(tmp_path: Path) -> None:
    inbox = tmp_path / "in"
    refuse_overlap(str(inbox), destination=str(tmp_path / "out"), store="s3://bucket/x")
    refuse_overlap("s3://bucket/in", destination="s3://bucket/in-done", store=str(tmp_path))
    with pytest.raises(ConfigError, match=r"the destination .* lies in the drop folder"):
        refuse_overlap(str(inbox), destination=f"{inbox}/../in/out")
    with pytest.raises(ConfigError, match="the store"):
        refuse_overlap("s3://bucket/in/", store="s3://bucket/in/loudr?region=eu-central-1")


def test_a_run_that_is_not_named_is_said() -> None:
    store = MemoryStore()
    with pytest.raises(StoreError, match=r"ledger/drop/ff/f+\.submitted names no run"):
        Ledger(store, "one").run_of("f" * 64, 1)
