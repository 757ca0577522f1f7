"""Which objects of a store its plans name: takes, choices, encoded pieces."""

import json
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field

from loudr_core.errors import StoreError
from loudr_core.jobs.keys import MAX_ATTEMPTS
from loudr_core.jobs.orders import make_orders
from loudr_core.jobs.overrides import read_overrides
from loudr_core.jobs.plan import Plan, find_books, find_plans, load_plan, plan_folder
from loudr_core.jobs.table import Job
from loudr_core.speech.orders import audio_key
from loudr_core.store.lanes import in_lanes
from loudr_core.store.protocol import ObjectStore

__all__ = ["Reachable", "pieces_key", "reachable"]


@dataclass(slots=True)
class Reachable:
    """What the plans of a store name.

    Parameters
    ----------
    job_keys : set of str
        Of every segment, with its planned seed and with one given by hand.
    audio : set of str
        Store keys of every take that an attempt or a choice names.
    pieces : set of str
        Store keys of the encoded pieces of every finished file.
    unlisted : list of str
        Finished plans that do not say which pieces they need.
    """

    job_keys: set[str] = field(default_factory=set)
    audio: set[str] = field(default_factory=set)
    pieces: set[str] = field(default_factory=set)
    unlisted: list[str] = field(default_factory=list)

    def names(self, key: str) -> bool:
        """Say whether a key below `audio/`, `choice/` or `aac/` is named."""
        match key.partition("/")[0]:
            case "audio":
                return key in self.audio
            case "choice":
                return key.rpartition("/")[2].partition("-")[0] in self.job_keys
            case "aac":
                return bool(self.unlisted) or key in self.pieces
            case _:
                return True


def reachable(
    store: ObjectStore, *, choices: Iterable[str], without: Container[str] = ()
) -> Reachable:
    """Return what the plans of a store name, finished or not.

    Parameters
    ----------
    choices : iterable of str
        Keys of the choices that there are; those of a plan's segments are read, since a choice may
        name a take that no attempt of today does.
    without : container of str
        Folders of plans that do not count.

    Raises
    ------
    StoreError
        A plan, a seed or a choice cannot be read, so what it needs is not known.
    """
    found = Reachable()
    for book_id in find_books(store):
        for plan_id in find_plans(store, book_id):
            if plan_folder(book_id, plan_id) in without:
                continue
            loaded = load_plan(store, book_id, plan_id)
            if loaded is not None:
                _add_plan(found, store, *loaded)
    named = [key for key in choices if found.names(key)]
    takes = in_lanes(store, lambda key: _take_of(store, key), named)
    found.audio.update(audio_key(take) for take in takes if take)
    return found


def pieces_key(plan: Plan, part: str) -> str:
    """Return where the encoded pieces of a finished file are listed.

    Parameters
    ----------
    part : str
        Names the chapters that the file holds; empty for the whole book.
    """
    return f"{plan.folder}/pieces{'-' + part if part else ''}.json"


def _add_plan(found: Reachable, store: ObjectStore, plan: Plan, jobs: Sequence[Job]) -> None:
    overrides = read_overrides(store, plan, jobs)
    for seeds in (None, overrides) if overrides else (None,):
        orders = make_orders(plan, jobs, policy_digest="", attempts=MAX_ATTEMPTS, overrides=seeds)
        for order in orders:
            found.job_keys.add(order.job_key)
            found.audio.update(audio_key(attempt.take_key) for attempt in order.attempts)
    listed = 0
    for key in store.list(f"{plan.folder}/pieces"):
        found.pieces.update(_json(store, key))
        listed += 1
    results = sum(key.endswith(".json") for key in store.list(f"{plan.folder}/report/render"))
    if results > listed:
        found.unlisted.append(f"{plan.book_id} {plan.plan_id}")


def _take_of(store: ObjectStore, key: str) -> str:
    data = store.get(key)
    if data is None:
        return ""
    try:
        return str(json.loads(data)["take_key"])
    except (ValueError, KeyError, TypeError):
        return ""  # such a choice counts as none to the renderer too: the segment is spoken anew


def _json(store: ObjectStore, key: str) -> list[str]:
    try:
        found = json.loads(store.get(key) or b"[]")
        if isinstance(found, list) and all(isinstance(each, str) for each in found):
            return found
    except ValueError:
        pass
    raise StoreError(f"{key} is damaged; render the book again", key=key)
