"""The server of a command starts, answers, stops, and outlives nobody.

A module named uvicorn stands in for the real one, so that these tests take a second and not twenty;
`tests/e2e` starts the real server.
"""

import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from flows.api_server import ApiServer
from loudr_core.errors import DeviceError

ANSWERS = """
    import http.server
    def run(app, *, host, port, **options):
        class Health(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200 if self.path == "/api/health" else 404)
                self.end_headers()
            def log_message(self, *words):
                pass
        http.server.HTTPServer((host, port), Health).serve_forever()
"""
HANGS = """
    import time
    def run(app, **options):
        time.sleep(120)
"""
BREAKS = """
    def run(app, **options):
        raise SystemExit("the database is locked")
"""
STUBBORN = """
    import signal, time
    def run(app, **options):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("ready", flush=True)
        time.sleep(120)
"""


def until(true: Callable[[], bool], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return true()


def gone(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[[str], ApiServer]]:
    """Return a maker of servers whose uvicorn is a few lines of ours."""
    made: list[ApiServer] = []

    def make(uvicorn: str) -> ApiServer:
        folder = tmp_path / "stand-in"
        folder.mkdir(exist_ok=True)
        (folder / "uvicorn.py").write_text(textwrap.dedent(uvicorn), encoding="utf-8")
        made.append(ApiServer(tmp_path / "home", {"PYTHONPATH": str(folder)}))
        return made[-1]

    yield make
    for each in made:
        each.stop()


def child_of(server: ApiServer, home: Path) -> psutil.Process:
    return psutil.Process(int((home / "prefect-server.pid").read_text().split()[0]))


def test_start_wait_stop(server: Callable[[str], ApiServer], tmp_path: Path) -> None:
    api = server(ANSWERS)
    api.start()
    child = child_of(api, tmp_path / "home")
    api.wait(30)
    assert api.url == f"http://127.0.0.1:{api.port}/api"
    assert not gone(child)
    api.stop()
    assert gone(child)
    assert not (tmp_path / "home" / "prefect-server.pid").exists()
    api.stop()  # a second time is nothing


def test_a_server_that_breaks_is_an_error_that_names_its_log(
    server: Callable[[str], ApiServer], tmp_path: Path
) -> None:
    api = server(BREAKS)
    api.start()
    with pytest.raises(DeviceError, match=r"did not start: see .*prefect-server.log.*inline"):
        api.wait(30)
    log = (tmp_path / "home" / "logs" / "prefect-server.log").read_text()
    assert "the database is locked" in log


def test_a_server_that_does_not_answer_is_an_error(server: Callable[[str], ApiServer]) -> None:
    api = server(HANGS)
    api.start()
    with pytest.raises(DeviceError, match="did not answer in 1 s"):
        api.wait(0.5 + 0.6)


def test_waiting_ends_when_the_command_is_stopped(server: Callable[[str], ApiServer]) -> None:
    api = server(HANGS)
    api.start()
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    started = time.monotonic()
    api.wait(60, cancel=cancel)
    assert time.monotonic() - started < 30


def test_a_server_that_ignores_the_wish_to_stop_is_killed(
    server: Callable[[str], ApiServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.api_server._STOP_TIMEOUT_S", 0.3)
    api = server(STUBBORN)
    api.start()
    log = tmp_path / "home" / "logs" / "prefect-server.log"
    assert until(lambda: "ready" in log.read_text())
    child = child_of(api, tmp_path / "home")
    api.stop()
    assert gone(child)


def test_the_server_leaves_when_its_command_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "stand-in"
    folder.mkdir()
    (folder / "uvicorn.py").write_text(textwrap.dedent(HANGS), encoding="utf-8")
    script = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from flows.api_server import ApiServer\n"
        "home, stand_in = map(Path, sys.argv[1:])\n"
        "ApiServer(home, {'PYTHONPATH': str(stand_in)}).start()\n"
        "print('started', flush=True)\n"
        "time.sleep(120)\n"
    )
    command = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path), str(folder)], stdout=subprocess.PIPE
    )
    assert command.stdout is not None
    with command.stdout:
        assert command.stdout.readline() == b"started\n"
    child = psutil.Process(int((tmp_path / "prefect-server.pid").read_text().split()[0]))
    assert not gone(child)
    command.kill()
    command.wait(60)
    assert until(lambda: gone(child), 10)


def orphan(seconds: int = 120) -> psutil.Process:
    """Start a process whose parent has left already."""
    script = (
        "import subprocess, sys\n"
        "none = subprocess.DEVNULL\n"
        f"print(subprocess.Popen(['sleep', '{seconds}'], stdout=none, stderr=none).pid)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, timeout=60
    )
    return psutil.Process(int(done.stdout))


def test_what_a_crash_left_is_ended(server: Callable[[str], ApiServer], tmp_path: Path) -> None:
    left = orphan()
    if left.ppid() != 1:
        left.kill()
        pytest.skip("orphans are not handed to process 1 here")
    home = tmp_path / "home"
    home.mkdir()
    (home / "prefect-server.pid").write_text(f"{left.pid} {left.create_time()}")
    api = server(ANSWERS)
    api.start()
    assert until(lambda: gone(left))
    assert child_of(api, home).pid != left.pid


@pytest.mark.parametrize("named", ["another start time", "a living parent"])
def test_a_process_that_is_not_ours_is_left_alone(
    server: Callable[[str], ApiServer], tmp_path: Path, named: str
) -> None:
    """Process ids come round again, and another command of this home may be at work."""
    home = tmp_path / "home"
    home.mkdir()
    if named == "a living parent":
        child = subprocess.Popen(["sleep", "120"])
        other = psutil.Process(child.pid)
        started = other.create_time()
    else:
        child = None
        other = orphan()
        started = other.create_time() - 100
    try:
        (home / "prefect-server.pid").write_text(f"{other.pid} {started}")
        api = server(HANGS)
        api.start()
        assert not gone(other)
    finally:
        other.kill()
        if child is not None:
            child.wait(60)


@pytest.mark.parametrize("text", ["", "nonsense", "1", "999999999 1.0", "{this} 0.0"])
def test_a_pid_file_that_says_nothing_is_no_trouble(
    server: Callable[[str], ApiServer], tmp_path: Path, text: str
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "prefect-server.pid").write_text(text.format(this=os.getpid()))
    api = server(HANGS)
    api.start()
    assert not gone(child_of(api, home))
