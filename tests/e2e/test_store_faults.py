"""A long render through a store that fails all the time: nothing lost, doubled or condemned."""

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loudr_core.canonical import digest
from loudr_core.jobs.choices import finished
from loudr_core.render.book import BookRender, RenderOptions
from loudr_core.render.result import RenderResult
from loudr_core.settings import Profile, TextProfile
from loudr_core.speech.orders import Attempt, Order, audio_key
from loudr_core.speech.wire import EngineSpec
from loudr_core.speech.workers import EnginePool
from loudr_core.store.local import LocalStore
from loudr_core.store.open import open_store
from loudr_core.store.protocol import ObjectStore


def rendered(
    book: Path, store: ObjectStore, dest: str | Path, logs: Path
) -> tuple[BookRender, RenderResult, EnginePool]:
    spec = EngineSpec(engine="fake", store_url=store.url, policy={})
    with EnginePool(spec, size=4, log_dir=logs) as pool:
        render = BookRender(
            book,
            profile=Profile(engine="fake", text=TextProfile(merge_short=False)),
            store=store,
            pool=pool,
            options=RenderOptions(workers=4),
            cancel=threading.Event(),
        )
        render.start_speaking()
        for shard in render.shards:
            render.speak(shard)
        return render, render.publish(dest), pool


def short_lines(path: Path, count: int) -> Path:
    """Write a book of five chapters with so many paragraphs of a second or two, none like another.

    It is the way through the store that counts here, and that is as long for a short take.
    """
    lines = ["# Tones"]
    for place in range(count):
        if place % (count // 5) == 0:
            lines.append(f"## Part {5 * place // count + 1}")
        lines.append(f"Wave {place} broke.")
    path.write_text("\n\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "segments",
    [
        pytest.param(40, marks=pytest.mark.slow),
        pytest.param(500, marks=pytest.mark.integration),
    ],
)
def test_a_book_through_lost_replies_and_refusals(
    bucket: str,
    faulty_s3: Callable[..., Any],
    faults: Any,
    tmp_path: Path,
    segments: int,
) -> None:
    """One request in twenty is refused, and of the writes one in ten loses its reply."""
    refuse = faults.at_random(0.05, "refuse", seed=1)
    cut = faults.at_random(0.10, "cut", seed=2)

    def rule(method: str, path: str, count: int) -> str:
        fault: str = refuse(method, path, count)
        return fault or (cut(method, path, count) if method == "PUT" else "")

    proxy = faulty_s3(rule)
    book = short_lines(tmp_path / "tones.md", segments)
    store = open_store(f"s3://{bucket}/p?endpoint={proxy.url}")
    out = f"s3://{bucket}/out?endpoint={proxy.url}"
    render, result, pool = rendered(book, store, out, tmp_path / "logs")
    _, wanted, _ = rendered(book, LocalStore(tmp_path / "store"), tmp_path, tmp_path / "logs")

    assert len(render.jobs) >= segments
    assert proxy.faults["refuse"] > segments // 10
    assert proxy.faults["cut"] > segments // 10
    counts = result.segments
    assert (counts.rendered, counts.reused) == (counts.total, 0), "something was done twice"
    assert (counts.failed, counts.retried) == (0, 0)
    assert pool.stats.restarts == 0
    assert result.findings == wanted.findings, "no `nondeterministic`, no gap"
    assert result.pcm_sha256 == wanted.pcm_sha256
    assert result.files[0].sha256 == wanted.files[0].sha256
    keys = {audio_key(attempt.take_key) for order in render.orders for attempt in order.attempts}
    chosen = {audio_key(choice.take_key) for choice in render.choices.values()}
    stored = set(open_store(f"s3://{bucket}/p").list("audio/"))
    assert chosen == stored <= keys
    stores = [
        n for (method, path), n in proxy.stored.items() if method == "PUT" and "/p/audio/" in path
    ]
    assert stores == [1] * len(chosen), "a take was written twice"


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        pytest.param(
            "expired",
            "credentials for bucket {} have expired (ExpiredToken); renew and run again",
            id="expired",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "full",
            "bucket {} is full (QuotaExceeded); raise its quota or remove objects, and run again",
            id="full",
            marks=pytest.mark.integration,
        ),
    ],
)
def test_what_a_bucket_refuses_from_some_moment_on(
    inline: Any,
    bucket: str,
    faulty_s3: Callable[..., Any],
    tone_book: Callable[..., Path],
    tmp_path: Path,
    fault: str,
    says: str,
) -> None:
    """One line that names bucket and cause, again as long as it lasts; then the rest is spoken."""
    takes = itertools.count()
    over = threading.Event()

    def rule(method: str, path: str, count: int) -> str:
        if over.is_set():
            return ""
        if method == "PUT" and "/audio/" in path:
            return fault if next(takes) >= 6 else ""
        begun = proxy.faults[fault] > 0
        return fault if begun and (method == "PUT" or fault == "expired") else ""

    proxy = faulty_s3(rule)
    keys = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    plain = inline.with_(LOUDR_TEXT__MERGE_SHORT="false", **keys)
    book = tone_book(chapters=1, paragraphs=20)
    store = f"s3://{bucket}/p?endpoint={proxy.url}"
    command = ("render", book, "--store", store, "-o", tmp_path / "out", "--json")
    for _ in range(2):
        said = plain(*command)
        assert said.code == 9, said.err
        assert "Traceback" not in said.err
        assert said.err.splitlines()[-1].endswith(says.format(bucket)), said.err
        assert proxy.url not in said.err.splitlines()[-1]
    assert not (tmp_path / "out").exists()
    there = set(open_store(f"s3://{bucket}/p").list("audio/"))
    assert len(there) == 6

    over.set()
    counts = plain(*command).json["segments"]
    assert counts["failed"] == 0
    assert counts["rendered"] == counts["total"] - 6, "what was stored is not spoken again"


def orders_of(count: int) -> list[Order]:
    keys = [digest(["faults", number]) for number in range(count)]
    return [
        Order(
            id=f"s{number:04d}",
            job_key=key,
            choice_key=f"choice/{key[:2]}/{key}",
            text=f"Sentence number {number} is spoken by the old harbour wall.",
            language="en",
            voice="low",
            attempts=(Attempt(number=0, seed=number, take_key=key),),
        )
        for number, key in enumerate(keys)
    ]


@pytest.mark.slow
def test_killed_engines_lose_nothing_on_its_way_to_the_bucket(
    bucket: str, faulty_s3: Callable[..., Any], tmp_path: Path
) -> None:
    """Takes are on their way when their process is killed; what was not stored is made again."""
    proxy = faulty_s3(latency_s=0.05)
    store = open_store(f"s3://{bucket}?endpoint={proxy.url}")
    spec = EngineSpec(engine="fake", store_url=store.url, policy={})
    orders = orders_of(60)
    with EnginePool(spec, size=2, log_dir=tmp_path) as pool:
        futures = [pool.submit(order) for order in orders]
        for waited in (10, 30):
            futures[waited].result(60)
            os.kill(pool.pids[0], signal.SIGKILL)
        outcomes = [future.result(60) for future in futures]
        assert pool.stats.restarts == 2
    assert {outcome.choice.status for outcome in outcomes} == {"ok"}
    for order, outcome in zip(orders, outcomes, strict=True):
        assert store.exists(audio_key(outcome.choice.take_key))
        assert finished(store, order) == outcome.choice
    writes = {path: n for (method, path), n in proxy.stored.items() if method == "PUT"}
    assert {n for path, n in writes.items() if "/audio/" in path} == {1}


@pytest.mark.integration
def test_an_outage_is_neither_a_hang_nor_a_failed_segment(
    bucket: str, faulty_s3: Callable[..., Any], tmp_path: Path
) -> None:
    """The server is away for longer than an engine may be silent."""
    down = threading.Event()
    proxy = faulty_s3(lambda method, path, count: "refuse" if down.is_set() else "")
    store = open_store(f"s3://{bucket}?endpoint={proxy.url}")
    spec = EngineSpec(engine="fake", store_url=store.url, policy={})
    with EnginePool(spec, size=2, log_dir=tmp_path, hang_floor_s=8.0) as pool:
        futures = [pool.submit(order) for order in orders_of(60)]
        futures[5].result(60)
        down.set()
        time.sleep(20)
        down.clear()
        outcomes = [future.result(120) for future in futures]
        assert pool.stats.restarts == 0
    assert {outcome.choice.status for outcome in outcomes} == {"ok"}
    assert {outcome.rendered for outcome in outcomes} == {1}
