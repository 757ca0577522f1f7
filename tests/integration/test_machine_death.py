"""Machines that die while a book is rendered on them."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loudr_core.store.open import open_store

PROMISED_S = 90.0
"""On two cores that have nothing else to do."""
SEGMENTS = 160
IN_FLIGHT = 3
"""Units that one engine process may have in hand: one that it speaks, others on their way."""


def spoken(trace: Path) -> list[str]:
    return trace.read_text(encoding="utf-8").splitlines() if trace.exists() else []


def test_a_machine_dies_and_another_runs_out_of_memory(
    farm: Any,
    bucket: str,
    loudr: Callable[..., Any],
    watcher: Callable[..., Any],
    tone_book: Callable[..., Path],
    tmp_path: Path,
    record_property: Callable[[str, str], None],
) -> None:
    """Both at once, at 40 % of 160 segments: nothing is lost and hardly anything made twice."""
    book = tone_book(chapters=3, paragraphs=52, title="Machines")
    store, trace = f"s3://{bucket}/store", tmp_path / "trace"
    watch = watcher(store, "audio/", "choice/")
    command = loudr(
        "render", book, "--store", store, "-o", f"s3://{bucket}/out", "--json",
        LOUDR_EXECUTOR="pool",
        PREFECT_API_URL=farm.api.url,
        LOUDR_OPTIONS=json.dumps({"sleep_s": 0.4, "trace": str(trace)}),
        LOUDR_POOL__STALL_S="20",
        LOUDR_POOL__SHARD_AUDIO_S="297",
    )  # fmt: skip
    deadline = time.monotonic() + 240
    while len(spoken(trace)) < 0.4 * SEGMENTS:
        assert command.process.poll() is None, command.finish().err
        assert time.monotonic() < deadline, "the workers do not speak"
        time.sleep(0.05)
    busy = [machine for machine in farm.machines.values() if machine.flows]
    assert len(busy) >= 2, "several machines work on it"
    busy[0].die()
    busy[1].kill_flow()
    killed = time.monotonic()
    others = os.getloadavg()[0] / (2 * len(os.sched_getaffinity(0)))

    said = command.finish()
    took = time.monotonic() - killed
    said_load = f"with {others:.1f} times the load of a machine that does nothing else"
    record_property("machine death", f"the book was done {took:.0f} s after the kill, {said_load}")
    assert took < PROMISED_S * max(1.0, others)
    result = said.json
    assert result["segments"]["total"] == SEGMENTS
    assert result["segments"]["failed"] == 0

    lines = spoken(trace)
    assert len(set(lines)) == SEGMENTS
    assert len(lines) - len(set(lines)) <= 2 * IN_FLIGHT
    watch.stop()
    assert len(watch.versions) == 2 * SEGMENTS
    assert set(watch.versions.values()) == {1}, "each key was written once"
    left = [key for key in open_store(store).list("books/") if "/shards/" in key]
    assert not left, "what the shards needed is gone when the book is done"

    here = loudr(
        "render", book, "--store", tmp_path / "here", "-o", tmp_path / "out", "--json",
        home="here", LOUDR_EXECUTOR="inline", LOUDR_WORKERS="2",
    ).finish()  # fmt: skip
    assert here.json["pcm_sha256"] == result["pcm_sha256"]
