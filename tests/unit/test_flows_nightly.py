"""A night: each book gets its turn and its word, whatever became of the others."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows import nightly as module
from flows.forms import NightlyRequest
from flows.nightly import nightly
from loudr_core.errors import BookError, DeviceError, QualityError
from loudr_core.queue.window import Window
from loudr_core.render.speak import Interrupted


class FakeStudio:
    """Renders nothing; what a book's text says happens."""

    def __init__(self) -> None:
        self.rendered: list[str] = []

    def render(self, source: Path, settings: Any, *, cancel: threading.Event, **said: Any) -> Any:
        self.rendered.append(source.stem)
        match source.read_text().strip():
            case "wait":
                assert cancel.wait(20), "the window has not closed"
                raise Interrupted
            case "refused":
                raise BookError("there is nothing to narrate")
            case "bad":
                raise QualityError("a segment has no audio")
            case "device":
                raise DeviceError("no GPU")
            case "bug":
                raise RuntimeError("a bug")
        result = {
            "book_id": source.stem,
            "plan_id": "0" * 16,
            "files": [{"path": f"/out/{source.stem}.m4b", "duration_s": 60.0}],
            "rtf": 0.1,
            "findings": [],
        }
        return SimpleNamespace(as_dict=lambda: result)


@pytest.fixture
def studio(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeStudio:
    fake = FakeStudio()

    @contextlib.contextmanager
    def opened() -> Iterator[FakeStudio]:
        yield fake

    monkeypatch.setattr(module, "studio", opened)
    monkeypatch.setattr(module, "_say", lambda books: None)
    monkeypatch.setenv("LOUDR_HOME", str(tmp_path / "home"))
    return fake


Night = Callable[..., dict[str, dict[str, Any]]]


@pytest.fixture
def night(studio: FakeStudio, tmp_path: Path) -> Night:
    """Return a night's work over books given as name = text; the answer is by manifest's name."""
    folder = tmp_path / "books"
    folder.mkdir()

    def run(*, again: bool = False, fields: str = "", **books: str) -> dict[str, dict[str, Any]]:
        for name, text in books.items():
            (tmp_path / f"{name}.md").write_text(text)
            (folder / f"{name}.toml").write_text(f'source = "{name}.md"\n{fields}')
        state = nightly.fn(
            NightlyRequest(
                manifests=str(folder), base=str(tmp_path), dest=str(tmp_path / "out"), again=again
            )
        )
        assert state.type.value == "COMPLETED"
        data = state.data
        said = {book["name"]: book for book in data["books"]}
        return {**said, "state": {"name": state.name, "message": state.message}}

    return run


def test_one_bad_book_keeps_no_other_from_its_turn(night: Night, studio: FakeStudio) -> None:
    said = night(a="refused", b="bad", c="device", d="bug", e="fine")
    states = {name: book["state"] for name, book in said.items() if name != "state"}
    assert states == {
        "a.toml": "refused",
        "b.toml": "failed",
        "c.toml": "failed",
        "d.toml": "failed",
        "e.toml": "done",
    }
    assert said["d.toml"]["reason"] == "RuntimeError: a bug"
    assert said["e.toml"]["files"] == ["/out/e.m4b"]
    assert said["state"] == {"name": "With failures", "message": "1 done, 1 refused, 3 failed"}
    assert studio.rendered == ["a", "b", "c", "d", "e"]


def test_a_broken_manifest_and_a_missing_book(
    night: Night, studio: FakeStudio, tmp_path: Path
) -> None:
    (tmp_path / "books" / "bad.toml").write_text("[[")
    (tmp_path / "books" / "gone.toml").write_text('source = "nowhere.epub"')
    (tmp_path / "books" / "other.toml").write_text('source = "fine.md"\nbytes = 1')
    (tmp_path / "books" / "chapters.toml").write_text('source = "fine.md"\nchapters = "3-1"')
    (tmp_path / "books" / "profile.toml").write_text('source = "fine.md"\nprofile = "nope"')
    said = night(fine="fine")
    assert "not TOML" in said["bad.toml"]["reason"]
    assert "no such file" in said["gone.toml"]["reason"]
    assert "another file" in said["other.toml"]["reason"]
    assert "3-1" in said["chapters.toml"]["reason"]
    assert "no profile 'nope'" in said["profile.toml"]["reason"]
    assert said["fine.toml"]["state"] == "done"
    assert studio.rendered == ["fine"]


def test_what_a_night_has_finished_the_next_does_not_do_again(
    night: Night, studio: FakeStudio
) -> None:
    assert night(a="fine", b="bad")["a.toml"]["state"] == "done"
    said = night()
    assert said["a.toml"]["state"] == "done before"
    assert said["a.toml"]["files"] == ["/out/a.m4b"]
    assert said["b.toml"]["state"] == "failed"
    assert studio.rendered == ["a", "b", "b"]
    assert night(again=True)["a.toml"]["state"] == "done"
    assert night(a="fine, and changed")["a.toml"]["state"] == "done"


def test_a_changed_profile_is_another_book_to_do(
    night: Night, studio: FakeStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    night(a="fine")
    assert night()["a.toml"]["state"] == "done before"
    monkeypatch.setenv("LOUDR_SPEED", "1.1")
    assert night()["a.toml"]["state"] == "done"


def test_the_window_closes_in_the_middle_of_a_book(
    night: Night, studio: FakeStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    closes = datetime.now(UTC) + timedelta(seconds=1.0)
    monkeypatch.setattr(module, "open_window", lambda *said, **more: Window(closes))
    monkeypatch.setattr(module, "_LEAST_S", 0.0)
    started = time.monotonic()
    said = night(a="fine", b="wait", c="fine", fields="deadline = 2020-01-01")
    assert time.monotonic() - started < 15
    assert [said[f"{name}.toml"]["state"] for name in "abc"] == ["done", "unfinished", "not begun"]
    assert said["b.toml"]["reason"] == "the window has closed; it goes on the next night"
    assert [said[f"{name}.toml"].get("late") for name in "abc"] == [None, True, True]
    assert said["state"]["name"] == "Completed"
    monkeypatch.undo()


def test_no_book_is_begun_with_a_minute_left(
    night: Night, studio: FakeStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    closes = datetime.now(UTC) + timedelta(seconds=50)
    monkeypatch.setattr(module, "open_window", lambda *said, **more: Window(closes))
    assert night(a="fine")["a.toml"]["state"] == "not begun"
    assert studio.rendered == []


def test_the_summary_is_readable() -> None:
    from loudr_core.queue.night import NightBook, summary

    books = [
        NightBook(
            name="a.toml",
            title="A",
            state="done",
            result={
                "book_id": "a",
                "plan_id": "p",
                "files": [{"path": "/out/A.m4b", "duration_s": 1.0}],
                "rtf": 0.1,
                "findings": [],
            },
        ),
        NightBook(name="b.toml", title="B", state="unfinished", reason="The rest.", late=True),
    ]
    said = module._markdown(books, summary(books))
    assert said == (
        "# The night: 1 done, 1 unfinished, 1 past the deadline\n\n"
        "- **A**: done.\n"
        "  - `/out/A.m4b`\n"
        "- **B**: unfinished, **past its deadline**. The rest.\n"
    )
