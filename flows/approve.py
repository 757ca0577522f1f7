"""One chapter first: somebody listens to it and says whether the rest is worth the night.

The run suspends itself after the chapter, so nothing waits meanwhile; when it is resumed, from its
page in the UI, its process starts anew and goes through the same steps, which find what is there.
"""

import tempfile
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

from prefect import flow, runtime
from prefect.artifacts import create_markdown_artifact
from prefect.flow_runs import pause_flow_run, suspend_flow_run
from prefect.input import RunInput
from prefect.states import Cancelled
from pydantic import ConfigDict, Field

from flows.configuration import Settings, load
from flows.forms import ApproveRequest
from flows.places import refuse_relative
from flows.plain_failure import plain_failure
from flows.studio import Studio, studio
from loudr_core.queue.source import local_file
from loudr_core.render.book import RenderOptions
from loudr_core.render.result import RenderResult

__all__ = ["Approval", "approve"]

_KEY = "approval"


class Approval(RunInput):
    """The answer of whoever has listened."""

    model_config = ConfigDict(extra="forbid")

    go_on: bool = Field(description="Render the whole book.")
    note: str = Field(default="", max_length=2000, description="Kept with the run.")


def _run_name() -> str:
    request = ApproveRequest.model_validate(runtime.flow_run.parameters["request"])
    return f"approve {Path(request.book).stem}"


@flow(name="approve", flow_run_name=_run_name, persist_result=False)
@plain_failure
def approve(request: ApproveRequest) -> Any:
    """Render one chapter, wait for an answer, then render the book or leave it."""
    refuse_relative(book=request.book, destination=request.dest, store=request.store)
    settings = load(request.profile, voice=request.voice, store=request.store)
    with studio() as here, tempfile.TemporaryDirectory(prefix="loudr-") as aside:
        source = local_file(request.book, Path(aside))
        chapter = _render(here, source, settings, request, frozenset({request.chapter}))
        here.close()  # no engine waits for a person
        answer = _ask(request, chapter)
        if not answer.go_on:
            return Cancelled(message=f"not approved. {answer.note}".strip())
        return _render(here, source, settings, request, None).as_dict()


def _render(
    here: Studio,
    source: Path,
    settings: Settings,
    request: ApproveRequest,
    chapters: frozenset[int] | None,
) -> RenderResult:
    return here.render(
        source,
        settings,
        dest=request.dest,
        options=RenderOptions(chapters=chapters, allow_gaps=request.allow_gaps),
        cancel=threading.Event(),
    )


def _ask(request: ApproveRequest, chapter: RenderResult) -> Approval:
    """Say where the chapter lies, and wait until this run is resumed with an answer."""
    files = "\n".join(f"- `{file.path}`" for file in chapter.files)
    text = (
        f"Listen to chapter {request.chapter} of {Path(request.book).stem}:\n\n{files}\n\n"
        "Then resume this run: tick *go on* to have the whole book rendered."
    )
    create_markdown_artifact(key=f"approve-{chapter.plan_id}", markdown=text)
    asked = Approval.with_initial_data(description=text)
    wait_s = int(timedelta(days=request.wait_days).total_seconds())
    if runtime.deployment.id:
        return suspend_flow_run(wait_for_input=asked, timeout=wait_s, key=_KEY)
    # Only a deployment's run can be started anew; any other waits in its process.
    return pause_flow_run(wait_for_input=asked, timeout=wait_s, key=_KEY)
