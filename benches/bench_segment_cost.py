"""Say what a segment costs around the engine, by process and by stage, in processor milliseconds.

    python benches/bench_segment_cost.py [--segments 400] [--sleep 0.05] [--workers 2] [--store URL]

Engine processes speak with an engine that sleeps and makes a second and a half of tones, fed by the
supervisor of a render and by nothing else. From theirs is taken off what the same engine costs
alone at the same pace. The stages are the same work done one after the other in a loop without a
break; so they come to less than in a process that wakes for every segment, but say where to look.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import psutil
from measuring import emit

from loudr_core.audio.detectors import DetectorPolicy, inspect
from loudr_core.audio.takefile import encode_pcm, from_pcm24, pcm_sha256, to_pcm24
from loudr_core.audio.trim import trim_edges
from loudr_core.canonical import digest
from loudr_core.memory import keep_memory
from loudr_core.speech.choosing import choose, store_choice
from loudr_core.speech.orders import Attempt, Order, Outcome, TakeResult
from loudr_core.speech.protocol import Speech, SpeechRequest
from loudr_core.speech.takes import load_take, new_take, store_take
from loudr_core.speech.wire import (
    EngineSpec,
    decode,
    encode,
    order_from_json,
    order_to_json,
    outcome_from_json,
    outcome_to_json,
)
from loudr_core.speech.workers import EnginePool
from loudr_core.store.open import open_store
from loudr_core.testing import FakeEngine

WARM_UP = 40
TREES = ("elm", "oak", "ash", "fir", "yew", "may", "bay", "fig", "box", "tea")
Item = TypeVar("Item")


def order(number: int, run: str) -> Order:
    """Return an order of words that no other has."""
    keys = [digest([run, number, attempt]) for attempt in range(3)]
    return Order(
        id=f"c001-s{number:05d}",
        job_key=keys[0],
        choice_key=f"choice/{keys[0][:2]}/{keys[0]}",
        text=f"The {' '.join(TREES[int(digit)] for digit in f'{number:05d}')}.",
        language="en",
        voice="low",
        attempts=tuple(Attempt(number=n, seed=n, take_key=key) for n, key in enumerate(keys)),
        est_audio_s=1.5,
    )


def speak(engine: FakeEngine, wanted: Order) -> Speech:
    """Return the tones of an order."""
    request = SpeechRequest(
        id=wanted.id, text=wanted.text, language="en", voice="low", seed=wanted.attempts[0].seed
    )
    return next(iter(engine.synthesize([request])))


def processes(orders: list[Order], url: str, sleep_s: float, workers: int) -> dict[str, float]:
    """Return milliseconds a segment of the engine processes and of their supervisor."""
    spec = EngineSpec(engine="fake", store_url=url, policy={}, options={"sleep_s": sleep_s})
    with (
        tempfile.TemporaryDirectory() as logs,
        EnginePool(spec, size=workers, log_dir=Path(logs)) as pool,
    ):

        def spoken(some: list[Order]) -> None:
            futures: list[Future[Outcome]] = [pool.submit(each) for each in some]
            for future in futures:
                future.result()

        def used() -> float:
            times = [psutil.Process(pid).cpu_times() for pid in pool.pids]
            return sum(each.user + each.system for each in times)

        spoken(orders[:WARM_UP])
        counted = orders[WARM_UP:]
        before, before_here = used(), time.process_time()
        spoken(counted)
        engines, here = used() - before, time.process_time() - before_here
    engine = FakeEngine(sleep_s=sleep_s)
    before = time.process_time()
    alone = counted[:200]
    for each in alone:
        speak(engine, each)
    tones = (time.process_time() - before) / len(alone)
    return {
        "engine processes": 1000 * (engines / len(counted) - tones),
        "taken off for the engine": 1000 * tones,
        "supervisor": 1000 * here / len(counted),
    }


def stages(orders: list[Order], url: str) -> dict[str, float]:
    """Return milliseconds a segment of each stage, done for all before the next one."""
    spent: dict[str, float] = {}

    def stage(name: str, work: Callable[[int], Item]) -> list[Item]:
        before = time.process_time()
        made = [work(place) for place in range(len(orders))]
        spent[name] = 1000 * (time.process_time() - before) / len(orders)
        return made

    store, policy, engine = open_store(url), DetectorPolicy(), FakeEngine()
    rate = engine.sample_rate_hz
    speeches = [speak(engine, each) for each in orders]
    rows = [row(each, speech, rate) for each, speech in zip(orders, speeches, strict=True)]
    lines = stage("order, made a line", lambda n: encode({"order": order_to_json(orders[n])}))
    stage("order, read", lambda n: order_from_json(decode(lines[n])["order"]))
    stage("look for the take", lambda n: load_take(store, orders[n], orders[n].attempts[0], policy))
    cut = stage("trim", lambda n: trim_edges(speeches[n].samples, rate))  # type: ignore[arg-type]
    pcm = stage("to 24 bits", lambda n: to_pcm24(cut[n]))
    stage("hash", lambda n: pcm_sha256(pcm[n]))
    stage("detectors", lambda n: inspect(
        from_pcm24(pcm[n]), sample_rate_hz=rate, text=orders[n].text, policy=policy
    ))  # fmt: skip
    made = [new_take(rows[n], cut[n], (), order=orders[n], policy=policy) for n in range(len(rows))]
    stage("encode", lambda n: encode_pcm(pcm[n], rate, {}))
    kept = stage("encode, tag and store", lambda n: store_take(store, made[n]))
    choices = stage("choose", lambda n: choose(orders[n], [kept[n]]))
    stage("store the choice", lambda n: store_choice(store, orders[n], choices[n]))
    outcomes = [
        Outcome(id=o.id, job_key=o.job_key, choice=c, rendered=1, reused=0, results=(r,))
        for o, c, r in zip(orders, choices, kept, strict=True)
    ]
    said = stage("outcome, made a line", lambda n: encode(outcome_to_json(outcomes[n])))
    stage("outcome, read", lambda n: outcome_from_json(decode(said[n])))
    return spent


def row(wanted: Order, speech: Speech, rate: int) -> TakeResult:
    """Return what is known of a take before it is looked at."""
    return TakeResult(
        segment_id=wanted.id, job_key=wanted.job_key, take_key=wanted.attempts[0].take_key,
        attempt=0, seed=0, status="failed", n_samples=0, sample_rate_hz=rate, pcm_sha256="",
        tokens=speech.tokens, windows=1, findings=(), compute_s=0.0, worker="w", fingerprint="f",
    )  # fmt: skip


def main() -> None:
    """Measure both and print the line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--segments", type=int, default=400)
    parser.add_argument("--sleep", type=float, default=0.05)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--store", default="", help="folder or s3:// address; a fresh folder if not given"
    )
    asked = parser.parse_args()
    keep_memory()  # as an engine process does
    run = f"{time.time_ns():x}"
    with tempfile.TemporaryDirectory(prefix="loudr-bench-") as folder:
        url = asked.store or folder
        spoken = [order(number, f"{run}-spoken") for number in range(asked.segments + WARM_UP)]
        by_process = processes(spoken, url, asked.sleep, asked.workers)
        by_stage = stages([order(number, f"{run}-staged") for number in range(asked.segments)], url)

    def rounded(times: dict[str, float]) -> dict[str, Any]:
        return {name: round(value, 3) for name, value in times.items()}

    emit(
        "segment cost",
        store=asked.store.partition(":")[0] or "folder",
        sleep_s=asked.sleep,
        cpu_ms_a_segment={"by process": rounded(by_process), "by stage": rounded(by_stage)},
    )


if __name__ == "__main__":
    main()
