"""A command that is told to stop takes its shards with it, and the next one goes on."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_a_command_is_interrupted(
    farm: Any,
    bucket: str,
    loudr: Callable[..., Any],
    tone_book: Callable[..., Path],
    tmp_path: Path,
) -> None:
    book = tone_book(chapters=1, paragraphs=40, title="Stopped")
    trace = tmp_path / "trace"
    options = {
        "LOUDR_EXECUTOR": "pool",
        "PREFECT_API_URL": farm.api.url,
        "LOUDR_OPTIONS": json.dumps({"sleep_s": 0.5, "trace": str(trace)}),
        "LOUDR_POOL__SHARD_AUDIO_S": "110",
    }
    words = ("render", book, "--store", f"s3://{bucket}/store", "-o", tmp_path / "out", "--json")
    command = loudr(*words, **options)
    deadline = time.monotonic() + 180
    while not trace.exists() or len(trace.read_text().splitlines()) < 6:
        assert command.process.poll() is None, command.finish().err
        assert time.monotonic() < deadline, "the workers do not speak"
        time.sleep(0.05)
    os.killpg(command.process.pid, signal.SIGINT)
    said = command.finish(60)
    assert said.code == 130, said.err
    assert "Traceback" not in said.err

    runs = [run for run in farm.runs_of("render-shard") if " shard " in run["name"]]
    mine = [run for run in runs if any(tag.startswith("stopped-") for tag in run["tags"])]
    over = farm.ended(*(run["id"] for run in mine), seconds=90)
    assert {run["state_type"] for run in over} <= {"CANCELLED", "CRASHED", "COMPLETED"}
    assert "CANCELLED" in {run["state_type"] for run in over}
    spoken = len(trace.read_text().splitlines())
    time.sleep(3)
    assert len(trace.read_text().splitlines()) == spoken, "nobody speaks on"
    assert spoken < 42

    result = loudr(*words, **options).finish().json
    assert result["segments"]["total"] == 42
    assert result["segments"]["failed"] == 0
    lines = trace.read_text().splitlines()
    assert len(set(lines)) == 42
    assert len(lines) - 42 <= 2 * 3, "only what was in hand is spoken twice"
