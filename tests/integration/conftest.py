"""A farm on one machine: an S3 server, a Prefect server, and three workers of one pool.

The S3 server is Ceph's gateway where Debian's packages of it are installed, else moto's; each run
says which. Everything is ended with the tests, also when they are killed.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from said import Said, finished

from flows import prefect_environment
from flows.api_server import ApiServer
from loudr_core.errors import DeviceError
from loudr_core.store.open import open_store

HERE = Path(__file__).parent
LOUDR = Path(sysconfig.get_path("scripts")) / "loudr"
WORK_POOL = "loudr-test"
WORKERS = ("machine-a", "machine-b", "machine-c")
HANG_S = 12.0
"""After which a segment of a machine's engine process counts as hung; most take half a second."""
_OVER = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
KEYS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "testtesttest",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@pytest.hookimpl(tryfirst=True)  # before the groups are looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.integration)
        if "whole_farm" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("farm"))  # there is one, for all of them


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Show what tests have measured."""
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")


def pytest_report_header() -> str:
    server = "Ceph's gateway" if has_ceph() else "moto's: radosgw, ceph-mon or ceph-osd is not here"
    return f"integration: the S3 server is {os.environ.get('LOUDR_TEST_S3') or server}"


def has_ceph() -> bool:
    return all(shutil.which(program) for program in ("radosgw", "ceph-mon", "ceph-osd"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of the S3 server that `LOUDR_TEST_S3` names, of Ceph's, or of moto's."""
    named = os.environ.get("LOUDR_TEST_S3")
    if named:
        yield named
    elif has_ceph():
        yield from _ceph(tmp_path_factory.mktemp("ceph"))
    else:
        from moto.server import ThreadedMotoServer

        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
        server.stop()


def _ceph(folder: Path) -> Iterator[str]:
    ports = (str(free_port()), str(free_port()))
    process = subprocess.Popen(
        [HERE / "ceph.sh", folder, *ports],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    word, _, url = process.stdout.readline().strip().partition(" ")
    if word != "ready":
        process.kill()
        pytest.skip(f"Ceph does not start: {process.communicate()[1].strip()[-300:]}")
    yield url
    process.terminate()
    process.communicate(timeout=30)


@pytest.fixture(scope="session")
def surroundings(s3_server: str) -> dict[str, str]:
    """Return the variables of every process: the keys of the S3 server, and nothing of ours."""
    return {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "AWS_ENDPOINT_URL_S3": s3_server,
        "AWS_CONFIG_FILE": "/nonexistent/config",
        "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent/credentials",
        **KEYS,
    }


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """Return a Prefect server."""
    place = tmp_path_factory.mktemp("server")
    # A port of its own, so that one that is killed is found again when it is started anew.
    server = ApiServer(place, prefect_environment.quiet(place), port=free_port())
    server.start()
    try:
        try:
            server.wait()
        except DeviceError as error:
            pytest.skip(error.message)
        yield server
    finally:
        server.stop()


@dataclass
class Machine:
    """One worker, as a machine of its own would run it."""

    name: str
    process: "subprocess.Popen[bytes]"
    log: Path

    @property
    def flows(self) -> list[psutil.Process]:
        """The flow runs that it has in hand, as processes."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self.process.pid).children()
        return []

    @property
    def engines(self) -> list[psutil.Process]:
        """The engine processes of these."""
        found = []
        for flow in self.flows:
            with contextlib.suppress(psutil.NoSuchProcess):
                found += [
                    each
                    for each in flow.children(recursive=True)
                    if "loudr_core.speech.worker" in each.cmdline()
                ]
        return found

    def kill_flow(self) -> None:
        """Do what the kernel does when memory ends: kill the flow, and leave the worker."""
        for flow in self.flows:
            flow.kill()

    def die(self) -> None:
        """Kill everything on it at once, as when the current fails."""
        with contextlib.suppress(psutil.NoSuchProcess):
            everything = psutil.Process(self.process.pid).children(recursive=True)
            self.process.kill()
            for process in everything:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        self.process.wait()


@dataclass
class Farm:
    """The workers, and the server that gives them work."""

    api: ApiServer
    place: Path
    surroundings: dict[str, str]
    machines: dict[str, Machine] = field(default_factory=dict)

    def variables(self, name: str) -> dict[str, str]:
        """Return the environment of whatever runs on a machine."""
        home = self.place / name
        home.mkdir(exist_ok=True)
        return {
            **self.surroundings,
            **prefect_environment.quiet(home),
            "PREFECT_API_URL": self.api.url,
            "PREFECT_WORKER_QUERY_SECONDS": "1",
            "PREFECT_LOGGING_LEVEL": "INFO",
            "HOME": str(home),
            "LOUDR_HOME": str(home),
            "LOUDR_ENGINE": "fake",
            "LOUDR_TEXT__MERGE_SHORT": "false",
            "LOUDR_WORKERS": "1",
            "LOUDR_HANG_S": str(HANG_S),
            "LOUDR_HANG_FACTOR": "1",
        }

    def complete(self) -> "Farm":
        """Start the machines that do not run, and wait until all of them take work."""
        for name in WORKERS:
            machine = self.machines.get(name)
            if machine is None or machine.process.poll() is not None:
                self.machines[name] = self._start(name)
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            workers = self.ask(f"work_pools/{WORK_POOL}/workers/filter")
            online = {each["name"] for each in workers if each["status"] == "ONLINE"}
            logs = {name: self.machines[name].log.read_text() for name in WORKERS}
            if online >= set(WORKERS) and all("started!" in log for log in logs.values()):
                return self
            time.sleep(0.5)
        raise AssertionError("the workers did not start in time")

    def _start(self, name: str) -> Machine:
        log = self.place / f"{name}.log"
        log.unlink(missing_ok=True)
        command = [
            sys.executable, "-m", "prefect", "worker", "start", "--pool", WORK_POOL,
            "--type", "process", "--name", name, "--limit", "1",
        ]  # fmt: skip
        with log.open("wb") as out:
            process = subprocess.Popen(
                command,
                env=self.variables(name),
                cwd=self.place,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        return Machine(name, process, log)

    def kill_server(self) -> None:
        """Kill the server; the file of its database stays."""
        (process,) = (
            each
            for each in psutil.Process().children()
            if each.cmdline()[-2:] == ["flows.api_server_child", str(self.api.port)]
        )
        process.kill()
        self.api.stop()

    def start_server(self) -> None:
        """Start it again, where it was."""
        self.api.start()
        self.api.wait()

    def stop(self) -> None:
        """End every machine."""
        for machine in self.machines.values():
            machine.die()

    def ask(self, path: str, **body: Any) -> Any:
        """Ask the server, as `ask("flow_runs/filter", sort="NAME_ASC")`."""
        request = urllib.request.Request(
            f"{self.api.url}/{path}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        deadline = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:  # what SQLite is too busy for
                if error.code != 503 or time.monotonic() > deadline:
                    raise
                error.close()
                time.sleep(1)

    def run(self, deployment: str, **request: Any) -> dict[str, Any]:
        """Have a deployment run with this request, and return the run when it is over."""
        (found,) = self.ask(
            "deployments/filter", deployments={"name": {"any_": [deployment]}}, limit=1
        )
        made = self.ask(
            f"deployments/{found['id']}/create_flow_run", parameters={"request": request}
        )
        return self.ended(made["id"])[0]

    def ended(self, *runs: str, seconds: float = 180.0) -> list[dict[str, Any]]:
        """Return these runs when all of them are over."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = self.ask("flow_runs/filter", flow_runs={"id": {"any_": list(runs)}})
            if all(run["state_type"] in _OVER for run in found):
                return list(found)
            time.sleep(0.5)
        raise AssertionError(f"not over: {[run['state'] for run in found]}")

    def runs_of(self, flow: str) -> list[dict[str, Any]]:
        """Return every run of a flow, the first first."""
        return list(
            self.ask(
                "flow_runs/filter",
                flows={"name": {"any_": [flow]}},
                sort="START_TIME_ASC",
                limit=200,
            )
        )


@pytest.fixture(scope="session")
def whole_farm(
    api: ApiServer, surroundings: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Farm]:
    """Return the farm with its work pool and deployments, before any machine runs."""
    farm = Farm(api, tmp_path_factory.mktemp("farm"), surroundings)
    (farm.place / "unused").mkdir()
    done = subprocess.run(
        [str(LOUDR), "deploy", "--pool", WORK_POOL, "--store", str(farm.place / "unused")],
        env=farm.variables("operator"),
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    try:
        yield farm
    finally:
        farm.stop()


@pytest.fixture
def farm(whole_farm: Farm) -> Farm:
    """Return the farm with all its machines at work."""
    return whole_farm.complete()


@dataclass
class Command:
    """A command under way."""

    process: "subprocess.Popen[str]"

    def finish(self, seconds: float = 240.0) -> Said:
        """Return what it came to."""
        return finished(self.process, seconds)


@pytest.fixture
def loudr(surroundings: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., Command]]:
    """Return a way to start `loudr`, with more variables as keywords."""
    started: list[Command] = []

    def start(*arguments: str | Path, home: str = "operator", **variables: str) -> Command:
        place = tmp_path / home
        place.mkdir(exist_ok=True)
        process = subprocess.Popen(
            [str(LOUDR), *map(str, arguments)],
            env={
                **surroundings,
                "HOME": str(place),
                "LOUDR_HOME": str(place),
                "LOUDR_ENGINE": "fake",
                "LOUDR_TEXT__MERGE_SHORT": "false",
                **variables,
            },
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(Command(process))
        return started[-1]

    yield start
    for command in started:
        if command.process.poll() is None:
            command.process.kill()
            command.process.communicate(timeout=60)


class Watcher:
    """Looks into a bucket again and again, and remembers every version of every object."""

    def __init__(self, url: str, *prefixes: str) -> None:
        self.versions: Counter[str] = Counter()
        self._store = open_store(url)
        self._prefixes = prefixes
        self._seen: set[tuple[str, float]] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def look(self) -> int:
        """Look once; return how many objects there are."""
        count = 0
        for prefix in self._prefixes:
            for entry in self._store.entries(prefix):
                count += 1
                if (entry.key, entry.modified_s) not in self._seen:
                    self._seen.add((entry.key, entry.modified_s))
                    self.versions[entry.key] += 1
        return count

    def _watch(self) -> None:
        while not self._stop.wait(0.5):
            self.look()

    def stop(self) -> None:
        """Look a last time."""
        self._stop.set()
        self._thread.join()
        self.look()


@pytest.fixture
def watcher() -> Iterator[Callable[..., Watcher]]:
    """Return a way to watch prefixes of a store: `watcher(url, "audio/")`."""
    started: list[Watcher] = []

    def start(url: str, *prefixes: str) -> Watcher:
        started.append(Watcher(url, *prefixes))
        return started[-1]

    yield start
    for each in started:
        each.stop()


@pytest.fixture
def tone_book(tmp_path: Path) -> Callable[..., Path]:
    """Return a writer of Markdown books that the engine of tones speaks, no line as another."""

    def write(*, chapters: int = 4, paragraphs: int = 10, title: str = "Tones") -> Path:
        lines = [f"# {title}", ""]
        names = ("One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight")
        months = ("May", "June", "July", "March", "April", "August")
        for chapter in range(chapters):
            lines += [f"## {title}, Part {names[chapter]}", ""]
            for number in range(paragraphs):
                place = chapter * paragraphs + number
                lines += [
                    f"Paragraph {place} of {title} tells of a boat that went out past the wall on "
                    f"a morning in {months[place % 6]}, and of those who stood there to watch it.",
                    "",
                ]
        path = tmp_path / f"{title.lower().replace(' ', '-')}.md"
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    return write
