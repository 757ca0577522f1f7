"""Samples to AAC-LC packets, in parallel, on a grid that does not depend on who encodes what.

Each chapter is cut anew, from its own start, into pieces of about a minute. A piece is encoded
alone with `ROLL_FRAMES` of the book on either side, and of its packets exactly those of its own
frames are kept; the rolls let the encoder's rate control and window decisions settle, so that the
seams are as good as the rest. Packet k of the book then depends on the samples around it and on the
grid, never on the number of workers, and an edit in one chapter leaves the packets of the others as
they were.

The rolls are real samples across chapter borders too: chapters end in silence, so this costs no
independence, and a book whose chapters do not is still seamless. Outside the book there is silence.

Threads scale because PyAV releases the interpreter lock while FFmpeg encodes.
"""

import hashlib
import itertools
import logging
import platform
import struct
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import av
import av.error
import numpy as np

from loudr_core.arrays import Mono
from loudr_core.canonical import digest
from loudr_core.errors import PublishError

__all__ = [
    "FRAME_SAMPLES",
    "PIECE_FRAMES",
    "ROLL_FRAMES",
    "Encoding",
    "PacketCache",
    "PcmSource",
    "Piece",
    "encode_book",
    "encode_piece",
    "encoder_build",
    "pack_packets",
    "pcm_identity",
    "piece_key",
    "pieces_of",
    "unpack_packets",
]

log = logging.getLogger(__name__)

FRAME_SAMPLES = 1024
"""Samples of an AAC-LC frame (ISO/IEC 14496-3, 4.5.1), and what the encoder delays by."""

PIECE_FRAMES = 1406
"""Frames of a piece: a minute at 24 kHz. Part of the grid: another value gives other packets."""
ROLL_FRAMES = 32
"""Frames encoded on either side and thrown away: with 32 a seam measures like one encode."""

_FEED_SAMPLES = 16 * FRAME_SAMPLES
_PACK_MAGIC = b"LAAC1\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """What moves the encoder's bits.

    `aac_coder=fast` at 80 kb/s is nearer to the original at 24 kHz mono than the default coder at
    64 kb/s, and five times as quick. Temporal noise shaping is off: on speech it gains nothing in
    either measure (31.0 against 30.8 dB of segmental SNR) and costs a third of the time.
    """

    sample_rate_hz: int = 24_000
    bit_rate: int = 80_000
    coder: str = "fast"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A run of frames of the book that is encoded alone.

    Parameters
    ----------
    chapter : int
        Position of its chapter in the list of lengths.
    first_frame, n_frames : int
        Its own frames, counted from the start of the book.
    """

    chapter: int
    first_frame: int
    n_frames: int

    @property
    def leads(self) -> bool:
        """Whether the book starts here, so that the priming packet is kept too."""
        return self.first_frame == 0

    @property
    def n_packets(self) -> int:
        """Packets it contributes to the book."""
        return self.n_frames + self.leads

    @property
    def roll_start(self) -> int:
        """First sample to read, roll included; negative for the first piece."""
        return (self.first_frame - ROLL_FRAMES) * FRAME_SAMPLES

    @property
    def roll_samples(self) -> int:
        """Number of samples to read, both rolls included."""
        return (self.n_frames + 2 * ROLL_FRAMES) * FRAME_SAMPLES


class PcmSource(Protocol):
    """The samples of the finished book, after all gain. Read from several threads at once."""

    def read(self, start: int, n_samples: int, /) -> Mono:
        """Return samples [start, start + n_samples), silence outside the book."""
        ...


class PacketCache(Protocol):
    """Where packed pieces are kept; the methods may be called from several threads at once."""

    def get(self, key: str, /) -> bytes | None:
        """Return what was put under the key, or None."""
        ...

    def put(self, key: str, data: bytes, /) -> None:
        """Keep the bytes under the key."""
        ...


def pieces_of(chapter_samples: Sequence[int]) -> list[Piece]:
    """Cut a book into pieces, anew from the start of each chapter.

    A rest shorter than half a piece goes to the piece before it.

    Parameters
    ----------
    chapter_samples : sequence of int
        Length of each chapter; whole frames, at least one.

    Raises
    ------
    ValueError
        There is no chapter, or a length is zero or no multiple of `FRAME_SAMPLES`.
    """
    if not chapter_samples:
        raise ValueError("a book without chapters has no pieces")
    pieces = []
    start = 0
    for chapter, n_samples in enumerate(chapter_samples):
        frames, rest = divmod(n_samples, FRAME_SAMPLES)
        if rest or frames < 1:
            raise ValueError(
                f"chapter {chapter} has {n_samples} samples, not whole frames of {FRAME_SAMPLES}"
            )
        n_pieces = max(1, (frames + PIECE_FRAMES // 2) // PIECE_FRAMES)
        for k in range(n_pieces):
            first = k * PIECE_FRAMES
            last = frames if k == n_pieces - 1 else first + PIECE_FRAMES
            pieces.append(Piece(chapter=chapter, first_frame=start + first, n_frames=last - first))
        start += frames
    return pieces


def encoder_build() -> str:
    """Return what encodes: FFmpeg's codec library and the kind of processor it was built for."""
    version = ".".join(str(part) for part in av.library_versions["libavcodec"])
    return f"libavcodec {version} {platform.machine()}"


def encode_piece(samples: Mono, piece: Piece, encoding: Encoding) -> list[bytes]:
    """Encode a piece and keep the packets of its own frames.

    Parameters
    ----------
    samples : float32, shape (piece.roll_samples,)
        The book's samples from `piece.roll_start` on.

    Returns
    -------
    list of bytes
        `piece.n_packets` raw AAC-LC access units.

    Raises
    ------
    ValueError
        The number of samples is not the piece's.
    PublishError
        The encoder refuses the samples, the rate or the bit rate.
    """
    if samples.shape != (piece.roll_samples,):
        raise ValueError(f"a piece of {piece.roll_samples} samples was given {samples.shape}")
    if not np.isfinite(samples).all():
        raise PublishError(
            f"the samples of chapter {piece.chapter + 1} hold values that are not finite",
            chapter=piece.chapter + 1,
        )
    try:
        packets = _encode(samples, encoding)
    except av.error.FFmpegError as error:
        raise PublishError(
            f"the AAC encoder failed at {encoding.sample_rate_hz} Hz, {encoding.bit_rate} b/s: "
            f"{error.strerror}; try another rate or bit rate",
            chapter=piece.chapter + 1,
        ) from error
    # Packet 0 of an encode is priming, so packet 1 + k is that of frame k.
    first = ROLL_FRAMES + 1 - piece.leads
    kept = packets[first : first + piece.n_packets]
    if len(kept) != piece.n_packets:
        raise PublishError(
            f"the AAC encoder gave {len(packets)} packets for {len(samples)} samples; "
            f"this build ({encoder_build()}) delays by more than {FRAME_SAMPLES} samples"
        )
    return kept


def _open_encoder(encoding: Encoding) -> Any:
    """Return PyAV's opened AAC codec context; its `extradata` is the AudioSpecificConfig."""
    context = av.CodecContext.create("aac", "w")
    context.sample_rate = encoding.sample_rate_hz
    context.layout = "mono"
    context.format = "fltp"
    context.bit_rate = encoding.bit_rate
    context.time_base = Fraction(1, encoding.sample_rate_hz)
    context.thread_count = 1
    context.options = {"aac_coder": encoding.coder, "aac_tns": "0"}
    # Written into the bits otherwise, with the library's version.
    context.flags |= av.codec.context.Flags.bitexact
    context.open()
    return context


def _encode(samples: Mono, encoding: Encoding) -> list[bytes]:
    context = _open_encoder(encoding)
    packets: list[bytes] = []
    for start in range(0, len(samples), _FEED_SAMPLES):
        part = np.ascontiguousarray(samples[None, start : start + _FEED_SAMPLES])
        frame = av.AudioFrame.from_ndarray(part, format="fltp", layout="mono")
        frame.sample_rate = encoding.sample_rate_hz
        frame.pts = start
        packets += [bytes(packet) for packet in context.encode(frame)]
    packets += [bytes(packet) for packet in context.encode(None) if packet.size]
    return packets


def pcm_identity(samples: Mono) -> str:
    """Return the SHA-256 of samples as little-endian float32."""
    return hashlib.sha256(np.ascontiguousarray(samples, "<f4").data).hexdigest()


def piece_key(identity: str, piece: Piece, encoding: Encoding) -> str:
    """Return the key of a piece's packets: 64 hexadecimal digits.

    Parameters
    ----------
    identity : str
        What fixes the piece's samples, rolls and gain included: `pcm_identity` of them, or any
        other name that no different samples share. Where the piece stands in the book is left out,
        so that an edit before it changes nothing.
    """
    return digest(
        [
            "aac-piece-2",
            identity,
            piece.n_frames,
            piece.leads,
            ROLL_FRAMES,
            encoding.sample_rate_hz,
            encoding.bit_rate,
            encoding.coder,
            encoder_build(),
        ]
    )


def pack_packets(packets: Sequence[bytes]) -> bytes:
    """Return packets as one byte string: magic, count, lengths, bodies, CRC-32 of all before."""
    count = len(packets)
    head = struct.pack(f"<I{count}I", count, *map(len, packets))
    body = b"".join([_PACK_MAGIC, head, *packets])
    return body + struct.pack("<I", zlib.crc32(body))


def unpack_packets(data: bytes) -> list[bytes]:
    """Return the packets that `pack_packets` packed.

    Raises
    ------
    ValueError
        The bytes are cut, damaged or something else.
    """
    start = len(_PACK_MAGIC)
    if len(data) < start + 8 or data[:start] != _PACK_MAGIC:
        raise ValueError("not packed AAC packets")
    if struct.unpack("<I", data[-4:])[0] != zlib.crc32(data[:-4]):
        raise ValueError("packed AAC packets are damaged")
    (count,) = struct.unpack_from("<I", data, start)
    at = start + 4 + 4 * count
    lengths = struct.unpack_from(f"<{count}I", data, start + 4)
    packets = []
    for length in lengths:
        packets.append(data[at : at + length])
        at += length
    return packets


def encode_book(
    source: PcmSource,
    pieces: Iterable[Piece],
    encoding: Encoding,
    *,
    workers: int = 1,
    cache: PacketCache | None = None,
    identify: Callable[[int, int], str] | None = None,
    on_piece: Callable[[Piece, bool], None] | None = None,
) -> Iterator[bytes]:
    """Yield the book's packets in order, the priming packet first.

    At most `workers` + 2 pieces are in memory. Closing the iterator stops the workers.

    Parameters
    ----------
    workers : int
        Threads; the packets do not depend on it.
    cache : PacketCache, optional
        Asked for each piece before encoding, told afterwards. A damaged entry is encoded again.
    identify : callable, optional
        `identify(start, n_samples)` names samples without reading them, so that a piece in the
        cache is not even decoded. Without it the samples are read and hashed.
    on_piece : callable, optional
        Told of each piece as it is yielded, and whether it came from the cache.

    Raises
    ------
    PublishError
        See `encode_piece`; also whatever `source` and `cache` raise.
    """
    if workers < 1:
        raise ValueError(f"workers must be at least 1, not {workers}")

    def work(piece: Piece) -> tuple[list[bytes], bool]:
        return _obtain(source, piece, encoding, cache, identify)

    waiting: deque[tuple[Piece, Future[tuple[list[bytes], bool]]]] = deque()
    todo = iter(pieces)
    pool = ThreadPoolExecutor(workers, thread_name_prefix="aac")
    try:
        waiting.extend((p, pool.submit(work, p)) for p in itertools.islice(todo, workers + 2))
        while waiting:
            piece, future = waiting.popleft()
            packets, reused = future.result()
            waiting.extend((p, pool.submit(work, p)) for p in itertools.islice(todo, 1))
            if on_piece:
                on_piece(piece, reused)
            yield from packets
    finally:
        pool.shutdown(cancel_futures=True)


def _obtain(
    source: PcmSource,
    piece: Piece,
    encoding: Encoding,
    cache: PacketCache | None,
    identify: Callable[[int, int], str] | None,
) -> tuple[list[bytes], bool]:
    """Return a piece's packets, and whether they came from the cache."""
    start, n_samples = piece.roll_start, piece.roll_samples
    if cache is None:
        return encode_piece(source.read(start, n_samples), piece, encoding), False
    samples = None
    if identify is None:
        samples = source.read(start, n_samples)
        key = piece_key(pcm_identity(samples), piece, encoding)
    else:
        key = piece_key(identify(start, n_samples), piece, encoding)
    if (kept := _cached(cache, key, piece)) is not None:
        return kept, True
    if samples is None:
        samples = source.read(start, n_samples)
    packets = encode_piece(samples, piece, encoding)
    cache.put(key, pack_packets(packets))
    return packets, False


def _cached(cache: PacketCache, key: str, piece: Piece) -> list[bytes] | None:
    data = cache.get(key)
    if data is None:
        return None
    try:
        packets = unpack_packets(data)
    except ValueError as error:
        log.warning("encoding a piece of chapter %d again: %s", piece.chapter + 1, error)
        return None
    return packets if len(packets) == piece.n_packets else None
