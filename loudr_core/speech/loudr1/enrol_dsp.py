"""What the enrolment graphs read: four kinds of mel spectrograms, and the trim of one of them.

All work in float64 and round to float32 where the specification does, so that the order in which a
matrix product sums does not show (loudr-1 specification, section 21).
"""

from typing import TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from loudr_core.arrays import Mono
from loudr_core.speech.loudr1.mel_tables import (
    hann_periodic,
    hann_symmetric,
    kaldi_filters,
    povey,
    slaney_filters,
)

__all__ = ["fbank", "partials", "prompt_mel", "token_mel", "trim_quiet_ends"]

F32: TypeAlias = NDArray[np.float32]

_PARTIAL_FRAMES = 160
_PARTIAL_STEP = 77
_PARTIAL_COVERAGE = 0.8
_TRIM_FRAME, _TRIM_HOP, _TRIM_SHARE = 2048, 512, 0.1


def token_mel(samples_16k: Mono) -> F32:
    """Return the log mel spectrogram that the speech tokenizer reads.

    Parameters
    ----------
    samples_16k : float32, shape (n,), n > 200
        At 16 kHz.

    Returns
    -------
    float32, shape (128, n // 160)
        (log10 of the power + 4) / 4, no lower than 8 decades under the largest.

    References
    ----------
    A. Radford et al., "Robust Speech Recognition via Large-Scale Weak Supervision", 2022: the
    features of Whisper.
    """
    spectrum = _spectra(samples_16k, hann_periodic(400), hop=160, pad=200)[:-1]
    mel = _mel(slaney_filters(16_000, 400, 128, fmin_hz=0, fmax_hz=8000), _power(spectrum))
    log = np.log10(np.maximum(mel, np.float32(1e-10)))
    log = np.maximum(log, log.max() - np.float32(8))
    scaled: F32 = (log + np.float32(4)) / np.float32(4)
    return scaled


def prompt_mel(samples_24k: Mono) -> F32:
    """Return the log mel spectrogram that the renderer continues.

    Parameters
    ----------
    samples_24k : float32, shape (n,), n > 720
        At 24 kHz.

    Returns
    -------
    float32, shape (80, n // 480)
        Natural logarithm of the magnitude, 0 to 8000 Hz.
    """
    spectrum = _spectra(samples_24k, hann_periodic(1920), hop=480, pad=720)
    filters = slaney_filters(24_000, 1920, 80, fmin_hz=0, fmax_hz=8000)
    mel = _mel(filters, np.sqrt(_power(spectrum) + 1e-9))
    log: F32 = np.log(np.maximum(mel, np.float32(1e-5)))
    return log


def fbank(samples_16k: Mono) -> F32:
    """Return the filterbank features that the flow's speaker encoder reads.

    Parameters
    ----------
    samples_16k : float32, shape (n,), n >= 400
        At 16 kHz.

    Returns
    -------
    float32, shape (80, 1 + (n - 400) // 160)
        Natural logarithm of the power, less the mean of each bin over time.

    References
    ----------
    D. Povey et al., "The Kaldi Speech Recognition Toolkit", ASRU 2011: `compute-fbank-feats`
    without dither, with pre-emphasis of 0.97.
    """
    frames = _frames(samples_16k, 400, 160).astype(np.float64)
    frames -= frames.mean(axis=1, keepdims=True)
    before = np.concatenate([frames[:, :1], frames[:, :-1]], axis=1)
    windowed = (frames - 0.97 * before) * povey(400).astype(np.float64)
    spectrum = np.fft.rfft(windowed, 512, axis=1)[:, :256]
    mel = _mel(kaldi_filters(16_000, 512, 80, fmin_hz=20), _power(spectrum))
    log = np.log(np.maximum(mel, np.finfo(np.float32).eps))
    mean = log.mean(axis=1, keepdims=True, dtype=np.float64).astype(np.float32)
    centred: F32 = log - mean
    return centred


def partials(samples_16k: Mono) -> F32:
    """Return the overlapping stretches of mel power whose mean embedding is the speaker's.

    Parameters
    ----------
    samples_16k : float32, shape (n,)
        At 16 kHz; more than 200 samples must be left between the quiet ends.

    Returns
    -------
    float32, shape (p, 160, 40), p >= 1
        Stretches of 1.6 s, one every 0.77 s; the last one may end in zeros.

    References
    ----------
    L. Wan et al., "Generalized End-to-End Loss for Speaker Verification", ICASSP 2018.
    """
    spectrum = _spectra(trim_quiet_ends(samples_16k), hann_symmetric(400), hop=160, pad=200)
    filters = slaney_filters(16_000, 400, 40, fmin_hz=0, fmax_hz=8000)
    mel = np.ascontiguousarray(_mel(filters, _power(spectrum)).T)
    overlap = _PARTIAL_FRAMES - _PARTIAL_STEP
    count, rest = divmod(max(len(mel) - overlap, 0), _PARTIAL_STEP)
    if count == 0 or (rest + overlap) / _PARTIAL_FRAMES >= _PARTIAL_COVERAGE:
        count += 1
    length = _PARTIAL_FRAMES + _PARTIAL_STEP * (count - 1)
    padded = np.pad(mel, ((0, max(0, length - len(mel))), (0, 0)))
    starts = range(0, count * _PARTIAL_STEP, _PARTIAL_STEP)
    return np.stack([padded[start : start + _PARTIAL_FRAMES] for start in starts])


def trim_quiet_ends(samples: Mono) -> Mono:
    """Return the samples from the first to the last frame louder than a tenth of the loudest.

    Parameters
    ----------
    samples : float32, shape (n,), n >= 1

    Notes
    -----
    Frames of 2048 samples every 512, centred; loudness is the root of the mean square.
    """
    frames = _frames(np.pad(samples, _TRIM_FRAME // 2), _TRIM_FRAME, _TRIM_HOP)
    rms = np.sqrt(np.mean(np.square(frames, dtype=np.float64), axis=1))
    loud = np.flatnonzero(rms > _TRIM_SHARE * rms.max())
    if not len(loud):
        return samples
    return samples[loud[0] * _TRIM_HOP : (loud[-1] + 1) * _TRIM_HOP]


def _frames(samples: Mono, width: int, hop: int) -> F32:
    return sliding_window_view(samples, width)[::hop]


def _spectra(samples: Mono, window: F32, *, hop: int, pad: int) -> NDArray[np.complex128]:
    frames = _frames(np.pad(samples, pad, mode="reflect"), len(window), hop)
    spectra: NDArray[np.complex128] = np.fft.rfft(frames * window.astype(np.float64), axis=1)
    return spectra


def _power(spectrum: NDArray[np.complex128]) -> NDArray[np.float64]:
    return spectrum.real**2 + spectrum.imag**2


def _mel(filters: F32, spectrum: NDArray[np.float64]) -> F32:
    """Return the weighted sums, float32, shape (mels, frames)."""
    return (filters.astype(np.float64) @ spectrum.T).astype(np.float32)
