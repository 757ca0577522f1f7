"""Remove what has been of no use for a while: from the store, and from Prefect's records."""

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    FlowFilter,
    FlowFilterName,
    FlowRunFilter,
    FlowRunFilterEndTime,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import TERMINAL_STATES

from flows.catalogue import CATALOGUE
from flows.configuration import load
from flows.forms import PruneRequest
from flows.opening import open_settings_store
from flows.plain_failure import plain_failure
from loudr_core.jobs.prune import prune_store

__all__ = ["prune", "prune_runs"]

logger = logging.getLogger(__name__)

_PAGE = 200


@flow(name="prune", flow_run_name="prune", persist_result=False)
@plain_failure
def prune(request: PruneRequest) -> Any:
    """Remove unreferenced audio by age and records of old runs; say what went."""
    store = open_settings_store(load(store=request.store))
    went = prune_store(
        store,
        older_than_days=request.older_than_days,
        plans_older_than_days=request.plans_older_than_days,
        dry_run=request.dry_run,
    )
    runs = prune_runs(older_than_days=request.runs_older_than_days, dry_run=request.dry_run)
    report = {"store": went.as_dict(), "runs": runs}
    verb = "would go" if request.dry_run else "went"
    line = (
        f"{went.objects} objects, {went.leftovers} left behind by shards, the ledger and "
        f"{len(went.plans)} unfinished plans, {went.n_bytes / 1e6:.1f} MB in all, and {runs} runs "
        f"{verb}"
    )
    logger.info("%s", line)
    try:
        create_markdown_artifact(key="prune", markdown=f"{line}.\n")
    except Exception:
        logger.warning("the summary could not be shown", exc_info=True)
    return report


def prune_runs(*, older_than_days: float, dry_run: bool) -> int:
    """Remove the records of loudr's runs that ended long ago; return how many.

    Runs under way, waiting or suspended stay, and so do those of other flows.
    """
    before = datetime.now(UTC) - timedelta(days=older_than_days)
    names = [*(entry.name for entry in CATALOGUE), "plan-book"]
    flows = FlowFilter(name=FlowFilterName(any_=names))
    runs = FlowRunFilter(
        end_time=FlowRunFilterEndTime(before_=before),  # type: ignore[arg-type]  # any datetime will do
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=list(TERMINAL_STATES))),
    )
    with get_client(sync_client=True) as client:
        if dry_run:
            return _count(client, flows, runs)
        count = 0
        while True:
            page = client.read_flow_runs(flow_filter=flows, flow_run_filter=runs, limit=_PAGE)
            for run in page:
                _drop_artifacts(client, run.id)
                client.delete_flow_run(run.id)
            count += len(page)
            if len(page) < _PAGE:
                return count


def _count(client: SyncPrefectClient, flows: FlowFilter, runs: FlowRunFilter) -> int:
    count = 0
    while page := client.read_flow_runs(
        flow_filter=flows, flow_run_filter=runs, limit=_PAGE, offset=count
    ):
        count += len(page)
    return count


def _drop_artifacts(client: SyncPrefectClient, run_id: Any) -> None:
    """Remove the artifacts of a run, which would outlive it."""
    of_run = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[run_id]))
    for artifact in client.read_artifacts(artifact_filter=of_run, limit=_PAGE):
        client.delete_artifact(artifact.id)
