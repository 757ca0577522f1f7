"""A take as bytes: 24-bit mono FLAC whose samples come back exactly.

Engines make float32 samples. From the take on, everything downstream starts from 24-bit integers,
so that a take read from the store and a take fresh from an engine are the same numbers. soundfile
codes the samples; the tags are written here and read by mutagen, since libsndfile has a few fixed
names only.
"""

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mutagen
import mutagen.flac
import numpy as np
import soundfile

from loudr_core.arrays import Mono, Pcm24
from loudr_core.audio.flac_comments import with_comments
from loudr_core.errors import StoreError

__all__ = [
    "Take",
    "decode_samples",
    "decode_take",
    "encode_pcm",
    "encode_take",
    "from_pcm24",
    "pcm_bytes",
    "pcm_sha256",
    "read_tags",
    "to_pcm24",
]

_FULL_SCALE = 2**23


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Take:
    """A decoded take: int32 samples of 24 bits, shape (n,), their rate and the file's tags."""

    pcm: Pcm24
    sample_rate_hz: int
    tags: dict[str, str]
    """Names in lower case."""


def to_pcm24(samples: Mono) -> Pcm24:
    """Round samples to 24 bits.

    Parameters
    ----------
    samples : float32, shape (n,)
        Nominally in [-1, 1]; what lies outside is clipped.

    Returns
    -------
    int32, shape (n,)
        round-half-even(x · 2^23), clipped to [-2^23, 2^23 - 1].

    Raises
    ------
    ValueError
        A sample is NaN or infinite, which has no integer.
    """
    # float32 holds x · 2^23 exactly (a change of exponent), and rint rounds halves to even.
    scaled = np.asarray(samples, dtype=np.float32) * np.float32(_FULL_SCALE)
    np.rint(scaled, out=scaled)
    low, high = (scaled.min(), scaled.max()) if len(scaled) else (0.0, 0.0)
    if not (np.isfinite(low) and np.isfinite(high)):  # a NaN anywhere is the least and the most
        raise ValueError("samples hold NaN or infinity; inspect() a take before it is stored")
    if low < -_FULL_SCALE or high > _FULL_SCALE - 1:
        # 2^23 - 1 is representable in float32 (24-bit significand).
        np.clip(scaled, -_FULL_SCALE, _FULL_SCALE - 1, out=scaled)
    pcm: Pcm24 = scaled.astype(np.int32)
    return pcm


def from_pcm24(pcm: Pcm24) -> Mono:
    """Return pcm / 2^23 as float32, exactly; `to_pcm24` gives `pcm` back."""
    samples = np.asarray(pcm, dtype=np.int32).astype(np.float32)
    samples *= np.float32(1 / _FULL_SCALE)  # a power of two: exact
    return samples


def pcm_bytes(pcm: Pcm24) -> bytes:
    """Return the samples packed as little-endian 24-bit integers, 3 bytes each."""
    little = np.ascontiguousarray(pcm, dtype="<i4")
    whole = len(little) // 4 * 4
    # Four samples make three words; byte by byte this would cost more than the hash over it.
    a, b, c, d = little[:whole].view("<u4").reshape(-1, 4).T & np.uint32(0xFFFFFF)
    words = np.empty((whole // 4, 3), "<u4")
    words[:, 0] = a | (b << np.uint32(24))
    words[:, 1] = (b >> np.uint32(8)) | (c << np.uint32(16))
    words[:, 2] = (c >> np.uint32(16)) | (d << np.uint32(8))
    rest = little[whole:].view(np.uint8).reshape(-1, 4)[:, :3]
    return words.tobytes() + rest.tobytes()


def pcm_sha256(pcm: Pcm24) -> str:
    """Return the SHA-256 over `pcm_bytes`, as 64 hexadecimal digits."""
    return hashlib.sha256(pcm_bytes(pcm)).hexdigest()


def encode_take(samples: Mono, sample_rate_hz: int, tags: Mapping[str, str]) -> bytes:
    """Return `encode_pcm` of samples that are rounded by `to_pcm24`.

    Raises
    ------
    ValueError
        As there, or a sample is not finite.
    """
    return encode_pcm(to_pcm24(samples), sample_rate_hz, tags)


def encode_pcm(pcm: Pcm24, sample_rate_hz: int, tags: Mapping[str, str]) -> bytes:
    """Return a 24-bit mono FLAC file.

    Parameters
    ----------
    pcm : int32, shape (n,), n >= 1
        Of 24 bits.
    sample_rate_hz : int
    tags : mapping of str to str
        Vorbis comments. Names are printable ASCII without `=`, compared without regard to case;
        values are any text.

    Raises
    ------
    ValueError
        There are no samples, or a tag's name is not allowed.

    References
    ----------
    RFC 9639, sections 8.2 (STREAMINFO with the MD5 of the samples) and 8.6 (Vorbis comment).
    """
    if len(pcm) == 0:
        raise ValueError("a take of no samples cannot be stored")
    buffer = io.BytesIO()
    # libsndfile takes 24-bit samples in the high bytes of int32.
    soundfile.write(buffer, pcm << 8, sample_rate_hz, format="FLAC", subtype="PCM_24")
    return with_comments(buffer.getvalue(), tags)


def decode_take(data: bytes) -> Take:
    """Return the samples and tags of a take's file.

    Raises
    ------
    StoreError
        The bytes are no FLAC, not mono 24-bit, cut short, or their samples do not match the MD5 in
        the header. The take is to be removed and rendered again.
    """
    pcm, rate = decode_samples(data)
    try:
        flac = _flac(io.BytesIO(data))
    except mutagen.MutagenError as error:
        raise _damaged(data, error) from error
    found = int(hashlib.md5(pcm_bytes(pcm), usedforsecurity=False).hexdigest(), 16)
    if found != flac.info.md5_signature:
        raise StoreError(
            "stored take is damaged: its samples do not match the MD5 in its header; "
            "delete it to render it again",
            n_samples=len(pcm),
        )
    return Take(pcm=pcm, sample_rate_hz=rate, tags=_tags(flac))


def read_tags(data: bytes) -> dict[str, str]:
    """Return the tags of a take's file, names in lower case, without a look at its samples.

    Raises
    ------
    StoreError
        The bytes are no FLAC.
    """
    try:
        return _tags(_flac(io.BytesIO(data)))
    except mutagen.MutagenError as error:
        raise _damaged(data, error) from error


def decode_samples(data: bytes) -> tuple[Pcm24, int]:
    """Return the samples and the rate of a take's file, for one that was inspected before.

    The checksum of every frame is looked at, the MD5 over all of them is not.

    Raises
    ------
    StoreError
        The bytes are no FLAC, not mono 24-bit, or damaged.

    References
    ----------
    RFC 9639, section 9.3 (the CRC-16 of a frame).
    """
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            rate, channels, subtype = file.samplerate, file.channels, file.subtype
            wide = file.read(dtype="int32", always_2d=False)
    except (soundfile.LibsndfileError, RuntimeError) as error:
        raise _damaged(data, error) from error
    if channels != 1 or subtype != "PCM_24":
        raise StoreError(
            f"stored take is {channels}-channel {subtype}, expected mono PCM_24; "
            "delete it to render it again"
        )
    return np.asarray(wide, dtype=np.int32) >> 8, rate


def _damaged(data: bytes, error: Exception) -> StoreError:
    return StoreError(
        f"stored take is damaged ({len(data)} bytes): {_one_line(error)}; "
        "delete it to render it again",
        n_bytes=len(data),
    )


def _flac(file: io.BytesIO) -> Any:
    # mutagen's annotations are partial: FLAC() is untyped and its tags are a union of no use here.
    return mutagen.flac.FLAC(file)


def _tags(flac: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in flac.tags or ()}


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
