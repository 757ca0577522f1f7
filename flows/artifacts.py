"""What a person sees of a render in the Prefect UI: progress, tables, a plot, links.

A run has one artifact of each kind and keeps it up to date, so that its page is short and the key
of a plan leads to what is so now. An artifact that the server refuses is a line in the log: no
render fails for it.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect.artifacts import (
    create_image_artifact,
    create_link_artifact,
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import ArtifactUpdate

from flows import contact, run_page
from flows.costs import Spent
from loudr_core.jobs.plan import Plan
from loudr_core.jobs.table import Job
from loudr_core.publish.plot import plot_loudness
from loudr_core.publish.plot_svg import data_url, plot_svg
from loudr_core.render.progress import Counts
from loudr_core.render.result import RenderResult
from loudr_core.speech.orders import Choice

__all__ = ["BookArtifacts", "artifact_key", "publish_plan", "start_progress", "update_progress"]

logger = logging.getLogger(__name__)


def start_progress(description: str) -> UUID | None:
    """Create the progress artifact; None when the server refuses it, or is away."""
    if not contact.answers():
        return None
    try:
        return _id(create_progress_artifact(progress=0.0, description=description))
    except Exception:
        logger.warning("the progress artifact could not be made", exc_info=True)
        return None


def update_progress(artifact: UUID | None, counts: Counts) -> None:
    """Show the share of finished segments; what the server says no to is only logged."""
    if artifact is None or counts.total == 0 or not contact.answers():
        return
    try:
        update_progress_artifact(
            artifact_id=artifact,
            progress=100.0 * counts.done / counts.total,
            description=run_page.progress_line(counts),
        )
    except Exception:
        logger.debug("the progress artifact could not be updated", exc_info=True)


def publish_plan(plan: Plan) -> None:
    """Create the tables of a plan's chapters and findings."""
    BookArtifacts(plan).show_plan()


def artifact_key(plan: Plan, name: str) -> str:
    """Return the key of an artifact: the book, the start of the plan's id, and what it shows."""
    return f"{plan.book_id}-{plan.plan_id[:8]}-{name}"


class BookArtifacts:
    """The artifacts of one book in one run.

    Parameters
    ----------
    plan : Plan
        Its book and id are part of every key, so that the UI lists the runs of a plan together.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._ids: dict[str, UUID | None] = {}

    def show_plan(self) -> None:
        """Show the chapters and what the plan found."""
        self._table(
            "chapters",
            run_page.chapter_rows(self._plan),
            f"Chapters of {self._plan.metadata['title']}",
        )
        self.show_findings((), {})

    def show_stage(self, stage: str, counts: Counts, spent: Spent) -> None:
        """Show how far the render is, its speed, the time left, and what it costs."""
        title = str(self._plan.metadata["title"])
        self._markdown(
            "summary",
            run_page.stage_text(title, stage, counts, spent),
            run_page.stage_line(stage, counts, spent),
        )

    def show_findings(self, jobs: Sequence[Job], choices: Mapping[str, Choice]) -> None:
        """Show what was found about segments so far."""
        rows = run_page.finding_rows(self._plan.findings, jobs, choices)
        self._table("findings", rows, run_page.finding_line(rows))

    def show_result(
        self,
        result: RenderResult,
        jobs: Sequence[Job],
        choices: Mapping[str, Choice],
        levels: Mapping[str, Any],
        spent: Spent,
        *,
        report: str = "",
    ) -> None:
        """Show what came of the render, where it lies, and how loud it is.

        Parameters
        ----------
        levels : mapping
            As `render.finish.levels_json` makes them.
        report : str
            Where the listening report lies, if it was written.
        """
        plan = self._plan
        flagged: dict[int, int] = {}
        for job in jobs:
            if job.job_key in choices and choices[job.job_key].status != "ok":
                flagged[job.chapter] = flagged.get(job.chapter, 0) + 1
        self._table(
            "chapters",
            run_page.chapter_rows(plan, levels, flagged),
            f"Chapters of {plan.metadata['title']}",
        )
        findings = (*plan.findings, *result.findings)
        rows = run_page.finding_rows(findings, jobs, choices)
        self._table("findings", rows, run_page.finding_line(rows))
        picture = self._plot(levels)
        shown = f"\n![Short-term loudness over the book]({picture})\n" if picture else ""
        self._markdown(
            "summary",
            run_page.result_text(plan, result, spent, report=report) + shown,
            run_page.result_line(result, spent),
        )
        for number, file in enumerate(result.files):
            name = file.path.rpartition("/")[2]
            said = f"{name}, {file.bytes / 1e6:.1f} MB"
            self._link(f"file{number or ''}", file.path, name, said)
        if report:
            self._link("report", report, "Listening report", "Flagged segments with players")

    def _plot(self, levels: Mapping[str, Any]) -> str:
        """Show the plot, and return its URL; empty when there is nothing to draw."""
        chapters = levels["chapters"]
        plot = plot_loudness(
            levels["curve"],
            duration_s=chapters[-1]["end_s"] if chapters else 0.0,
            target_lufs=levels["target_lufs"],
            chapters=[(row["start_s"], str(row["number"]), row["title"]) for row in chapters],
        )
        if plot is None:  # shorter than what a loudness is measured over
            return ""
        url = data_url(plot_svg(plot))
        said = (
            f"Loudness of {self._plan.metadata['title']}: short-term LUFS over time; dotted lines "
            f"are chapter starts, the dashed one is the target of {levels['target_lufs']:g} LUFS"
        )
        self._put("loudness", url, said, create_image_artifact, "image_url")
        return url

    def _table(self, name: str, rows: Sequence[Mapping[str, Any]], description: str) -> None:
        data = [dict(row) for row in run_page.first_rows(rows)]
        self._put(name, data, description, create_table_artifact, "table")

    def _markdown(self, name: str, text: str, description: str) -> None:
        self._put(name, text, description, create_markdown_artifact, "markdown")

    def _link(self, name: str, place: str, text: str, description: str) -> None:
        url = place if "://" in place else Path(place).absolute().as_uri()

        def create(link: str, key: str, description: str | None) -> Any:
            return create_link_artifact(link=link, link_text=text, key=key, description=description)

        self._put(name, url, description, create, "link")

    def _put(
        self,
        name: str,
        data: Any,
        description: str | None,
        create: Callable[..., Any],
        argument: str,
    ) -> None:
        """Create an artifact, or bring the one that this run has of the name up to date.

        A server that is away is not waited for: the next change shows what is so then.
        """
        if not contact.answers():
            return
        try:
            there = self._ids.get(name)
            if there is None:
                key = artifact_key(self._plan, name)
                made = create(**{argument: data}, key=key, description=description)
                self._ids[name] = _id(made)
                return
            shown = json.dumps(data) if argument == "table" else data
            with get_client(sync_client=True) as client:
                client.update_artifact(there, ArtifactUpdate(data=shown, description=description))
        except Exception:
            logger.warning("the artifact %s could not be shown", name, exc_info=True)


def _id(value: object) -> UUID | None:
    return value if isinstance(value, UUID) else None
