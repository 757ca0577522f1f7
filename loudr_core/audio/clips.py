"""Clips that a user brings along: an intro, an outro, music. The only importer of pydub.

Decoding is FFmpeg's, inside PyAV: pydub by itself would start an `ffmpeg` program, which need not
be there. pydub mixes down, fades and sets the level.
"""

import warnings
from itertools import chain
from pathlib import Path

import av
import numpy as np

from loudr_core.arrays import Mono
from loudr_core.audio.resample import resample
from loudr_core.errors import ConfigError

with warnings.catch_warnings():
    # pydub warns that no ffmpeg program is on the path; none is used.
    warnings.simplefilter("ignore")
    import pydub

__all__ = ["LONGEST_CLIP_S", "load_clip"]

LONGEST_CLIP_S = 600
"""A longer clip is refused: it is held in memory, and is hardly an intro."""


def load_clip(
    path: Path,
    sample_rate_hz: int,
    *,
    gain_db: float = 0.0,
    fade_in_ms: int = 10,
    fade_out_ms: int = 50,
) -> Mono:
    """Return an audio file as one channel.

    Parameters
    ----------
    path : Path
        Any format FFmpeg decodes; a file's first audio stream is taken.
    sample_rate_hz : int
        Rate of the result.
    gain_db : float
    fade_in_ms, fade_out_ms : int
        Fades at the edges, even in decibels; cut to the clip's length, 0 for none.

    Returns
    -------
    float32, shape (n,)

    Raises
    ------
    ConfigError
        There is no such file, no sound in it, it cannot be decoded, or it lasts too long.
    """
    data, channels, rate = _decode(path)
    clip = pydub.AudioSegment(data=data, sample_width=4, frame_rate=rate, channels=channels)
    clip = clip.set_channels(1)
    if gain_db:
        clip = clip.apply_gain(gain_db)
    if fade_in_ms and len(clip):
        clip = clip.fade_in(min(fade_in_ms, len(clip)))
    if fade_out_ms and len(clip):
        clip = clip.fade_out(min(fade_out_ms, len(clip)))
    samples = np.frombuffer(clip.raw_data, "<i4").astype(np.float32) / np.float32(2**31)
    return resample(samples, rate, sample_rate_hz)


def _decode(path: Path) -> tuple[bytes, int, int]:
    """Return interleaved 32-bit samples, the number of channels and the rate."""
    if not path.is_file():
        raise ConfigError(
            f"clip {path} is not a file; give the path of an audio file", path=str(path)
        )
    try:
        with av.open(str(path)) as container:
            if not container.streams.audio:
                raise ConfigError(f"clip {path} holds no sound", path=str(path))
            stream = container.streams.audio[0]
            rate = stream.rate
            channels = min(stream.channels, 2)
            layout = "mono" if channels == 1 else "stereo"
            resampler = av.AudioResampler(format="s32", layout=layout, rate=rate)
            parts: list[bytes] = []
            n_samples = 0
            for frame in chain(container.decode(stream), [None]):
                for piece in resampler.resample(frame):
                    n_samples += piece.samples
                    if n_samples > LONGEST_CLIP_S * rate:
                        raise ConfigError(
                            f"clip {path} lasts more than {LONGEST_CLIP_S} s; cut it shorter",
                            path=str(path),
                        )
                    parts.append(piece.to_ndarray().astype("<i4", copy=False).tobytes())
    except av.FFmpegError as error:
        raise ConfigError(
            f"clip {path} cannot be decoded ({error.strerror}); give a WAV, FLAC, MP3 or M4A file",
            path=str(path),
        ) from error
    if n_samples == 0:
        raise ConfigError(f"clip {path} holds no sound", path=str(path))
    return b"".join(parts), channels, rate
