"""A recording somebody else made, read as one channel, for a voice to be enrolled from.

soundfile reads it: WAV, FLAC, OGG, MP3 and whatever else its libsndfile knows.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from loudr_core.arrays import Mono
from loudr_core.errors import ConfigError
from loudr_core.findings import Finding

__all__ = ["Recording", "clipped_share", "read_recording"]

_BLOCK_FRAMES = 1 << 16
_MOST_RATE_HZ = 384_000
_FULL_SCALE = 0.999
_FLAT_RUN = 3
_CLIPPED_SHARE = 0.001
_CONVERT = "convert it to WAV or FLAC"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recording:
    """What a file holds.

    Parameters
    ----------
    samples : float32, shape (n,)
        One channel.
    sample_rate_hz : int
    channels : int
        Of the file, before they were mixed.
    findings : tuple of Finding
        What was done to the recording on the way.
    """

    samples: Mono
    sample_rate_hz: int
    channels: int
    findings: tuple[Finding, ...] = ()


def read_recording(path: Path, *, most_seconds: float) -> Recording:
    """Read a recording; several channels are mixed to their mean, and a finding says so.

    Parameters
    ----------
    path : Path
    most_seconds : float
        A longer file is refused before it fills the memory.

    Raises
    ------
    ConfigError
        The file is missing, is no sound file, is damaged, holds no samples, is longer than
        `most_seconds` or has a sample rate above 384 kHz; or more than 0.1 % of a channel is
        clipped.
    """
    try:
        if not path.is_file():
            raise ConfigError(f"no recording {path}: check the path", path=str(path))
        with soundfile.SoundFile(path) as file:
            rate, channels = file.samplerate, file.channels
            if rate > _MOST_RATE_HZ:
                raise ConfigError(
                    f"recording {path} has {rate} samples a second, at most {_MOST_RATE_HZ} are "
                    "taken: resample it to 48000 Hz",
                    path=str(path), found=rate, expected=_MOST_RATE_HZ,
                )  # fmt: skip
            samples, clipped = _read_mixed(file, int(most_seconds * rate) + 1, path)
    except (soundfile.LibsndfileError, RuntimeError, OSError) as error:
        reason = " ".join(str(getattr(error, "error_string", error)).split())
        raise ConfigError(
            f"cannot read recording {path} ({reason.rstrip('.')}): {_CONVERT}", path=str(path)
        ) from error
    _refuse_length(path, len(samples), rate, most_seconds)
    _refuse_clipped(path, clipped)
    return Recording(
        samples=samples, sample_rate_hz=rate, channels=channels, findings=_mixed(path, channels)
    )


def clipped_share(samples: Mono) -> float:
    """Return the share of samples that lie in a flat top, 0 to 1.

    A flat top is a run of three or more equal samples at 0.999 of full scale or beyond. A converter
    that is driven too hard makes these; speech that merely touches full scale once does not, as
    neighbouring samples of it differ.

    Parameters
    ----------
    samples : float32, shape (n,)
        One channel, as recorded: mixing or resampling smears flat tops.
    """
    if not len(samples):
        return 0.0
    loud = np.abs(samples) >= _FULL_SCALE
    same = loud[1:] & loud[:-1] & (samples[1:] == samples[:-1])
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]])))
    lengths = edges[1::2] - edges[::2] + 1
    return float(lengths[lengths >= _FLAT_RUN].sum()) / len(samples)


def _read_mixed(file: Any, most_frames: int, path: Path) -> tuple[Mono, float]:
    """Return at most so many frames as one channel, and the share that is clipped in the worst.

    Frames are counted as they are read: a header may promise any number.
    """
    mixed: list[Mono] = []
    clipped = np.zeros(file.channels)
    n_frames = 0
    while n_frames < most_frames:
        wanted = min(_BLOCK_FRAMES, most_frames - n_frames)
        block: NDArray[np.float32] = file.read(wanted, dtype="float32", always_2d=True)
        if not len(block):
            break
        clipped += [clipped_share(channel) * len(block) for channel in block.T]
        with np.errstate(invalid="ignore"):  # infinities of opposite sign: the caller refuses NaN
            mixed.append(block.mean(axis=1, dtype=np.float64).astype(np.float32))
        n_frames += len(block)
    if not mixed:
        raise ConfigError(f"recording {path} holds no samples: record it again", path=str(path))
    return np.concatenate(mixed), float(clipped.max()) / n_frames


def _refuse_length(path: Path, n_samples: int, rate: int, most_seconds: float) -> None:
    if n_samples > most_seconds * rate:
        raise ConfigError(
            f"recording {path} is longer than {most_seconds:g} s: cut it to 5 to 10 seconds of one "
            "person speaking",
            path=str(path), expected=most_seconds,
        )  # fmt: skip


def _refuse_clipped(path: Path, share: float) -> None:
    if share > _CLIPPED_SHARE:
        raise ConfigError(
            f"recording {path} is clipped: {share:.1%} of its samples are flat tops at full scale, "
            f"at most {_CLIPPED_SHARE:.1%} may be; record it again at a lower level",
            path=str(path), found=share, expected=_CLIPPED_SHARE,
        )  # fmt: skip


def _mixed(path: Path, channels: int) -> tuple[Finding, ...]:
    if channels == 1:
        return ()
    return (
        Finding(
            code="recording-mixed-to-mono",
            severity="info",
            message=f"{channels} channels were mixed to one, their mean",
            where={"path": str(path), "channels": channels},
        ),
    )
