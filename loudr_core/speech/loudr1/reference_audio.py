"""Whether a recording can become a voice, and where its prompt is cut.

loudr-1 specification, section 21.
"""

import numpy as np

from loudr_core.arrays import Mono
from loudr_core.errors import ConfigError

__all__ = ["MAX_SECONDS", "MIN_SECONDS", "PROMPT_SECONDS", "check_reference", "end_in_silence"]

MIN_SECONDS, MAX_SECONDS = 1.0, 30.0
PROMPT_SECONDS = 10.0
"""What the renderer hears of the recording; the rest tells it about the speaker only."""

_SILENT_PEAK = 1e-4
_FRAME_SECONDS = 0.005
_PAUSE_SECONDS = 0.06
_PAUSE_DBFS = -45.0
_EARLIEST_CUT_SECONDS = 3.0
_APPENDED_SECONDS = 0.4
_ADVICE = "take 5 to 10 seconds of one person speaking, without music or noise"


def check_reference(samples: Mono, sample_rate_hz: int, *, what: str = "recording") -> None:
    """Refuse a recording that no voice can be made from.

    Parameters
    ----------
    samples : float32, shape (n,)
    sample_rate_hz : int
    what : str
        What to call the recording in an error.

    Raises
    ------
    ValueError
        The samples are not of one channel, or the rate is not positive.
    ConfigError
        The recording is shorter than 1 s, longer than 30 s, silent (no sample reaches 1e-4 of full
        scale) or holds a NaN or an infinity.
    """
    if samples.ndim != 1:
        raise ValueError(f"samples have shape {samples.shape}, expected one channel, (n,)")
    if sample_rate_hz <= 0:
        raise ValueError(f"sample rate is {sample_rate_hz} Hz, expected a positive one")
    seconds = len(samples) / sample_rate_hz
    if seconds < MIN_SECONDS:
        raise ConfigError(
            f"{what} is {seconds:.2f} s long, a voice needs {MIN_SECONDS:g} s: {_ADVICE}",
            found=seconds, expected=MIN_SECONDS,
        )  # fmt: skip
    if seconds > MAX_SECONDS:
        raise ConfigError(
            f"{what} is {seconds:.1f} s long, at most {MAX_SECONDS:g} s are taken: cut it, "
            f"since only the first {PROMPT_SECONDS:g} s become the prompt",
            found=seconds, expected=MAX_SECONDS,
        )  # fmt: skip
    bad = int(np.count_nonzero(~np.isfinite(samples)))
    if bad:
        raise ConfigError(
            f"{what} has {bad} samples that are NaN or infinite: export it again as 24-bit WAV",
            found=bad,
        )
    peak = float(np.abs(samples).max())
    if peak < _SILENT_PEAK:
        raise ConfigError(
            f"{what} is silent (its peak is {peak:.1e} of full scale): {_ADVICE}", found=peak
        )


def end_in_silence(samples: Mono, sample_rate_hz: int) -> Mono:
    """Return the recording cut at its last pause, with silence after it.

    A prompt that stops inside a word makes the first spoken word begin there.

    Parameters
    ----------
    samples : float32, shape (n,)
    sample_rate_hz : int

    Returns
    -------
    float32, shape (m,)
        Cut where the last pause of at least 60 ms begins that lies between 3 and 10 s, else after
        9.6 s; then 0.4 s of zeros.
    """
    prompt = samples[: int(PROMPT_SECONDS * sample_rate_hz)]
    silence = np.zeros(int(_APPENDED_SECONDS * sample_rate_hz), np.float32)
    cut = _last_pause(prompt, sample_rate_hz)
    if cut is None:
        cut = min(len(prompt), int(PROMPT_SECONDS * sample_rate_hz) - len(silence))
    return np.concatenate([prompt[:cut], silence])


def _last_pause(prompt: Mono, sample_rate_hz: int) -> int | None:
    """Return the sample where the last pause begins, or None."""
    width = max(1, int(_FRAME_SECONDS * sample_rate_hz))
    frames = prompt[: len(prompt) // width * width].reshape(-1, width).astype(np.float64)
    quiet = np.sqrt(np.mean(frames**2, axis=1)) < 10 ** (_PAUSE_DBFS / 20)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], quiet, [False]])))
    starts, ends = edges[::2], edges[1::2]
    long = (ends - starts) * width >= _PAUSE_SECONDS * sample_rate_hz
    late = starts * width >= _EARLIEST_CUT_SECONDS * sample_rate_hz
    found = starts[long & late]
    return int(found[-1]) * width if len(found) else None
