"""A dropped book is rendered once, and its outcome stands in the ledger and beside it."""

import contextlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows import drop_runs, dropped
from flows.drop_runs import InlineRuns
from flows.dropped import render_ticket
from flows.forms import DroppedRequest, DropRequest, TicketForm
from loudr_core.errors import BookError, ConfigError, DeviceError, LoudrError, QualityError
from loudr_core.queue.intake import PollOptions, poll
from loudr_core.queue.ledger import Ledger
from loudr_core.queue.watch import Ticket, ticket_of
from loudr_core.testing import MemoryStore

AT_ONCE = PollOptions(settle_s=0, stale_s=3600, retry_s=0)
RESULT = {
    "book_id": "a-1",
    "plan_id": "0" * 16,
    "files": [{"path": "/out/A.m4b"}],
    "pcm_sha256": "f" * 64,
    "loudness": {},
    "segments": {},
    "rtf": 0.1,
}


class FakeStudio:
    """Renders nothing; raises what it was told to, and remembers how it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.error: Exception | None = None
        self.before: Any = lambda: None

    def render(self, source: Path, settings: Any, *, options: Any, **said: Any) -> Any:
        self.asked.append(
            {
                "name": source.name,
                "voice": settings.voice,
                "lufs": settings.loudness.target_lufs,
                "chapters": options.chapters,
                "allow_gaps": options.allow_gaps,
                "dest": said["dest"],
            }
        )
        self.before()
        if self.error is not None:
            raise self.error
        return SimpleNamespace(as_dict=lambda: RESULT)


@pytest.fixture
def studio(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeStudio:
    fake = FakeStudio()

    @contextlib.contextmanager
    def opened() -> Iterator[FakeStudio]:
        yield fake

    monkeypatch.setattr(dropped, "studio", opened)
    monkeypatch.setenv("LOUDR_HOME", str(tmp_path / "home"))
    return fake


def request_for(ticket: Ticket, **said: Any) -> DroppedRequest:
    form = TicketForm(**ticket.as_dict())
    return DroppedRequest(ticket=form, watch="in", dest="out", **said)


def taken(store: MemoryStore, key: str = "a.md") -> Ticket:
    ticket = ticket_of(store, key)
    assert ticket is not None
    return ticket


def status(store: MemoryStore, key: str = "a.md") -> dict[str, Any]:
    said: dict[str, Any] = json.loads(store.get(f"{key}.status.json") or b"{}")
    return said


def test_a_good_book(studio: FakeStudio) -> None:
    watched, ledger = MemoryStore(), Ledger(MemoryStore(), "run")
    watched.put("a.md", b"# A\n")
    watched.put(
        "a.md.toml", b'profile = "acx"\nvoice = "high"\nchapters = "1-2"\nallow_gaps = true'
    )
    ticket = taken(watched)
    outcome = render_ticket(request_for(ticket, voice="low"), watched, ledger)
    assert outcome.state == "done"
    (asked,) = studio.asked
    assert asked == {
        "name": "a.md",
        "voice": "high",
        "lufs": -20.0,
        "chapters": frozenset({1, 2}),
        "allow_gaps": True,
        "dest": "out",
    }
    said = status(watched)
    assert (said["state"], said["book_id"], said["ledger_id"]) == ("done", "a-1", ticket.id)
    assert said["files"] == RESULT["files"]
    assert ledger.is_done(ticket.id)
    again = render_ticket(request_for(ticket), watched, ledger)
    assert again.reason == "another run has finished it"
    assert len(studio.asked) == 1


@pytest.mark.parametrize(
    ("error", "sidecar", "state"),
    [
        (BookError("a.md has nothing to narrate"), b"", "refused"),
        (QualityError("a segment has no audio"), b"", "failed"),
        (ConfigError("the engine has no voice 'x'"), b'voice = "x"', "refused"),
        (None, b"[[", "refused"),
        (None, b'bundle = "/etc"', "refused"),
        (None, b"speed = 9.0", "refused"),
        (None, b'profile = "nope"', "refused"),
        (None, b'profile = "/etc/passwd"', "refused"),
        (None, b'chapters = "3-1"', "refused"),
    ],
)
def test_what_the_book_itself_is_to_blame_for(
    studio: FakeStudio, error: Exception | None, sidecar: bytes, state: str
) -> None:
    watched, ledger = MemoryStore(), Ledger(MemoryStore(), "run")
    watched.put("a.md", b"# A\n")
    if sidecar:
        watched.put("a.md.toml", sidecar)
    studio.error = error
    ticket = taken(watched)
    outcome = render_ticket(request_for(ticket), watched, ledger)
    assert outcome.state == state
    said = status(watched)
    assert (said["state"], said["reason"]) == (state, outcome.reason)
    assert outcome.reason
    assert "\n" not in outcome.reason
    assert ledger.is_done(ticket.id)


@pytest.mark.parametrize("error", [DeviceError("no GPU"), ConfigError("no bundle"), OSError("x")])
def test_what_the_machine_is_to_blame_for_is_another_runs_turn(
    studio: FakeStudio, error: Exception
) -> None:
    watched, ledger = MemoryStore(), Ledger(MemoryStore(), "run")
    watched.put("a.md", b"# A\n")
    studio.error = error
    ticket = taken(watched)
    with pytest.raises(type(error)):
        render_ticket(request_for(ticket), watched, ledger)
    assert not ledger.is_done(ticket.id)
    assert status(watched) == {}


def test_a_book_that_changes_meanwhile(studio: FakeStudio) -> None:
    """Before it is fetched it is not rendered; later its word is not put beside the new file."""
    watched, ledger = MemoryStore(), Ledger(MemoryStore(), "run")
    watched.put("a.md", b"# A\n")
    old = taken(watched)
    watched.put("a.md", b"# A, and more\n")
    assert render_ticket(request_for(old), watched, ledger).state == "superseded"
    assert studio.asked == []
    new = taken(watched)
    studio.before = lambda: watched.put("a.md", b"# A, and more, and more\n")
    assert render_ticket(request_for(new), watched, ledger).state == "done"
    assert status(watched) == {}
    watched.delete("a.md")
    assert render_ticket(request_for(taken_again(new)), watched, ledger).state == "superseded"
    assert status(watched)["state"] == "superseded", "it does not stay queued for ever"
    assert not ledger.is_done(old.id), "the same version may be put back"
    assert not ledger.is_done(taken_again(new).id)


def taken_again(ticket: Ticket) -> Ticket:
    return Ticket(**{**ticket.as_dict(), "size": ticket.size + 1})


def test_without_a_deployment_a_poll_renders_by_itself(studio: FakeStudio) -> None:
    """Bad books stay with themselves; one that fails for now is tried again by a later poll."""
    watched, store = MemoryStore(), MemoryStore()
    for name in ("a", "b", "c"):
        watched.put(f"{name}.md", b"# A\n")
    watched.put("b.md.toml", b"[[")
    request = DropRequest(watch="in", dest="out")
    fail = {"c.md"}

    def fail_once() -> None:
        if studio.asked[-1]["name"] in fail:
            fail.clear()
            raise DeviceError("no GPU just now")

    studio.before = fail_once
    for number in range(3):
        ledger = Ledger(store, f"poller-{number}")
        runs = InlineRuns(request, watched, ledger, stale_s=0.0)
        poll(watched, ledger, runs, AT_ONCE)
        runs.render_all()
    states = {name: status(watched, f"{name}.md")["state"] for name in "abc"}
    assert states == {"a": "done", "b": "refused", "c": "done"}
    assert [asked["name"] for asked in studio.asked] == ["a.md", "c.md", "c.md"]


def test_a_render_inside_a_poll_is_left_alone_while_it_lives(
    studio: FakeStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drop_runs, "_BEAT_S", 0.05)
    watched, store = MemoryStore(), MemoryStore()
    watched.put("a.md", b"# A\n")
    request = DropRequest(watch="in", dest="out")
    go_on = threading.Event()
    studio.before = lambda: go_on.wait(20)
    options = PollOptions(settle_s=0, stale_s=1.0, retry_s=0)
    ledger = Ledger(store, "one")
    runs = InlineRuns(request, watched, ledger, stale_s=1.0)
    poll(watched, ledger, runs, options)
    thread = threading.Thread(target=runs.render_all, daemon=True)
    thread.start()
    try:
        other = Ledger(store, "two")
        for _ in range(4):
            threading.Event().wait(0.5)
            others = InlineRuns(request, watched, other, stale_s=1.0)
            assert poll(watched, other, others, options).running
            others.render_all()
    finally:
        go_on.set()
        thread.join(60)
    assert len(studio.asked) == 1
    assert status(watched)["state"] == "done"


def test_the_ledger_in_trouble_stops_no_other_book(studio: FakeStudio) -> None:
    class Stubborn(MemoryStore):
        def put_if_absent(self, key: str, data: bytes) -> bool:
            if b"a.md" in data:
                raise LoudrError("no")
            return super().put_if_absent(key, data)

    watched, store = MemoryStore(), Stubborn()
    for name in ("a", "b"):
        watched.put(f"{name}.md", b"# A\n")
    ledger = Ledger(store, "one")
    runs = InlineRuns(DropRequest(watch="in", dest="out"), watched, ledger, stale_s=60)
    report = poll(watched, ledger, runs, AT_ONCE)
    runs.render_all()
    assert report.troubled == ["memory:///a.md: no"]
    assert status(watched, "b.md")["state"] == "done"
