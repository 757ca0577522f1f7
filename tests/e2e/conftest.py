"""The command line as a user starts it, in a home of its own."""

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from said import Said, finished

from flows import prefect_environment
from flows.api_server import ApiServer
from loudr_core.audio.takefile import decode_take
from loudr_core.jobs.table import Job, read_jobs, read_row_keys

ROOT = Path(__file__).parents[2]
LOUDR = Path(sysconfig.get_path("scripts")) / "loudr"
SERVER, ENGINE = "flows.api_server_child", "loudr_core.speech.worker"
"""What the commands of the API server and of engine processes are told by."""
LIMIT_S = 240.0
"""Longest time for one command; several times what it takes on two busy cores."""


@dataclass
class Command:
    """A command under way, in a process group of its own as a shell would give it."""

    process: "subprocess.Popen[str]"
    family: set[psutil.Process] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)
    """Which of loudr's own programs were among them."""

    def watch(self) -> None:
        """Remember which processes belong to it now."""
        try:
            main = psutil.Process(self.process.pid)
            self.family |= {main, *main.children(recursive=True)}
            words = {word for each in self.family for word in each.cmdline()}
            self.kinds |= {SERVER, ENGINE} & words
        except psutil.NoSuchProcess:
            pass

    def until(self, true: Callable[[], bool], seconds: float = LIMIT_S) -> None:
        """Wait for something to be true while the command runs."""
        deadline = time.monotonic() + seconds
        while not true():
            assert self.process.poll() is None, f"it ended too early:\n{self.finish().err}"
            assert time.monotonic() < deadline, "it took too long"
            time.sleep(0.005)

    def kill(self) -> None:
        """Kill its main process, and nothing else, at once."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)

    def interrupt(self) -> None:
        """Do what Ctrl-C in a terminal does: tell the whole process group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def finish(self) -> Said:
        """Return what it came to."""
        return finished(self.process, LIMIT_S)

    def left(self, seconds: float = 10.0) -> list[psutil.Process]:
        """Return which of its processes are still at work after so long."""
        deadline = time.monotonic() + seconds
        while (still := [each for each in self.family if at_work(each)]) and (
            time.monotonic() < deadline
        ):
            time.sleep(0.05)
        return still


def at_work(process: psutil.Process) -> bool:
    """Say whether a process does anything; one that waits to be reaped does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@dataclass(frozen=True)
class Loudr:
    """Starts commands with nothing around them but what is given here."""

    home: Path
    variables: dict[str, str]

    def with_(self, **variables: str) -> "Loudr":
        """Return the same with more variables."""
        return Loudr(self.home, {**self.variables, **variables})

    def start(self, *arguments: str | Path) -> Command:
        """Start a command and return at once."""
        return self.start_program(LOUDR, *arguments)

    def start_program(self, *command: str | Path) -> Command:
        """Start another program in the same surroundings."""
        return Command(
            subprocess.Popen(
                list(map(str, command)),
                cwd=self.home,
                env={
                    "PATH": "/usr/bin:/bin",
                    "HOME": str(self.home),
                    "LANG": "C.UTF-8",
                    "LOUDR_HOME": str(self.home),
                    **self.variables,
                },
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        )

    def __call__(self, *arguments: str | Path) -> Said:
        """Run a command to its end."""
        return self.start(*arguments).finish()


@dataclass(frozen=True)
class Shelf:
    """What a store holds, looked at from outside."""

    path: Path

    @property
    def takes(self) -> dict[str, tuple[int, int]]:
        """Take key to inode and time of change of its file."""
        return {
            path.stem: (path.stat().st_ino, path.stat().st_mtime_ns)
            for path in self.path.glob("audio/*/*.flac")
        }

    @property
    def choices(self) -> set[tuple[str, str]]:
        """Job and take of every choice."""
        found = (json.loads(path.read_text()) for path in self.path.glob("choice/*/*.json"))
        return {(choice["job_key"], choice["take_key"]) for choice in found}

    @property
    def rows(self) -> set[tuple[str, str]]:
        """Job and take of every row of the results tables."""
        tables = self.path.glob("books/*/plans/*/results/*.parquet")
        return {(job, take) for path in tables for job, take, _ in read_row_keys(path.read_bytes())}

    @property
    def pieces(self) -> int:
        """Encoded pieces."""
        return sum(1 for _ in self.path.glob("aac/*/*"))

    @property
    def jobs(self) -> list[Job]:
        """Jobs of the one plan in it; none before it is there."""
        plans = list(self.path.glob("books/*/plans/*/plan.json"))
        return read_jobs(plans[0].with_name("jobs.parquet").read_bytes()) if plans else []


@pytest.fixture
def test_sample() -> Path:
    """Return the book that comes with loudr."""
    return ROOT / "examples" / "the-lamp-at-skerry-head.epub"


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home of loudr that several tests use, since Prefect's tables take long to make."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def loudr(home: Path) -> Loudr:
    """Return the command line with Prefect, its own server included."""
    return Loudr(home, {"LOUDR_ENGINE": "fake", "LOUDR_WORKERS": "2"})


@pytest.fixture
def inline(home: Path, loudr: Loudr) -> Loudr:
    """Return the command line without Prefect."""
    return loudr.with_(LOUDR_EXECUTOR="inline")


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """Return a Prefect server that runs already."""
    place = tmp_path_factory.mktemp("server")
    server = ApiServer(place, prefect_environment.quiet(place))
    server.start()
    try:
        server.wait()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def ask(api: ApiServer) -> Callable[..., Any]:
    """Return a way to ask that server, as `ask("flow_runs/filter", sort="NAME_ASC")`."""

    def post(path: str, **body: Any) -> Any:
        request = urllib.request.Request(
            f"{api.url}/{path}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    return post


@dataclass(frozen=True)
class SmallDisk:
    """A file system of a few megabytes."""

    path: Path

    def resize(self, mebibytes: float) -> None:
        """Give it another size."""
        self._mount("remount,", mebibytes)

    def _mount(self, how: str, mebibytes: float) -> None:
        size = f"size={round(mebibytes * 1024)}k"
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", how + size, "tmpfs", self.path],
            capture_output=True,
            text=True,
            timeout=60,
        )
        if done.returncode:
            pytest.skip(f"nothing may be mounted here: {done.stderr.strip()}")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """Return a file system of 3 MiB, or skip where none can be mounted."""
    if not shutil.which("mount"):
        pytest.skip("there is no mount here")
    disk = SmallDisk(tmp_path / "disk")
    disk.path.mkdir()
    disk._mount("", 3)
    yield disk
    subprocess.run(["umount", "--lazy", disk.path], check=True, timeout=60)


@pytest.fixture
def shelf() -> type[Shelf]:
    """Return the class that looks into a store."""
    return Shelf


FERRY = """# The Ferry

The ferry left at noon, and nobody waved from the shore. It was a calm day; the water lay still.

"Who is that on the pier?" asked the boy. His aunt did not answer him at once.

# The Far Shore

They came to the far shore before the lamps were lit, and 7 boats lay there without a mast.

The boy counted them twice, and then he slept.
"""


@pytest.fixture
def ferry_book(tmp_path: Path) -> Path:
    """Return a book of two chapters for engines that are slow."""
    path = tmp_path / "ferry.md"
    path.write_text(FERRY, encoding="utf-8")
    return path


@pytest.fixture
def rendered_twice(
    inline: Loudr, shelf: type[Shelf], ferry_book: Path, tmp_path: Path
) -> Callable[..., None]:
    """Return a check: an engine speaks the book of two chapters, then finds its takes."""

    def check(
        *arguments: str | Path,
        engine: str,
        voice: str,
        sample_rate_hz: int,
        may_retry: bool = False,
        **variables: str,
    ) -> None:
        store = tmp_path / "store"
        render = inline.with_(LOUDR_WORKERS="1", **variables)
        command = (
            *("render", ferry_book, "--engine", engine, *arguments),
            *("--store", store, "-o", tmp_path / "out", "--json"),
        )
        result = render(*command).json
        (file,) = result["files"]
        assert Path(file["path"]).stat().st_size == file["bytes"]
        assert file["chapters"] == 2
        segments = result["segments"]
        assert segments["failed"] == 0
        assert segments["rendered"] >= segments["total"] >= 4
        if not may_retry:
            assert segments["retried"] == 0
            assert segments["rendered"] == segments["total"]
        for job in shelf(store).jobs:
            assert (job.engine, job.voice) == (engine, voice)
            path = store / "audio" / job.job_key[:2] / f"{job.job_key}.flac"
            take = decode_take(path.read_bytes())
            assert take.sample_rate_hz == sample_rate_hz
            assert len(take.pcm) > sample_rate_hz // 4
        again = render(*command).json
        assert again["segments"]["rendered"] == 0
        assert again["pcm_sha256"] == result["pcm_sha256"]

    return check


SPELLS = """
import sys
if "--version" in sys.argv:
    print("eSpeak NG text-to-speech: 1.52 stand-in")
else:
    words = sys.stdin.read().lower()
    print("".join(each for each in words if each.isalpha() or each == " ").replace("g", "\\u0261"))
"""


@pytest.fixture
def programs(tmp_path: Path) -> str:
    """Return a PATH with a program of espeak-ng's name, which spells words as they are written."""
    folder = tmp_path / "programs"
    folder.mkdir()
    script = folder / "espeak.py"
    script.write_text(SPELLS, encoding="utf-8")
    program = folder / "espeak-ng"
    # A first line `#!python` could not name a folder with a space in it.
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"


@pytest.fixture
def tone_book(tmp_path: Path) -> Callable[..., Path]:
    """Return a writer of Markdown books that the engine of tones speaks."""

    def write(
        *, chapters: int = 3, paragraphs: int = 12, extra: str = "", title: str = "Tones"
    ) -> Path:
        lines = [f"# {title}", ""]
        names = ("One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight")
        months = ("May", "June", "July", "March", "April", "August")
        for chapter in range(chapters):
            lines += [f"## Part {names[chapter]}", ""]
            for number in range(paragraphs):
                place = chapter * paragraphs + number
                lines += [
                    f"Paragraph {place} tells of a boat that went out past the harbour wall on a "
                    f"morning in {months[place % 6]}, and of those who stood there to watch it.",
                    "",
                ]
        path = tmp_path / "tones.md"
        path.write_text("\n".join([*lines, extra, ""]), encoding="utf-8")
        return path

    return write
