"""Rows that the results table of a plan lacks, made again from the takes themselves.

Rows are filed a part a minute, takes and choices at once. So a process that is killed leaves
choices without rows, and so do machines whose last words were lost, and plans that share takes with
another. A take carries its own row in its tags; what else there is to say is in the choice.
"""

import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace

from loudr_core.errors import StoreError
from loudr_core.jobs.plan import Plan
from loudr_core.jobs.table import read_row_keys, write_results
from loudr_core.speech.orders import Choice, Order, TakeResult
from loudr_core.speech.take_tags import tagged_result
from loudr_core.store.lanes import in_lanes
from loudr_core.store.protocol import ObjectStore

__all__ = ["add_missing_rows"]

logger = logging.getLogger(__name__)


def add_missing_rows(
    store: ObjectStore, plan: Plan, orders: Sequence[Order], choices: Mapping[str, Choice]
) -> int:
    """File a row for each choice that has none; return how many there were.

    Parameters
    ----------
    orders : sequence of Order
        Those whose rows may be missing.
    choices : mapping of str to Choice
        By job key; an order without one is left out.

    Raises
    ------
    StoreError
        The store refuses.
    """
    wanted = {order.job_key: order for order in orders if order.job_key in choices}
    if not wanted:
        return 0
    there = _filed(store, plan)
    lacking = [
        (order, choices[key])
        for key, order in wanted.items()
        if (key, choices[key].take_key) not in there
    ]
    rows = list(in_lanes(store, lambda pair: _row(store, plan, *pair), lacking))
    if rows:
        key = f"{plan.folder}/results/again-{uuid.uuid4().hex[:8]}-000.parquet"
        store.put(key, write_results(rows))
    return len(rows)


def _filed(store: ObjectStore, plan: Plan) -> set[tuple[str, str]]:
    """Return job and take of every row that there is; a failed take's row names no take."""
    keys = [key for key in store.list(f"{plan.folder}/results/") if key.endswith(".parquet")]
    found: set[tuple[str, str]] = set()
    for key, data in zip(keys, in_lanes(store, store.get, keys), strict=True):
        try:
            rows = read_row_keys(data or b"")
        except StoreError as error:
            logger.warning("%s is left as it is, and its rows are made again: %s", key, error)
            continue
        found.update((job, "" if status == "failed" else take) for job, take, status in rows)
    return found


def _row(store: ObjectStore, plan: Plan, order: Order, choice: Choice) -> TakeResult:
    """Return the row of a choice: what its take says of itself, and the choice of it."""
    told = tagged_result(store, choice.take_key) if choice.take_key else None
    row = told or TakeResult(
        segment_id=order.id,
        job_key=order.job_key,
        take_key=choice.take_key,
        attempt=choice.attempt,
        seed=choice.seed,
        status=choice.status,
        n_samples=0,
        sample_rate_hz=0,
        pcm_sha256="",
        tokens=0,
        windows=0,
        findings=(),
        compute_s=0.0,
        worker="",
        fingerprint=plan.fingerprint,
    )
    return replace(
        row,
        segment_id=order.id,
        job_key=order.job_key,
        attempt=choice.attempt,
        seed=choice.seed,
        status=choice.status,
        n_samples=choice.n_samples,
        sample_rate_hz=choice.sample_rate_hz,
        pcm_sha256=choice.pcm_sha256,
        findings=choice.findings,
        error=choice.error,
    )
