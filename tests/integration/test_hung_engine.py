"""Engine processes on the farm that hang in a native call, run out of memory, or are killed."""

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loudr_core.store.open import open_store

IN_FLIGHT = 3
FROZEN = "The fakefreeze stood at the end of the pier all night and said nothing to them."
STARVED = "The fakememory stood at the end of the pier all day and said nothing to them."


def test_what_an_engine_does_costs_its_segment_alone(
    farm: Any,
    bucket: str,
    loudr: Callable[..., Any],
    tone_book: Callable[..., Path],
    tmp_path: Path,
) -> None:
    """The stall time is shorter than that of a hang: a run that waits is not a dead one."""
    book = tone_book(chapters=1, paragraphs=30, title="Poisoned")
    with book.open("a", encoding="utf-8") as more:
        more.write(f"\n\n{FROZEN}\n\n{STARVED}\n")
    store, trace = f"s3://{bucket}/store", tmp_path / "trace"
    earlier = {run["id"] for run in farm.runs_of("render-shard")}
    command = loudr(
        "render", book, "--store", store, "-o", tmp_path / "out",
        LOUDR_EXECUTOR="pool",
        PREFECT_API_URL=farm.api.url,
        LOUDR_OPTIONS=json.dumps({"sleep_s": 0.4, "trace": str(trace)}),
        LOUDR_POOL__STALL_S="10",
        LOUDR_POOL__SHARD_AUDIO_S="60",
    )  # fmt: skip
    killed = False
    deadline = time.monotonic() + 240
    while command.process.poll() is None and not killed:
        engines = [each for machine in farm.machines.values() for each in machine.engines]
        if engines and trace.exists() and len(trace.read_text().splitlines()) >= 4:
            engines[0].kill()
            killed = True
        assert time.monotonic() < deadline, "the workers do not speak"
        time.sleep(0.05)
    assert killed
    said = command.finish()

    assert said.code == 8, said.err
    assert "Traceback" not in said.err
    last = said.err.splitlines()[-1]
    assert "and 1 more has no audio: engine process died twice" in last, said.err
    lines = [line.partition(" ")[2] for line in trace.read_text(encoding="utf-8").splitlines()]
    times = Counter(lines)
    assert times[FROZEN] == times[STARVED] == 2, "tried once beside others, and once alone"
    assert len(times) == 34
    assert len(lines) - len(times) - 2 <= 3 * IN_FLIGHT, "only what was in hand with them"
    choices = [
        json.loads(open_store(store).get(key) or b"{}") for key in open_store(store).list("choice/")
    ]
    assert Counter(choice["status"] for choice in choices) == {"ok": 32, "failed": 2}
    causes = sorted(choice["error"] for choice in choices if choice["error"])
    assert causes[0].startswith("engine process died twice (no answer for")
    assert causes[1].startswith("engine process died twice (out of memory)")
    runs = [run for run in farm.runs_of("render-shard") if run["id"] not in earlier]
    assert max(int(run["name"].rpartition(" ")[2]) for run in runs) == 1, "no shard a second time"
