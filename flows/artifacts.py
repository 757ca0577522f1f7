"""What a person sees of a render in the Prefect UI: a progress bar and tables."""

import logging
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)

from loudr_core.findings import Finding
from loudr_core.jobs.plan import Plan
from loudr_core.render.progress import Counts
from loudr_core.render.result import RenderResult

__all__ = ["publish_plan", "publish_tables", "start_progress", "update_progress"]

logger = logging.getLogger(__name__)

_MOST_ROWS = 200


def start_progress(description: str) -> UUID | None:
    """Create the progress artifact; None when the server refuses it."""
    try:
        return _id(create_progress_artifact(progress=0.0, description=description))
    except Exception:
        logger.warning("the progress artifact could not be made", exc_info=True)
        return None


def update_progress(artifact: UUID | None, counts: Counts) -> None:
    """Show the share of finished segments; what the server says no to is only logged."""
    if artifact is None or counts.total == 0:
        return
    try:
        update_progress_artifact(
            artifact_id=artifact,
            progress=100.0 * counts.done / counts.total,
            description=f"{counts.done} of {counts.total} segments, {counts.failed} failed, "
            f"{counts.suspect} suspect, real-time factor {counts.rtf:.3f}",
        )
    except Exception:
        logger.debug("the progress artifact could not be updated", exc_info=True)


def publish_plan(plan: Plan) -> None:
    """Create the tables of a plan's chapters and findings."""
    try:
        _chapters(plan)
        _findings(plan, plan.findings)
    except Exception:
        logger.warning("the tables could not be shown", exc_info=True)


def publish_tables(plan: Plan, result: RenderResult) -> None:
    """Create the tables of chapters and of findings, and a summary."""
    try:
        _chapters(plan)
        _findings(plan, (*plan.findings, *result.findings))
        create_markdown_artifact(key=f"summary-{plan.plan_id}", markdown=_summary(plan, result))
    except Exception:
        logger.warning("the tables could not be shown", exc_info=True)


def _chapters(plan: Plan) -> None:
    create_table_artifact(
        key=f"chapters-{plan.plan_id}",
        table=[
            {
                "chapter": chapter.number,
                "title": chapter.title,
                "segments": chapter.segments,
                "minutes": round(chapter.est_audio_s / 60, 1),
            }
            for chapter in plan.chapters[:_MOST_ROWS]
        ],
        description=f"Chapters of {plan.metadata['title']}",
    )


def _findings(plan: Plan, findings: Sequence[Finding]) -> None:
    rows: list[dict[str, Any]] = [
        {
            "code": finding.code,
            "severity": finding.severity,
            "where": ", ".join(f"{key} {value}" for key, value in finding.where.items()),
            "message": finding.message,
        }
        for finding in findings[:_MOST_ROWS]
    ]
    create_table_artifact(
        key=f"findings-{plan.plan_id}",
        table=rows or [{"code": "-", "severity": "-", "where": "-", "message": "none"}],
        description="Findings",
    )


def _summary(plan: Plan, result: RenderResult) -> str:
    files = "\n".join(
        f"- `{file.path}`: {file.duration_s / 3600:.2f} h, {file.bytes / 1e6:.1f} MB"
        for file in result.files
    )
    counts = result.segments
    return (
        f"# {plan.metadata['title']}\n\n{files}\n\n"
        f"{counts.total} segments: {counts.rendered} rendered, {counts.reused} reused, "
        f"{counts.retried} retried, {counts.failed} failed.\n\n"
        f"Loudness {result.loudness['integrated_lufs']} LUFS, true peak "
        f"{result.loudness['true_peak_dbtp']} dBTP, real-time factor {result.rtf:.3f}.\n"
    )


def _id(value: object) -> UUID | None:
    return value if isinstance(value, UUID) else None
