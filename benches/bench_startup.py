"""Time the way from the command to the first finished segment, on one machine.

    python benches/bench_startup.py [--book BOOK] [--rounds 3]

Three ways, taking turns: `server` starts a Prefect server of its own, `named` has one that is up
already, `inline` has none. The home has been used before, the store is empty. A run is stopped
as soon as both things that count have been seen: the server's first answer, asked for from outside,
and the first choice in the store, by the time of its file. The line at the end gives wall seconds
since the command, and the processor seconds that all its processes had taken by the first choice;
on a busy machine believe the latter.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from measuring import ROOT, emit, environment, fresh_home, loudr_command, spread, used_home

from flows import prefect_environment
from flows.api_server import ApiServer

WAYS = ("server", "named", "inline")
LIMIT_S = 180.0
LOOK_S = 0.02


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sample = ROOT / "examples" / "the-lamp-at-skerry-head.epub"
    parser.add_argument("--book", type=Path, default=sample)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    return parser.parse_args()


@contextmanager
def running_server(used: Path) -> Iterator[str]:
    """Give the address of a Prefect server that answers, with tables as those of a used home."""
    with fresh_home() as home:
        shutil.copytree(used / "prefect", home / "prefect")
        server = ApiServer(home, prefect_environment.quiet(home))
        server.start()
        try:
            server.wait()
            yield server.url
        finally:
            server.stop()


def first_choice_s(store: Path) -> float | None:
    """Return when the first choice was written, in seconds of the clock; None before that."""
    times = [path.stat().st_mtime for path in store.glob("choice/*/*.json")]
    return min(times, default=None)


def cpu_s(process: psutil.Process) -> float:
    """Return the processor seconds of a process and all that it has started and not yet ended."""
    total = 0.0
    with suppress(psutil.NoSuchProcess):
        for each in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                times = each.cpu_times()
                total += times.user + times.system
    return total


def answers(home: Path) -> bool:
    """Say whether the server that the home's pid file names answers."""
    with suppress(OSError, ValueError, psutil.Error):
        pid = int((home / "prefect-server.pid").read_text().split()[0])
        port = psutil.Process(pid).cmdline()[-1]
        urllib.request.urlopen(f"http://127.0.0.1:{port}/api/health", timeout=1).close()
        return True
    return False


def one_run(book: Path, home: Path, way: str, url: str) -> dict[str, float]:
    """Start one render, see what counts, and stop it."""
    with tempfile.TemporaryDirectory(prefix="loudr-bench-") as scratch:
        store = Path(scratch) / "store"
        env = environment(home)
        if way == "named":
            env["PREFECT_API_URL"] = url
        words = ["render", book, "-o", scratch, "--store", store]
        if way == "inline":
            words += ["--executor", "inline"]
        began = time.time()
        process = subprocess.Popen(
            loudr_command(*words), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        try:
            return watched(psutil.Process(process.pid), home, store, began, way == "server")
        finally:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            process.communicate()


def watched(
    process: psutil.Process, home: Path, store: Path, began: float, server: bool
) -> dict[str, float]:
    """Return the seconds from the command to each thing that counts."""
    seen: dict[str, float] = {}
    wanted = {"first_choice_s", "cpu_s"} | ({"server_s"} if server else set())
    while wanted - set(seen):
        if time.time() - began > LIMIT_S or process.status() == psutil.STATUS_ZOMBIE:
            raise SystemExit("bench: the render ended, or took too long, before its first segment")
        if "first_choice_s" not in seen and (first := first_choice_s(store)) is not None:
            seen["first_choice_s"] = first - began
            seen["cpu_s"] = cpu_s(process)
        if server and "server_s" not in seen and answers(home):
            seen["server_s"] = time.time() - began
        time.sleep(LOOK_S)
    if server:
        seen["after_server_s"] = seen["first_choice_s"] - seen["server_s"]
    return seen


def main() -> None:
    """Run the rounds and print the line."""
    asked = arguments()
    runs: dict[str, list[dict[str, float]]] = {way: [] for way in asked.ways}
    with used_home() as home, running_server(home) as url:
        for number in range(asked.rounds):
            for way in asked.ways:
                runs[way].append(one_run(asked.book, home, way, url))
                said = ", ".join(f"{name} {value:.2f}" for name, value in runs[way][-1].items())
                print(f"round {number + 1}, {way}: {said}", file=sys.stderr, flush=True)
    emit(
        "startup",
        book=asked.book.name,
        load_1min=round(os.getloadavg()[0], 2),
        **{way: columns(of_way) for way, of_way in runs.items()},
    )


def columns(runs: list[dict[str, float]]) -> dict[str, Any]:
    """Return each number of the runs with median, lowest and highest."""
    return {name: spread([run[name] for run in runs]) for name in runs[0]}


if __name__ == "__main__":
    main()
