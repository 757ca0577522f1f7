"""The listening report: one HTML page that shows what was made and plays what wants an ear.

The page holds everything, cover and clips as data, and its content policy forbids it to load
anything else; it can be mailed or kept. Every text in it comes from a book and is escaped by the
template engine. Takes plain data, so that whoever renders fills it from wherever the facts lie.
"""

import base64
import functools
import html
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2

from loudr_core.findings import Finding
from loudr_core.publish.clip import Clip
from loudr_core.publish.cover import Cover
from loudr_core.publish.naming import SOMEBODY, Owner
from loudr_core.publish.plot import clock, plot_loudness

__all__ = [
    "MAX_CLIP_BYTES",
    "ReportChapter",
    "ReportData",
    "ReportFile",
    "ReportOmission",
    "ReportSegment",
    "read_owner",
    "write_report",
]

MAX_CLIP_BYTES = 24_000_000
"""Audio in a page, before base64: an hour and more of clips, and browsers still open it at once."""

_RANK = {"error": 0, "warning": 1, "info": 2}
_TIMES = ("start_s", "end_s")
_TEMPLATE = "report.html.j2"
_PLAN_DIGITS = 8
_HEAD_BYTES = 4096
_OWNER = {
    field: re.compile(rf'<meta name="loudr-{field.partition("_")[0]}" content="([^"]*)">')
    for field in ("book_id", "plan_id", "chapters")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFile:
    """A finished file: where it lies, what it is."""

    path: str
    format: str
    n_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportChapter:
    """A chapter of the finished book."""

    number: int
    title: str
    start_s: float
    end_s: float
    segments: int
    flagged: int
    integrated_lufs: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSegment:
    """A segment that wants an ear: its take was kept with findings, retried, or is missing.

    `start_s` and `end_s` are its place in the book; `attempts` counts the takes that were made.
    """

    segment_id: str
    chapter: int
    start_s: float
    end_s: float
    text: str
    spoken: str
    seed: int
    attempt: int
    attempts: int
    status: str
    voice: str
    language: str = ""
    findings: tuple[Finding, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOmission:
    """A stretch of the book that is not spoken, and why."""

    chapter: str
    kind: str
    reason: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportData:
    """What a report tells.

    Parameters
    ----------
    counts : mapping of str to int
        Segments: `total`, `rendered`, `reused`, `retried`, `failed`.
    rtf : float or None
        Wall seconds per second of audio; None when the run made nothing itself.
    curve : sequence of (seconds, LUFS)
        Short-term loudness over the book; silence is left out.
    flagged : sequence of ReportSegment
        In any order.
    findings : sequence of Finding
        Those that belong to no segment.
    rendered : str
        Chapters that the numbers are of, such as `1-3`, when not of the whole book.
    voices : sequence of str
        Who speaks, each with its engine: `heart (embedded)`.
    made : str
        When and with what, as the caller wants it read: `loudr 0.1.0, 30 November 2026`.
    """

    book_id: str
    plan_id: str
    title: str
    authors: Sequence[str] = ()
    language: str = ""
    voices: Sequence[str] = ()
    cover: Cover | None = None
    duration_s: float = 0.0
    integrated_lufs: float | None = None
    true_peak_dbtp: float | None = None
    target_lufs: float = -19.0
    peak_limit_dbtp: float = -3.0
    rtf: float | None = None
    wall_s: float | None = None
    rendered: str = ""
    made: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    files: Sequence[ReportFile] = ()
    chapters: Sequence[ReportChapter] = ()
    flagged: Sequence[ReportSegment] = ()
    curve: Sequence[Sequence[float]] = ()
    left_out: Sequence[ReportOmission] = ()
    findings: Sequence[Finding] = ()


def write_report(
    report: ReportData,
    *,
    clip_of: Callable[[ReportSegment], Clip | None] | None = None,
    max_clip_bytes: int = MAX_CLIP_BYTES,
) -> str:
    """Return the page.

    Parameters
    ----------
    clip_of : callable, optional
        Gives the take of a flagged segment, None where there is no audio. Called once each, in the
        order of the page and one at a time, until the page holds `max_clip_bytes`; the rest is
        listed with its place in the book and without a player, and the page says so.
    """
    flagged = sorted(report.flagged, key=_urgency)
    rows = []
    used = unplayed = 0
    for segment in flagged:
        clip = clip_of(segment) if clip_of and used < max_clip_bytes else None
        if clip and used + len(clip.data) > max_clip_bytes:
            clip, used = None, max_clip_bytes
        used += len(clip.data) if clip else 0
        unplayed += bool(clip_of) and clip is None and segment.status != "failed"
        rows.append({"segment": segment, "clip": clip, "rerender": _command(report, segment)})
    plot = plot_loudness(
        report.curve,
        duration_s=report.duration_s,
        target_lufs=report.target_lufs,
        chapters=[(c.start_s, str(c.number), f"{c.number}. {c.title}") for c in report.chapters],
    )
    page: str = _template().render(
        report=report,
        rows=rows,
        unplayed=unplayed,
        clip_limit_mb=max_clip_bytes // 1_000_000,
        plot=plot,
        findings=sorted(report.findings, key=lambda finding: _RANK[finding.severity]),
    )
    return page


def read_owner(path: Path) -> Owner | None:
    """Return whose page a file is: None when there is none, `SOMEBODY` when it does not say."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError:
        return SOMEBODY
    said = {field: _OWNER[field].search(head) for field in _OWNER}
    return Owner(
        **{field: html.unescape(found[1]) if found else "" for field, found in said.items()}
    )


def _urgency(segment: ReportSegment) -> tuple[int, int, float, str]:
    """Sort key: what is missing, then by the gravest finding, then as the book goes."""
    rank = min((_RANK[finding.severity] for finding in segment.findings), default=3)
    return (segment.status != "failed", rank, segment.start_s, segment.segment_id)


def _command(report: ReportData, segment: ReportSegment) -> str:
    words = ["loudr", "rerender", report.book_id, "--plan", report.plan_id[:_PLAN_DIGITS]]
    return shlex.join([*words, "--segment", segment.segment_id])


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "clock": clock,
        "data_uri": _data_uri,
        "size": _size,
        "number": _number,
        "place": _place,
    }
    source = resources.files("loudr_core.publish").joinpath(_TEMPLATE).read_text("utf-8")
    return environment.from_string(source)


def _data_uri(thing: Any) -> str:
    """Return a cover or clip as a `data:` URI."""
    return f"data:{thing.media_type};base64,{base64.b64encode(thing.data).decode()}"


def _place(where: Mapping[str, str | int | float]) -> str:
    """Return where a finding was made, for a person: `chapter 3, 1.20 s to 1.35 s`."""
    rest = [
        f"{name.replace('_', ' ')} {value}" for name, value in where.items() if name not in _TIMES
    ]
    times = [f"{where[name]:.2f} s" for name in _TIMES if isinstance(where.get(name), int | float)]
    return ", ".join([*rest, " to ".join(times)] if times else rest)


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 100_000 else f"{n_bytes / 1e3:.1f} kB"


def _number(value: float | None, digits: int = 1) -> str:
    """Return a number with a true minus sign, a dash for None."""
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")
