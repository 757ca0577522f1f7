"""A home that will not do, a server that is not there: one line at the start, and what to do."""

import errno
import http.server
import io
import os
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows import contact, live
from flows import home as homes
from flows.api_server import ApiServer
from flows.configuration import load
from flows.execution.local import _cause_of, _is_loss, local_execution, require_server
from flows.home import make_home, ready_home
from flows.opening import open_settings_store
from loudr_core.errors import DeviceError, QualityError, StoreError
from loudr_core.refusals import explain, reason


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("LOUDR_", "PREFECT_API"))]:
        monkeypatch.delenv(name)


@pytest.fixture
def no_home(tmp_path: Path) -> Path:
    """Return a path at which no folder can be made, whoever runs the test."""
    (tmp_path / "file").write_text("")
    return tmp_path / "file" / "home"


def test_a_home_is_made_and_left_clean(tmp_path: Path) -> None:
    home = ready_home(tmp_path / "deep" / "home")
    assert [path.name for path in home.iterdir()] == ["logs"]
    assert ready_home(home) == home


def test_a_home_that_cannot_be_is_one_line_from_every_way_in(
    no_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOUDR_HOME", str(no_home))
    ways = [
        lambda: make_home(no_home),
        lambda: ready_home(no_home),
        lambda: open_settings_store(load()),
        ApiServer(no_home, {}).start,
        local_execution(no_home).__enter__,
    ]
    for way in ways:
        with pytest.raises(StoreError, match=r"home .*lies below one; set LOUDR_HOME") as no:
            way()
        assert no.value.exit_code == 9
        assert "\n" not in no.value.message


def test_a_full_disk_is_named_and_no_server_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(homes, "MIN_FREE_BYTES", 1 << 60)
    with pytest.raises(StoreError, match=r"the disk of loudr's home .* is full .*free some space"):
        ready_home(tmp_path)
    assert make_home(tmp_path) == tmp_path, "to look at what is there needs no room"


def test_a_server_that_the_full_disk_ended_says_so(tmp_path: Path) -> None:
    server = ApiServer(tmp_path, {})
    (tmp_path / "logs").mkdir()
    log = tmp_path / "logs" / "prefect-server.log"
    log.write_text("x" * 9000 + "\nsqlite3.OperationalError: database or disk is full\n")
    with pytest.raises(StoreError, match="is full: free some space"):
        server.wait(1)
    log.write_text("disk is full" + "x" * 9000)
    with pytest.raises(DeviceError, match="did not start"):
        server.wait(1)


@pytest.fixture
def answering() -> Iterator[str]:
    """Return the URL of a server that knows nobody."""

    class No(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), No)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/api"
    server.shutdown()
    server.server_close()


def test_a_server_that_answers_at_all_is_there(answering: str) -> None:
    require_server(answering)
    require_server(answering + "/")


def test_a_page_is_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The UI answers any path below the server's address with its page."""
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: io.BytesIO(b"<!doctype html>"))
    with pytest.raises(DeviceError, match="no Prefect API: PREFECT_API_URL ends in /api"):
        require_server("http://127.0.0.1:4200")
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: io.BytesIO(b"true"))
    require_server("http://127.0.0.1:4200/api")


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/api", "nonsense", "http://[::1:4200/api"])
def test_a_server_that_is_not_there_is_one_line_before_anything_starts(
    url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", url)
    with (
        pytest.raises(DeviceError, match=r"no Prefect server at .*unset PREFECT_API_URL") as it,
        local_execution(tmp_path),
    ):
        pass
    assert url in it.value.message
    assert it.value.exit_code == 6


def test_what_ended_a_run_is_found_behind_a_server_that_is_gone() -> None:
    lost = type("ConnectError", (Exception,), {"__module__": "httpx"})("gone")
    lost.__context__ = QualityError("two segments have no audio")
    assert _cause_of(lost) is lost.__context__
    assert _cause_of(ValueError("a bug")) is None


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("finished", [True, False])
def test_a_loss_is_told_from_a_refusal(
    monkeypatch: pytest.MonkeyPatch, there: bool, finished: bool
) -> None:
    """A server that answers has refused, unless the book is finished: then only its end is lost."""
    monkeypatch.setattr(contact, "answers", lambda: there)
    result: Any = object() if finished else None
    monkeypatch.setattr(live, "find", lambda name: SimpleNamespace(result=result))
    lost = type("ConnectError", (Exception,), {"__module__": "httpx"})("gone")
    assert _is_loss(lost, "one") == (not there or finished)
    assert not _is_loss(ValueError("a bug"), "one")


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.EACCES, "permission denied; choose a place that you may write to"),
        (errno.EROFS, "the file system is read-only; choose another place"),
        (errno.ENOSPC, "the disk is full; free some space and run again"),
        (errno.EEXIST, "there is a file of that name; give a folder"),
        (errno.ENOTDIR, "it is a file, or lies below one; give a folder"),
        (errno.EIO, "Input/output error; choose another place"),
    ],
)
def test_each_refusal_has_its_own_advice(number: int, says: str) -> None:
    error = OSError(number, os.strerror(number))
    assert explain(error) == says
    assert says.startswith(reason(error))
