"""Seeds given by hand: kept beside a book's plans, found again after the book is planned anew.

An override is named after the words of its segment and of its two neighbours (`keys.override_key`),
so it holds while these stay as they are, whatever happens to the rest of the book.
"""

from collections.abc import Mapping, Sequence

from loudr_core.errors import StoreError
from loudr_core.jobs.keys import MAX_ATTEMPTS, attempt_seed
from loudr_core.jobs.orders import override_keys
from loudr_core.jobs.plan import Plan
from loudr_core.jobs.table import Job
from loudr_core.store.protocol import ObjectStore

__all__ = ["next_seed", "read_overrides", "write_override"]


def read_overrides(store: ObjectStore, plan: Plan, jobs: Sequence[Job]) -> dict[str, int]:
    """Return segment id to the seed that was given by hand, where there is one.

    Parameters
    ----------
    jobs : sequence of Job
        All of the plan, since a name depends on the neighbours.

    Raises
    ------
    StoreError
        An override is no number.
    """
    prefix = _prefix(plan)
    kept = {key.removeprefix(prefix) for key in store.list(prefix)}
    if not kept:
        return {}
    return {
        segment: _seed(store, prefix + key)
        for segment, key in override_keys(jobs).items()
        if key in kept
    }


def write_override(
    store: ObjectStore, plan: Plan, jobs: Sequence[Job], seeds: Mapping[str, int]
) -> None:
    """Keep seeds for segments of a plan.

    Parameters
    ----------
    seeds : mapping of str to int
        Segment id to seed, 0 to 2^64 - 1.
    """
    names = override_keys(jobs)
    for segment, seed in seeds.items():
        store.put(_prefix(plan) + names[segment], str(seed).encode())


def next_seed(job: Job, current: int) -> int:
    """Return a seed that no attempt of the job has used: the one after `current` in its series."""
    number = MAX_ATTEMPTS
    while attempt_seed(job.seed, number) != current and number < MAX_ATTEMPTS + 10_000:
        number += 1
    known = attempt_seed(job.seed, number) == current
    return attempt_seed(job.seed, number + 1 if known else MAX_ATTEMPTS)


def _prefix(plan: Plan) -> str:
    return f"books/{plan.book_id}/overrides/"


def _seed(store: ObjectStore, key: str) -> int:
    data = store.get(key) or b""
    if not data.isdigit():
        raise StoreError(f"{key} is no seed; delete it", key=key)
    return int(data)
