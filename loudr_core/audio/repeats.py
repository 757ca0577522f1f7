"""Find a stretch of speech that is said twice where the text says it once.

The take becomes one log-mel frame every 25 ms. Windows of 0.8 s, each freed of its own mean so that
a steady vowel or one level resembles nothing, are compared with every later window; what is alike
is followed along its diagonal to its full length. A text may repeat itself ("no, no, no"), so a
stretch counts only when it is longer than the text's own repeated letters can account for.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from loudr_core.arrays import Mono
from loudr_core.audio.policy import DetectorPolicy

__all__ = ["Repeat", "find_repeat", "longest_repeated_letters"]

_HOP_S = 0.025
_FRAME_S = 0.021
_BANDS = 10
_BAND_HZ = (100.0, 5500.0)
_FLOOR = 1e-3  # of the loud power: what is 30 dB under it tells nothing of the sound
_ACTIVE = 1e-4
_ACTIVE_SHARE = 0.85
_TEMPLATE_STEP = 8
_DRIFT = 2
_SLACK_S = 0.55  # a window is alike before it lies wholly within the repeated stretch
_MOST_LAGS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """Where a stretch stands first and again, in seconds, and how alike the two are."""

    first_s: float
    again_s: float
    length_s: float
    correlation: float


def find_repeat(
    samples: Mono, sample_rate_hz: int, text: str, policy: DetectorPolicy
) -> Repeat | None:
    """Return the longest repeated stretch that the text does not account for.

    Parameters
    ----------
    samples : float32, shape (n,)
        Finite.
    sample_rate_hz : int
    text : str
        Words the take should speak.
    policy : DetectorPolicy
        `repeat_correlation` and `repeat_window_s`.
    """
    width = round(policy.repeat_window_s / _HOP_S)
    patterns, active = _patterns(samples, sample_rate_hz, width)
    lags = _lags(patterns, active, width, policy.repeat_correlation)
    if not lags:
        return None
    found = [_follow(patterns, lag, width, policy.repeat_correlation) for lag in lags]
    longest = max(found, key=lambda repeat: repeat.length_s)
    letters = sum(character.isalnum() for character in text)
    if letters:
        pace = len(samples) / sample_rate_hz / letters
        expected_s = longest_repeated_letters(text) * pace + _SLACK_S
        if longest.length_s <= max(expected_s, policy.repeat_window_s):
            return None
    return longest


def longest_repeated_letters(text: str) -> int:
    """Return the length of the longest run of letters and digits that a text holds twice.

    Case, spaces and punctuation do not count, and the two may overlap: "ha, ha, ha" gives 4.
    """
    letters = "".join(character for character in text.lower() if character.isalnum())
    suffixes = sorted(letters[start:] for start in range(len(letters)))
    return max((_shared(one, two) for one, two in pairwise(suffixes)), default=0)


def _shared(one: str, two: str) -> int:
    length = 0
    for a, b in zip(one, two, strict=False):
        if a != b:
            break
        length += 1
    return length


def _patterns(
    samples: Mono, sample_rate_hz: int, width: int
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return every window of `width` frames as a vector of length 1, and which ones hold speech."""
    size = scipy.fft.next_fast_len(round(_FRAME_S * sample_rate_hz), real=True)
    hop = round(_HOP_S * sample_rate_hz)
    n_frames = (len(samples) - size) // hop + 1
    if n_frames < 2 * width:
        return np.zeros((0, width * _BANDS), np.float32), np.zeros(0, bool)
    taper, mel = _tables(sample_rate_hz, size)
    frames = np.lib.stride_tricks.sliding_window_view(samples, size)[::hop][:n_frames] * taper
    spectrum = scipy.fft.rfft(frames, axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    energy = power.sum(axis=1)
    loud = np.sort(energy)[int(0.9 * (n_frames - 1))] + np.float32(1e-20)
    log_mel = np.log(power @ mel + np.float32(_FLOOR / _BANDS) * loud)
    windows = np.lib.stride_tricks.sliding_window_view(log_mel, width, axis=0)
    windows = windows - windows.mean(axis=2, keepdims=True)
    flat = windows.reshape(len(windows), -1)
    norms = np.sqrt(np.einsum("ij,ij->i", flat, flat))
    counts = np.concatenate([[0], np.cumsum(energy > _ACTIVE * loud)])
    active = counts[width:] - counts[:-width] >= _ACTIVE_SHARE * width
    # A window that hardly changes is a held sound: its likeness to others means nothing.
    active &= norms > 0.3 * np.sqrt(flat.shape[1])
    flat /= np.maximum(norms, 1e-6)[:, None]
    return flat, active


def _lags(
    patterns: NDArray[np.float32], active: NDArray[np.bool_], width: int, least: float
) -> list[int]:
    """Return distances between like windows in frames, the most alike first."""
    n = len(patterns)
    starts = np.arange(0, max(0, n - width), _TEMPLATE_STEP)
    starts = starts[active[starts]]
    if len(starts) == 0:
        return []
    likeness = patterns[starts] @ patterns.T
    apart = np.arange(n)[None, :] - starts[:, None]
    hits = np.nonzero((likeness >= least) & (apart >= width) & active[None, :])
    order = np.argsort(-likeness[hits], kind="stable")
    lags: list[int] = []
    for lag in apart[hits][order].tolist():
        if all(abs(lag - kept) > _DRIFT for kept in lags):
            lags.append(lag)
            if len(lags) == _MOST_LAGS:
                break
    return lags


def _follow(patterns: NDArray[np.float32], lag: int, width: int, least: float) -> Repeat:
    """Return the longest stretch that comes again `lag` frames later, give or take the drift."""
    n = len(patterns) - lag
    likeness = np.full(n, -1.0, np.float32)
    for drifted in range(max(lag - _DRIFT, width), lag + _DRIFT + 1):
        m = min(n, len(patterns) - drifted)
        along = np.einsum("ij,ij->i", patterns[:m], patterns[drifted : drifted + m])
        np.maximum(likeness[:m], along, out=likeness[:m])
    edges = np.diff(np.concatenate([[0], (likeness >= least).astype(np.int8), [0]]))
    begins, ends = np.flatnonzero(edges > 0), np.flatnonzero(edges < 0)
    if len(begins) == 0:
        return Repeat(first_s=0.0, again_s=0.0, length_s=0.0, correlation=0.0)
    best = int(np.argmax(ends - begins))
    begin, end = int(begins[best]), int(ends[best])
    return Repeat(
        first_s=begin * _HOP_S,
        again_s=(begin + lag) * _HOP_S,
        length_s=(end - begin - 1 + width) * _HOP_S,
        correlation=float(likeness[begin:end].max()),
    )


@lru_cache(maxsize=4)
def _tables(sample_rate_hz: int, size: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the Hann taper, shape (size,), and triangular mel bands, (size // 2 + 1, bands)."""
    hz = np.arange(size // 2 + 1) * (sample_rate_hz / size)
    low, high = _BAND_HZ
    limits = _mel(np.array([low, min(high, 0.45 * sample_rate_hz)]))
    edges = np.linspace(limits[0], limits[1], _BANDS + 2)
    rising = (_mel(hz)[:, None] - edges[:-2]) / (edges[1] - edges[0])
    mel = np.clip(np.minimum(rising, 2 - rising), 0, None)
    return np.hanning(size).astype(np.float32), mel.astype(np.float32)


def _mel(hz: NDArray[Any]) -> NDArray[np.float64]:
    """Return mels by O'Shaughnessy's formula, 2595 · log10(1 + f / 700)."""
    mels: NDArray[np.float64] = 2595 * np.log10(1 + hz / 700)
    return mels
