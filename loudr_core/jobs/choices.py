"""What is finished: reading the choices of a plan's orders back from the store."""

import json
from collections.abc import Iterable, Sequence

from loudr_core.canonical import digest
from loudr_core.jobs.table import Job
from loudr_core.speech.orders import Choice, Order, audio_key
from loudr_core.store.lanes import in_lanes
from loudr_core.store.protocol import ObjectStore

__all__ = ["finished", "pcm_digest", "read_choice", "split_finished", "was_spoken"]

_AT_ONCE = 256


def read_choice(store: ObjectStore, order: Order) -> Choice | None:
    """Return the choice made for an order, or None when there is none that can be read."""
    data = store.get(order.choice_key)
    if data is None:
        return None
    try:
        return Choice.from_dict(json.loads(data))
    except (ValueError, KeyError, TypeError):
        return None


def finished(store: ObjectStore, order: Order) -> Choice | None:
    """Return the order's choice when its take is there too.

    A segment that failed is not finished: what made it fail may be gone in the next run.
    """
    choice = read_choice(store, order)
    if choice is None or choice.status == "failed":
        return None
    return choice if store.exists(audio_key(choice.take_key)) else None


def split_finished(
    store: ObjectStore, orders: Sequence[Order]
) -> tuple[dict[str, Choice], list[Order]]:
    """Return the choices that exist, by job key, and the orders still to do, one per job key."""
    wanted: dict[str, Order] = {}
    for order in orders:
        wanted.setdefault(order.job_key, order)
    done: dict[str, Choice] = {}
    missing: list[Order] = []
    found = in_lanes(store, lambda order: finished(store, order), wanted.values())
    for order, choice in zip(wanted.values(), found, strict=True):
        if choice is None:
            missing.append(order)
        else:
            done[order.job_key] = choice
    return done, missing


def was_spoken(jobs: Sequence[Job], store: ObjectStore) -> bool:
    """Say whether a choice was ever made for one of the jobs, under any detector settings."""

    def has_choice(name: str) -> bool:
        return next(iter(store.list(f"choice/{name[:2]}/{name}-")), None) is not None

    names = list(dict.fromkeys(job.job_key for job in jobs))
    return any(
        any(in_lanes(store, has_choice, names[start : start + _AT_ONCE]))
        for start in range(0, len(names), _AT_ONCE)
    )


def pcm_digest(choices: Iterable[Choice]) -> str:
    """Return the hash of a rendering: over the PCM hashes of the chosen takes, in book order.

    Two renderings with one digest have the same samples in every segment.
    """
    return digest(["pcm-1", [choice.pcm_sha256 for choice in choices]])
