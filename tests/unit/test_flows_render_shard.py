"""What a worker runs: a shard is spoken, and counted for whoever asks for numbers."""

import socket
import urllib.request
from pathlib import Path

import pytest

from flows import metrics
from flows.render_shard import render_shard
from flows.shard_request import ShardEngine, ShardRequest
from loudr_core.jobs.plan import plan_folder
from loudr_core.render.shard_files import JournalReader, write_orders
from loudr_core.speech.orders import Attempt, Order
from loudr_core.store.local import LocalStore


def order(number: int) -> Order:
    key = f"{number:02x}" * 32
    return Order(
        id=f"c001-s{number:04d}",
        job_key=key,
        choice_key=f"choice/{key[:2]}/{key}-0123456789abcdef.json",
        text=f"It was only ever the tide, and she said so {number} times to the dog.",
        language="en",
        voice="low",
        attempts=(Attempt(number=0, seed=7 + number, take_key=key),),
        est_audio_s=4.0,
    )


def test_a_scrape_of_a_worker_sees_the_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    monkeypatch.setenv("LOUDR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LOUDR_METRICS_PORT", str(port))
    (tmp_path / "home" / "logs").mkdir(parents=True)
    store = LocalStore(tmp_path / "store")
    folder = plan_folder("tide-12345678", "0" * 16)
    write_orders(store, folder, "me", 3, [order(number) for number in range(3)])
    reader = JournalReader(store, folder)
    request = ShardRequest(
        store=store.url,
        engine=ShardEngine(engine="fake"),
        owner="me",
        book_id="tide-12345678",
        plan_id="0" * 16,
        shard=3,
    )
    try:
        said = render_shard.fn(request)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            numbers = answer.read().decode()
    finally:
        server = metrics._servers.pop(("127.0.0.1", port), None)
        if server is not None:
            server.shutdown()
            server.server_close()
    assert (said["segments"], said["rendered"], said["failed"]) == (3, 3, 0)
    assert 'loudr_segments_total{status="rendered"}' in numbers
    assert "loudr_audio_seconds_total" in numbers
    told = [each.job_key for entry in reader.read_new() for each in entry.outcomes]
    assert sorted(told) == sorted(order(number).job_key for number in range(3))
