"""Say what everything around an engine costs: wall, processor time, database, memory.

    python benches/bench_overhead.py [--segments 10000] [--sleep 0.1] [--workers 1 2 4 8]

The engine sleeps for a while and makes a second and a half of tones, so whatever is slower than
`segments × sleep ÷ workers` is loudr. The speaking counts from the first finished segment to the
last, seen by the times of the objects in the store. Reported apart are the start of Prefect's API
server, which goes on beside it, the head, until the first segment, and the tail, in which the file
is made. Processor time is that of the speaking alone, without the server's start and without the
engine: what the tones cost at the same pace is measured here, in one process. Each number of
workers is one render in a home whose database is made. `linear` is segments a second and worker,
over those of the first number.
"""

import argparse
import json
import subprocess
import threading
import time
import urllib.request
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from bench_memory import MARK, program
from measuring import emit, environment, find_jobs, loudr_command, pin_to_cores, used_home

from loudr_core.jobs.table import Job
from loudr_core.memory import keep_memory
from loudr_core.speech.protocol import SpeechRequest
from loudr_core.testing import FakeEngine

INTERVAL_S = 0.5
ALONE = 300
"""Segments that the engine speaks alone, with its pauses: after one its caches are cold."""
ENGINE, SERVER = "loudr_core.speech.worker", "flows.api_server_child"


@dataclass
class Watch:
    """Looks at the processes of one render again and again."""

    mark: str
    started: float = field(default_factory=time.time)
    used: list[tuple[float, dict[str, float]]] = field(default_factory=list)
    peak: dict[str, int] = field(default_factory=dict)
    server_s: float = 0.0
    _last: dict[int, tuple[str, float]] = field(default_factory=dict)

    def look(self) -> None:
        """Note processor seconds and memory of every process with the mark, by program."""
        memory: dict[str, int] = {}
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get(MARK) != self.mark:
                    continue
                command = process.cmdline()
                name, spent = program(command), process.cpu_times()
                self._last[process.pid] = (name, spent.user + spent.system)
                memory[name] = memory.get(name, 0) + process.memory_full_info().pss
                if name == SERVER and not self.server_s:
                    self._ask(command[-1])
        used: dict[str, float] = {}
        for name, seconds in self._last.values():
            used[name] = used.get(name, 0.0) + seconds
        self.used.append((time.time(), used))
        self.peak = {
            name: max(memory.get(name, 0), self.peak.get(name, 0)) for name in memory | self.peak
        }

    def _ask(self, port: str) -> None:
        with (
            suppress(OSError),
            urllib.request.urlopen(f"http://127.0.0.1:{port}/api/health", timeout=0.3),
        ):
            self.server_s = time.time() - self.started

    def at(self, moment: float) -> dict[str, float]:
        """Return processor seconds by program up to a moment, between two looks in proportion."""
        before: tuple[float, dict[str, float]] = (self.started, {})
        for after in self.used:
            if after[0] >= moment:
                share = (moment - before[0]) / max(after[0] - before[0], 1e-9)
                return {
                    name: before[1].get(name, 0.0)
                    + share * (after[1][name] - before[1].get(name, 0.0))
                    for name in after[1]
                }
            before = after
        return before[1]


def book_of(segments: int) -> str:
    """Return a text of so many short paragraphs, no two alike."""
    tens = ("elm", "oak", "ash", "fir", "yew", "may", "bay", "fig", "box", "tea")
    lines = []
    for number in range(segments):
        words = " ".join(tens[int(digit)] for digit in f"{number:05d}")
        lines.append(f"The {words}.")
    return "\n\n".join(lines) + "\n"


def engine_cpu_s(jobs: list[Job], sleep_s: float) -> float:
    """Return the processor seconds that the engine alone costs for these jobs, told from some."""
    keep_memory()  # as an engine process does
    engine = FakeEngine(sleep_s=sleep_s)
    some = jobs[:: -(-len(jobs) // ALONE)]
    started = time.process_time()
    for job in some:
        request = SpeechRequest(
            id=job.segment_id, text=job.spoken, language="en", voice="low", seed=job.seed
        )
        for _ in engine.synthesize([request]):
            pass
    return (time.process_time() - started) * len(jobs) / len(some)


def database_bytes(home: Path) -> int:
    """Return the size of Prefect's database."""
    return sum(path.stat().st_size for path in (home / "prefect").glob("prefect.db*"))


def one_render(segments: int, workers: int, sleep_s: float) -> dict[str, Any]:
    """Render the book once and take the measures."""
    mark = uuid.uuid4().hex
    with used_home() as home:
        book, printed = home / "book.md", home / "printed"
        book.write_text(book_of(segments), "utf-8")
        profile = home / "fake.toml"
        profile.write_text(
            f'engine = "fake"\noptions = {{ sleep_s = {sleep_s} }}\n[text]\nmerge_short = false\n'
            "announce_titles = false\n"
        )
        before = database_bytes(home)
        watch = Watch(mark)
        with printed.open("w+", encoding="utf-8") as out:
            render = subprocess.Popen(
                loudr_command(
                    "render", book, "-o", home / "out", "-p", profile, "--workers", str(workers)
                ),
                env={**environment(home), MARK: mark},
                stdout=out,
            )
            done = threading.Event()
            while not done.wait(INTERVAL_S) and render.poll() is None:
                watch.look()
        ended = time.time()
        if render.returncode:
            raise SystemExit(f"bench: loudr render ended with exit code {render.returncode}")
        text = printed.read_text("utf-8")
        result = json.loads(text[text.index("{") :])
        times = sorted(p.stat().st_mtime for p in (home / "store" / "choice").glob("*/*"))
        engine_s = engine_cpu_s(find_jobs(home), sleep_s)
        grown = database_bytes(home) - before
    first, last, total = times[0], times[-1], len(times)
    spoken, begun = watch.at(last), watch.at(first)
    cpu = {name: spoken[name] - begun.get(name, 0.0) for name in spoken}
    answers = min(last, max(first, watch.started + (watch.server_s or 1e9)))
    starting = watch.at(answers).get(SERVER, 0.0)
    cpu[SERVER] = spoken.get(SERVER, 0.0) - starting
    cpu[ENGINE] = max(0.0, cpu.get(ENGINE, 0.0) - engine_s)
    ideal_s = (total - workers) * sleep_s / workers
    return {
        "workers": workers,
        "segments": result["segments"]["total"],
        "speaking_s": round(last - first, 2),
        "ideal_s": round(ideal_s, 2),
        "over_ideal": round((last - first) / ideal_s - 1, 4),
        "a_second": round((total - workers) / (last - first), 2),
        "cpu_ms_a_segment": {
            **{name: round(1000 * seconds / total, 3) for name, seconds in sorted(cpu.items())},
            "all": round(1000 * sum(cpu.values()) / total, 3),
            "taken off for the engine": round(1000 * engine_s / total, 3),
        },
        "head_s": round(first - watch.started, 2),
        "tail_s": round(ended - last, 2),
        "api_start_s": round(watch.server_s, 2),
        "api_start_cpu_s": round(starting, 2),
        "database_growth_bytes": grown,
        "peak_mb": {name: round(size / 1e6) for name, size in sorted(watch.peak.items())},
    }


def main() -> None:
    """Render with each number of workers and print the line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--segments", type=int, default=10_000)
    parser.add_argument("--sleep", type=float, default=0.1)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--cores", type=int, default=2)
    asked = parser.parse_args()
    if not max(asked.workers) < asked.segments <= 100_000:
        parser.error("--segments: more than the workers, and at most 100000")
    pin_to_cores(asked.cores)
    rounds = [one_render(asked.segments, count, asked.sleep) for count in asked.workers]
    alone = rounds[0]["a_second"] / rounds[0]["workers"]
    for each in rounds:
        each["linear"] = round(each["a_second"] / each["workers"] / alone, 4)
    emit("overhead", sleep_s=asked.sleep, rounds=rounds)


if __name__ == "__main__":
    main()
