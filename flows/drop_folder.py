"""Look into a drop folder once: new books are given to runs of `render-dropped`.

Without such a deployment on the server they are rendered here, one after the other, before the run
ends. Scheduled every minute or two; several pollers may look at the same folder.
"""

import logging
import uuid
from pathlib import Path
from typing import Any

from prefect import flow, runtime
from prefect.artifacts import create_table_artifact

from flows.configuration import load
from flows.drop_runs import open_runs
from flows.forms import DropRequest
from flows.opening import open_settings_store
from flows.places import refuse_relative
from flows.plain_failure import plain_failure
from loudr_core.queue.intake import PollOptions, PollReport, poll
from loudr_core.queue.ledger import Ledger
from loudr_core.queue.watch import place_of, refuse_overlap
from loudr_core.store.open import open_store

__all__ = ["drop_folder"]

logger = logging.getLogger(__name__)


def _run_name() -> str:
    request = DropRequest.model_validate(runtime.flow_run.parameters["request"])
    return f"look into {Path(place_of(request.watch)).name}"


@flow(name="drop-folder", flow_run_name=_run_name, persist_result=False)
@plain_failure
def drop_folder(request: DropRequest) -> Any:
    """Submit every settled new book of the folder, and look after the earlier ones."""
    refuse_relative(watch=request.watch, destination=request.dest, store=request.store)
    settings = load(request.profile, voice=request.voice, store=request.store)
    refuse_overlap(request.watch, destination=request.dest, store=settings.store_url)
    watched = open_store(request.watch)
    ledger = Ledger(open_settings_store(settings), owner=uuid.uuid4().hex)
    options = PollOptions(
        settle_s=request.settle_s,
        stale_s=60 * request.stale_min,
        retry_s=60 * request.retry_min,
        attempts=request.attempts,
    )
    with open_runs(request, watched, ledger, stale_s=options.stale_s) as runs:
        report = poll(watched, ledger, runs, options)
        _show(report)
    return report.as_dict()


def _show(report: PollReport) -> None:
    """Log what was found, and make a table of it when anything was new or wrong."""
    rows = [
        {"what": what, "book": place}
        for what in ("submitted", "given_up", "troubled")
        for place in getattr(report, what)
    ]
    logger.info("%s", {what: len(places) for what, places in report.as_dict().items()})
    if not rows:
        return
    try:
        create_table_artifact(key="drop-folder", table=rows, description="What a poll found")
    except Exception:
        logger.warning("the table could not be shown", exc_info=True)
