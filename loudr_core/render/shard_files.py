"""What a render and the machines that speak its shards write for one another into the store.

    <folder>/shards/<owner>/0007.orders              the segments of shard 7, written once
    <folder>/shards/<owner>/0007-02-00003.journal    what its second run had to say, part 3
    engines/<digest>/info.json                       what an engine is, for who cannot load it

`folder` is the plan's, or an engine's when only its description is wanted; `owner` is whoever gave
the shards out. An outcome stands in the journal only when its choice is in the store, so a reader
need not look, and one that misses a part loses nothing but time. Each part is written once; two
renders of one plan read each other's.
"""

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from loudr_core.canonical import digest
from loudr_core.errors import LoudrError, StoreError
from loudr_core.speech.orders import Order, Outcome
from loudr_core.speech.wire import (
    EngineInfo,
    EngineSpec,
    decode,
    encode,
    error_from_json,
    error_to_json,
    info_from_json,
    info_to_json,
    order_from_json,
    order_to_json,
    outcome_from_json,
    outcome_to_json,
)
from loudr_core.store.lanes import in_lanes
from loudr_core.store.protocol import ObjectStore

__all__ = [
    "Entry",
    "Journal",
    "JournalReader",
    "clear_shards",
    "engine_folder",
    "read_info",
    "read_orders",
    "write_info",
    "write_orders",
]

_PART_S = 4.0
"""Seconds from part to part: far below any stall time, far above the cost of a part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One part of a journal.

    Parameters
    ----------
    owner, shard, attempt
        Whose run wrote it.
    outcomes : tuple of Outcome
    info : EngineInfo or None
        What the run's engine is; said once.
    error : LoudrError or None
        What ended the run.

    One that says nothing of these says that the run is alive.
    """

    owner: str
    shard: int
    attempt: int
    outcomes: tuple[Outcome, ...] = ()
    info: EngineInfo | None = None
    error: LoudrError | None = None


def engine_folder(spec: EngineSpec) -> str:
    """Return the store prefix of what is known of an engine; the store itself does not matter."""
    fields = asdict(replace(spec, store_url="", policy={}))
    return f"engines/{digest(['engine-1', fields])[:16]}"


def write_info(store: ObjectStore, spec: EngineSpec, info: EngineInfo) -> None:
    """Keep what an engine is."""
    data = encode(info_to_json(info))
    key = f"{engine_folder(spec)}/info.json"
    if store.get(key) != data:
        store.put(key, data)


def read_info(store: ObjectStore, spec: EngineSpec) -> EngineInfo | None:
    """Return what an engine was when a process last described it, or None."""
    data = store.get(f"{engine_folder(spec)}/info.json")
    try:
        return info_from_json(json.loads(data)) if data is not None else None
    except (ValueError, KeyError, TypeError):
        return None  # of another loudr: it is asked for again


def write_orders(
    store: ObjectStore, folder: str, owner: str, shard: int, orders: Sequence[Order]
) -> None:
    """Keep the orders of a shard, for the run that speaks them."""
    data = b"".join(encode(order_to_json(order)) for order in orders)
    store.put(_orders_key(folder, owner, shard), data)


def read_orders(store: ObjectStore, folder: str, owner: str, shard: int) -> list[Order] | None:
    """Return the orders of a shard; None when whoever gave it out has finished.

    Raises
    ------
    StoreError
        They cannot be read.
    """
    key = _orders_key(folder, owner, shard)
    data = store.get(key)
    if data is None:
        return None
    try:
        return [order_from_json(decode(line)) for line in data.splitlines()]
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{key} holds no orders ({error}): the render and its workers must run one loudr",
            key=key,
        ) from error


def clear_shards(store: ObjectStore, folder: str, owner: str) -> None:
    """Remove everything that an owner's shards have left."""
    for key in list(store.list(f"{folder}/shards/{owner}/")):
        store.delete(key)


class Journal:
    """What one run has to say, a part every few seconds, and be it that it is alive.

    Parameters
    ----------
    store, folder, owner, shard, attempt
        Where it lies.
    part_s : float
        Seconds from part to part.
    """

    def __init__(
        self,
        store: ObjectStore,
        folder: str,
        *,
        owner: str,
        shard: int,
        attempt: int,
        part_s: float = _PART_S,
    ) -> None:
        self._store = store
        self._start = f"{folder}/shards/{owner}/{shard:04d}-{attempt:02d}"
        self._part_s = part_s
        self._part = 0
        self._lines: list[bytes] = []
        self._since = time.monotonic()

    def wake(self) -> None:
        """Say at once that the run is there."""
        self._say("alive", {})
        self.flush()

    def begin(self, info: EngineInfo) -> None:
        """Say at once that the engine is there, and what it is."""
        self._say("info", info_to_json(info))
        self.flush()

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Note outcomes whose choices lie in the store."""
        for outcome in outcomes:
            self._say("outcome", outcome_to_json(outcome))

    def fail(self, error: LoudrError) -> None:
        """Say at once what ends this run."""
        self._say("error", error_to_json(error))
        self.flush()

    def tick(self) -> None:
        """Write a part if the last is a while ago: what there is to say, or that the run is alive.

        A segment may take long, and one that hangs is dealt with here: whoever gave the shard out
        is to take neither for a machine that died.
        """
        if time.monotonic() - self._since > self._part_s:
            if not self._lines:
                self._say("alive", {})
            self.flush()

    def flush(self) -> None:
        """Write what was not written yet."""
        if self._lines:
            self._store.put(f"{self._start}-{self._part:05d}.journal", b"".join(self._lines))
            self._lines, self._part = [], self._part + 1
        self._since = time.monotonic()

    def _say(self, kind: str, what: dict[str, Any]) -> None:
        self._lines.append(encode({kind: what}))


class JournalReader:
    """Reads what is new in the journals below a folder, of every owner.

    Parameters
    ----------
    store, folder
        Where they lie. What other owners have written by now is taken as read: whoever makes a
        reader looks into the store for what is finished.
    """

    def __init__(self, store: ObjectStore, folder: str) -> None:
        self._store = store
        self._prefix = f"{folder}/shards/"
        self._read = set(self._parts())

    def read_new(self) -> list[Entry]:
        """Return the parts that were written since the last call, in the order of their keys."""
        keys = [key for key in self._parts() if key not in self._read]
        parts = list(zip(keys, in_lanes(self._store, self._store.get, keys), strict=True))
        self._read.update(keys)  # not before all of them are here
        return [_entry(key, data) for key, data in parts if data is not None]

    def _parts(self) -> list[str]:
        return [key for key in self._store.list(self._prefix) if key.endswith(".journal")]


def _orders_key(folder: str, owner: str, shard: int) -> str:
    return f"{folder}/shards/{owner}/{shard:04d}.orders"


def _entry(key: str, data: bytes) -> Entry:
    try:
        owner, name = key.split("/")[-2:]
        shard, attempt, _ = name.split("-")
        said: dict[str, list[Any]] = {"outcome": [], "info": [], "error": [], "alive": []}
        for line in data.splitlines():
            for kind, what in decode(line).items():
                said[kind].append(what)
        return Entry(
            owner=owner,
            shard=int(shard),
            attempt=int(attempt),
            outcomes=tuple(outcome_from_json(each) for each in said["outcome"]),
            info=info_from_json(said["info"][-1]) if said["info"] else None,
            error=error_from_json(said["error"][-1]) if said["error"] else None,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{key} is no journal of a shard ({error}): the render and its workers must run one "
            "loudr",
            key=key,
        ) from error
