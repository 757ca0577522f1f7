"""Where the books of a drop folder are rendered: by a deployment, or here when there is none."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound

from flows.dropped import DEPLOYMENT, render_ticket
from flows.forms import DroppedRequest, DropRequest, TicketForm
from loudr_core.errors import LoudrError, StoreUnavailable
from loudr_core.queue.intake import Runs
from loudr_core.queue.ledger import Ledger
from loudr_core.queue.watch import Ticket
from loudr_core.store.protocol import ObjectStore

__all__ = ["DeployedRuns", "InlineRuns", "open_runs"]

logger = logging.getLogger(__name__)

_HERE = "here-"
_BEAT_S = 20.0
_STOPPED = "Runner is shutting down"
"""What Prefect says of a run that it cancels because the process that serves is told to stop."""


class DeployedRuns:
    """Runs of the deployment `render-dropped`, found again by the ticket's id and the attempt."""

    def __init__(self, request: DropRequest, ledger: Ledger, *, stale_s: float) -> None:
        self._request = request
        self._ledger = ledger
        self._stale_s = stale_s

    def submit(self, ticket: Ticket, attempt: int, note: Callable[[str], bool]) -> None:
        """Make the run; a second call with the same ticket and attempt finds it."""
        try:
            run: Any = run_deployment(
                DEPLOYMENT,
                parameters={"request": _request_for(self._request, ticket).model_dump(mode="json")},
                timeout=0,
                idempotency_key=f"{ticket.id}:{attempt}",
                as_subflow=False,
            )
        except Exception as error:
            raise StoreUnavailable(
                f"no run could be made, the next poll tries again: {error}", place=ticket.place
            ) from error
        note(str(run.id))

    def ended(self, ticket: Ticket, run: str) -> str:
        """Return the state's message of a run that is over."""
        if run.startswith(_HERE):
            return _silence(self._ledger, ticket, self._stale_s)
        found, state = self._state(ticket, run)
        if not found:
            return "the server does not know its run any more"
        if state is None or not state.is_final():
            return ""
        return f"{state.name}: {state.message or 'no reason given'}"

    def was_stopped(self, ticket: Ticket, run: str) -> bool:
        """Say whether a `loudr serve` was told to stop while it had the run."""
        if run.startswith(_HERE):
            return False
        _, state = self._state(ticket, run)
        return bool(state and state.is_cancelled() and (state.message or "").startswith(_STOPPED))

    def _state(self, ticket: Ticket, run: str) -> tuple[bool, State[Any] | None]:
        """Return whether the server knows a run, and its state."""
        try:
            with get_client(sync_client=True) as client:
                return True, client.read_flow_run(UUID(run)).state
        except ObjectNotFound:
            return False, None
        except Exception as error:
            raise StoreUnavailable(
                f"the server does not say how its run is: {error}", place=ticket.place
            ) from error


class InlineRuns:
    """Renders in this process, one after the other, when the poll has been through the folder."""

    def __init__(
        self, request: DropRequest, watched: ObjectStore, ledger: Ledger, *, stale_s: float
    ) -> None:
        self._request = request
        self._watched = watched
        self._ledger = ledger
        self._stale_s = stale_s
        self._name = f"{_HERE}{id(self):x}"
        self._waiting: list[Ticket] = []

    def submit(self, ticket: Ticket, attempt: int, note: Callable[[str], bool]) -> None:
        """Queue the book, unless another poller was first."""
        self._ledger.beat(ticket.id)
        if note(f"{self._name}-{attempt}"):
            self._waiting.append(ticket)

    def ended(self, ticket: Ticket, run: str) -> str:
        """Say so when nobody has said for a while that the render is alive."""
        if run.startswith(_HERE):
            return _silence(self._ledger, ticket, self._stale_s)
        return ""  # a deployment's; whoever has that deployment looks after it

    def was_stopped(self, ticket: Ticket, run: str) -> bool:
        """Say no: a render that ended with its poller has left no word of why."""
        return False

    def render_all(self) -> None:
        """Render what was queued; what goes wrong with one book stays with it."""
        with self._beating():
            while self._waiting:
                ticket = self._waiting[0]
                request = _request_for(self._request, ticket)
                try:
                    render_ticket(request, self._watched, self._ledger)
                except LoudrError as error:
                    logger.warning("%s: %s", ticket.place, error.message)
                except Exception:
                    logger.exception("%s failed", ticket.place)
                self._waiting.pop(0)

    @contextmanager
    def _beating(self) -> Iterator[None]:
        """Tell the other pollers that what waits here is in good hands."""
        done = threading.Event()

        def beat() -> None:
            while not done.wait(min(_BEAT_S, max(0.1, self._stale_s / 4))):
                for ticket in list(self._waiting):
                    with contextlib.suppress(LoudrError):
                        self._ledger.beat(ticket.id)

        thread = threading.Thread(target=beat, name="drop-beat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


@contextmanager
def open_runs(
    request: DropRequest, watched: ObjectStore, ledger: Ledger, *, stale_s: float
) -> Iterator[Runs]:
    """Yield where books are rendered; what is to be rendered here is, when the block has ended."""
    with get_client(sync_client=True) as client:
        try:
            client.read_deployment_by_name(DEPLOYMENT)
        except ObjectNotFound:
            found = False
        else:
            found = True
    if found:
        yield DeployedRuns(request, ledger, stale_s=stale_s)
        return
    here = InlineRuns(request, watched, ledger, stale_s=stale_s)
    yield here
    here.render_all()


def _request_for(request: DropRequest, ticket: Ticket) -> DroppedRequest:
    return DroppedRequest(
        ticket=TicketForm(**ticket.as_dict()),
        watch=request.watch,
        dest=request.dest,
        profile=request.profile,
        voice=request.voice,
        store=request.store,
    )


def _silence(ledger: Ledger, ticket: Ticket, stale_s: float) -> str:
    silent_s = ledger.silent_s(ticket.id)
    if silent_s is not None and silent_s < stale_s:
        return ""
    return "the process that rendered it is gone"
