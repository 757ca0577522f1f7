"""Serve orders with one engine: pull, render, trim, inspect, try again, store, answer.

One engine stream runs for as long as there is work. Attempts that must be made again are fed into
the same stream before new orders, so a batching engine keeps its batch full. Looking into the store
and storing go on in threads of their own while the engine renders the next unit; an order that is
spoken is reported at once, so that the next one comes, and answered when its choice lies in the
store.
"""

import logging
import resource
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from loudr_core.audio.detectors import DetectorPolicy
from loudr_core.audio.trim import trim_edges
from loudr_core.errors import LoudrError
from loudr_core.speech.backlog import Backlog, Task
from loudr_core.speech.filing import Filing
from loudr_core.speech.memory import OutOfMemory, is_out_of_memory
from loudr_core.speech.orders import Outcome, TakeResult
from loudr_core.speech.protocol import Speech, SpeechRequest
from loudr_core.speech.registry import open_engine
from loudr_core.speech.takes import NewTake, new_take, take_fingerprint
from loudr_core.speech.wire import (
    EngineInfo,
    encode,
    error_to_json,
    info_to_json,
    order_from_json,
    outcome_to_json,
)
from loudr_core.store.lanes import lanes_of
from loudr_core.store.open import open_store

__all__ = ["Server"]

_STORE_THREADS = 8
"""Most threads for looking up and for storing each, where the store gains by them."""
_BEAT_S = 5.0

_log = logging.getLogger(__name__)


class Server:
    """One loaded engine that answers orders; says `ready` when made.

    Parameters
    ----------
    start : dict
        The start message: `worker` and the fields of `EngineSpec`.
    sink : binary file
        Where messages go.

    Raises
    ------
    LoudrError
        Whatever keeps the engine or the store from opening.
    """

    def __init__(self, start: dict[str, Any], sink: BinaryIO) -> None:
        self._worker = str(start["worker"])
        store = open_store(start["store_url"], ask=False)
        bundle = Path(start["bundle"]) if start["bundle"] is not None else None
        self._engine = open_engine(
            start["engine"], bundle=bundle, provider=start["provider"], **start["options"]
        )
        info = EngineInfo(
            name=self._engine.name,
            fingerprint=take_fingerprint(self._engine.fingerprint()),
            sample_rate_hz=self._engine.sample_rate_hz,
            limits=self._engine.limits,
            voices=tuple(self._engine.voices()),
        )
        self._fingerprint = info.fingerprint
        band = list(info.limits.seconds_per_character)
        self._policy = DetectorPolicy.from_dict({"seconds_per_character": band, **start["policy"]})
        self._sink = sink
        self._sending = threading.Lock()
        self._rendering: dict[str, Task] = {}
        self._with_engine = True
        threads = min(lanes_of(store), _STORE_THREADS)
        self._filing = Filing(store, threads=threads, done=self._answer, failed=self._answer_error)
        self._backlog = Backlog(
            store,
            self._policy,
            threads=threads,
            found=lambda task, row: self._conclude(task, row, good=row.status == "ok"),
            failed=self._answer_error,
        )
        self._send({"type": "ready", "info": info_to_json(info)})

    def run(self, messages: Iterator[dict[str, Any]]) -> None:
        """Serve until the process is ended from outside.

        Raises
        ------
        OutOfMemory
            The process has to be replaced.
        """
        for target, args in ((self._receive, (messages,)), (self._beat, ())):
            threading.Thread(target=target, args=args, daemon=True).start()
        while True:
            # A stream ends when nothing is queued while the engine's last batch still runs.
            reason = "the engine gave no answer"
            try:
                for speech in self._engine.synthesize(self._requests()):
                    task = self._rendering.pop(speech.id, None)
                    if task is None:
                        _log.error("the engine answered %r, which nobody asked for", speech.id)
                    else:
                        self._finish(task, speech)
            except Exception as error:
                if is_out_of_memory(error):
                    raise OutOfMemory(" ".join(str(error).split())) from error
                if len(self._rendering) != 1:  # whose fault is not known: re-run singly
                    raise
                _log.exception("the engine's stream broke")
                reason = " ".join(f"the engine failed: {type(error).__name__}: {error}".split())
            lost, self._rendering = self._rendering, {}
            for name, task in lost.items():
                self._finish(task, Speech(id=name, samples=None, error=reason))

    def _receive(self, messages: Iterator[dict[str, Any]]) -> None:
        for message in messages:
            order = order_from_json(message["order"])
            task = Task(number=int(message["number"]), order=order)
            if task.exhausted:  # an order without attempts still gets its answer
                self._filing.put(task, None, last=True)
            else:
                self._backlog.add(task)

    def _requests(self) -> Iterator[SpeechRequest]:
        """Yield what is to be rendered; wait only when the engine has nothing in hand."""
        while True:
            with self._away_from_engine():
                task = self._backlog.next(wait=not self._rendering)
            if task is None:
                return
            order = task.order
            request = SpeechRequest(
                id=_request_id(task),
                text=order.text,
                language=order.language,
                voice=order.voice,
                seed=task.attempt.seed,
                speed=order.speed,
                phonemes=order.phonemes,
            )
            self._rendering[request.id] = task
            yield request

    @contextmanager
    def _away_from_engine(self) -> Iterator[None]:
        """Mark that the engine's thread, which alone comes here, waits for something else."""
        self._with_engine = False
        try:
            yield
        finally:
            self._with_engine = True

    def _beat(self) -> None:
        """Say now and then that this process waits for the store, which is not to hang."""
        while True:
            time.sleep(_BEAT_S)
            if not self._with_engine:
                self._send({"type": "waiting"})

    def _finish(self, task: Task, speech: Speech) -> None:
        row = TakeResult(
            segment_id=task.order.id,
            job_key=task.order.job_key,
            take_key=task.attempt.take_key,
            attempt=task.attempt.number,
            seed=task.attempt.seed,
            status="failed",
            n_samples=0,
            sample_rate_hz=self._engine.sample_rate_hz,
            pcm_sha256="",
            tokens=speech.tokens,
            windows=speech.windows,
            findings=speech.findings,
            compute_s=round(speech.compute_s, 6),
            worker=self._worker,
            fingerprint=self._fingerprint,
            error=speech.error,
        )
        result: TakeResult | NewTake = row
        if speech.samples is not None and not speech.error:
            task.rendered += 1
            samples = trim_edges(speech.samples, self._engine.sample_rate_hz)
            take = new_take(row, samples, speech.findings, order=task.order, policy=self._policy)
            row = take.result
            result = take if row.status != "failed" else row
        elif not speech.error:
            result = replace(row, error="the engine gave neither samples nor an error")
        with self._away_from_engine():
            self._conclude(task, result, good=row.status == "ok")
        if row.status != "ok" and not task.exhausted:
            self._backlog.add_again(task)

    def _conclude(self, task: Task, result: TakeResult | NewTake, *, good: bool) -> None:
        task.next_attempt += 1
        last = good or task.exhausted
        if last:
            self._send({"type": "spoken", "number": task.number})
        self._filing.put(task, result, last=last)

    def _answer(self, task: Task, outcome: Outcome) -> None:
        self._send({"type": "done", "number": task.number, "outcome": outcome_to_json(outcome)})

    def _answer_error(self, task: Task, error: LoudrError) -> None:
        _log.error("order %s: %s", task.order.id, error.message)
        self._send({"type": "error", "number": task.number, "error": error_to_json(error)})

    def _send(self, message: dict[str, Any]) -> None:
        line = encode({**message, "peak_memory_bytes": _peak_memory_bytes()})
        with self._sending:
            self._sink.write(line)
            self._sink.flush()


def _request_id(task: Task) -> str:
    return f"{task.number}/{task.next_attempt}"


def _peak_memory_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
