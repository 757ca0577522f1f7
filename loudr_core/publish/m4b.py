"""Packets, chapters, cover and tags to one M4B file, which appears whole or not at all.

PyAV muxes the packets as they are, with consecutive time stamps, so that the chapter marks, which
come from sample counts, stay exact over any length. mutagen then writes the tags. All of it happens
in a hidden file beside the target, which is renamed at the end: a process killed at any instant
leaves the target as it was, and the next run overwrites what is left of the hidden file.

The same input gives the same bytes: no clock, no library version, no random number goes in. Memory
holds one packet at a time and FFmpeg's index, about 8 MB per hour of audio.
"""

import contextlib
import fcntl
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import av
import av.error

from loudr_core.errors import PublishError
from loudr_core.findings import Finding
from loudr_core.publish.aac import FRAME_SAMPLES, Encoding
from loudr_core.publish.cover import Cover
from loudr_core.publish.names import cut_utf8
from loudr_core.publish.tags import Tags, language_code, write_tags
from loudr_core.refusals import explain

if TYPE_CHECKING:  # a name of PyAV's stubs only
    from av.container import Chapter

__all__ = ["ChapterMark", "M4bSpec", "Written", "write_m4b"]

_MAX_CHPL = 255
"""Chapters that Nero's `chpl` can hold; its count is one byte."""
_MAX_TITLE_BYTES = 255
"""Bytes of a title in `chpl`; its length is one byte."""
_BLANKS = re.compile(r"[\x00-\x20\x7f]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChapterMark:
    """A chapter's title and its samples [start, end) in the book."""

    title: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class M4bSpec:
    """What goes into the file beside the packets.

    Parameters
    ----------
    encoding : Encoding
        What the packets were encoded with.
    n_samples : int
        Length of the book: whole frames.
    chapters : sequence of ChapterMark
        One after the other from sample 0 to the end; none for a book with a single mark.
    """

    encoding: Encoding
    n_samples: int
    chapters: Sequence[ChapterMark]
    tags: Tags
    cover: Cover | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A finished file."""

    path: Path
    n_bytes: int
    sha256: str
    duration_s: float
    findings: tuple[Finding, ...]


def write_m4b(
    path: Path,
    packets: Iterable[bytes],
    spec: M4bSpec,
    *,
    guard: Callable[[Path], None] | None = None,
) -> Written:
    """Write a book as an M4B file.

    Parameters
    ----------
    path : Path
        The final name; its folder is made. A file of that name is replaced.
    packets : iterable of bytes
        AAC-LC access units of the book, the priming packet first; consumed once, in order.
    guard : callable, optional
        Called with `path` when no other process can write it any more, before a packet is taken;
        what it raises passes through, and nothing was written.

    Raises
    ------
    ValueError
        The chapters leave a gap, overlap or have no length, or the length is not whole frames.
    PublishError
        The file cannot be written, another process is writing it, or the number of packets does
        not fit the length. Whatever `packets` raises passes through. The target is untouched then.
    """
    chapters, findings = _chapters(spec)
    try:
        with _hidden(path) as part:
            if guard is not None:
                guard(path)
            _mux(part, packets, spec, chapters)
            write_tags(part, spec.tags, spec.cover)
            with part.open("rb") as file:
                os.fsync(file.fileno())
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            part.replace(path)
            _sync_folder(path.parent)
    except av.error.FFmpegError as error:
        why = explain(error) if isinstance(error, OSError) else str(error)
        raise PublishError(f"{path} cannot be written: {why}", path=str(path)) from error
    except OSError as error:
        raise PublishError(f"{path} cannot be written: {explain(error)}", path=str(path)) from error
    return Written(
        path=path,
        n_bytes=path.stat().st_size,
        sha256=sha256,
        duration_s=spec.n_samples / spec.encoding.sample_rate_hz,
        findings=findings,
    )


@contextlib.contextmanager
def _hidden(path: Path) -> Iterator[Path]:
    """Yield a locked file beside the target; it is gone when the body fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with part.open("ab") as lock:
        _lock(lock, path)
        try:
            yield part
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def _lock(file: IO[bytes], path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PublishError(
            f"another process is writing {path}; wait for it to end", path=str(path)
        ) from None


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _mux(part: Path, packets: Iterable[bytes], spec: M4bSpec, chapters: "list[Chapter]") -> None:
    movflags = "+faststart"
    if len(chapters) > _MAX_CHPL:
        # Some players trust a list cut at 255 and hide the rest; the track holds them all.
        movflags += "+disable_chpl"
    rate = spec.encoding.sample_rate_hz
    options = {
        "movflags": movflags,
        "brand": "M4B ",
        "fflags": "+bitexact",
        # The unit of chapter marks and of the edit list, which would be milliseconds.
        "movie_timescale": str(rate),
    }
    expected = spec.n_samples // FRAME_SAMPLES + 1
    with av.open(str(part), "w", format="ipod", container_options=options) as container:
        stream = container.add_stream("aac", rate=rate)
        _describe(stream, spec.encoding)
        stream.metadata["language"] = language_code(spec.tags.language)
        container.set_chapters(chapters)
        count = 0
        for count, data in enumerate(packets, 1):
            if count > expected:
                break
            packet = av.Packet(data)
            packet.stream = stream
            packet.time_base = Fraction(1, rate)
            packet.pts = packet.dts = (count - 2) * FRAME_SAMPLES
            packet.duration = FRAME_SAMPLES
            packet.is_keyframe = True
            container.mux(packet)
        if count != expected:
            raise PublishError(
                f"the book has {'more' if count > expected else count} packets, not the {expected} "
                f"of its {spec.n_samples} samples",
                found=count,
                expected=expected,
            )


def _describe(stream: Any, encoding: Encoding) -> None:
    """Give the stream the encoder's parameters and its AudioSpecificConfig."""
    context = stream.codec_context
    context.layout = "mono"
    context.format = "fltp"
    context.bit_rate = encoding.bit_rate
    context.time_base = Fraction(1, encoding.sample_rate_hz)
    context.options = {"aac_coder": encoding.coder}
    context.flags |= av.codec.context.Flags.bitexact | av.codec.context.Flags.global_header
    context.open()


def _chapters(spec: M4bSpec) -> "tuple[list[Chapter], tuple[Finding, ...]]":
    """Return PyAV's chapters, to the sample, as the chapter track keeps them."""
    if spec.n_samples < FRAME_SAMPLES or spec.n_samples % FRAME_SAMPLES:
        raise ValueError(f"{spec.n_samples} samples are not whole frames of {FRAME_SAMPLES}")
    marks = spec.chapters or [ChapterMark(title=spec.tags.title, start=0, end=spec.n_samples)]
    at = 0
    findings = []
    chapters: list[Chapter] = []
    for number, mark in enumerate(marks, 1):
        if mark.start != at or mark.end <= mark.start:
            raise ValueError(f"chapter {number} is [{mark.start}, {mark.end}), not from {at} on")
        at = mark.end
        whole = _visible(mark.title) or str(number)
        title = cut_utf8(whole, _MAX_TITLE_BYTES)
        if title != whole:
            findings.append(_cut_finding(number, title))
        chapters.append(
            {
                "id": number,
                "start": mark.start,
                "end": mark.end,
                "time_base": Fraction(1, spec.encoding.sample_rate_hz),
                "metadata": {"title": title},
            }
        )
    if at != spec.n_samples:
        raise ValueError(f"the chapters end at sample {at}, the book at {spec.n_samples}")
    return chapters, tuple(findings)


def _visible(title: str) -> str:
    """Turn runs of spaces and control characters into one space; drop what UTF-8 cannot spell."""
    return _BLANKS.sub(" ", title.encode("utf-8", "ignore").decode()).strip(" ")


def _cut_finding(number: int, title: str) -> Finding:
    return Finding(
        code="publish-title-cut",
        severity="info",
        message=f"the title of chapter {number} is longer than the {_MAX_TITLE_BYTES} bytes that a "
        f"chapter mark holds; it ends with {title[-20:]!r}",
        where={"chapter": number},
    )
