"""A book's cover as a player takes it: JPEG and PNG as they are, other kinds turned into JPEG."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import av
import av.error

from loudr_core.findings import Finding

__all__ = ["Cover", "media_type_of", "prepare_cover"]

_JPEG = b"\xff\xd8\xff"
_PNG = b"\x89PNG\r\n\x1a\n"
_MAX_PIXELS = 64_000_000
_MAX_BYTES = 32_000_000
_SMALL_EDGE = 500
"""Shorter edge, in pixels, below which players show a blurred cover; shops ask for 1,400."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """An image that can be embedded: its bytes, `image/jpeg` or `image/png`, size in pixels."""

    data: bytes
    media_type: str
    width: int
    height: int


def prepare_cover(data: bytes) -> tuple[Cover | None, list[Finding]]:
    """Return a cover fit for embedding, and what there is to say about it.

    Parameters
    ----------
    data : bytes
        The image file of the book. JPEG and PNG keep every byte; WebP, GIF, BMP, TIFF and AVIF
        become JPEG where FFmpeg decodes them.

    Returns
    -------
    (Cover or None, list of Finding)
        None with a `publish-cover-kind` (SVG, text, an unknown kind) or `publish-cover-damaged`
        warning; a cover that is small comes with `publish-cover-small`.
    """
    if len(data) > _MAX_BYTES:
        size = f"the cover is {len(data) / 1e6:.0f} MB, more than {_MAX_BYTES // 10**6} MB"
        return None, [_finding("publish-cover-damaged", f"{size}; left out")]
    if not _looks_like_image(data):
        kind = "SVG" if b"<svg" in data[:4096] else "of a kind that players do not show"
        return None, [
            _finding(
                "publish-cover-kind",
                f"the cover is {kind}; give a JPEG or PNG by --cover; left out",
            )
        ]
    try:
        with _decoded(data) as frame:
            return _cover(data, frame)
    except (av.error.FFmpegError, ValueError, IndexError, StopIteration) as error:
        return None, [
            _finding(
                "publish-cover-damaged", f"the cover cannot be decoded ({_why(error)}); left out"
            )
        ]


def media_type_of(data: bytes) -> str | None:
    """Return `image/jpeg` or `image/png` by the first bytes, None for anything else."""
    if data.startswith(_JPEG):
        return "image/jpeg"
    return "image/png" if data.startswith(_PNG) else None


def _cover(data: bytes, frame: Any) -> tuple[Cover, list[Finding]]:
    findings = []
    if min(frame.width, frame.height) < _SMALL_EDGE:
        size = f"{frame.width} × {frame.height} pixels"
        findings.append(
            _finding(
                "publish-cover-small", f"the cover has only {size}; shops ask for 1400", "info"
            )
        )
    media_type = media_type_of(data)
    if media_type is None:
        data, media_type = _to_jpeg(frame), "image/jpeg"
    cover = Cover(data=data, media_type=media_type, width=frame.width, height=frame.height)
    return cover, findings


def _looks_like_image(data: bytes) -> bool:
    """Say whether the first bytes are a picture's; FFmpeg would also try videos and playlists."""
    if media_type_of(data) or data.startswith((b"GIF8", b"BM", b"II*\0", b"MM\0*")):
        return True
    return data[8:12] == b"WEBP" or data[4:12] in (b"ftypavif", b"ftypavis")


@contextmanager
def _decoded(data: bytes) -> Iterator[Any]:
    with av.open(io.BytesIO(data), "r") as container:
        stream = container.streams.video[0]
        width, height = stream.codec_context.width, stream.codec_context.height
        if width * height > _MAX_PIXELS:
            raise ValueError(f"{width} × {height} pixels is too large")
        stream.codec_context.thread_count = 1
        yield next(container.decode(stream))


def _to_jpeg(frame: Any) -> bytes:
    context = av.CodecContext.create("mjpeg", "w")
    context.width, context.height = frame.width, frame.height
    context.pix_fmt = "yuvj444p"
    context.time_base = Fraction(1, 25)
    context.thread_count = 1
    context.flags |= av.codec.context.Flags.qscale | av.codec.context.Flags.bitexact
    context.qmin = context.qmax = 2
    picture = frame.reformat(format="yuvj444p", dst_color_range="JPEG")
    picture.pts = 0
    packets = [*context.encode(picture), *context.encode(None)]
    return b"".join(bytes(packet) for packet in packets)


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or "it holds no picture"


def _finding(code: str, message: str, severity: Any = "warning") -> Finding:
    return Finding(code=code, severity=severity, message=message)
