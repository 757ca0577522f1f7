"""Measure the peak memory of a render, all of its processes together.

    python benches/bench_memory.py book.epub

Every quarter of a second the proportional set sizes (PSS: shared pages split among their users) of
all processes that carry this run's mark in their environment are added up, so that a child which
left the process tree, such as the API server, counts too.
"""

import argparse
import json
import subprocess
import time
import uuid
from pathlib import Path

import psutil
from measuring import emit, environment, fresh_home, loudr_command, pin_to_cores

MARK = "BENCH_RUN"
INTERVAL_S = 0.25


def pss_by_program(mark: str) -> dict[str, int]:
    """Return the bytes of every process that carries the mark, by what it runs."""
    sizes: dict[str, int] = {}
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) != mark:
                continue
            name = program(process.cmdline())
            sizes[name] = sizes.get(name, 0) + process.memory_full_info().pss
        except psutil.Error:  # it ended, or is not ours
            continue
    return sizes


def program(command: list[str]) -> str:
    """Return a short name for a command line: the module after -m, else the script."""
    if "-m" in command[:-1]:
        return command[command.index("-m") + 1]
    words = [Path(word).name for word in command[:2]]
    return words[-1] if words else "?"


def main() -> None:
    """Render once, watching."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("book", type=Path)
    parser.add_argument("--cores", type=int, default=2)
    asked = parser.parse_args()
    pin_to_cores(asked.cores)
    mark = uuid.uuid4().hex
    peak: dict[str, int] = {}
    highest_of: dict[str, int] = {}
    with fresh_home() as home, (home / "printed").open("w+", encoding="utf-8") as printed:
        started = time.perf_counter()
        render = subprocess.Popen(
            loudr_command("render", asked.book, "-o", home / "out"),
            env={**environment(home), MARK: mark},
            stdout=printed,
        )
        while render.poll() is None:
            sizes = pss_by_program(mark)
            if sum(sizes.values()) > sum(peak.values()):
                peak = sizes
            for name, size in sizes.items():
                highest_of[name] = max(size, highest_of.get(name, 0))
            time.sleep(INTERVAL_S)
        wall_s = time.perf_counter() - started
        left = pss_by_program(mark)
        if render.returncode:
            raise SystemExit(f"bench: loudr render ended with exit code {render.returncode}")
        printed.seek(0)
        text = printed.read()
    result = json.loads(text[text.index("{") :])
    emit(
        "memory",
        book=asked.book.name,
        audio_s=result["files"][0]["duration_s"],
        wall_s=round(wall_s, 1),
        peak_mb=round(sum(peak.values()) / 1e6),
        at_peak_mb={name: round(size / 1e6) for name, size in sorted(peak.items())},
        highest_mb={name: round(size / 1e6) for name, size in sorted(highest_of.items())},
        left_running=sorted(left),
    )


if __name__ == "__main__":
    main()
