"""`loudr rerender`: other seeds for some segments, then the book again, only what changed."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flows.commands import render
from flows.commands.status import find_book
from flows.configuration import Settings, load
from flows.opening import open_settings_store
from flows.output import console
from loudr_core.errors import BookError, ConfigError
from loudr_core.jobs.overrides import next_seed, read_overrides, write_override
from loudr_core.jobs.plan import Plan
from loudr_core.jobs.standing import latest_choices
from loudr_core.jobs.table import Job
from loudr_core.render.report import latest_plan
from loudr_core.store.protocol import ObjectStore

__all__ = ["run"]


def run(
    book_id: str,
    settings: Settings,
    *,
    segments: Sequence[str],
    findings: bool,
    chapter: int | None,
    seed: int | None,
    dest: str | Path,
    json_out: bool,
) -> int:
    """Give the chosen segments a seed, kept for later plans too, and render the book again."""
    store = open_settings_store(settings)
    plan, jobs, _ = latest_plan(store, find_book(store, book_id))
    chosen = _chosen(store, plan, jobs, segments, findings=findings, chapter=chapter)
    given = read_overrides(store, plan, jobs)
    seeds = {
        job.segment_id: next_seed(job, given.get(job.segment_id, job.seed))
        if seed is None
        else seed
        for job in chosen
    }
    write_override(store, plan, jobs, seeds)
    for segment, value in seeds.items():
        console.print(f"{segment}: seed {value}", markup=False, style="dim")
    with tempfile.TemporaryDirectory(prefix="loudr-") as aside:
        source = _source(store, plan, Path(aside))
        return render.run(
            [source],
            _as_planned(plan, settings),
            dest=dest,
            chapters=None,
            allow_gaps=False,
            replan=False,
            json_out=json_out,
        )


def _chosen(
    store: ObjectStore,
    plan: Plan,
    jobs: Sequence[Job],
    segments: Sequence[str],
    *,
    findings: bool,
    chapter: int | None,
) -> list[Job]:
    """Return the segments that were asked for.

    Raises
    ------
    ConfigError
        Nothing was asked for, or a segment or chapter is not there.
    """
    known = {job.segment_id for job in jobs}
    for segment in segments:
        if segment not in known:
            raise ConfigError(
                f"{plan.book_id} has no segment {segment!r}: it has {jobs[0].segment_id} to "
                f"{jobs[-1].segment_id}",
                segment=segment,
            )
    wanted = set(segments)
    if chapter is not None:
        wanted |= {job.segment_id for job in jobs if job.chapter == chapter}
    if findings:
        choices = latest_choices(store, jobs)
        flagged = {key for key, choice in choices.items() if choice.status != "ok"}
        wanted |= {job.segment_id for job in jobs if job.job_key in flagged}
    if not wanted:
        raise ConfigError(
            "nothing to render again: name segments by --segment or --chapter, or take the "
            "condemned ones by --findings, if there are any",
            book=plan.book_id,
        )
    return [job for job in jobs if job.segment_id in wanted]


def _source(store: ObjectStore, plan: Plan, folder: Path) -> Path:
    for key in store.list(f"books/{plan.book_id}/source."):
        data = store.get(key)
        if data is not None:
            path = folder / f"{plan.book_id}{Path(key).suffix}"
            path.write_bytes(data)
            return path
    raise BookError(f"the store does not hold the source of {plan.book_id}", book=plan.book_id)


def _as_planned(plan: Plan, settings: Settings) -> Settings:
    """Return the settings of this run, with everything that decides the plan as it was planned."""
    rest: dict[str, Any] = settings.model_dump(
        exclude_unset=True, exclude=set(plan.profile), mode="python"
    )
    return load(None, **{**rest, **plan.profile})
