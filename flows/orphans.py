"""Runs that a `loudr serve` left when it was killed: closed by the next one, at its start.

The runs of a server of ours end with it (`flows.served`), so whatever its records still show as
under way is not. The heartbeat automation would find some of them in minutes; what waits for their
turn need not.
"""

from collections.abc import Sequence
from typing import Any

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterName,
    FlowRunFilter,
    FlowRunFilterParentFlowRunId,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.states import Crashed

__all__ = ["close_orphans"]

_UNDER_WAY = [StateType.RUNNING, StateType.PENDING, StateType.CANCELLING]
_PAGE = 200


def close_orphans(deployments: Sequence[str]) -> int:
    """Set every run of these deployments that is under way, and its subflows, to crashed.

    Returns
    -------
    int
        How many runs of deployments there were.
    """
    with get_client(sync_client=True) as client:
        runs = client.read_flow_runs(
            deployment_filter=DeploymentFilter(name=DeploymentFilterName(any_=list(deployments))),
            flow_run_filter=_under_way(),
            limit=_PAGE,
        )
        for run in runs:
            _close(client, run)
    return len(runs)


def _close(client: SyncPrefectClient, run: FlowRun) -> None:
    children = client.read_flow_runs(
        flow_run_filter=_under_way(parent_flow_run_id=FlowRunFilterParentFlowRunId(any_=[run.id])),
        limit=_PAGE,
    )
    for child in children:
        _close(client, child)
    state: State[Any] = Crashed(message="the loudr serve that ran it has ended")
    client.set_flow_run_state(run.id, state, force=True)


def _under_way(**more: Any) -> FlowRunFilter:
    kinds = FlowRunFilterStateType(any_=_UNDER_WAY)
    return FlowRunFilter(state=FlowRunFilterState(type=kinds), **more)
