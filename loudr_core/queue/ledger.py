"""Who works on which dropped book: immutable objects, each written by whoever is first.

    ledger/drop/<k2>/<id>.seen         when a version was first seen, if its own time is wrong
    ledger/drop/<k2>/<id>.claim        a poller has taken it; the body names the poller
    ledger/drop/<k2>/<id>.submitted    a run was made for it; the body names the run
    ledger/drop/<k2>/<id>.submitted-2  another run, after the first ended without a result
    ledger/drop/<k2>/<id>.done         what became of it: nothing more is to do
    ledger/drop/<k2>/<id>.beat         a render inside a poller is alive; the only one written again

Ages come from the store's own clock, so pollers whose clocks differ agree about them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from loudr_core.canonical import canonical_json
from loudr_core.errors import StoreError
from loudr_core.store.protocol import ObjectStore

__all__ = ["Entry", "Ledger"]

_FOLDER = "ledger/drop"


@dataclass(frozen=True, slots=True)
class Entry:
    """What the ledger holds of one version of a book: kind of object to its age in seconds."""

    ages_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def claimed_s(self) -> float | None:
        """Seconds since it was claimed; None when it was not."""
        return self.ages_s.get("claim")

    @property
    def done_s(self) -> float:
        """Seconds since it was done."""
        return self.ages_s["done"]

    @property
    def done(self) -> bool:
        """Whether nothing more is to do."""
        return "done" in self.ages_s

    @property
    def attempts(self) -> int:
        """Runs that were made for it."""
        return sum(kind.partition("-")[0] == "submitted" for kind in self.ages_s)

    @property
    def submitted_s(self) -> float:
        """Seconds since its last run was made."""
        return self.ages_s[_submitted(self.attempts)]


class Ledger:
    """The ledger of the drop folders of one store.

    Parameters
    ----------
    store : ObjectStore
    owner : str
        Names the poller in its claims; no two pollers have one name.
    """

    def __init__(self, store: ObjectStore, owner: str) -> None:
        self._store = store
        self._owner = owner

    def read(self) -> dict[str, Entry]:
        """Return every version that the ledger knows."""
        now = self._store.now_s()
        found: dict[str, dict[str, float]] = {}
        for entry in self._store.entries(f"{_FOLDER}/"):
            name, _, kind = entry.key.rpartition("/")[2].partition(".")
            found.setdefault(name, {})[kind] = max(0.0, now - entry.modified_s)
        return {name: Entry(ages) for name, ages in found.items()}

    def see(self, ticket_id: str) -> None:
        """Note that a version was seen, if nobody has."""
        self._put_new(ticket_id, "seen", {})

    def claim(self, ticket_id: str, said: Mapping[str, Any]) -> bool:
        """Take a version; say whether it is ours."""
        return self._put_new(ticket_id, "claim", said)

    def submitted(self, ticket_id: str, attempt: int, run: str) -> bool:
        """Note the run of an attempt, counted from 1; say whether ours is the one that counts."""
        return self._put_new(ticket_id, _submitted(attempt), {"run": run})

    def run_of(self, ticket_id: str, attempt: int) -> str:
        """Return the run that was made as an attempt.

        Raises
        ------
        StoreError
            The object is gone or damaged.
        """
        key = _key(ticket_id, _submitted(attempt))
        try:
            return str(json.loads(self._store.get(key) or b"")["run"])
        except (ValueError, KeyError, TypeError):
            raise StoreError(f"{key} names no run; delete it to render the book", key=key) from None

    def finish(self, ticket_id: str, outcome: Mapping[str, Any]) -> bool:
        """Note what became of a version; say whether ours is the word that counts."""
        return self._put_new(ticket_id, "done", outcome)

    def outcome_of(self, ticket_id: str) -> dict[str, Any]:
        """Return what `finish` has noted; empty when that is gone or damaged."""
        try:
            said = dict(json.loads(self._store.get(_key(ticket_id, "done")) or b"{}"))
        except (ValueError, TypeError):
            return {}
        said.pop("owner", None)
        return said

    def is_done(self, ticket_id: str) -> bool:
        """Say whether a version needs nothing more, asked of the store now."""
        return self._store.exists(_key(ticket_id, "done"))

    def beat(self, ticket_id: str) -> None:
        """Say that a render of a version is alive."""
        self._store.put(_key(ticket_id, "beat"), self._owner.encode())

    def silent_s(self, ticket_id: str) -> float | None:
        """Return the seconds since the last beat of a version; None when there never was one."""
        key = _key(ticket_id, "beat")
        now = self._store.now_s()
        return next((now - e.modified_s for e in self._store.entries(key) if e.key == key), None)

    def _put_new(self, ticket_id: str, kind: str, said: Mapping[str, Any]) -> bool:
        key = _key(ticket_id, kind)
        if self._store.put_if_absent(key, canonical_json({"owner": self._owner, **said})):
            return True
        # Ours, after all, when this poller was started anew between the write and its answer.
        try:
            return bool(json.loads(self._store.get(key) or b"")["owner"] == self._owner)
        except (ValueError, KeyError, TypeError):
            return False


def _key(ticket_id: str, kind: str) -> str:
    return f"{_FOLDER}/{ticket_id[:2]}/{ticket_id}.{kind}"


def _submitted(attempt: int) -> str:
    return "submitted" if attempt == 1 else f"submitted-{attempt}"
