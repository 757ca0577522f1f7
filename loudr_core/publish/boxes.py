"""The boxes of an MP4 file, read straight from its bytes: a second opinion on what the muxer wrote.

Reads headers and tables, never the media. Sizes come from the file and are not believed: every read
stays inside the box around it.

References
----------
ISO/IEC 14496-12: 4.2 boxes, 8.3.3 track references, 8.6.1 times, 8.6.6 edit lists, 8.7 sample
tables. QuickTime File Format: chapter lists (`tref` `chap`), text samples. `chpl` is Nero's,
undocumented: version, flags, reserved, a count, then start in 100 ns, length and UTF-8 text of
each.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

__all__ = ["BoxMark", "Mp4Layout", "Track", "read_layout"]

_CONTAINERS = (b"moov", b"trak", b"edts", b"mdia", b"minf", b"stbl", b"udta", b"tref")
_MAX_BOXES = 100_000
_MAX_TABLE_BYTES = 64_000_000


@dataclass(frozen=True, slots=True)
class BoxMark:
    """A chapter mark as the file stores it; `end_s` only where the form holds lengths."""

    title: str
    start_s: float
    end_s: float | None = None


@dataclass(slots=True)
class Track:
    """What the boxes of one track say."""

    number: int = 0
    handler: str = ""
    timescale: int = 0
    duration: int = 0
    language: str = ""
    edits: list[tuple[int, int]] = field(default_factory=list)
    """(length in movie time, start in media time; -1 for an empty edit)"""
    chapter_tracks: list[int] = field(default_factory=list)
    tables: dict[bytes, bytes] = field(default_factory=dict)


@dataclass(slots=True)
class Mp4Layout:
    """What the boxes of a file say."""

    brand: str = ""
    order: list[str] = field(default_factory=list)
    """Kinds of the outermost boxes, in file order."""
    tracks: list[Track] = field(default_factory=list)
    nero: list[BoxMark] | None = None
    quicktime: list[BoxMark] | None = None

    @property
    def faststart(self) -> bool:
        """Whether the index stands before the media, so that playing can start while loading."""
        kinds = [kind for kind in self.order if kind in ("moov", "mdat")]
        return kinds[:1] == ["moov"]

    @property
    def audio(self) -> Track | None:
        """The first sound track."""
        return next((track for track in self.tracks if track.handler == "soun"), None)


def read_layout(path: Path) -> Mp4Layout:
    """Return what the boxes of a file say.

    Raises
    ------
    ValueError
        It is no MP4 file, or a box reaches beyond the one around it.
    OSError
        The file cannot be read.
    """
    layout = Mp4Layout()
    with path.open("rb") as file:
        end = file.seek(0, 2)
        try:
            _walk(file, 0, end, layout, None, [0])
            layout.quicktime = _quicktime_marks(file, layout, end)
        except (struct.error, IndexError, KeyError, UnicodeDecodeError) as error:
            raise ValueError(f"a table of the file is damaged ({error})") from error
    if not layout.brand and "moov" not in layout.order:
        raise ValueError("it is no MP4 file")
    return layout


def _boxes(file: BinaryIO, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield (kind, start of the body, end) of each box in [start, end)."""
    while end - start >= 8:
        file.seek(start)
        size, kind = struct.unpack(">I4s", file.read(8))
        body = start + 8
        if size == 1:
            (size,) = struct.unpack(">Q", file.read(8))
            body += 8
        elif size == 0:
            size = end - start
        if size < body - start:
            raise ValueError(f"box {kind!r} at byte {start} says it has {size} bytes")
        # A box cut by the end of the file is still told, so that a cut file shows what it had.
        yield kind, body, min(start + size, end)
        start += size


def _walk(
    file: BinaryIO, start: int, end: int, layout: Mp4Layout, track: Track | None, seen: list[int]
) -> None:
    outermost = start == 0
    for kind, body, stop in _boxes(file, start, end):
        seen[0] += 1
        if seen[0] > _MAX_BOXES:
            raise ValueError(f"it has more than {_MAX_BOXES} boxes")
        if outermost:
            layout.order.append(kind.decode("latin-1"))
        if kind == b"trak":
            layout.tracks.append(Track())
            _walk(file, body, stop, layout, layout.tracks[-1], seen)
        elif kind in _CONTAINERS:
            _walk(file, body, stop, layout, track, seen)
        elif kind == b"ftyp":
            layout.brand = _read(file, body, stop)[:4].decode("latin-1")
        elif kind == b"chpl":
            layout.nero = _nero_marks(_read(file, body, stop))
        elif track:
            _track_box(kind, file, body, stop, track)


def _track_box(kind: bytes, file: BinaryIO, body: int, stop: int, track: Track) -> None:
    if kind in (b"stts", b"stsc", b"stsz", b"stco", b"co64"):
        # Read at once only where marks stand in them; a book's own tables are megabytes.
        if track.handler == "text":
            track.tables[kind] = _read(file, body, stop)
    elif kind == b"tkhd":
        data = _read(file, body, stop)
        track.number = struct.unpack_from(">I", data, 20 if data[0] else 12)[0]
    elif kind == b"mdhd":
        data = _read(file, body, stop)
        form, at = (">IQH", 20) if data[0] else (">IIH", 12)
        track.timescale, track.duration, packed = struct.unpack_from(form, data, at)
        track.language = "".join(chr(0x60 + (packed >> shift & 31)) for shift in (10, 5, 0))
    elif kind == b"hdlr":
        track.handler = track.handler or _read(file, body, stop)[8:12].decode("latin-1")
    elif kind == b"elst":
        data = _read(file, body, stop)
        form = ">Qq4x" if data[0] else ">Ii4x"
        count = struct.unpack_from(">I", data, 4)[0]
        size = struct.calcsize(form)
        track.edits = list(struct.iter_unpack(form, data[8 : 8 + count * size]))
    elif kind == b"chap":
        data = _read(file, body, stop)
        track.chapter_tracks = [number for (number,) in struct.iter_unpack(">I", data)]


def _read(file: BinaryIO, start: int, stop: int) -> bytes:
    if stop - start > _MAX_TABLE_BYTES:
        raise ValueError(f"a table of {stop - start} bytes is too large")
    file.seek(start)
    return file.read(stop - start)


def _nero_marks(data: bytes) -> list[BoxMark]:
    version, count = data[0], data[8] if data[0] else data[4]
    at = 9 if version else 5
    marks = []
    for _ in range(count):
        start, length = struct.unpack_from(">QB", data, at)
        at += 9
        title = data[at : at + length].decode("utf-8")
        marks.append(BoxMark(title, start / 1e7))
        at += length
    return marks


def _quicktime_marks(file: BinaryIO, layout: Mp4Layout, end: int) -> list[BoxMark] | None:
    wanted = {number for track in layout.tracks for number in track.chapter_tracks}
    for track in layout.tracks:
        if track.number in wanted and track.handler == "text" and track.timescale:
            return _text_samples(file, track, end)
    return None


def _text_samples(file: BinaryIO, track: Track, end: int) -> list[BoxMark]:
    durations: list[int] = []
    for count, delta in _pairs(track.tables[b"stts"]):
        durations += [delta] * min(count, _MAX_BOXES)
    marks = []
    at = 0
    for (offset, size), delta in zip(_sample_places(track), durations, strict=False):
        if offset + size > end:
            break
        file.seek(offset)
        data = file.read(size)
        length = struct.unpack_from(">H", data)[0]
        title = data[2 : 2 + length].decode("utf-8")
        marks.append(BoxMark(title, at / track.timescale, (at + delta) / track.timescale))
        at += delta
    return marks


def _sample_places(track: Track) -> Iterator[tuple[int, int]]:
    """Yield (offset, size) of each sample from the chunk and size tables."""
    same, count = struct.unpack_from(">II", track.tables[b"stsz"], 4)
    sizes: Sequence[int] = [same] * min(count, _MAX_BOXES) if same else _ints(track, b"stsz", 12)
    chunks = _ints(track, b"stco", 8) if b"stco" in track.tables else _longs(track)
    runs = list(struct.iter_unpack(">III", track.tables[b"stsc"][8:]))
    sample = run = 0
    for number, offset in enumerate(chunks, 1):
        while run + 1 < len(runs) and runs[run + 1][0] <= number:
            run += 1
        for _ in range(runs[run][1]):
            if sample >= len(sizes):
                return
            yield offset, sizes[sample]
            offset += sizes[sample]
            sample += 1


def _pairs(table: bytes) -> Iterator[tuple[int, int]]:
    return struct.iter_unpack(">II", table[8:])


def _ints(track: Track, kind: bytes, start: int) -> list[int]:
    return [value for (value,) in struct.iter_unpack(">I", track.tables[kind][start:])]


def _longs(track: Track) -> list[int]:
    return [value for (value,) in struct.iter_unpack(">Q", track.tables[b"co64"][8:])]
