"""How far a plan is, from its choices in the store, under whatever detector policy."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from loudr_core.jobs.table import Job
from loudr_core.speech.orders import Choice
from loudr_core.store.lanes import in_lanes
from loudr_core.store.protocol import ObjectStore

__all__ = ["Standing", "latest_choices", "standing_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Segments of a plan: all, with a take, of these suspect, and failed."""

    total: int
    done: int
    suspect: int
    failed: int

    @property
    def left(self) -> int:
        """Segments without a take."""
        return self.total - self.done

    def as_dict(self) -> dict[str, int]:
        """Return the JSON form."""
        return {**asdict(self), "left": self.left}


def standing_of(store: ObjectStore, jobs: Sequence[Job]) -> Standing:
    """Return how far the jobs of a plan are."""
    choices = latest_choices(store, jobs)
    states = [choices[job.job_key].status for job in jobs if job.job_key in choices]
    return Standing(
        total=len(jobs),
        done=len(states) - states.count("failed"),
        suspect=states.count("suspect"),
        failed=states.count("failed"),
    )


def latest_choices(store: ObjectStore, jobs: Sequence[Job]) -> dict[str, Choice]:
    """Return job key to a choice made for it; with several policies the last by name counts."""
    keys = list(dict.fromkeys(job.job_key for job in jobs))
    found = in_lanes(store, lambda key: _latest(store, key), keys)
    return {key: choice for key, choice in zip(keys, found, strict=True) if choice is not None}


def _latest(store: ObjectStore, job_key: str) -> Choice | None:
    found = None
    for name in store.list(f"choice/{job_key[:2]}/{job_key}-"):
        data = store.get(name)
        if data is not None:
            found = Choice.from_dict(json.loads(data))
    return found
