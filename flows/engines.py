"""Which engines a profile needs, and how many of their processes this machine carries."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from flows.configuration import Settings
from loudr_core.errors import BundleError
from loudr_core.settings import Profile
from loudr_core.speech.files import is_there
from loudr_core.speech.registry import engine_limits
from loudr_core.speech.wire import EngineSpec
from loudr_core.speech.workers import worker_count
from loudr_core.store.protocol import ObjectStore

if TYPE_CHECKING:
    from flows.shard_request import ShardRequest

__all__ = ["engine_spec", "engine_specs", "pool_size", "refuse_absent_bundles", "spec_here"]


def pool_size(settings: Settings) -> int:
    """Return how many engine processes this machine carries; threads, when others have them.

    Of several engines, as many as there is room for of the largest: they take turns.
    """
    cpus = len(os.sched_getaffinity(0))
    if settings.executor == "pool":
        return cpus
    profile = settings.profile
    names = {profile.voice_profile(name).engine or "" for name in ("", *profile.voices)}
    free = psutil.virtual_memory().available
    return min(
        worker_count(settings.workers, engine_limits(name), cpus=cpus, free_memory_bytes=free)
        for name in sorted(names)
    )


def engine_spec(profile: Profile, store: ObjectStore, name: str = "") -> EngineSpec:
    """Return what an engine process is to load for a voice, and where its takes go.

    Parameters
    ----------
    name : str
        Of the voice in the profile; empty for the narrator.
    """
    voice = profile.voice_profile(name)
    return EngineSpec(
        engine=voice.engine or profile.engine,
        store_url=store.url,
        policy=dict(profile.detectors),
        bundle=str(Path(voice.bundle).expanduser().resolve()) if voice.bundle else None,
        provider=voice.provider or "cpu",
        options=dict(voice.options or {}),
    )


def engine_specs(profile: Profile, store: ObjectStore) -> Mapping[str, EngineSpec]:
    """Return what is to be loaded for each voice of a profile, by name, the narrator's first.

    Raises
    ------
    ConfigError
        The cast names a voice that is not there, or leaves one without a chapter.
    """
    profile.cast_rules()
    return {name: engine_spec(profile, store, name) for name in ("", *profile.voices)}


def refuse_absent_bundles(profile: Profile, store: ObjectStore) -> None:
    """Raise when a model of a stored plan is not where the plan has it.

    Raises
    ------
    BundleError
        It names the voice's variable, which says where the model lies now.
    """
    for name, spec in engine_specs(profile, store).items():
        if spec.bundle is not None and not is_there(Path(spec.bundle)):
            own = bool(name) and profile.voices[name].bundle is not None
            variable = f"LOUDR_VOICES__{name.upper()}__BUNDLE" if own else "LOUDR_BUNDLE"
            raise BundleError(
                f"no bundle folder {spec.bundle}, where the plan has the model of "
                f"{spec.engine!r}: {variable} says where it lies now",
                path=spec.bundle,
            )


def spec_here(request: ShardRequest, settings: Settings) -> EngineSpec:
    """Return what a shard needs loaded on this machine, where the model's folder may be another.

    What is said for the book's own engine is not said for that of another voice.
    """
    spec, name = request.spec, request.engine.voice
    bundle = settings.bundle
    if name:
        own = settings.voices.get(name)
        bundle = own.bundle if own is not None else None
    if spec.bundle is None or bundle is None:
        return spec
    return replace(spec, bundle=bundle)
