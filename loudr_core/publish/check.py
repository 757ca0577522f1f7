"""What a finished M4B is: container, chapters, tags, cover, loudness, ACX numbers, findings.

Trusts nothing that the writer knew. Boxes are read from the bytes, tags by mutagen, and the audio
is decoded whole, which also shows that it can be. Files of other makers are checked just as well.
"""

import contextlib
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import av
import av.error
import numpy as np
from mutagen import MutagenError
from mutagen.mp4 import MP4

from loudr_core.audio.acx import acx_report
from loudr_core.audio.loudness import LoudnessMeter, LoudnessState, sum_channels
from loudr_core.errors import PublishError
from loudr_core.findings import Finding, Severity
from loudr_core.publish.boxes import BoxMark, Mp4Layout, read_layout
from loudr_core.publish.cover import prepare_cover
from loudr_core.publish.tags import FREEFORM, gaps_told

__all__ = ["CheckReport", "CheckedChapter", "check_m4b"]

_MARK_TOLERANCE_S = 0.002
"""Other programs count milliseconds in the chapter track."""
_END_TOLERANCE_S = 0.1
_LOWEST_HZ = 4000
_MOST_CHANNELS = 8
_MAX_CHPL = 255
_BLOCK_FRAMES = 64
_TAG_NAMES = {
    "\xa9nam": "title", "\xa9alb": "album", "\xa9ART": "artist", "aART": "album_artist",
    "\xa9wrt": "composer", "\xa9nrt": "narrator", "\xa9gen": "genre", "\xa9day": "date",
    "desc": "short_description", "ldes": "description", "cprt": "copyright", "\xa9pub": "publisher",
    "\xa9cmt": "comment", "\xa9too": "encoder", "stik": "media_kind", "pgap": "gapless",
    "\xa9mvn": "series", "\xa9mvi": "series_index", "shwm": "show_series", "\xa9grp": "grouping",
    "soal": "sort_album",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedChapter:
    """A chapter as players see it."""

    title: str
    start_s: float
    end_s: float


@dataclass(slots=True, kw_only=True)
class CheckReport:
    """Everything that was found out about a file; `as_dict` is the JSON of `loudr check`."""

    path: Path
    duration_s: float = 0.0
    format: dict[str, object] = field(default_factory=dict)
    chapters: list[CheckedChapter] = field(default_factory=list)
    tags: dict[str, object] = field(default_factory=dict)
    cover: dict[str, object] | None = None
    loudness: dict[str, float | None] | None = None
    acx: dict[str, object] | None = None
    findings: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether no finding is an error."""
        return all(finding.severity != "error" for finding in self.findings)

    def add(self, code: str, severity: Severity, message: str, **where: str | int | float) -> None:
        """Note a finding."""
        self.findings.append(
            Finding(code=f"publish-{code}", severity=severity, message=message, where=where)
        )

    def as_dict(self) -> dict[str, object]:
        """Return the JSON form."""
        return {
            "ok": self.ok,
            "path": str(self.path),
            "format": self.format,
            "duration_s": round(self.duration_s, 3),
            "chapters": [
                {"title": each.title, "start_s": each.start_s, "end_s": each.end_s}
                for each in self.chapters
            ],
            "tags": self.tags,
            "cover": self.cover,
            "loudness": self.loudness,
            "acx": self.acx,
            "findings": [finding.as_dict() for finding in self.findings],
        }


def check_m4b(path: Path, *, quick: bool = False) -> CheckReport:
    """Check a file.

    Parameters
    ----------
    quick : bool
        Leave the audio alone: no decoding, no loudness, no ACX numbers.

    Raises
    ------
    PublishError
        The file is missing, no MP4 file, or cut or damaged so that nothing of it can be played.
    """
    layout = _layout(path)
    report = CheckReport(path=path)
    _check_container(report, layout)
    with _opened(path) as container:
        _describe(report, container, layout)
        if not quick:
            _check_audio(report, container)
    _check_chapters(report, layout)
    _check_tags(report)
    return report


def _layout(path: Path) -> Mp4Layout:
    try:
        return read_layout(path)
    except ValueError as error:
        raise PublishError(f"{path} cannot be checked: {error}", path=str(path)) from error
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            message = f"no such file: {path}; check the name and the folder"
        elif isinstance(error, IsADirectoryError):
            message = f"{path} is a folder: give one file in it"
        else:
            message = f"{path} cannot be read: {error.strerror or error}"
        raise PublishError(message, path=str(path)) from error


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        container = av.open(str(path), "r", metadata_errors="replace")
    except (av.error.FFmpegError, OSError) as error:
        raise PublishError(
            f"{path} cannot be played: {error.strerror}; its index is missing or damaged, "
            "so make or copy the file again",
            path=str(path),
        ) from error
    with container:
        streams = container.streams.audio
        if not streams or not _decodable(streams[0]):
            raise PublishError(f"{path} has no audio that can be decoded", path=str(path))
        yield container


def _decodable(stream: Any) -> bool:
    return bool(
        stream.codec_context is not None
        and stream.sample_rate >= _LOWEST_HZ
        and 1 <= stream.channels <= _MOST_CHANNELS
    )


def _check_container(report: CheckReport, layout: Mp4Layout) -> None:
    if layout.brand != "M4B ":
        report.add("brand", "warning", f"the brand is {layout.brand!r}, not 'M4B '")
    if not layout.faststart:
        report.add("faststart", "warning", "the index stands behind the audio: no faststart")
    audio = layout.audio
    if audio and not audio.edits:
        report.add("edit-list", "warning", "no edit list: the encoder's priming is played")
    if audio and audio.language in ("", "und", "```"):
        report.add("language", "info", "the audio track names no language")


def _describe(report: CheckReport, container: Any, layout: Mp4Layout) -> None:
    stream = container.streams.audio[0]
    audio = layout.audio
    if stream.duration is not None:
        report.duration_s = float(stream.duration * stream.time_base)
    report.format = {
        "container": container.format.name,
        "brand": layout.brand,
        "faststart": layout.faststart,
        "codec": stream.codec_context.name,
        "profile": stream.profile,
        "sample_rate_hz": stream.sample_rate,
        "channels": stream.channels,
        "bit_rate": stream.bit_rate,
        "bytes": report.path.stat().st_size,
        "language": audio.language if audio else "",
        "priming_samples": audio.edits[0][1] if audio and audio.edits else 0,
        "chapter_track": layout.quicktime is not None,
        "nero_chapters": layout.nero is not None,
    }


def _check_audio(report: CheckReport, container: Any) -> None:
    """Decode everything; measure what comes out."""
    stream = container.streams.audio[0]
    rate = stream.sample_rate
    meters = [LoudnessMeter(rate) for _ in range(stream.channels)]
    damaged = 0
    n_samples = 0
    with contextlib.closing(_blocks(container, stream)) as blocks:
        for block in blocks:
            if block is None:
                damaged += 1
                continue
            n_samples += block.shape[1]
            for meter, channel in zip(meters, block, strict=True):
                meter.push(channel)
    decoded_s = n_samples / rate
    if damaged:
        report.add("damaged", "error", f"packets of the audio that cannot be decoded: {damaged}")
    if abs(decoded_s - report.duration_s) > _END_TOLERANCE_S:
        report.add(
            "truncated",
            "error",
            f"the file says {report.duration_s:.1f} s of audio and holds {decoded_s:.1f} s",
            found_s=round(decoded_s, 3),
        )
    if n_samples:
        _measure(report, sum_channels([meter.state() for meter in meters]))


def _blocks(container: Any, stream: Any) -> Generator[Any, None, None]:
    """Yield float32 [channels, n] in blocks of some seconds, and None for a packet that fails."""
    declared = _declared(stream)  # now: decoding damage changes what the stream says
    parts: list[Any] = []
    try:
        for packet in container.demux(stream):
            try:
                frames = packet.decode()
                if all(_declared(frame) == declared for frame in frames):
                    parts += [_planes(frame) for frame in frames]
                else:
                    yield None
            except av.error.FFmpegError:
                yield None
            if len(parts) >= _BLOCK_FRAMES:
                yield np.concatenate(parts, axis=1)
                parts = []
    except av.error.FFmpegError:
        yield None
    if parts:
        yield np.concatenate(parts, axis=1)


def _declared(thing: Any) -> tuple[int, int]:
    """Return channels and rate of a stream or frame; damage can make them differ.

    PyAV must not be asked for the samples of a frame with more than eight channels: it reads past
    the end of its planes.
    """
    return thing.layout.nb_channels, thing.sample_rate


def _planes(frame: Any) -> Any:
    """Return a frame as float32 [channels, n]: AAC decodes to planes, other codecs may not."""
    samples = frame.to_ndarray()
    channels = len(frame.layout.channels)
    if not frame.format.is_planar:
        samples = samples.reshape(-1, channels).T
    if samples.dtype.kind == "i":
        samples = samples / -float(np.iinfo(samples.dtype).min)
    return np.ascontiguousarray(samples, np.float32)


def _measure(report: CheckReport, state: LoudnessState) -> None:
    report.loudness = state.loudness().as_dict()
    report.acx = acx_report(state).as_dict()
    if report.loudness["integrated_lufs"] is None:
        report.add("silent", "warning", "the whole file is silent")


def _check_chapters(report: CheckReport, layout: Mp4Layout) -> None:
    track, nero = layout.quicktime, layout.nero
    marks = track if track is not None else nero
    if not marks:
        report.add("no-chapters", "warning", "the file has no chapter marks")
        return
    if track is None:
        report.add("no-chapter-track", "warning", "chapters stand in Nero's list only")
    ends = [mark.start_s for mark in marks[1:]]
    ends.append(marks[-1].end_s if marks[-1].end_s is not None else report.duration_s)
    report.chapters = [
        CheckedChapter(title=mark.title, start_s=round(mark.start_s, 3), end_s=round(end, 3))
        for mark, end in zip(marks, ends, strict=True)
    ]
    _check_marks(report)
    if track and nero:
        _compare_marks(report, track, nero)


def _check_marks(report: CheckReport) -> None:
    first, last = report.chapters[0], report.chapters[-1]
    if first.start_s > _MARK_TOLERANCE_S:
        report.add("first-mark", "error", f"the first chapter starts at {first.start_s} s, not 0")
    if abs(last.end_s - report.duration_s) > _END_TOLERANCE_S:
        report.add(
            "last-mark",
            "error",
            f"the last chapter ends at {last.end_s:.3f} s, the audio at {report.duration_s:.3f} s",
        )
    for number, chapter in enumerate(report.chapters, 1):
        if chapter.end_s <= chapter.start_s:
            report.add(
                "mark-order",
                "error",
                f"chapter {number} ({chapter.title[:60]}) ends where it starts or before",
                chapter=number,
            )


def _compare_marks(report: CheckReport, track: Sequence[BoxMark], nero: Sequence[BoxMark]) -> None:
    if len(track) > _MAX_CHPL:
        report.add(
            "nero-cut",
            "warning",
            f"Nero's list ends at {len(nero)} of {len(track)} chapters; some players hide the rest",
        )
    elif len(track) != len(nero):
        report.add(
            "marks-disagree",
            "error",
            f"the chapter track has {len(track)} chapters, Nero's list {len(nero)}",
        )
    for number, (left, right) in enumerate(zip(track, nero, strict=False), 1):
        far = abs(left.start_s - right.start_s) > _MARK_TOLERANCE_S
        if far or left.title != right.title:
            report.add(
                "marks-disagree",
                "error",
                f"chapter {number} is {left.title[:60]!r} at {left.start_s:.3f} s in the track and "
                f"{right.title[:60]!r} at {right.start_s:.3f} s in Nero's list",
                chapter=number,
            )
            return


def _check_tags(report: CheckReport) -> None:
    try:
        file: Any = MP4(report.path)
    except (MutagenError, OSError) as error:
        report.add("tags-damaged", "error", f"the tags cannot be read: {error}")
        return
    tags = dict(file.tags or {})
    report.cover = _cover(tags.pop("covr", None), report)
    report.tags = {_tag_name(name): _plain(value) for name, value in tags.items()}
    for name in ("title", "artist", "composer"):
        if not report.tags.get(name):
            role = "narrator (composer)" if name == "composer" else name
            report.add("tag-missing", "warning", f"the file names no {role}", tag=name)
    for gap in gaps_told(str(report.tags.get("comment", ""))):
        report.add("gap", "warning", f"a passage is missing, as the comment says: {gap}", gap=gap)
    if report.cover is None:
        report.add("no-cover", "info", "the file has no cover")


def _tag_name(name: str) -> str:
    if name.startswith(FREEFORM):
        return name.removeprefix(FREEFORM).lower().replace("-", "_")
    return _TAG_NAMES.get(name, name)


def _plain(value: Any) -> object:
    """Return a tag's value as JSON holds it; a list of one as its item."""
    if not isinstance(value, list):
        return value
    items = [bytes(v).decode("utf-8", "replace") if isinstance(v, bytes) else v for v in value]
    return items[0] if len(items) == 1 else items


def _cover(value: Any, report: CheckReport) -> dict[str, object] | None:
    if not value:
        return None
    cover, findings = prepare_cover(bytes(value[0]))
    report.findings += findings
    if cover is None:
        return {"media_type": "unknown", "bytes": len(value[0])}
    return {
        "media_type": cover.media_type,
        "bytes": len(cover.data),
        "width": cover.width,
        "height": cover.height,
    }
