"""`loudr serve` on one machine: what it offers, how it stops, what is left when it is killed."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sysconfig
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

LOUDR = Path(sysconfig.get_path("scripts")) / "loudr"


@dataclass
class Service:
    """A `loudr serve` under way."""

    process: "subprocess.Popen[bytes]"
    port: int
    log: Path

    def ask(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/{path}", data=data, headers=headers
        )
        for _ in range(20):
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return json.loads(answer.read() or b"null")
            except urllib.error.HTTPError as error:  # what SQLite is too busy for
                if error.code != 503:
                    raise
                error.close()
                time.sleep(1)
        raise AssertionError(f"{path} is not answered")

    def start(self, deployment: str, **request: Any) -> str:
        found = self.ask(f"api/deployments/name/{deployment}/{deployment}")
        body = {"parameters": {"request": request}}
        return str(self.ask(f"api/deployments/{found['id']}/create_flow_run", body)["id"])

    def state(self, run: str) -> str:
        return str(self.ask(f"api/flow_runs/{run}")["state_type"])

    def until(self, what: Callable[[], bool], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not what():
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.5)

    def family(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)


def left(family: list[psutil.Process], seconds: float = 10.0) -> list[psutil.Process]:
    """Return which processes are still at work after so long; one to be reaped does nothing."""
    deadline = time.monotonic() + seconds
    while still := [each for each in family if at_work(each)]:
        if time.monotonic() > deadline:
            return still
        time.sleep(0.1)
    return []


def at_work(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


Serve = Callable[..., Service]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Return a way to start it; the same home each time."""
    started: list[Service] = []
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])

    def start(*options: str | Path) -> Service:
        log = tmp_path / f"serve-{len(started)}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [str(LOUDR), "serve", "--port", str(port), *map(str, options)],
                env={
                    "PATH": "/usr/bin:/bin",
                    "HOME": str(tmp_path),
                    "LOUDR_HOME": str(tmp_path / "home"),
                    "LOUDR_ENGINE": "fake",
                    "LOUDR_OPTIONS": json.dumps({"sleep_s": 0.2}),
                    "LOUDR_WORKERS": "1",
                },
                cwd=tmp_path,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        service = Service(process, port, log)
        started.append(service)
        service.until(lambda: "serving" in log.read_text() or process.poll() is not None, 180)
        assert process.poll() is None, log.read_text()
        return service

    yield start
    for service in started:
        if service.process.poll() is None:
            family = service.family()
            service.process.kill()
            for child in family:
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()
            service.process.wait()


def test_it_serves_stops_and_is_killed(
    serve: Serve, tmp_path: Path, tone_book: Callable[..., Path]
) -> None:
    (tmp_path / "inbox").mkdir()
    options = ("--drop", "inbox", "-o", "out", "--settle", "1", "--drop-every", "30")
    service = serve(*options)
    said = service.log.read_text()
    assert f"UI: http://127.0.0.1:{service.port}" in said
    assert "drop-folder     every 30 s" in said
    with urllib.request.urlopen(f"http://127.0.0.1:{service.port}/", timeout=30) as page:
        assert b"<html" in page.read().lower()
    settings = service.ask("ui-settings")
    assert settings["api_url"] == "/api", "wherever the page is reached from"
    names = {each["name"] for each in service.ask("api/deployments/filter", {})}
    assert names == {
        "render-book", "nightly", "drop-folder", "render-dropped", "rerender", "approve", "prune",
    }  # fmt: skip
    (automation,) = service.ask("api/automations/filter", {})
    assert automation["trigger"]["posture"] == "Proactive"

    (server,) = [
        each for each in psutil.Process(service.process.pid).children()
        if "flows.api_server_child" in each.cmdline()
    ]  # fmt: skip
    server.kill()
    service.until(lambda: "starting it again" in service.log.read_text(), 30)

    (tmp_path / "inbox" / "short.md").write_text("# Short\n\nThe lamp was lit at dusk.\n")
    status = tmp_path / "inbox" / "short.md.status.json"
    service.until(lambda: status.is_file() and '"done"' in status.read_text(), 180)
    assert (tmp_path / "out" / "Short.m4b").is_file()

    long = tone_book(chapters=3, paragraphs=60, title="Long")
    run = service.start("render-book", book=str(long), dest=str(tmp_path / "out"))
    takes = tmp_path / "home" / "store" / "audio"
    few = len(list(takes.rglob("*.flac")))
    service.until(lambda: len(list(takes.rglob("*.flac"))) > few + 3, 120)
    family = service.family()
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(60) == 0
    assert not left(family), "stopped, and all with it"
    assert service.log.read_text().rstrip().endswith("stopped")
    assert "Traceback" not in service.log.read_text()

    again = serve(*options)
    assert again.state(run) == "CANCELLED"
    (automation,) = again.ask("api/automations/filter", {})
    run = again.start("render-book", book=str(long), dest=str(tmp_path / "out"))
    few = len(list(takes.rglob("*.flac")))
    again.until(lambda: len(list(takes.rglob("*.flac"))) > few + 3, 120)
    family = again.family()
    words = {word for each in family for word in each.cmdline()}
    assert {"flows.api_server_child", "loudr_core.speech.worker"} <= words
    os.kill(again.process.pid, signal.SIGKILL)
    again.process.wait()
    assert not left(family), "killed, and nothing is left ten seconds later"

    third = serve(*options)
    assert third.state(run) == "CRASHED", "what it left is closed"
    run = third.start("render-book", book=str(long), dest=str(tmp_path / "out"), chapters=[1])
    third.until(lambda: third.state(run) == "COMPLETED", 180)


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = subprocess.run(
            [str(LOUDR), "serve", "--port", str(taken.getsockname()[1])],
            env={"PATH": "/usr/bin:/bin", "LOUDR_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.returncode == 6
    assert "is taken, perhaps by another `loudr serve`" in done.stderr
    assert "Traceback" not in done.stderr
