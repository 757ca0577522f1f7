"""Fill the listening report of a plan from what the store holds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loudr_core.audio.takefile import decode_take, from_pcm24
from loudr_core.errors import BookError, PublishError, StoreError
from loudr_core.findings import Finding
from loudr_core.jobs.plan import Plan
from loudr_core.jobs.standing import latest_choices
from loudr_core.jobs.table import Job
from loudr_core.publish.clip import Clip, make_clip
from loudr_core.publish.cover import prepare_cover
from loudr_core.publish.names import chapter_list
from loudr_core.publish.naming import choose_name
from loudr_core.publish.report import (
    ReportChapter,
    ReportData,
    ReportFile,
    ReportOmission,
    ReportSegment,
    read_owner,
    write_report,
)
from loudr_core.refusals import explain
from loudr_core.render.deliver import name_wish
from loudr_core.render.results import KnownPlan
from loudr_core.speech.orders import Choice, audio_key
from loudr_core.store.protocol import ObjectStore

__all__ = ["book_report", "deliver_report"]


def book_report(store: ObjectStore, known: KnownPlan) -> str:
    """Return the listening page of a plan's latest finished render, as self-contained HTML.

    Raises
    ------
    BookError
        The plan was not rendered to the end.
    """
    plan, jobs = known.plan, known.jobs
    if not known.results:
        raise BookError(
            f"{plan.book_id} was not rendered to the end yet: loudr render makes the report's "
            "numbers",
            book=plan.book_id,
        )
    choices = latest_choices(store, plan, jobs)
    data = _data(store, plan, jobs, choices, known.results[-1])

    def clip_of(segment: ReportSegment) -> Clip | None:
        choice = choices.get(segment.segment_id)
        take = store.get(audio_key(choice.take_key)) if choice and choice.take_key else None
        if take is None:
            return None
        try:
            decoded = decode_take(take)
        except StoreError:
            return None
        return make_clip(from_pcm24(decoded.pcm), decoded.sample_rate_hz)

    return write_report(data, clip_of=clip_of)


def deliver_report(known: KnownPlan, page: str, dest: Path, *, overwrite: bool) -> Path:
    """Write a page into a folder under a name that takes no other book's place.

    Raises
    ------
    PublishError
        It cannot be written, or every name is taken.
    """
    folder = dest.expanduser().absolute()
    chapters = known.results[-1]["result"].get("chapters") if known.results else None
    wish = name_wish(known.plan, " report.html", chapters)
    path = folder / choose_name(wish, lambda name: read_owner(folder / name), overwrite=overwrite)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise PublishError(f"{path} cannot be written: {explain(error)}", path=str(path)) from error
    return path


def _data(
    store: ObjectStore,
    plan: Plan,
    jobs: Sequence[Job],
    choices: Mapping[str, Choice],
    document: Mapping[str, Any],
) -> ReportData:
    result, levels = document["result"], document["levels"]
    places = {row[0]: (row[1], row[2]) for row in levels["segments"]}
    flagged = [
        _segment(job, choices.get(job.segment_id), places.get(job.segment_id, (0.0, 0.0)))
        for job in jobs
        if job.segment_id in places and _wants_an_ear(choices.get(job.segment_id))
    ]
    counts: dict[int, int] = {}
    for segment in flagged:
        counts[segment.chapter] = counts.get(segment.chapter, 0) + 1
    cover_data = store.get(plan.cover_key) if plan.cover_key else None
    cover = prepare_cover(cover_data)[0] if cover_data else None
    said = plan.metadata
    return ReportData(
        book_id=plan.book_id,
        plan_id=plan.plan_id,
        rendered=chapter_list(result["chapters"]) if result.get("chapters") else "",
        title=said["title"],
        authors=said["authors"],
        language=said["language"],
        voices=[each.label for each in plan.heard(row["number"] for row in levels["chapters"])],
        cover=cover,
        duration_s=result["files"][0]["duration_s"],
        integrated_lufs=result["loudness"]["integrated_lufs"],
        true_peak_dbtp=result["loudness"]["true_peak_dbtp"],
        target_lufs=levels["target_lufs"],
        peak_limit_dbtp=levels["peak_limit_dbtp"],
        rtf=result["rtf"] or None,
        wall_s=result["wall_s"],
        made=f"{document['made_by']}, {document['finished_at'][:10]}",
        counts=result["segments"],
        files=[
            ReportFile(
                path=file["path"],
                format=file["format"],
                n_bytes=file["bytes"],
                sha256=file["sha256"],
            )
            for file in result["files"]
        ],
        chapters=[
            ReportChapter(
                number=row["number"],
                title=row["title"],
                start_s=row["start_s"],
                end_s=row["end_s"],
                segments=row["segments"],
                flagged=counts.get(row["number"], 0),
                integrated_lufs=row["integrated_lufs"],
            )
            for row in levels["chapters"]
        ],
        flagged=flagged,
        curve=levels["curve"],
        left_out=[
            ReportOmission(chapter=row.chapter, kind=row.kind, reason=row.reason, text=row.text)
            for row in plan.left_out
        ],
        findings=[
            *plan.findings,
            *(
                Finding.from_dict(row)
                for row in result["findings"]
                if "segment_id" not in row["where"]
            ),
        ],
    )


def _wants_an_ear(choice: Choice | None) -> bool:
    if choice is None or choice.status != "ok":
        return True
    return choice.attempt > 0 or any(f.severity != "info" for f in choice.findings)


def _segment(job: Job, choice: Choice | None, place: tuple[float, float]) -> ReportSegment:
    return ReportSegment(
        segment_id=job.segment_id,
        chapter=job.chapter,
        start_s=place[0],
        end_s=place[1],
        text=job.text,
        spoken=job.spoken,
        seed=choice.seed if choice else job.seed,
        attempt=choice.attempt if choice else 0,
        attempts=choice.attempt + 1 if choice else 0,
        status=choice.status if choice else "failed",
        voice=job.voice,
        language=job.language,
        findings=choice.findings if choice else (),
        error=choice.error if choice else "it was not rendered",
    )
