"""Say what each stage of a render costs per hour of audio, and how long its two ends take.

    python benches/bench_stages.py book.epub [--rounds 3]

`stage_s_per_hour` are loudr's own clocks; they overlap, and add up to more than the wall time.
The ends are seen from outside, by the times of the objects in the store: `head_s` from the start
of the program to the first finished segment, `tail_s` from the last one to the end of the
program. `engine_s_per_hour` is time inside the engine and `cpu_s_per_hour` is processor time of all
processes.
"""

import argparse
import resource
import time
from pathlib import Path
from typing import Any

from measuring import emit, fresh_home, loudr, pin_to_cores, spread

from loudr_core.jobs.table import read_results


def processor_s() -> float:
    """Return user and system seconds of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def one_round(book: Path) -> dict[str, Any]:
    """Render once in an empty home and take the times."""
    with fresh_home() as home:
        before, started = processor_s(), time.time()
        run = loudr(home, "render", book, "-o", home / "out")
        ended, used = time.time(), processor_s() - before
        store = home / "store"
        finished = [
            path.stat().st_mtime for path in (store / "choice").rglob("*") if path.is_file()
        ]
        tables = (store / "books").glob("*/plans/*/results/*.parquet")
        engine_s = sum(row.compute_s for path in tables for row in read_results(path.read_bytes()))
    (m4b,) = (file for file in run.result["files"] if file["format"] == "m4b")
    return {
        "hours": float(m4b["duration_s"]) / 3600,
        "wall_s": run.wall_s,
        "head_s": min(finished) - started,
        "tail_s": ended - max(finished),
        "cpu_s": used,
        "engine_s": engine_s,
        "stage_s": run.result["stage_s"],
    }


def main() -> None:
    """Run the rounds and print the line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("book", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    asked = parser.parse_args()
    pin_to_cores(asked.cores)
    rounds = [one_round(asked.book) for _ in range(asked.rounds)]
    stages = list(rounds[0]["stage_s"])
    emit(
        "stages",
        book=asked.book.name,
        audio_hours=round(rounds[0]["hours"], 3),
        wall_s=spread([r["wall_s"] for r in rounds]),
        head_s=spread([r["head_s"] for r in rounds]),
        tail_s=spread([r["tail_s"] for r in rounds]),
        cpu_s_per_hour=spread([r["cpu_s"] / r["hours"] for r in rounds]),
        engine_s_per_hour=spread([r["engine_s"] / r["hours"] for r in rounds]),
        stage_s_per_hour={
            name: spread([r["stage_s"][name] / r["hours"] for r in rounds]) for name in stages
        },
    )


if __name__ == "__main__":
    main()
