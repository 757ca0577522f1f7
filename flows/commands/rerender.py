"""`loudr rerender`: other seeds for some segments, then the file again, only what changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flows.commands.render import run_sources
from flows.commands.status import choose_plan
from flows.configuration import Settings
from flows.engines import refuse_absent_bundles
from flows.opening import open_kept_store
from flows.output import console, counted
from loudr_core.errors import ConfigError, QualityError
from loudr_core.jobs.overrides import next_seed, read_overrides, write_override
from loudr_core.jobs.plan import Plan
from loudr_core.jobs.standing import latest_choices
from loudr_core.jobs.table import Job
from loudr_core.publish.names import chapter_list
from loudr_core.render.book import RenderOptions
from loudr_core.render.destination import open_destination
from loudr_core.render.planning import StoredPlan, chapters_wanted
from loudr_core.store.protocol import ObjectStore

__all__ = ["Prepared", "prepare", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A render to make after segments were given other seeds, and which seeds those are."""

    source: StoredPlan
    settings: Settings
    dest: str | None
    options: RenderOptions
    seeds: Mapping[str, int]


def run(book_id: str, settings: Settings, *, json_out: bool, **asked: Any) -> int:
    """Do what `prepare` takes the same arguments for, and put the file together anew."""
    prepared = prepare(book_id, settings, **asked)
    return run_sources(
        [prepared.source],
        prepared.settings,
        dest=prepared.dest,
        options=prepared.options,
        json_out=json_out,
    )


def prepare(
    book_id: str,
    settings: Settings,
    *,
    plan_start: str,
    segments: Sequence[str],
    findings: bool,
    chapter: int | None,
    chapters: frozenset[int] | None,
    seed: int | None,
    dest: str | None,
    allow_gaps: bool,
    overwrite: bool,
) -> Prepared:
    """Give the chosen segments a seed, kept for later plans too, and say how to render the file.

    What the file held the last time it holds again: its chapters, its place, its gaps.

    Raises
    ------
    BookError, ConfigError, QualityError
        There is no such book, plan, segment or chapter, or nothing that a seed could help.
    BundleError
        A model of the plan lies somewhere else by now; no seed is changed then.
    """
    store = open_kept_store(settings)
    known = choose_plan(store, book_id, plan_start)
    plan, jobs = known.plan, known.jobs
    last: Mapping[str, Any] = known.results[-1] if known.results else {}
    made = last.get("result", {})
    if chapters is None and made.get("chapters"):
        chapters = frozenset(made["chapters"])
    chapters = chapters_wanted(plan, chapters)
    chosen = _chosen(store, plan, jobs, segments, findings=findings, chapter=chapter)
    _refuse_outside(chosen, chapters)
    place = dest if dest is not None else last.get("dest", ".")
    if place is not None:
        open_destination(place)
    planned = settings.as_planned(plan.profile, plan.profile_name)
    if planned.executor != "pool":  # there the models lie with the workers
        refuse_absent_bundles(planned.profile, store)
    given = read_overrides(store, plan, jobs)
    seeds = {
        job.segment_id: next_seed(job, given.get(job.segment_id, job.seed))
        if seed is None
        else seed
        for job in chosen
    }
    _announce(store, plan, jobs, chosen, chapters)
    write_override(store, plan, jobs, seeds)
    for segment, value in seeds.items():
        console.print(f"{segment}: seed {value}", markup=False, style="dim")
    return Prepared(
        source=StoredPlan(book_id=plan.book_id, plan_id=plan.plan_id),
        settings=planned,
        dest=place,
        options=RenderOptions(
            chapters=chapters,
            allow_gaps=allow_gaps or made.get("segments", {}).get("failed", 0) > 0,
            overwrite=overwrite,
        ),
        seeds=seeds,
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
        A segment or chapter is not there, or no segment was condemned.
    QualityError
        A segment that was asked for cannot be read, whatever the seed.
    """
    known = {job.segment_id for job in jobs}
    for segment in segments:
        if segment not in known:
            raise ConfigError(
                f"{plan.book_id} has no segment {segment!r}: it has {jobs[0].segment_id} to "
                f"{jobs[-1].segment_id}",
                segment=segment,
            )
        if segment in plan.unreadable:
            raise QualityError(
                f"another seed does not help {segment}: {plan.unreadable[segment]}",
                segment=segment,
            )
    wanted = set(segments)
    if chapter is not None:
        chapters_wanted(plan, frozenset({chapter}))
        wanted |= {job.segment_id for job in jobs if job.chapter == chapter}
    if findings:
        choices = latest_choices(store, plan, jobs)
        wanted |= {segment for segment, choice in choices.items() if choice.status != "ok"}
    hopeless = wanted & plan.unreadable.keys()
    if hopeless:
        what = counted(len(hopeless), "segment")
        console.print(f"{what} left alone: the voice cannot read them, with any seed", style="dim")
    if not wanted - hopeless:
        raise ConfigError(
            f"nothing to render again: no segment of {plan.book_id} is condemned for a cause that "
            "another seed could help; name segments by --segment or --chapter",
            book=plan.book_id,
        )
    return [job for job in jobs if job.segment_id in wanted - hopeless]


def _refuse_outside(chosen: Sequence[Job], chapters: frozenset[int] | None) -> None:
    """Raise when a segment is in no chapter that is put together anew."""
    outside = {job.chapter for job in chosen} - (chapters or {job.chapter for job in chosen})
    if chapters is not None and outside:
        raise ConfigError(
            f"chapter {min(outside)} is not in the file that is put together anew, which holds "
            f"{chapter_list(chapters)}: add --chapters {chapter_list(chapters | outside)}",
            chapter=min(outside),
        )


def _announce(
    store: ObjectStore,
    plan: Plan,
    jobs: Sequence[Job],
    chosen: Sequence[Job],
    chapters: frozenset[int] | None,
) -> None:
    """Say what will be spoken before it is."""
    inside = [job for job in jobs if chapters is None or job.chapter in chapters]
    choices = latest_choices(store, plan, jobs)
    again = {job.segment_id for job in chosen}
    missing = sum(job.segment_id not in {*choices, *again} for job in inside)
    more = f", and {missing} more without audio" if missing else ""
    what = "the book is" if chapters is None else f"chapters {chapter_list(chapters)} are"
    console.print(
        f"speaking {counted(len(chosen), 'segment')} again{more}; then {what} put together anew",
        markup=False,
    )
