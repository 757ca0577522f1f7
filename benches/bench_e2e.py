"""Time a book from file to M4B, beside the obvious script and the bare engine.

    python benches/bench_e2e.py book.epub [--rounds 3] [--cores 2]

Three programs speak the same texts, those of loudr's own plan, taking turns on the same cores so
that a slow spell of the machine meets all three: `loudr render` with an empty store (planning,
Prefect, detectors, mastering, M4B and all), `baseline_script.py`, and `baseline_bare.py`, which
writes nothing. The home has been used once, as every home but the first night's; `--cold` takes
a new one, where the server's tables are made too. The line at the end gives wall seconds and
how many times longer each baseline took: the ratio of the medians, and of every round.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from measuring import (
    baseline_input,
    emit,
    fresh_home,
    loudr,
    pin_to_cores,
    spread,
    timed,
    used_home,
)

HERE = Path(__file__).parent
BASELINES = ["script", "bare"]


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("book", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--cold", action="store_true", help="a new home for each round")
    parser.add_argument("--against", nargs="+", choices=BASELINES, default=BASELINES)
    return parser.parse_args()


def one_round(
    book: Path, texts: Path, out: Path, *, cold: bool, against: list[str]
) -> dict[str, tuple[float, float]]:
    """Run the programs one after the other; name to wall and audio seconds."""
    with fresh_home() if cold else used_home() as home:
        run = loudr(home, "render", book, "-o", out / "loudr")
    (m4b,) = (file for file in run.result["files"] if file["format"] == "m4b")
    times = {"loudr": (run.wall_s, float(m4b["duration_s"]))}
    for name in against:
        extra = [str(out / "script.m4b")] if name == "script" else []
        other = timed([sys.executable, str(HERE / f"baseline_{name}.py"), str(texts), *extra])
        times[name] = (other.wall_s, float(other.result["audio_s"]))
    return times


def main() -> None:
    """Run the rounds and print the line."""
    asked = arguments()
    cores = pin_to_cores(asked.cores)
    with tempfile.TemporaryDirectory(prefix="loudr-bench-") as scratch:
        texts, out = Path(scratch) / "texts.json", Path(scratch)
        with fresh_home() as home:
            plan = loudr(home, "plan", asked.book).result
            texts.write_text(json.dumps(baseline_input(home, plan)), "utf-8")
        rounds = []
        for number in range(asked.rounds):
            rounds.append(one_round(asked.book, texts, out, cold=asked.cold, against=asked.against))
            walls = ", ".join(f"{n} {wall:.1f} s" for n, (wall, _) in rounds[-1].items())
            print(f"round {number + 1}: {walls}", file=sys.stderr, flush=True)
    walls = {name: [r[name][0] for r in rounds] for name in rounds[0]}
    middle = {name: spread(values)["median"] for name, values in walls.items()}
    emit(
        "e2e",
        book=asked.book.name,
        cores=cores,
        home="new" if asked.cold else "used before",
        segments=plan["segments"],
        audio_s={name: round(rounds[0][name][1], 1) for name in rounds[0]},
        wall_s={name: spread(values) for name, values in walls.items()},
        times_longer={
            name: {
                "median": round(middle[name] / middle["loudr"], 3),
                "rounds": [round(r[name][0] / r["loudr"][0], 3) for r in rounds],
            }
            for name in asked.against
        },
        audio_hours_per_hour=round(rounds[0]["loudr"][1] / middle["loudr"], 1),
    )


if __name__ == "__main__":
    main()
