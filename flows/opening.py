"""Open what a render needs, in the order in which it takes time: engine processes first."""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from flows.configuration import Settings
from loudr_core.render.book import BookRender, RenderOptions
from loudr_core.settings import Profile
from loudr_core.speech.registry import engine_limits
from loudr_core.speech.wire import EngineSpec
from loudr_core.speech.workers import EnginePool, worker_count
from loudr_core.store.open import open_store
from loudr_core.store.protocol import ObjectStore

__all__ = ["engine_pool", "engine_spec", "open_render", "open_settings_store", "pool_size"]

logger = logging.getLogger(__name__)


def pool_size(settings: Settings) -> int:
    """Return how many engine processes this machine carries."""
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
def engine_pool(settings: Settings, store: ObjectStore, *, size: int) -> Iterator[EnginePool]:
    """Start the engine processes of a profile; end them with the block, at once on an error."""
    logs = settings.home.expanduser() / "logs"
    with EnginePool(engine_spec(settings.profile, store), size=size, log_dir=logs) as pool:
        yield pool


def open_render(
    book: Path,
    settings: Settings,
    *,
    store: ObjectStore,
    pool: EnginePool,
    options: RenderOptions,
    cancel: threading.Event | None = None,
) -> BookRender:
    """Return the stages of one book over an open store and started engine processes."""
    return BookRender(
        book,
        profile=settings.profile,
        store=store,
        pool=pool,
        options=options,
        cancel=cancel or threading.Event(),
    )


def open_settings_store(settings: Settings) -> ObjectStore:
    """Return the store that the settings name."""
    return open_store(settings.store_url)
