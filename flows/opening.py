"""Open what a render needs, in the order in which it takes time: engine processes first.

The stages of a book are imported when one is opened, while the engines load their models.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from flows import metrics
from flows.configuration import Settings
from flows.home import make_home, ready_home
from loudr_core.settings import Profile
from loudr_core.speech.registry import engine_limits
from loudr_core.speech.wire import EngineSpec
from loudr_core.speech.workers import EnginePool, worker_count
from loudr_core.store.open import open_store
from loudr_core.store.protocol import ObjectStore

if TYPE_CHECKING:
    from flows.execution.campaign import Terms
    from loudr_core.render.book import BookRender, EnginePoolLike, RenderOptions
    from loudr_core.render.planning import StoredPlan

__all__ = ["engine_pool", "engine_spec", "open_render", "open_settings_store", "pool_size"]

logger = logging.getLogger(__name__)


def pool_size(settings: Settings) -> int:
    """Return how many engine processes this machine carries; threads, when others have them."""
    if settings.executor == "pool":
        return len(os.sched_getaffinity(0))
    return worker_count(
        settings.workers,
        engine_limits(settings.engine),
        cpus=len(os.sched_getaffinity(0)),
        free_memory_bytes=psutil.virtual_memory().available,
    )


def engine_spec(profile: Profile, store: ObjectStore) -> EngineSpec:
    """Return what each engine process is to load, and where its takes go."""
    bundle = str(Path(profile.bundle).expanduser().resolve()) if profile.bundle else None
    return EngineSpec(
        engine=profile.engine,
        store_url=store.url,
        policy=dict(profile.detectors),
        bundle=bundle,
        provider=profile.provider,
        options=dict(profile.options),
    )


@contextmanager
def engine_pool(settings: Settings, store: ObjectStore, *, size: int) -> Iterator[EnginePoolLike]:
    """Start the engine processes of a profile; end them with the block, at once on an error.

    With the executor `pool` they are those of workers elsewhere, and shards go to them.
    """
    spec = engine_spec(settings.profile, store)
    if settings.executor == "pool":
        from flows.execution.pool import ShardPool
        from flows.execution.shard_runs import PrefectRuns

        runs = PrefectRuns(settings.pool.deployment)
        with ShardPool(spec, store, runs=runs, terms=_terms(settings)) as shards:
            yield shards
        return
    logs = ready_home(settings.home) / "logs"
    with EnginePool(spec, size=size, log_dir=logs, hang_floor_s=settings.hang_s) as pool:
        yield pool


def _terms(settings: Settings) -> Terms:
    from flows.execution.campaign import Terms
    from loudr_core.render.reconcile import ReconcileRule

    chosen = settings.pool
    rule = ReconcileRule(stall_s=chosen.stall_s, start_s=chosen.start_s, attempts=chosen.attempts)
    return Terms(rule=rule, shard_audio_s=chosen.shard_audio_s)


def open_render(
    book: Path | StoredPlan,
    settings: Settings,
    *,
    store: ObjectStore,
    pool: EnginePoolLike,
    options: RenderOptions,
    cancel: threading.Event | None = None,
) -> BookRender:
    """Return the stages of one book over an open store and started engine processes."""
    from flows.execution.pool import ShardPool
    from loudr_core.render.book import BookRender

    shards = pool.for_book() if isinstance(pool, ShardPool) else None
    render = BookRender(
        book,
        profile=settings.profile,
        store=store,
        pool=shards or pool,
        options=replace(options, profile_name=settings.profile_name),
        cancel=cancel or threading.Event(),
    )
    if shards is not None:
        shards.attach(render.plan, render.cancel)
    metrics.observe(render, host=settings.metrics_host, port=settings.metrics_port)
    return render


def open_settings_store(settings: Settings) -> ObjectStore:
    """Return the store that the settings name.

    Raises
    ------
    StoreError
        It cannot be opened; when it is in loudr's home, since that cannot be made.
    """
    if settings.store is None:
        make_home(settings.home)
    return open_store(settings.store_url)
