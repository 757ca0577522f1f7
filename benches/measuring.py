"""What the benches share: cores, runs of `loudr` in a fresh home, and the line they print."""

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from loudr_core.jobs.table import Job, read_jobs

__all__ = [
    "Run",
    "baseline_input",
    "emit",
    "environment",
    "find_jobs",
    "fresh_home",
    "loudr",
    "loudr_command",
    "pin_to_cores",
    "spread",
    "timed",
]

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One finished program: seconds of wall time, and the JSON it printed."""

    wall_s: float
    result: dict[str, Any]


def pin_to_cores(count: int) -> list[int]:
    """Keep this process, and all it starts, on the first `count` cores it may use."""
    cores = sorted(os.sched_getaffinity(0))[:count]
    if len(cores) < count:
        raise SystemExit(f"bench: {count} cores asked for, {len(cores)} allowed here")
    os.sched_setaffinity(0, cores)
    return cores


@contextmanager
def fresh_home() -> Iterator[Path]:
    """Give an empty folder for LOUDR_HOME, and remove it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="loudr-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def used_home() -> Iterator[Path]:
    """Give a LOUDR_HOME that has rendered before and holds no book: Prefect's tables are there."""
    with fresh_home() as home, tempfile.TemporaryDirectory() as out:
        book = Path(out) / "short.txt"
        book.write_text("A short book, so that the tables are made.\n", "utf-8")
        loudr(home, "render", book, "-o", out)
        shutil.rmtree(home / "store")
        yield home


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a run: ours without loudr's and Prefect's settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LOUDR_", "PREFECT_"))}
    return {**kept, "LOUDR_HOME": str(home)}


def loudr_command(*arguments: str | Path) -> list[str]:
    """Return the command line of `loudr` as installed beside this interpreter."""
    return [str(Path(sys.executable).with_name("loudr")), *map(str, arguments), "--json"]


def loudr(home: Path, *arguments: str | Path) -> Run:
    """Run `loudr … --json` with a home."""
    return timed(loudr_command(*arguments), environment(home))


def timed(command: Sequence[str], env: dict[str, str] | None = None) -> Run:
    """Run a program that prints one JSON object at the end of its output."""
    start = time.perf_counter()
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=False)
    wall_s = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"bench: exit code {done.returncode} from {' '.join(command)}")
    return Run(wall_s=wall_s, result=json.loads(done.stdout[done.stdout.index("{") :]))


def find_jobs(home: Path) -> list[Job]:
    """Return the job table of the one plan in a home, in the order of the book."""
    (path,) = (home / "store" / "books").glob("*/plans/*/jobs.parquet")
    return sorted(read_jobs(path.read_bytes()), key=lambda job: job.ordinal)


def baseline_input(home: Path, plan: dict[str, Any]) -> dict[str, Any]:
    """Return what the baselines read: title, and each chapter's title and spoken texts."""
    spoken: dict[int, list[str]] = {}
    for job in find_jobs(home):
        spoken.setdefault(job.chapter, []).append(job.spoken)
    titles = {chapter["number"]: chapter["title"] for chapter in plan["chapters"]}
    chapters = [{"title": titles[n], "spoken": texts} for n, texts in spoken.items()]
    return {"title": plan["title"], "chapters": chapters}


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Return median, lowest, highest and every value, rounded to milliseconds."""
    return {
        "median": round(statistics.median(values), 3),
        "low": round(min(values), 3),
        "high": round(max(values), 3),
        "all": [round(value, 3) for value in values],
    }


def emit(bench: str, **facts: object) -> None:
    """Print one JSON line: what was asked, of which commit, on which machine, and the answer."""
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
        capture_output=True, text=True, check=False,
    ).stdout.strip()  # fmt: skip
    packages = ("hibari-tts", "onnxruntime", "numpy", "scipy", "av", "prefect")
    line = {
        "bench": bench,
        "commit": commit or "unknown",
        "machine": f"{_processor()}, {len(os.sched_getaffinity(0))} cores used",
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in packages},
        **facts,
    }
    print(json.dumps(line, ensure_ascii=False), flush=True)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
