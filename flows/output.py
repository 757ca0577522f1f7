"""What commands print: JSON for machines, tables for people, numbers that read well."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from loudr_core.errors import LoudrError
from loudr_core.findings import Finding

if TYPE_CHECKING:
    from loudr_core.jobs.plan import Plan

__all__ = [
    "command_line",
    "console",
    "counted",
    "duration",
    "error_json",
    "print_json",
    "results",
    "show_findings",
    "show_plan",
    "speed",
    "usage_json",
]

_PIPED_COLUMNS = 200

console = Console(stderr=True, highlight=False, soft_wrap=True)
"""What a command says while it works, and what is wrong."""

results = Console(
    highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else _PIPED_COLUMNS
)
"""What a person asked for, on the standard output."""

_SHOWN = 12
_LEFT_OUT = {
    "boilerplate": "title page, imprint, contents, index and the like",
    "note": "headings of pages of notes; the notes are read in the chapters that call them",
    "note_mark": "the marks that call notes; the notes themselves are read",
    "scene_break": "ornaments between scenes, heard as a pause",
    "table": "tables, which the profile omits",
    "code": "code, which the profile omits",
    "caption": "captions, which the profile omits",
    "alt_text": "descriptions of pictures",
    "hidden": "what a page does not show",
    "ruby_reading": "reading aids over characters",
    "page_break": "numbers of printed pages",
    "lost": "chapters whose file is missing",
}
_COLOURS = {"error": "bold red", "warning": "yellow", "info": "dim"}


def print_json(data: object) -> None:
    """Print one JSON object on the standard output."""
    sys.stdout.write(json.dumps(data, ensure_ascii=False, indent=2, default=str) + "\n")
    sys.stdout.flush()


def error_json(error: LoudrError) -> str:
    """Return the JSON of an error: `error{code, message, exit_code, where}`."""
    body = {
        "code": _code(error),
        "message": error.message,
        "exit_code": error.exit_code,
        "where": error.context,
    }
    return json.dumps({"error": body}, ensure_ascii=False, default=str)


def usage_json(message: str) -> str:
    """Return the JSON of a wrong use of the command line."""
    body = {"code": "usage", "message": message, "exit_code": 2, "where": {}}
    return json.dumps({"error": body}, ensure_ascii=False)


def _code(error: LoudrError) -> str:
    name = type(error).__name__.removesuffix("Error")
    return "".join(f"-{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))


def duration(seconds: float) -> str:
    """Return seconds as a person says them: `3 h 21 min`, `4 min 10 s`, `12.3 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def counted(count: int, thing: str) -> str:
    """Return a number of things: `1 segment`, `2 segments`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def speed(rtf: float) -> str:
    """Return a real-time factor as a person says it: `150 × real time`, `0.05 × real time`."""
    times = 1 / rtf
    return f"{times:.0f} × real time" if times >= 10 else f"{times:.2g} × real time"


def command_line(*words: str) -> str:
    """Return a command of this program as it can be typed here, on the path or not."""
    program = sys.argv[0]
    found = shutil.which("loudr")
    if not program or (found and Path(found).resolve() == Path(program).resolve()):
        program = "loudr"
    return shlex.join([program, *words])


def show_findings(findings: Sequence[Finding]) -> None:
    """Print findings, worst first, the rest as a count."""
    ranked = sorted(findings, key=lambda f: ("error", "warning", "info").index(f.severity))
    for finding in ranked[:_SHOWN]:
        where = " ".join(str(value) for value in finding.where.values())
        results.print(
            f"[{_COLOURS[finding.severity]}]{finding.severity:7}[/] {finding.code}: ", end=""
        )
        results.print(f"{finding.message} ({where})" if where else finding.message, markup=False)
    if len(ranked) > _SHOWN:
        more = counted(len(ranked) - _SHOWN, "more finding")
        results.print(f"… and {more}; --json has them all")


def show_plan(plan: Plan, *, eta_s: float | None) -> None:
    """Print a plan: chapters, hours, what is left out, findings."""
    authors = ", ".join(plan.metadata["authors"])
    results.print(f"[bold]{escape(plan.metadata['title'])}[/bold]  {escape(authors)}")
    table = Table(box=None, pad_edge=False)
    table.add_column("#", justify="right")
    table.add_column("chapter", overflow="fold")
    table.add_column("segments", justify="right")
    table.add_column("audio", justify="right")
    if plan.cast:
        table.add_column("voice", overflow="fold")
    voices = plan.chapter_voices
    for chapter in plan.chapters:
        table.add_row(
            str(chapter.number),
            escape("  " * chapter.level + chapter.title),
            str(chapter.segments),
            duration(chapter.est_audio_s),
            *([escape(voices[chapter.number].label)] if plan.cast else []),
        )
    results.print(table)
    show_findings(plan.findings)
    _show_left_out(plan)
    eta = f", about {duration(eta_s)} to render" if eta_s else ""
    results.print(
        f"{counted(plan.segments, 'segment')}, about {duration(plan.est_audio_s)} of audio{eta}; "
        f"every one of {plan.audit['source_chars']} characters accounted for"
    )
    results.print(f"book {plan.book_id}, plan {plan.plan_id}", style="dim")


def _show_left_out(plan: Plan) -> None:
    reasons: dict[str, list[int]] = {}
    for row in plan.left_out:
        reasons.setdefault(row.reason, []).append(row.characters)
    for reason, sizes in sorted(reasons.items()):
        why = _LEFT_OUT.get(reason, "")
        if reason == "note" and plan.profile["text"]["notes"] == "omit":
            why = "notes, which the profile omits"
        results.print(
            f"[dim]left out[/]  {reason}: {counted(len(sizes), 'place')}, "
            f"{counted(sum(sizes), 'character')}" + (f" ({why})" if why else "")
        )
    if reasons:
        results.print(
            "          each with its text: `--json` has them as left_out, and so has the page of "
            "`loudr report`",
            style="dim",
        )
