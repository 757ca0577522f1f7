"""Runs of `render-shard` on a Prefect server: ask for one, look how they are, call them off."""

import contextlib
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from flows.importing import PREFECT
from flows.shard_request import ShardRequest
from loudr_core.errors import ConfigError, DeviceError, LoudrError
from loudr_core.render.reconcile import RunPhase

__all__ = ["PrefectRuns", "RunView", "ShardRuns", "Unreachable", "as_loudr_error"]

logger = logging.getLogger(__name__)

_PAGE = 100
_PHASES: Mapping[str, RunPhase] = {
    "SCHEDULED": "waiting",
    "PAUSED": "waiting",
    "PENDING": "starting",
    "RUNNING": "running",
    "CANCELLING": "running",
}


class Unreachable(Exception):
    """The server did not answer; it may again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """How a run was found, and why it ended if it did."""

    phase: RunPhase
    cause: str = ""


class ShardRuns(Protocol):
    """What gives shards to machines. Every method may raise `Unreachable`."""

    def workers(self) -> int:
        """Return how many machines take shards at this moment."""
        ...

    def submit(self, request: ShardRequest) -> str:
        """Ask for a run and return its id; the same request is the same run."""
        ...

    def look(self, runs: Iterable[str]) -> Mapping[str, RunView]:
        """Return how runs are; one that is not known any more is left out."""
        ...

    def call_off(self, runs: Iterable[str]) -> None:
        """Have runs not start, or end."""
        ...


class PrefectRuns:
    """Runs of a deployment at `PREFECT_API_URL`.

    Parameters
    ----------
    deployment : str
        `flow/deployment`.
    """

    def __init__(self, deployment: str) -> None:
        self._deployment = deployment
        self._id: UUID | None = None
        self._work_pool = ""

    def workers(self) -> int:
        """Return how many workers of the deployment's pool are online."""
        with _client() as client:
            self._find(client)
            if not self._work_pool:
                return 0
            found = client.read_workers_for_work_pool(self._work_pool)
        return sum(str(getattr(each.status, "value", each.status)) == "ONLINE" for each in found)

    def submit(self, request: ShardRequest) -> str:
        """Create the run; the key of the request makes it one, also after a lost reply."""
        with _client() as client:
            run = client.create_flow_run_from_deployment(
                self._find(client),
                parameters={"request": request.model_dump(mode="json")},
                idempotency_key=request.key,
                tags=["shard", *([request.book_id] if request.book_id else [])],
            )
        return str(run.id)

    def look(self, runs: Iterable[str]) -> Mapping[str, RunView]:
        """Return how the runs are, a page for each request."""
        with PREFECT:
            from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId

        ids = [UUID(run) for run in runs]
        views: dict[str, RunView] = {}
        with _client() as client:
            for start in range(0, len(ids), _PAGE):
                wanted = FlowRunFilter(id=FlowRunFilterId(any_=ids[start : start + _PAGE]))
                for run in client.read_flow_runs(flow_run_filter=wanted, limit=_PAGE):
                    views[str(run.id)] = _view(run.state)
        return views

    def call_off(self, runs: Iterable[str]) -> None:
        """Cancel runs: at once when they wait, through their worker when they work."""
        with PREFECT:
            from prefect.client.schemas.objects import State, StateType
            from prefect.states import Cancelled

        with _client() as client:
            for run, view in self.look(runs).items():
                if view.phase == "ended":
                    continue
                state: State[Any] = (
                    Cancelled(message="not needed any more")
                    if view.phase == "waiting"
                    else State(type=StateType.CANCELLING)
                )
                client.set_flow_run_state(run, state)

    def _find(self, client: Any) -> UUID:
        with PREFECT:
            from prefect.exceptions import ObjectNotFound

        if self._id is None:
            try:
                found = client.read_deployment_by_name(self._deployment)
            except (ObjectNotFound, ValueError) as error:
                raise ConfigError(
                    f"no deployment {self._deployment!r} at {client.api_url}: make it with "
                    "`loudr deploy`, or name another in pool.deployment",
                    deployment=self._deployment,
                ) from error
            self._id = found.id
            self._work_pool = found.work_pool_name or ""
        return self._id


def as_loudr_error(error: Exception) -> LoudrError:
    """Return what a person is told when giving shards out failed."""
    if isinstance(error, LoudrError):
        return error
    if isinstance(error, Unreachable):
        return DeviceError(f"{error}: see that it runs, and that PREFECT_API_URL names it")
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return DeviceError(f"shards could not be given to workers ({reason})")


def _view(state: Any) -> RunView:
    if state is None:
        return RunView(phase="waiting")
    phase = _PHASES.get(state.type.value, "ended")
    cause = " ".join(f"{state.name}: {state.message or ''}".split()).rstrip(": ")
    return RunView(phase=phase, cause=cause if phase == "ended" else "")


@contextlib.contextmanager
def _client() -> Iterator[Any]:
    """Yield a client; what keeps it from getting an answer is `Unreachable`.

    Raises
    ------
    DeviceError
        The server says no.
    """
    with PREFECT:
        import httpx
        from prefect.client.orchestration import get_client

    try:
        with get_client(sync_client=True) as client:
            yield client
    except httpx.HTTPStatusError as error:
        status = error.response.status_code
        if status < 500 and status not in (408, 429):
            raise DeviceError(
                f"the Prefect server at {error.request.url.host} refused ({status}): "
                f"{' '.join(error.response.text.split())[:300]}",
                status=status,
            ) from error
        raise Unreachable(f"the Prefect server answered {status}") from error
    except httpx.HTTPError as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise Unreachable(f"the Prefect server did not answer ({reason})") from error
