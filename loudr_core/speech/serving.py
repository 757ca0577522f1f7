"""Serve orders with one engine: pull, render, trim, inspect, try again, store, answer.

One engine stream runs for as long as there is work. Attempts that must be made again are fed into
the same stream before new orders, so a batching engine keeps its batch full. Storing goes on in a
thread of its own, in order, while the engine renders the next unit; an answer is sent when its
choice lies in the store.
"""

import logging
import queue
import resource
import sys
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from loudr_core.audio.detectors import DetectorPolicy
from loudr_core.audio.trim import trim_edges
from loudr_core.errors import LoudrError, StoreError
from loudr_core.speech.orders import Attempt, Order, Outcome, TakeResult
from loudr_core.speech.protocol import Speech, SpeechRequest
from loudr_core.speech.registry import open_engine
from loudr_core.speech.takes import (
    NewTake,
    choose,
    load_take,
    new_take,
    store_choice,
    store_take,
    take_fingerprint,
)
from loudr_core.speech.wire import (
    EngineInfo,
    encode,
    error_to_json,
    info_to_json,
    order_from_json,
    outcome_to_json,
)
from loudr_core.store.open import open_store

__all__ = ["Server"]

_STORING_AHEAD = 4
"""Takes that may wait to be stored; more would only be memory."""

_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True, eq=False)
class _Task:
    """An order under way. `results` belongs to the storing thread, the rest to the engine's."""

    number: int
    order: Order
    next_attempt: int = 0
    reused: int = 0
    rendered: int = 0
    refused: bool = False
    """The store failed it and that was answered; what else comes of it is dropped."""
    results: list[TakeResult] = field(default_factory=list)

    @property
    def attempt(self) -> Attempt:
        """The attempt that is to be made now."""
        return self.order.attempts[self.next_attempt]

    @property
    def exhausted(self) -> bool:
        """Whether there is no attempt left."""
        return self.next_attempt >= len(self.order.attempts)


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
        self._store = open_store(start["store_url"])
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
        self._inbox: queue.SimpleQueue[_Task] = queue.SimpleQueue()
        self._again: deque[_Task] = deque()
        self._rendering: dict[str, _Task] = {}
        self._storing: queue.Queue[tuple[_Task, TakeResult | NewTake | None, bool]]
        self._storing = queue.Queue(_STORING_AHEAD)
        self._send({"type": "ready", "info": info_to_json(info)})

    def run(self, messages: Iterator[dict[str, Any]]) -> None:
        """Serve until the process is ended from outside."""
        for target, args in ((self._receive, (messages,)), (self._store_all, ())):
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
            task = _Task(number=int(message["number"]), order=order)
            if task.exhausted:  # an order without attempts still gets its answer
                self._storing.put((task, None, True))
            else:
                self._inbox.put(task)

    def _requests(self) -> Iterator[SpeechRequest]:
        """Yield what is to be rendered; wait only when the engine has nothing in hand."""
        while True:
            task = self._next_task()
            if task is None:
                return
            try:
                wanted = self._reuse(task)
            except LoudrError as error:
                self._answer_error(task, error)
                continue
            if not wanted:
                continue
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

    def _next_task(self) -> _Task | None:
        if self._again:
            return self._again.popleft()
        if not self._rendering:
            return self._inbox.get()
        try:
            return self._inbox.get_nowait()
        except queue.Empty:
            return None

    def _reuse(self, task: _Task) -> bool:
        """Take stored attempts into account; say whether one has to be rendered."""
        while not task.exhausted:
            row = load_take(self._store, task.order, task.attempt, self._policy)
            if row is None:
                return True
            task.reused += 1
            self._conclude(task, row, good=row.status == "ok")
            if row.status == "ok":
                return False
        return False

    def _finish(self, task: _Task, speech: Speech) -> None:
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
        self._conclude(task, result, good=row.status == "ok")
        if row.status != "ok" and not task.exhausted:
            self._again.append(task)

    def _conclude(self, task: _Task, result: TakeResult | NewTake, *, good: bool) -> None:
        task.next_attempt += 1
        self._storing.put((task, result, good or task.exhausted))

    def _answer_error(self, task: _Task, error: LoudrError) -> None:
        _log.error("order %s: %s", task.order.id, error.message)
        self._send({"type": "error", "number": task.number, "error": error_to_json(error)})

    def _store_all(self) -> None:
        while True:
            task, result, last = self._storing.get()
            if task.refused:
                continue
            try:
                self._store_one(task, result, last=last)
            except LoudrError as error:
                self._answer_error(task, error)
                task.refused = True
            except Exception as error:  # noqa: BLE001  # the orders after it are still served
                _log.exception("order %s could not be stored", task.order.id)
                reason = " ".join(f"{type(error).__name__}: {error}".split())
                self._answer_error(task, StoreError(f"a take could not be stored ({reason})"))
                task.refused = True

    def _store_one(self, task: _Task, result: TakeResult | NewTake | None, *, last: bool) -> None:
        if isinstance(result, NewTake):
            result = store_take(self._store, result)
        if result is not None:
            task.results.append(result)
        if not last:
            return
        choice = choose(task.order, task.results)
        store_choice(self._store, task.order, choice)
        outcome = Outcome(
            id=task.order.id,
            job_key=task.order.job_key,
            choice=choice,
            rendered=task.rendered,
            reused=task.reused,
            results=tuple(task.results),
        )
        self._send({"type": "done", "number": task.number, "outcome": outcome_to_json(outcome)})

    def _send(self, message: dict[str, Any]) -> None:
        line = encode({**message, "peak_memory_bytes": _peak_memory_bytes()})
        with self._sending:
            self._sink.write(line)
            self._sink.flush()


def _request_id(task: _Task) -> str:
    return f"{task.number}/{task.next_attempt}"


def _peak_memory_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
