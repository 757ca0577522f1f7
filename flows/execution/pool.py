"""Speak books on other machines: shards become runs of `render-shard` on a pool of workers.

To the stages of a render this is a pool of engine processes like the one on this machine. Behind it
stands a thread for each book (`book_pool`), whose campaign gives the shards out. Only the store is
believed.
"""

import threading
import uuid
from collections.abc import Mapping
from concurrent.futures import CancelledError, Future

from flows.execution.book_pool import BookPool
from flows.execution.campaign import Terms
from flows.execution.description import Description
from flows.execution.shard_runs import ShardRuns, as_loudr_error
from flows.shard_request import ShardEngine, ShardRequest
from loudr_core.jobs.plan import Plan
from loudr_core.render.reconcile import ShardStanding
from loudr_core.render.shard_files import engine_folder, read_info
from loudr_core.speech.orders import Order, Outcome
from loudr_core.speech.wire import EngineInfo, EngineSpec
from loudr_core.store.protocol import ObjectStore

__all__ = ["ShardPool"]


class ShardPool:
    """The workers of a pool, as the engine of one or several books.

    Parameters
    ----------
    specs : EngineSpec, or mapping of str to EngineSpec
        What a worker loads for each voice, by its name; the narrator's is empty.
    store : ObjectStore
        One that the workers reach too.
    runs : ShardRuns
    terms : Terms
    """

    def __init__(
        self,
        specs: EngineSpec | Mapping[str, EngineSpec],
        store: ObjectStore,
        *,
        runs: ShardRuns,
        terms: Terms,
    ) -> None:
        self.store, self.runs, self.terms = store, runs, terms
        self.owner = uuid.uuid4().hex[:12]
        self._specs = {"": specs} if isinstance(specs, EngineSpec) else dict(specs)
        self._infos: dict[str, Future[EngineInfo]] = {
            name: Future() for name in map(self.engine_of, self._specs)
        }
        self._stop = threading.Event()
        self._books: list[BookPool] = []
        self._threads = [
            threading.Thread(target=self._describe, args=(name,), name="describe", daemon=True)
            for name in self._infos
        ]

    def __enter__(self) -> "ShardPool":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for book in self._books:
            book.close()
        for thread in self._threads:
            thread.join()

    def engine_of(self, name: str) -> str:
        """Return the first of the voices that have the same engine, which stands for it."""
        return next(each for each, spec in self._specs.items() if spec == self._specs[name])

    def info(self, timeout_s: float | None = None, name: str = "") -> EngineInfo:
        """Return what a voice's engine is, from the store or from the first worker that loads it.

        Raises
        ------
        LoudrError
            There is no such deployment, or no worker can load the engine.
        TimeoutError
            It took longer than `timeout_s`.
        """
        return self._infos[self.engine_of(name)].result(timeout_s)

    def submit(self, order: Order) -> "Future[Outcome]":
        """Refuse: orders belong to a book."""
        raise ValueError(f"order {order.id} was given to no book: use for_book()")

    def for_book(self) -> "BookPool":
        """Return the pool for one more book."""
        self._books.append(BookPool(self))
        return self._books[-1]

    def request(self, shard: ShardStanding, plan: Plan | None, name: str = "") -> ShardRequest:
        """Return what a run of a shard is asked for; without a plan, to describe the engine.

        Parameters
        ----------
        name : str
            Of a voice that has the engine.
        """
        spec = self._specs[name]
        fingerprint = ""
        if plan is not None:
            fingerprint = plan.voices[name].fingerprint if name else plan.fingerprint
        return ShardRequest(
            store=spec.store_url,
            engine=ShardEngine(
                engine=spec.engine,
                bundle=spec.bundle,
                provider=spec.provider,
                options=dict(spec.options),
                detectors=dict(spec.policy),
                voice=name,
            ),
            owner=self.owner,
            book_id=plan.book_id if plan else "",
            plan_id=plan.plan_id if plan else "",
            shard=shard.number,
            attempt=shard.attempt,
            fingerprint=fingerprint,
        )

    def _describe(self, name: str) -> None:
        described, spec = self._infos[name], self._specs[name]
        try:
            self.runs.workers()  # a deployment that is not there is known now
            info = read_info(self.store, spec)
            if info is None:
                info = Description(self, engine_folder(spec), name).wait(self._stop)
        except CancelledError as stopped:
            described.set_exception(stopped)
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
            described.set_exception(as_loudr_error(error))
        else:
            described.set_result(info)
