"""`loudr doctor` on a farm: server, deployment, workers, a store whose claims have one winner."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from flows.commands import doctor_farm
from flows.commands.doctor_farm import farm
from flows.configuration import Settings
from loudr_core.errors import StoreError
from loudr_core.store.local import LocalStore

NAME = "/api/deployments/name/render-shard/render-shard"
WORKERS = "/api/work_pools/gpus/workers/filter"


class Prefect(HTTPServer):
    """As much of a Prefect server as is asked."""

    answers: dict[str, Any]
    refuses = 0


class Answer(BaseHTTPRequestHandler):
    server: Prefect

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        found = self.server.answers.get(self.path)
        self.send_response(self.server.refuses or (404 if found is None else 200))
        self.end_headers()
        self.wfile.write(json.dumps(found).encode())

    do_POST = do_GET

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def prefect(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Prefect]:
    server = Prefect(("127.0.0.1", 0), Answer)
    server.answers = {
        "/api/health": True,
        NAME: {"work_pool_name": "gpus"},
        WORKERS: [{"status": "ONLINE"}, {"status": "OFFLINE"}, {"status": "ONLINE"}],
    }
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    monkeypatch.setenv("LOUDR_HOME", str(tmp_path))
    monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{server.server_port}/api/")
    yield server
    server.shutdown()
    thread.join(60)
    server.server_close()


def looked(**settings: Any) -> dict[str, tuple[str, str]]:
    return {what: (state, said) for what, state, said in farm(Settings(**settings))}


def test_a_farm_that_works(prefect: Prefect) -> None:
    found = looked(executor="pool")
    assert {what: state for what, (state, _) in found.items()} == {
        "Prefect server": "ok", "workers for shards": "ok", "store of a farm": "ok",
    }  # fmt: skip
    assert found["workers for shards"][1] == "2 online in the pool gpus"
    assert "same path" in found["store of a farm"][1]


@pytest.mark.parametrize(("executor", "state"), [("pool", "broken"), ("local", "missing")])
@pytest.mark.parametrize(
    ("path", "answer", "said"),
    [
        (NAME, None, "no deployment render-shard/render-shard: `loudr deploy` makes it"),
        (NAME, {"work_pool_name": None}, "has no work pool"),
        (WORKERS, [], "none is online in the pool gpus: start one with `prefect worker start"),
    ],
)
def test_what_a_farm_lacks_says_what_to_do(
    prefect: Prefect, path: str, answer: Any, said: str, executor: str, state: str
) -> None:
    prefect.answers[path] = answer
    found = looked(executor=executor)["workers for shards"]
    assert found[0] == state
    assert said in found[1]


def test_a_server_with_a_login_is_there(prefect: Prefect) -> None:
    prefect.refuses = 401
    found = looked(executor="pool")
    assert found["Prefect server"][0] == "ok"
    assert found["workers for shards"][0] == "missing"
    assert "wants a login (401)" in found["workers for shards"][1]


def test_a_server_that_is_not_there_is_one_row(
    prefect: Prefect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    ((what, state, said),) = farm(Settings())
    assert (what, state) == ("Prefect server", "broken")
    assert "does not answer" in said
    assert "\n" not in said


def test_without_a_farm_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    assert looked() == {}
    assert looked(executor="pool")["Prefect server"][0] == "broken"


def test_a_store_in_which_two_win_will_not_do(
    prefect: Prefect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalStore, "put_if_absent", lambda it, key, data: True)
    state, said = looked()["store of a farm"]
    assert state == "broken"
    assert "two writers win" in said


def test_a_clock_that_differs_is_said(prefect: Prefect, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = LocalStore.now_s
    monkeypatch.setattr(LocalStore, "now_s", lambda it: now_s(it) - 3600)
    state, said = looked()["store of a farm"]
    assert state == "missing"
    assert "+3600 s" in said or "+3599 s" in said or "+3601 s" in said


def test_a_store_that_refuses_is_its_line(
    prefect: Prefect, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(settings: Settings) -> LocalStore:
        raise StoreError("no such bucket")

    monkeypatch.setattr(doctor_farm, "open_settings_store", refuse)
    assert looked()["store of a farm"] == ("broken", "no such bucket")
