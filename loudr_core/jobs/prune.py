"""Remove from a store what no plan names, when it is old.

A plan may be written while we look, and find an old take that nobody named until then. So the
objects are listed first and the plans read after that; before each batch is removed the plans are
looked at again, and read anew when there is another one.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from loudr_core.jobs.reachable import Reachable, reachable
from loudr_core.store.lanes import in_lanes
from loudr_core.store.protocol import ObjectStore, StoredObject

__all__ = ["PruneReport", "prune_store"]

_FOLDERS = ("audio/", "choice/", "aac/")
_BATCH = 500
_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneReport:
    """What was removed, or would be.

    Parameters
    ----------
    objects, n_bytes : int
        Takes, choices and encoded pieces that went.
    kept : int
        That plans name.
    young : int
        That no plan names, and that are not old enough.
    unlisted : tuple of str
        Plans that do not say which encoded pieces they need; none was removed for their sake.
    dry_run : bool
    """

    objects: int
    n_bytes: int
    kept: int
    young: int
    unlisted: tuple[str, ...]
    dry_run: bool

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)


def prune_store(store: ObjectStore, *, older_than_days: float, dry_run: bool) -> PruneReport:
    """Remove takes, choices and encoded pieces that no plan names.

    Parameters
    ----------
    older_than_days : float
        By the store's clock.
    dry_run : bool
        Only count.

    Raises
    ------
    StoreError
        What a plan needs cannot be told; nothing is removed then.
    """
    before = store.now_s() - _DAY_S * older_than_days
    entries = [entry for folder in _FOLDERS for entry in store.entries(folder)]
    choices = [entry.key for entry in entries if entry.key.startswith("choice/")]
    plans = _Plans(store, choices)
    named = plans.read()
    loose = [entry for entry in entries if not named.names(entry.key)]
    old = [entry for entry in loose if entry.modified_s < before]
    gone = old if dry_run else list(_remove(store, old, plans))
    return PruneReport(
        objects=len(gone),
        n_bytes=sum(entry.size for entry in gone),
        kept=len(entries) - len(loose),
        young=len(loose) - len(old),
        unlisted=tuple(named.unlisted),
        dry_run=dry_run,
    )


def _remove(
    store: ObjectStore, entries: list[StoredObject], plans: "_Plans"
) -> Iterator[StoredObject]:
    """Remove objects, choices before the takes that they name, and yield those that went."""
    ranked = sorted(entries, key=lambda entry: not entry.key.startswith("choice/"))
    for start in range(0, len(ranked), _BATCH):
        named = plans.read()
        batch = [e for e in ranked[start : start + _BATCH] if not named.names(e.key)]
        list(in_lanes(store, lambda entry: store.delete(entry.key), batch))
        yield from batch


class _Plans:
    """What the plans name, read again when they have changed."""

    def __init__(self, store: ObjectStore, choices: list[str]) -> None:
        self._store = store
        self._choices = choices
        self._seen = ""
        self._named = Reachable()

    def read(self) -> Reachable:
        seen = self._state()
        if seen != self._seen:
            self._named = reachable(self._store, choices=self._choices)
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
