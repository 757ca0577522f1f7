"""One shard of a book on this machine: the flow that pools of workers run.

Everything it needs comes by its parameters and from the store, and everything it makes goes there,
so it may be killed at any moment, and may run anywhere that the store can be reached from.
"""

import logging
from dataclasses import asdict, dataclass, field
from typing import Any

from prefect import flow, runtime

from flows import metrics
from flows.configuration import load
from flows.engines import spec_here
from flows.opening import hang_limits
from flows.plain_failure import without_tracebacks
from flows.shard_request import ShardRequest
from loudr_core.errors import BundleError, LoudrError
from loudr_core.jobs.choices import split_finished
from loudr_core.render.progress import Progress
from loudr_core.render.shard import found_outcome, run_order, speak_shard
from loudr_core.render.shard_files import Journal, read_orders, write_info
from loudr_core.speech.wire import EngineInfo
from loudr_core.speech.workers import EnginePool
from loudr_core.store.open import open_store
from loudr_core.store.protocol import ObjectStore

__all__ = ["render_shard"]

logger = logging.getLogger(__name__)

_LOOK_S = 1.0

without_tracebacks()  # of a refusal, which the parent gives out again


@dataclass(frozen=True)
class _Counted:
    """A shard, as those who ask for numbers see it."""

    label: str
    progress: Progress = field(default_factory=Progress)


def _run_name() -> str:
    request = runtime.flow_run.parameters["request"]
    return ShardRequest.model_validate(request).run_name


@flow(name="render-shard", flow_run_name=_run_name, persist_result=False)
def render_shard(request: ShardRequest) -> dict[str, Any]:
    """Speak what is missing of one shard; returns its counts."""
    store = open_store(request.store)
    journal = Journal(
        store, request.folder, owner=request.owner, shard=request.shard, attempt=request.attempt
    )
    try:
        return _speak(request, store, journal)
    except LoudrError as error:
        journal.fail(error)
        raise


def _speak(request: ShardRequest, store: ObjectStore, journal: Journal) -> dict[str, Any]:
    settings = load()
    orders = None
    if request.book_id:
        orders = read_orders(store, request.folder, request.owner, request.shard)
        if orders is None:
            logger.info("whoever gave this shard out has finished: nothing to do")
            return {}
        journal.wake()
        found, missing = split_finished(store, orders)
        if not missing:  # then an engine need not be loaded
            journal.add(found_outcome(each, found[each.job_key]) for each in orders)
            journal.flush()
            return {"number": request.shard, "segments": len(orders), "reused": len(orders)}
    size = settings.workers or 1
    spec = spec_here(request, settings)
    logs = settings.home.expanduser() / "logs"
    with EnginePool(spec, size=size, log_dir=logs, **hang_limits(settings)) as pool:
        info = _loaded(pool, journal)
        _accept(request, info, store)
        journal.begin(info)
        if orders is None:
            return {"engine": info.name, "fingerprint": info.fingerprint}
        counted = _Counted(request.book_id)
        metrics.observe(counted, host=settings.metrics_host, port=settings.metrics_port)
        result = speak_shard(
            run_order(orders, request.key),
            number=request.shard,
            pool=pool,
            store=store,
            journal=journal,
            width=2 * size * (info.limits.batch + 1),
            progress=counted.progress,
        )
    return asdict(result)


def _loaded(pool: EnginePool, journal: Journal) -> EngineInfo:
    """Return what the engine is when it is loaded, and say meanwhile that this run is alive."""
    while True:
        try:
            return pool.info(_LOOK_S)
        except TimeoutError:
            journal.tick()


def _accept(request: ShardRequest, info: EngineInfo, store: ObjectStore) -> None:
    """Leave a description of the engine, and refuse a shard that was planned for another.

    Raises
    ------
    BundleError
        This machine's samples would not be those of the others.
    """
    if info.fingerprint != request.fingerprint:
        write_info(store, request.spec, info)
        if request.fingerprint:
            raise BundleError(
                f"this worker's {info.name} has other weights or runs on another kind of machine "
                f"than {request.book_id} was planned for (fingerprint {info.fingerprint[:12]}, "
                f"wanted {request.fingerprint[:12]}): keep one kind of machine in a pool, "
                "and run again",
                found=info.fingerprint,
                expected=request.fingerprint,
            )
