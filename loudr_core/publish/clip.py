"""A short stretch of audio as a small file that every browser plays.

MP3, since it is the one compressed kind that no browser on any system refuses.
"""

import io
from dataclasses import dataclass

import av
import av.error
import numpy as np

from loudr_core.arrays import Mono
from loudr_core.errors import PublishError

__all__ = ["Clip", "make_clip"]

_BIT_RATE = 48_000
_RATES = (48_000, 44_100, 32_000, 24_000, 22_050, 16_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """An audio file in memory."""

    data: bytes
    media_type: str


def make_clip(samples: Mono, sample_rate_hz: int, *, max_s: float = 60.0) -> Clip:
    """Return samples as MP3 of 48 kb/s: 6 kB a second.

    Parameters
    ----------
    samples : float32, shape (n,)
    sample_rate_hz : int
        A rate that MP3 does not have is encoded at the next higher one.
    max_s : float
        What comes later is cut off.

    Raises
    ------
    PublishError
        The encoder refuses the samples.
    """
    samples = samples[: int(max_s * sample_rate_hz)]
    rate = min((r for r in _RATES if r >= sample_rate_hz), default=_RATES[0])
    frame = av.AudioFrame.from_ndarray(
        np.ascontiguousarray(samples[None, :], np.float32), format="fltp", layout="mono"
    )
    frame.sample_rate = sample_rate_hz
    buffer = io.BytesIO()
    try:
        # Without its header of encoder name and lengths, the same samples give the same bytes.
        options = {"write_xing": "0", "id3v2_version": "0", "fflags": "+bitexact"}
        with av.open(buffer, "w", format="mp3", container_options=options) as container:
            stream = container.add_stream("libmp3lame", rate=rate)
            stream.bit_rate = _BIT_RATE
            stream.layout = "mono"
            resampler = av.AudioResampler(format="fltp", layout="mono", rate=rate)
            for part in (*resampler.resample(frame), *resampler.resample(None)):
                container.mux(stream.encode(part))
            container.mux(stream.encode(None))
    except av.error.FFmpegError as error:
        raise PublishError(f"a clip cannot be encoded: {error.strerror}") from error
    return Clip(data=buffer.getvalue(), media_type="audio/mpeg")
