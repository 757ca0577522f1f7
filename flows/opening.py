"""Open what a render needs, in the order in which it takes time: engine processes first.

The stages of a book are imported when one is opened, while the engines load their models.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from flows import metrics
from flows.configuration import Settings
from flows.engines import engine_spec, engine_specs, pool_size
from flows.home import make_home, ready_home
from loudr_core.errors import StoreError
from loudr_core.speech.ensemble import Ensemble
from loudr_core.speech.wire import EngineSpec
from loudr_core.speech.workers import EnginePool
from loudr_core.store.open import open_store
from loudr_core.store.protocol import ObjectStore

if TYPE_CHECKING:
    from flows.execution.campaign import Terms
    from flows.execution.pool import ShardPool
    from loudr_core.render.book import BookRender, EnginePoolLike, RenderOptions
    from loudr_core.render.planning import StoredPlan

__all__ = [
    "Engines",
    "engine_pool",
    "engine_spec",
    "engine_specs",
    "hang_limits",
    "open_kept_store",
    "open_render",
    "open_settings_store",
    "pool_size",
]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Engines:
    """What speaks the voices of a profile.

    Parameters
    ----------
    pools : mapping of str to EnginePoolLike
        By the name of the voice; voices of one engine share one.
    shards : ShardPool, optional
        The workers elsewhere, where it is they who speak.
    """

    pools: Mapping[str, EnginePoolLike]
    shards: ShardPool | None = None


@contextmanager
def engine_pool(settings: Settings, store: ObjectStore, *, size: int) -> Iterator[Engines]:
    """Start the engine processes of a profile; end them with the block, at once on an error.

    Those of several engines take turns. With the executor `pool` they are those of workers
    elsewhere, and shards go to them.

    Raises
    ------
    ConfigError
        The cast of the profile names a voice that is not there, or leaves one without a chapter.
    """
    specs = engine_specs(settings.profile, store)
    if settings.executor == "pool":
        from flows.execution.pool import ShardPool
        from flows.execution.shard_runs import PrefectRuns

        runs = PrefectRuns(settings.pool.deployment)
        with ShardPool(specs, store, runs=runs, terms=_terms(settings)) as shards:
            yield Engines(dict.fromkeys(specs, shards), shards=shards)
        return
    logs = ready_home(settings.home) / "logs"

    def made(spec: EngineSpec, size: int, folder: Path = logs) -> EnginePool:
        return EnginePool(spec, size=size, log_dir=folder, **hang_limits(settings))

    narrator = specs[""]
    if all(spec == narrator for spec in specs.values()):
        with made(narrator, size) as pool:
            yield Engines(dict.fromkeys(specs, pool))
        return

    def started(spec: EngineSpec, size: int) -> EnginePool:
        pool = made(spec, size, logs / spec.engine)
        pool.start()
        return pool

    with Ensemble(list(specs.values()), size=size, start=started) as ensemble:
        yield Engines({name: ensemble.part(spec) for name, spec in specs.items()})


def hang_limits(settings: Settings) -> dict[str, float]:
    """Return after which time an engine process counts as hung, as `EnginePool` takes it."""
    return {"hang_floor_s": settings.hang_s, "hang_factor": settings.hang_factor}


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
    pool: Engines,
    options: RenderOptions,
    cancel: threading.Event | None = None,
) -> BookRender:
    """Return the stages of one book over an open store and started engine processes."""
    from loudr_core.render.book import BookRender

    shards = pool.shards.for_book() if pool.shards is not None else None
    pools = pool.pools if shards is None else {name: shards.part(name) for name in pool.pools}
    render = BookRender(
        book,
        profile=settings.profile,
        store=store,
        pool=pools[""],
        cast={name: pools[name] for name in settings.profile.voices},
        options=replace(options, profile_name=settings.profile_name),
        cancel=cancel or threading.Event(),
    )
    if shards is not None:
        shards.attach(render.plan, render.cancel)
    metrics.observe(render, host=settings.metrics_host, port=settings.metrics_port)
    return render


def open_kept_store(settings: Settings) -> ObjectStore:
    """Open the store of the settings for what only works with what is there.

    Raises
    ------
    StoreError
        A folder was named that is not there: to make it would hide a mistyped name.
    """
    named = settings.store
    if named is not None and "://" not in named and not Path(named).expanduser().is_dir():
        raise StoreError(f"no store at {named}: no such folder", path=named)
    return open_settings_store(settings)


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
