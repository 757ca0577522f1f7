"""Remove from a store what no plan names, and what was begun and left, when it is old.

A plan may be written while we look, and find an old take that nobody named until then. So the
objects are listed first and the plans read after that; before each batch is removed the plans are
looked at again, and read anew when there is another one.
"""

import hashlib
from collections.abc import Container, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from loudr_core.jobs.reachable import Reachable, reachable
from loudr_core.jobs.stale import Leftovers, find_leftovers, is_left
from loudr_core.store.lanes import in_lanes
from loudr_core.store.protocol import ObjectStore, StoredObject

__all__ = ["PruneReport", "prune_store"]

_FOLDERS = ("audio/", "choice/", "aac/")
_BATCH = 500
_DAY_S = 86_400.0
_SHARDS_DAYS = 7.0
"""The least for shards: a render may wait some days for workers, and writes nothing meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneReport:
    """What was removed, or would be.

    Parameters
    ----------
    objects : int
        Takes, choices and encoded pieces that went.
    plans : tuple of str
        Plans that came to nothing and went.
    leftovers : int
        Objects that went with those plans, of old shards and of the ledger.
    n_bytes : int
        Of all that went.
    kept : int
        That plans name.
    young : int
        That no plan names, and that are not old enough.
    unlisted : tuple of str
        Plans that do not say which encoded pieces they need; none was removed for their sake.
    dry_run : bool
    """

    objects: int
    plans: tuple[str, ...]
    leftovers: int
    n_bytes: int
    kept: int
    young: int
    unlisted: tuple[str, ...]
    dry_run: bool

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)


def prune_store(
    store: ObjectStore,
    *,
    older_than_days: float,
    plans_older_than_days: float = 90.0,
    dry_run: bool,
) -> PruneReport:
    """Remove takes, choices and encoded pieces that no plan names, and what was begun and left.

    Parameters
    ----------
    older_than_days : float
        Of what no plan names, and of shards, which stay a week at least; by the store's clock.
    plans_older_than_days : float
        Of plans that were never rendered to the end, not even in part, and of the ledger's entries,
        since anything was written for them. What such a plan alone names may go with it.
    dry_run : bool
        Only count.

    Raises
    ------
    StoreError
        What a plan needs cannot be told; nothing is removed then.
    """
    now = store.now_s()
    before = now - _DAY_S * older_than_days
    plans_before = now - _DAY_S * plans_older_than_days
    entries = [entry for folder in _FOLDERS for entry in store.entries(folder)]
    choices = [entry.key for entry in entries if entry.key.startswith("choice/")]
    shards_before = min(before, now - _DAY_S * _SHARDS_DAYS)
    left = find_leftovers(store, before_s=shards_before, plans_before_s=plans_before)
    plans = _Plans(store, choices)
    named = plans.read(left.plans)  # before anything goes: it raises where a plan cannot be read
    gone = [*left.objects, *(each for of_plan in left.plans.values() for each in of_plan)]
    went = list(left.plans)
    if not dry_run:
        went, gone = _remove_leftovers(store, left, plans_before)
        named = plans.read()
    loose = [entry for entry in entries if not named.names(entry.key)]
    old = [entry for entry in loose if entry.modified_s < before]
    taken = old if dry_run else list(_remove(store, old, plans))
    return PruneReport(
        objects=len(taken),
        plans=tuple(_plan_name(folder) for folder in went),
        leftovers=len(gone),
        n_bytes=sum(entry.size for entry in (*taken, *gone)),
        kept=len(entries) - len(loose),
        young=len(loose) - len(old),
        unlisted=tuple(named.unlisted),
        dry_run=dry_run,
    )


def _remove_leftovers(
    store: ObjectStore, left: Leftovers, before_s: float
) -> tuple[list[str], list[StoredObject]]:
    """Remove what was left; return the plans and the objects that went."""
    gone = list(left.objects)
    _delete(store, gone)
    went = []
    for folder in left.plans:
        found = list(store.entries(f"{folder}/"))
        if not is_left(folder, found, before_s):
            continue  # somebody has come back to it meanwhile
        # Without its description it is no plan, wherever this is interrupted.
        store.delete(f"{folder}/plan.json")
        _delete(store, found)
        went.append(folder)
        gone += found
        gone += _remove_source(store, folder.rpartition("/plans/")[0])
    return went, gone


def _remove_source(store: ObjectStore, book: str) -> list[StoredObject]:
    """Remove the copy of a book of which nothing else is left."""
    found = list(store.entries(f"{book}/"))
    if any(not entry.key.startswith(f"{book}/source.") for entry in found):
        return []
    _delete(store, found)
    return found


def _delete(store: ObjectStore, entries: Iterable[StoredObject]) -> None:
    list(in_lanes(store, lambda entry: store.delete(entry.key), list(entries)))


def _plan_name(folder: str) -> str:
    _, book_id, _, plan_id = folder.split("/")
    return f"{book_id} {plan_id}"


def _remove(
    store: ObjectStore, entries: list[StoredObject], plans: "_Plans"
) -> Iterator[StoredObject]:
    """Remove objects, choices before the takes that they name, and yield those that went."""
    ranked = sorted(entries, key=lambda entry: not entry.key.startswith("choice/"))
    for start in range(0, len(ranked), _BATCH):
        named = plans.read()
        batch = [e for e in ranked[start : start + _BATCH] if not named.names(e.key)]
        _delete(store, batch)
        yield from batch


class _Plans:
    """What the plans name, read again when they have changed."""

    def __init__(self, store: ObjectStore, choices: list[str]) -> None:
        self._store = store
        self._choices = choices
        self._seen: tuple[str, Container[str]] | None = None
        self._named = Reachable()

    def read(self, without: Container[str] = ()) -> Reachable:
        seen = (self._state(), without)
        if seen != self._seen:
            self._named = reachable(self._store, choices=self._choices, without=without)
            self._seen = seen
        return self._named

    def _state(self) -> str:
        """Return a digest of the plans, seeds and lists of pieces, and when each was written."""
        state = hashlib.sha256()
        for entry in self._store.entries("books/"):
            if not _says_what_is_needed(entry.key):
                continue
            state.update(f"{entry.key}\0{entry.version}\0{entry.modified_s}\n".encode())
        return state.hexdigest()


def _says_what_is_needed(key: str) -> bool:
    name = key.rpartition("/")[2]
    return "/overrides/" in key or name.startswith(("plan.", "jobs.", "pieces"))
