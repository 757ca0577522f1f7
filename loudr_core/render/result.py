"""What a render came to: the JSON that `loudr render` prints and the store keeps."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from loudr_core.findings import Finding
from loudr_core.jobs.plan import Plan

__all__ = ["RenderResult", "RenderedFile", "SegmentCounts", "voice_rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedFile:
    """A finished file."""

    path: str
    format: str
    bytes: int
    sha256: str
    duration_s: float
    chapters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentCounts:
    """Segments of the book, and what this run did with them.

    `retried` counts takes beyond the first of a segment; `failed` segments have no audio.
    """

    total: int
    rendered: int
    reused: int
    retried: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderResult:
    """The outcome of one render.

    Parameters
    ----------
    pcm_sha256 : str
        `jobs.choices.pcm_digest` of the chosen takes: equal for equal samples in every segment.
    loudness : mapping
        `integrated_lufs` and `true_peak_dbtp` of the mastered book, `gain_db` and `limited`.
    rtf : float
        Wall seconds per second of finished audio; for a resumed run over what it made itself.
    stage_s : mapping of str to float
        Wall seconds of each stage; stages overlap.
    chapters : tuple of int, or None
        Numbers of the chapters that were rendered, when not all.
    voices : tuple of mapping
        Who speaks, with what, and which chapters: `voice_rows`.
    sample_rate_hz : int
        Of the finished book.
    resampler : str
        What brought takes of other rates to it; empty when there are none.
    """

    book_id: str
    plan_id: str
    files: tuple[RenderedFile, ...]
    segments: SegmentCounts
    pcm_sha256: str
    loudness: Mapping[str, Any]
    rtf: float
    wall_s: float
    findings: tuple[Finding, ...]
    stage_s: Mapping[str, float]
    chapters: tuple[int, ...] | None = None
    voices: tuple[Mapping[str, Any], ...] = ()
    sample_rate_hz: int = 0
    resampler: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        data = asdict(self)
        data["findings"] = [finding.as_dict() for finding in self.findings]
        return data


def voice_rows(plan: Plan, chapters: Sequence[int]) -> tuple[Mapping[str, Any], ...]:
    """Return who speaks in a file, in the order they come: name, engine, what its takes rest on.

    Parameters
    ----------
    chapters : sequence of int
        Numbers of those that the file holds.
    """
    speaks = plan.chapter_voices
    return tuple(
        {
            "name": voice.name,
            "engine": voice.engine,
            "voice": voice.voice,
            "fingerprint": voice.fingerprint,
            "sample_rate_hz": voice.sample_rate_hz,
            "speed": voice.speed,
            "chapters": [number for number in chapters if speaks[number] == voice],
        }
        for voice in plan.heard(chapters)
    )
