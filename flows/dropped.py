"""Render one book from a drop folder, and say beside it and in the ledger what became of it."""

import tempfile
import threading
from pathlib import Path
from typing import Any

from prefect import flow, runtime
from prefect.states import Failed

from flows.configuration import Settings, load, shipped_profiles
from flows.forms import DroppedRequest
from flows.opening import open_settings_store
from flows.plain_failure import plain_failure
from flows.request import parse_chapters
from flows.studio import studio
from loudr_core.errors import BookError, ConfigError, QualityError
from loudr_core.queue.ledger import Ledger
from loudr_core.queue.sidecar import Sidecar
from loudr_core.queue.source import Superseded, fetch_ticket
from loudr_core.queue.status import Outcome, write_status
from loudr_core.queue.watch import Ticket, ticket_of
from loudr_core.render.book import RenderOptions
from loudr_core.store.open import open_store
from loudr_core.store.protocol import ObjectStore

__all__ = ["DEPLOYMENT", "render_dropped", "render_ticket"]

DEPLOYMENT = "render-dropped/render-dropped"


def _run_name() -> str:
    request = DroppedRequest.model_validate(runtime.flow_run.parameters["request"])
    return f"render {Path(request.ticket.key).name}"


@flow(name="render-dropped", flow_run_name=_run_name, persist_result=False)
@plain_failure
def render_dropped(request: DroppedRequest) -> Any:
    """Render a dropped book. Its run fails when the book is refused or fails."""
    settings = load(request.profile, voice=request.voice, store=request.store)
    ledger = Ledger(open_settings_store(settings), owner=str(runtime.flow_run.id))
    outcome = render_ticket(request, open_store(request.watch), ledger)
    if outcome.state in ("refused", "failed"):
        return Failed(message=f"{outcome.state}: {outcome.reason}")
    return outcome.as_dict()


def render_ticket(request: DroppedRequest, watched: ObjectStore, ledger: Ledger) -> Outcome:
    """Render a ticket unless it is done, and file the outcome.

    What is the book's own fault, or its sidecar's, is an outcome. Everything else is raised: the
    poller gives the book to another run then.

    Raises
    ------
    LoudrError
        The store, an engine or a device is in the way.
    """
    ticket = Ticket(**request.ticket.model_dump())
    if ledger.is_done(ticket.id):
        return Outcome(state="superseded", reason="another run has finished it")
    try:
        with tempfile.TemporaryDirectory(prefix="loudr-") as aside:
            try:
                source, sidecar = fetch_ticket(watched, ticket, Path(aside))
            except ConfigError as error:
                raise _Refused(error.message) from error
            outcome = _rendered(request, source, sidecar)
    except Superseded:
        outcome = Outcome(state="superseded", reason="the file is another one by now, or gone")
    except BookError as error:
        outcome = Outcome(state="refused", reason=error.message)
    except _Refused as error:
        outcome = Outcome(state="refused", reason=str(error))
    except QualityError as error:
        outcome = Outcome(state="failed", reason=error.message)
    return _file(outcome, ticket, watched, ledger)


def _file(outcome: Outcome, ticket: Ticket, watched: ObjectStore, ledger: Ledger) -> Outcome:
    """Note what became of a book, in the ledger and beside it.

    A version that is gone is not done: the same may come back, when its folder is mounted again or
    somebody restores it, and is then given to another run.
    """
    superseded = outcome.state == "superseded"
    if not superseded and not ledger.finish(ticket.id, outcome.as_dict()):
        return outcome
    now = ticket_of(watched, ticket.key)
    # Of a book that was taken away too, or "queued" would stand there for ever; another version of
    # it has a word of its own.
    if now is None or (now == ticket and not superseded):
        write_status(watched, ticket, outcome)
    return outcome


class _Refused(Exception):
    """What the sidecar says cannot be done."""


def _rendered(request: DroppedRequest, source: Path, sidecar: Sidecar) -> Outcome:
    base = load(request.profile, voice=request.voice, store=request.store)
    settings = base if sidecar == Sidecar() else _as_told(request, sidecar)
    options = RenderOptions(chapters=_chapters(sidecar), allow_gaps=sidecar.allow_gaps)
    with studio() as here:
        try:
            result = here.render(
                source, settings, dest=request.dest, options=options, cancel=threading.Event()
            ).as_dict()
        except ConfigError as error:
            if sidecar == Sidecar():
                raise
            raise _Refused(error.message) from error
    kept = ("book_id", "plan_id", "files", "pcm_sha256", "loudness", "segments")
    return Outcome(state="done", result={key: result[key] for key in kept})


def _as_told(request: DroppedRequest, sidecar: Sidecar) -> Settings:
    """Return the settings with what the sidecar says laid over them."""
    shipped = shipped_profiles()
    if sidecar.profile is not None and sidecar.profile not in shipped:
        raise _Refused(f"no profile {sidecar.profile!r}: the shipped ones are {', '.join(shipped)}")
    told = {"voice": request.voice, **sidecar.settings}
    try:
        return load(sidecar.profile or request.profile, store=request.store, **told)
    except ConfigError as error:
        raise _Refused(error.message) from error


def _chapters(sidecar: Sidecar) -> frozenset[int] | None:
    try:
        return parse_chapters(sidecar.chapters) if sidecar.chapters else None
    except ValueError as error:
        raise _Refused(f"chapters: {error}") from error
