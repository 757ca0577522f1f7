"""A run of a shard and a worker are told to stop, each alone, while a book is rendered on them."""

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

IN_FLIGHT = 3


def leave(worker: "subprocess.Popen[bytes]") -> None:
    """Wait for a Prefect worker that was told to stop, and tell it once more if need be.

    The first signal asks the worker to end, and is lost now and then in what it waits for, as it is
    after its server was away (Prefect 3.9.1); the second ends it for certain.
    """
    try:
        worker.wait(20)
    except subprocess.TimeoutExpired:
        worker.terminate()
        worker.wait(20)


def test_a_run_and_a_worker_are_told_to_stop(
    farm: Any,
    bucket: str,
    loudr: Callable[..., Any],
    tone_book: Callable[..., Path],
    tmp_path: Path,
) -> None:
    """Others take over what they had; the worker leaves, and nothing of it is left."""
    book = tone_book(chapters=2, paragraphs=30, title="Stopping")
    store, trace = f"s3://{bucket}/store", tmp_path / "trace"
    command = loudr(
        "render", book, "--store", store, "-o", tmp_path / "out", "--json",
        LOUDR_EXECUTOR="pool",
        PREFECT_API_URL=farm.api.url,
        LOUDR_OPTIONS=json.dumps({"sleep_s": 0.5, "trace": str(trace)}),
        LOUDR_POOL__STALL_S="20",
        LOUDR_POOL__SHARD_AUDIO_S="110",
    )  # fmt: skip
    deadline = time.monotonic() + 240

    def at_work() -> bool:
        busy = sum(bool(machine.engines) for machine in farm.machines.values())
        return busy >= 2 and trace.exists() and len(trace.read_text().splitlines()) >= 10

    while not at_work():
        assert command.process.poll() is None, command.finish().err
        assert time.monotonic() < deadline, "the workers do not speak"
        time.sleep(0.05)
    first, second = [each for each in farm.machines.values() if each.engines][:2]
    first.flows[0].terminate()
    family = psutil.Process(second.process.pid).children(recursive=True)
    second.process.terminate()

    said = command.finish()
    assert said.code == 0, said.err
    assert "Traceback" not in said.err
    result = json.loads(said.out)
    assert result["segments"]["failed"] == 0
    lines = trace.read_text(encoding="utf-8").splitlines()
    assert len(set(lines)) == result["segments"]["total"]
    assert len(lines) - len(set(lines)) <= 2 * IN_FLIGHT, "only what was in hand is spoken twice"
    assert (tmp_path / "out" / "Stopping.m4b").is_file()
    leave(second.process)
    _, alive = psutil.wait_procs(family, timeout=10)
    assert not alive, "the worker leaves nothing behind"
