"""How far a plan is, from its choices in the store, under whatever detector policy."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from loudr_core.jobs.choices import read_choice
from loudr_core.jobs.orders import make_orders
from loudr_core.jobs.overrides import read_overrides
from loudr_core.jobs.plan import Plan
from loudr_core.jobs.table import Job
from loudr_core.speech.orders import Choice, Order
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


def standing_of(choices: Mapping[str, Choice], jobs: Sequence[Job]) -> Standing:
    """Return how far the jobs of a plan are, from what `latest_choices` found for them."""
    states = [choices[job.segment_id].status for job in jobs if job.segment_id in choices]
    return Standing(
        total=len(jobs),
        done=len(states) - states.count("failed"),
        suspect=states.count("suspect"),
        failed=states.count("failed"),
    )


def latest_choices(store: ObjectStore, plan: Plan, jobs: Sequence[Job]) -> dict[str, Choice]:
    """Return segment id to the choice that counts for it, seeds given by hand included.

    The choice made under the plan's own detector policy counts; where there is none, as after an
    engine was calibrated anew, the last by name of those made under others.

    Parameters
    ----------
    jobs : sequence of Job
        All of the plan.
    """
    overrides = read_overrides(store, plan, jobs)
    orders = make_orders(
        plan, jobs, policy_digest=plan.policy_digests, attempts=1, overrides=overrides
    )
    wanted = {order.job_key: order for order in orders}
    found = in_lanes(store, lambda order: _latest(store, order), wanted.values())
    chosen = dict(zip(wanted, found, strict=True))
    return {order.id: choice for order in orders if (choice := chosen[order.job_key]) is not None}


def _latest(store: ObjectStore, order: Order) -> Choice | None:
    own = read_choice(store, order)
    if own is not None:
        return own
    found = None
    for name in store.list(f"choice/{order.job_key[:2]}/{order.job_key}-"):
        data = store.get(name)
        if data is not None:
            found = Choice.from_dict(json.loads(data))
    return found
