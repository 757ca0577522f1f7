"""The Prefect server is killed while books are rendered: with and without one that comes back."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

IN_FLIGHT = 3
"""Units that one engine process may have in hand: one that it speaks, others on their way."""


def spoken(trace: Path) -> list[str]:
    return trace.read_text(encoding="utf-8").splitlines() if trace.exists() else []


def until(true: Callable[[], bool], *commands: Any, seconds: float = 240.0) -> None:
    """Wait for something to be true while commands run."""
    deadline = time.monotonic() + seconds
    while not true():
        for command in commands:
            assert command.process.poll() is None, command.finish().err
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.05)


def test_a_server_is_killed_and_started_again(
    farm: Any,
    bucket: str,
    loudr: Callable[..., Any],
    tone_book: Callable[..., Path],
    tmp_path: Path,
) -> None:
    """One book is on workers and one in a process of its own; both are finished by them."""
    book = tone_book(chapters=1, paragraphs=40, title="Restarted")
    places = {"pool": f"s3://{bucket}/store", "local": str(tmp_path / "store")}
    traces = {executor: tmp_path / f"trace-{executor}" for executor in places}
    commands = {
        executor: loudr(
            "render", book, "--store", store, "-o", tmp_path / executor, "--json",
            home=executor,
            LOUDR_EXECUTOR=executor,
            LOUDR_WORKERS="1",
            PREFECT_API_URL=farm.api.url,
            LOUDR_OPTIONS=json.dumps({"sleep_s": 0.5, "trace": str(traces[executor])}),
            LOUDR_POOL__SHARD_AUDIO_S="70",
        )
        for executor, store in places.items()
    }  # fmt: skip
    until(lambda: all(len(spoken(each)) >= 12 for each in traces.values()), *commands.values())
    farm.kill_server()
    time.sleep(5)
    farm.start_server()

    results = {}
    for executor, command in commands.items():
        said = command.finish(300)
        assert said.code == 0, said.err
        assert "Traceback" not in said.err, said.err
        results[executor] = json.loads(said.out)
        lines = spoken(traces[executor])
        total = results[executor]["segments"]["total"]
        assert results[executor]["segments"]["failed"] == 0
        assert len(set(lines)) == total == 42
        assert len(lines) == total, "nothing is spoken twice"
    assert results["pool"]["pcm_sha256"] == results["local"]["pcm_sha256"]
    until(lambda: not any(each.flows for each in farm.machines.values()), seconds=90)


def test_the_server_of_a_command_is_killed(
    loudr: Callable[..., Any], tone_book: Callable[..., Path], tmp_path: Path
) -> None:
    """It was never more than a record: the book is finished, and one line says what is missing."""
    book = tone_book(chapters=1, paragraphs=60, title="Alone")
    store, trace = tmp_path / "store", tmp_path / "trace"
    command = loudr(
        "render", book, "--store", store, "-o", tmp_path / "out", "--json",
        LOUDR_WORKERS="1",
        LOUDR_OPTIONS=json.dumps({"sleep_s": 0.5, "trace": str(trace)}),
    )  # fmt: skip

    def server() -> psutil.Process | None:
        for child in psutil.Process(command.process.pid).children():
            if "flows.api_server_child" in child.cmdline():
                return child
        return None

    until(lambda: len(spoken(trace)) >= 40, command)
    found = server()
    assert found is not None
    found.kill()
    said = command.finish()
    assert said.code == 0, said.err
    assert "Traceback" not in said.err, said.err
    assert said.err.count("does not answer") == 1, said.err
    assert "the book goes on without it" in said.err
    result = json.loads(said.out)
    assert result["segments"]["rendered"] == result["segments"]["total"] == 62
    assert len(spoken(trace)) == 62, "nothing is spoken twice"
    assert (tmp_path / "out" / "Alone.m4b").is_file()
