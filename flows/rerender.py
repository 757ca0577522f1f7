"""Segments of a rendered book spoken again: the same as `loudr rerender`, from a form."""

import threading
from typing import Any

from prefect import flow, runtime

from flows.commands.rerender import prepare
from flows.configuration import load
from flows.forms import RerenderRequest
from flows.places import refuse_relative
from flows.plain_failure import plain_failure
from flows.studio import studio
from loudr_core.errors import ConfigError

__all__ = ["rerender"]


def _run_name() -> str:
    request = RerenderRequest.model_validate(runtime.flow_run.parameters["request"])
    return f"rerender {request.book_id}"


@flow(name="rerender", flow_run_name=_run_name, persist_result=False)
@plain_failure
def rerender(request: RerenderRequest) -> Any:
    """Give segments another seed and put the book together anew, only what changed.

    Without a destination the file goes where it went the last time.
    """
    if not (request.segments or request.findings or request.chapter):
        raise ConfigError("nothing to render again: name segments or a chapter, or tick findings")
    refuse_relative(destination=request.dest, store=request.store)
    prepared = prepare(
        request.book_id,
        load(store=request.store),
        plan_start=request.plan or "",
        segments=request.segments,
        findings=request.findings,
        chapter=request.chapter,
        chapters=None,
        seed=_seed(request.seed),
        dest=request.dest,
        allow_gaps=False,
        overwrite=False,
    )
    with studio() as here:
        result = here.render(
            prepared.source,
            prepared.settings,
            dest=prepared.dest,
            options=prepared.options,
            cancel=threading.Event(),
        )
    seeds = {segment: str(seed) for segment, seed in prepared.seeds.items()}
    return {**result.as_dict(), "seeds": seeds}


def _seed(text: str | None) -> int | None:
    """Return the number of a decimal; JSON readers would round it if it came as one."""
    if text is None:
        return None
    seed = int(text)
    if seed >= 2**64:
        raise ConfigError(f"seed {text} is more than {2**64 - 1}, the largest")
    return seed
