"""What a run's page says of a book: tables and text, made of plain values.

Words out of a book go into Markdown and tables here, and are made harmless for them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from flows.costs import Spent
from flows.output import duration
from loudr_core.findings import Finding
from loudr_core.jobs.plan import Plan
from loudr_core.jobs.table import Job
from loudr_core.publish.plot import clock
from loudr_core.render.progress import Counts
from loudr_core.render.result import RenderResult
from loudr_core.speech.orders import Choice

__all__ = [
    "MOST_ROWS",
    "chapter_rows",
    "excerpt",
    "finding_line",
    "finding_rows",
    "first_rows",
    "progress_line",
    "result_line",
    "result_text",
    "stage_line",
    "stage_text",
]

MOST_ROWS = 200
_EXCERPT = 80
_SENTENCE = 160
_NOTHING = "–"

Row = Mapping[str, Any]


def chapter_rows(
    plan: Plan, levels: Mapping[str, Any] | None = None, flagged: Mapping[int, int] | None = None
) -> list[Row]:
    """Return a row for each chapter; with `levels`, of the finished book.

    Parameters
    ----------
    levels : mapping, optional
        As `render.finish.levels_json` makes them.
    flagged : mapping of int to int, optional
        Chapter number to its condemned segments.
    """
    measured = {row["number"]: row for row in levels["chapters"]} if levels else {}
    rows: list[Row] = []
    voices = plan.chapter_voices
    for chapter in plan.chapters:
        row: dict[str, Any] = {
            "chapter": chapter.number,
            "title": chapter.title,
            "segments": chapter.segments,
            "minutes": round(chapter.est_audio_s / 60, 1),
        }
        if plan.cast:
            row["voice"] = voices[chapter.number].label
        if levels is not None:
            found = measured.get(chapter.number)
            row |= {
                "minutes": round((found["end_s"] - found["start_s"]) / 60, 1) if found else 0,
                "starts at": clock(found["start_s"]) if found else "not in this file",
                "LUFS": found["integrated_lufs"] if found else None,
                "condemned": (flagged or {}).get(chapter.number, 0),
            }
        rows.append(row)
    return rows


def finding_rows(
    findings: Sequence[Finding], jobs: Sequence[Job], choices: Mapping[str, Choice]
) -> list[Row]:
    """Return a row for each finding of a take that counts, worst first, then for the others.

    Parameters
    ----------
    findings : sequence of Finding
        Of the plan and the result; what a choice has said of its segment is not said again.
    choices : mapping of job key to Choice
    """
    rows = [row for job in jobs if job.job_key in choices for row in _of(job, choices[job.job_key])]
    rows.sort(key=lambda row: ("error", "warning").index(row["severity"]))  # stable: in book order
    said = {row["segment"] for row in rows}
    for finding in findings:
        where = dict(finding.where)
        segment = str(where.pop("segment_id", _NOTHING))
        if segment not in said:
            place = ", ".join(f"{key} {value}" for key, value in where.items())
            about = {"segment": segment, "text": place}
            rows.append(_row(finding.code, finding.severity, finding.message, **about))
    return rows or [_row("none", _NOTHING, "nothing was found")]


def first_rows(rows: Sequence[Row]) -> Sequence[Row]:
    """Return what a page can hold; a last row says how many more there are."""
    if len(rows) <= MOST_ROWS:
        return rows
    more = len(rows) - MOST_ROWS + 1
    last = dict.fromkeys(rows[0], "")
    last["title" if "title" in last else "message"] = f"… and {more} more: see loudr report"
    return [*rows[: MOST_ROWS - 1], last]


def finding_line(rows: Sequence[Row]) -> str:
    """Return how many rows of `finding_rows` there are of each severity, in a line."""
    count = Counter(row["severity"] for row in rows)
    said = [f"{count[kind]} {kind}" for kind in ("error", "warning", "info") if count[kind]]
    return "Findings: " + (", ".join(said) or "none")


def excerpt(text: str, length: int = _EXCERPT) -> str:
    """Return the start of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def progress_line(counts: Counts) -> str:
    """Return the sentence beside the progress bar."""
    said = [f"{counts.done} of {counts.total} segments"]
    said.append(f"{counts.failed} failed, {counts.suspect} suspect")
    if counts.rtf:
        said.append(f"real-time factor {counts.rtf:.3f}")
    if counts.eta_s and counts.done < counts.total:
        said.append(f"about {duration(counts.eta_s)} left")
    if counts.engine and counts.done < counts.total:
        said.append(f"speaking: {counts.engine}")
    return ", ".join(said)


def stage_text(title: str, stage: str, counts: Counts, spent: Spent) -> str:
    """Return the page of a render under way, as Markdown."""
    rows = [
        ("stage", stage),
        (
            "segments",
            f"{counts.done} of {counts.total}: {counts.rendered} spoken, {counts.reused} found "
            f"finished, {counts.failed} without audio; {counts.suspect} suspect, "
            f"{counts.retried} takes made again",
        ),
        ("audio made", duration(counts.audio_s)),
        ("audio to come", f"about {duration(counts.audio_left_s)}"),
        ("real-time factor", f"{counts.rtf:.3f}" if counts.rtf else "not known yet"),
        ("time left", f"about {duration(counts.eta_s)}" if counts.eta_s else _NOTHING),
        *_spent_rows(spent),
    ]
    return f"# {_plain(title)}\n\n{_table(rows)}"


def result_text(plan: Plan, result: RenderResult, spent: Spent, *, report: str = "") -> str:
    """Return the page of a finished render, as Markdown.

    Parameters
    ----------
    report : str
        Where the listening report lies; how to make it when empty.
    """
    counts, level = result.segments, result.loudness
    files = [
        f"- `{file.path}`: {duration(file.duration_s)}, {file.bytes / 1e6:.1f} MB, "
        f"SHA-256 `{file.sha256}`"
        for file in result.files
    ]
    listen = f"`{report}`" if report else f"`loudr report {plan.book_id} -o FOLDER` makes it"
    files.append(f"- listening report: {listen}")
    rows = [
        (
            "segments",
            f"{counts.total}: {counts.rendered} spoken, {counts.reused} found finished, "
            f"{counts.failed} without audio; {counts.retried} takes made again",
        ),
        ("loudness", f"{level['integrated_lufs']} LUFS"),
        ("true peak", f"{level['true_peak_dbtp']} dBTP"),
        ("real-time factor", _speed(result) or "not said of so little speech"),
        ("wall time", duration(result.wall_s)),
        *_spent_rows(spent),
        ("book, plan", f"`{plan.book_id}`, `{plan.plan_id}`"),
        ("samples", f"`{result.pcm_sha256}`"),
    ]
    return "\n".join([f"# {_plain(str(plan.metadata['title']))}", "", *files, "", _table(rows)])


def stage_line(stage: str, counts: Counts, spent: Spent) -> str:
    """Return the page of a render under way in a line, for the card that leads to it."""
    cost = spent.price.words(spent.engine_s)
    return ", ".join(filter(None, (stage, progress_line(counts), cost and f"{cost} so far")))


def result_line(result: RenderResult, spent: Spent) -> str:
    """Return the page of a finished render in a line."""
    length = sum(file.duration_s for file in result.files)
    return ", ".join(
        filter(
            None,
            (
                f"done: {duration(length)}",
                f"{result.loudness['integrated_lufs']} LUFS",
                f"real-time factor {_speed(result)}" if _speed(result) else "",
                f"{result.segments.failed} without audio" if result.segments.failed else "",
                spent.price.words(spent.engine_s),
            ),
        )
    )


def _speed(result: RenderResult) -> str:
    """Return the real-time factor, from the book's file to the M4B.

    Empty when most was found finished: what is done once for every render outweighs the speech.
    """
    counts = result.segments
    return f"{result.rtf:.3f}" if result.rtf and 2 * counts.rendered >= counts.total else ""


def _spent_rows(spent: Spent) -> list[tuple[str, str]]:
    engine, cost = duration(spent.engine_s), spent.price.words(spent.engine_s)
    if spent.left_s:
        whole = spent.engine_s + spent.left_s
        engine += f", about {duration(whole)} in all"
        cost += f", about {spent.price.words(whole)} in all" if cost else ""
    return [("engine time", engine), *([("cost", cost)] if cost else [])]


def _of(job: Job, choice: Choice) -> list[Row]:
    about: dict[str, Any] = {
        "segment": job.segment_id,
        "text": excerpt(job.text),
        "seed": str(choice.seed),
        "attempt": choice.attempt,
    }
    if choice.status == "failed":
        return [_row("no-audio", "error", choice.error or "no attempt gave samples", **about)]
    return [
        _row(finding.code, finding.severity, finding.message, **about)
        for finding in choice.findings
        if finding.severity != "info"
    ]


def _row(
    code: str,
    severity: str,
    message: str,
    *,
    segment: str = _NOTHING,
    text: str = "",
    seed: str = "",
    attempt: int | str = "",
) -> Row:
    return {
        "segment": segment,
        "code": code,
        "severity": severity,
        "attempt": attempt,
        "seed": seed,
        "message": excerpt(message, _SENTENCE),
        "text": text,
    }


def _table(rows: Sequence[tuple[str, str]]) -> str:
    lines = [f"| {name} | {_cell(value)} |" for name, value in rows]
    return "\n".join(["| | |", "|---|---|", *lines, ""])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _plain(text: str) -> str:
    """Return a title that is neither markup nor more than a line."""
    line = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\`*_[]<>#|" else c for c in line)
