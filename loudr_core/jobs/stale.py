"""What was begun in a store and left: old shards, plans that came to nothing, entries of a ledger.

Only listings are looked at, never a clock of this machine. Something is left when nothing below it
was written for the given time: who works on a plan writes rows every minute and journals every few
seconds, and whoever comes back later finds the takes, or makes the plan again.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from loudr_core.store.protocol import ObjectStore, StoredObject

__all__ = ["Leftovers", "find_leftovers", "is_left"]

_SHARDS = "shards"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """What was left.

    Parameters
    ----------
    objects : tuple of StoredObject
        Of old shards and of the ledger: each may go by itself.
    plans : dict of str to tuple of StoredObject
        Folder of a plan that was never rendered to the end, not even in part, to its objects.
    """

    objects: tuple[StoredObject, ...]
    plans: dict[str, tuple[StoredObject, ...]]


def find_leftovers(store: ObjectStore, *, before_s: float, plans_before_s: float) -> Leftovers:
    """Return what nobody has touched for a while.

    Parameters
    ----------
    before_s, plans_before_s : float
        Shards, and plans with entries of the ledger, must not have been written to since then; by
        the store's clock.
    """
    plans: dict[str, list[StoredObject]] = {}
    touched: dict[str, float] = {}
    shards: dict[str, list[StoredObject]] = {}
    for entry in (*store.entries("books/"), *store.entries("engines/")):
        parts = entry.key.split("/")
        if parts[0] == "books" and parts[2:3] == ["overrides"]:
            touched[parts[1]] = max(touched.get(parts[1], 0.0), entry.modified_s)
        if parts[0] == "books" and parts[2:3] == ["plans"] and len(parts) > 4:
            plans.setdefault("/".join(parts[:4]), []).append(entry)
        if _SHARDS in parts[:-2]:
            owner = "/".join(parts[: parts.index(_SHARDS) + 2])
            shards.setdefault(owner, []).append(entry)
    left = {
        folder: tuple(entries)
        for folder, entries in plans.items()
        if is_left(folder, entries, plans_before_s)
        and touched.get(folder.split("/")[1], 0.0) < plans_before_s
    }
    old = [
        entry
        for owner, entries in shards.items()
        if _newest(entries) < before_s and not any(owner.startswith(f"{f}/") for f in left)
        for entry in entries
    ]
    ledger = _left_in_ledger(store.entries("ledger/"), plans_before_s)
    return Leftovers(objects=(*old, *ledger), plans=left)


def is_left(folder: str, entries: Iterable[StoredObject], before_s: float) -> bool:
    """Say whether a plan's objects are those of one that came to nothing and was left."""
    found = list(entries)
    finished = any(
        entry.key.startswith(f"{folder}/report/render") and entry.key.endswith(".json")
        for entry in found
    )
    return bool(found) and not finished and _newest(found) < before_s


def _left_in_ledger(entries: Iterable[StoredObject], before_s: float) -> Iterator[StoredObject]:
    """Yield what no poller needs: all of a version that came to nothing, else all but its outcome.

    The outcome stays for ever: as long as the file lies in its folder, it keeps a poller from
    rendering it anew.
    """
    versions: dict[str, list[StoredObject]] = {}
    for entry in entries:
        versions.setdefault(entry.key.rpartition("/")[2].partition(".")[0], []).append(entry)
    for found in versions.values():
        if _newest(found) < before_s:
            yield from (entry for entry in found if not entry.key.endswith(".done"))


def _newest(entries: Iterable[StoredObject]) -> float:
    return max(entry.modified_s for entry in entries)
