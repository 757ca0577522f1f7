"""The embedded voice's renderer: what the network predicts of each frame, to samples.

For every 12.5 ms frame the network gives a fundamental frequency and five rows of 601 bins: level
`lh` and phase `theta` of the harmonic part, level `ln` of the noise, level `lr` and phase `phi` of
what is neither. With P the spectrum of a pulse train at the fundamental and Z noise of unit
variance, a frame's spectrum is

    exp(lh + i pi tanh(theta)) P + exp(ln) Z + exp(lr + i phi)

and the samples are its inverse short-time Fourier transform. The equations are those of hibari's
`dsp` module (Apache-2.0), which keeps bins in rows and frames in columns. The network's last layer
yields frames in rows; working that way round, a few frames at a time, spares the transposing and
keeps everything in the cache. Z is uniform instead of Gaussian: after the inverse transform a
sample is a sum over 601 bins of four frames, so it is as Gaussian, at a tenth of the cost.
"""

import functools

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from loudr_core.arrays import Mono

__all__ = ["BINS", "HOP", "render_frames"]

HOP = 300
"""Samples per frame, at 24 kHz."""
BINS = 601

_RATE_HZ = 24_000
_N_FFT = 1200
_OVERLAP = _N_FFT // HOP
_BLOCK = 32
"""Frames at a time: their spectra and samples are about 150 kB each."""
_VOICED_HZ = 40.0
_TOP_HZ = 11_000.0
_MAX_LEVEL = np.float32(7.0)
"""Levels are natural logarithms and end here, so that no prediction can overflow."""
_PI = np.float32(np.pi)
_UNIT_VARIANCE = np.float32(np.sqrt(3.0) / 2**15)
"""From 16-bit integers, uniform over their range, to unit variance."""
_WINDOW = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_N_FFT) / _N_FFT)).astype(np.float32)
_SOURCE_WINDOW = _WINDOW / np.float32(_N_FFT / 4)
"""Scaled so that a cosine of amplitude one has a peak of one in a frame's spectrum."""


def render_frames(
    head: NDArray[np.float32], f0_hz: NDArray[np.float32], noise: np.random.Philox
) -> Mono:
    """Return the samples of one pass.

    Parameters
    ----------
    head : float32, shape (frames, 5 * BINS)
        lh, theta, ln, lr and phi side by side.
    f0_hz : float32, shape (frames,)
        Fundamental frequency; below 40 Hz the frame is unvoiced.
    noise : Philox
        Drawn from for Z.

    Returns
    -------
    float32, shape (frames * HOP,)
    """
    n_frames = len(head)
    if n_frames == 0:
        return np.zeros(0, np.float32)
    half = _N_FFT // 2
    pulses = np.pad(_pulse_train(f0_hz), half, mode="reflect")
    source = np.lib.stride_tricks.sliding_window_view(pulses, _N_FFT)[::HOP]
    bits = _noise_bits(noise, n_frames)
    blocks = np.zeros((n_frames + _OVERLAP - 1, HOP), np.float32)
    room = _Room()
    for start in range(0, n_frames, _BLOCK):
        stop = min(start + _BLOCK, n_frames)
        spectra = scipy.fft.rfft(
            source[start:stop] * _SOURCE_WINDOW, axis=1, overwrite_x=True, workers=1
        )
        room.mix(spectra, head[start:stop], bits[start:stop])
        frames = scipy.fft.irfft(spectra, n=_N_FFT, axis=1, overwrite_x=True, workers=1)
        frames *= _WINDOW
        parts = frames.reshape(stop - start, _OVERLAP, HOP)
        for shift in range(_OVERLAP):
            blocks[start + shift : stop + shift] += parts[:, shift]
    blocks *= _overlap_gain(n_frames)
    return blocks.reshape(-1)[half : half + n_frames * HOP]


class _Room:
    """Scratch arrays for one block of frames."""

    def __init__(self) -> None:
        self._turn = np.empty((_BLOCK, BINS), np.complex64)
        self._level = np.empty((_BLOCK, BINS), np.float32)
        self._angle = np.empty((_BLOCK, BINS), np.float32)
        self._noise = np.empty((_BLOCK, 2 * BINS), np.float32)

    def mix(
        self,
        spectra: NDArray[np.complex64],
        head: NDArray[np.float32],
        bits: NDArray[np.int16],
    ) -> None:
        """Turn spectra of the pulse train into spectra of speech, in place."""
        n_frames = len(spectra)
        turn, noise = self._turn[:n_frames], self._noise[:n_frames]
        level, angle = self._level[:n_frames], self._angle[:n_frames]
        harmonic, theta, noise_level, rest, phi = (
            head[:, part * BINS : (part + 1) * BINS] for part in range(5)
        )
        np.tanh(theta, out=angle)
        angle *= _PI
        _polar(harmonic, angle, level, turn)
        spectra *= turn
        np.multiply(bits, _UNIT_VARIANCE, out=noise)
        z = noise.view(np.complex64)
        z *= _amplitude(noise_level, level)
        spectra += z
        _polar(rest, phi, level, turn)
        spectra += turn


def _polar(
    level: NDArray[np.float32],
    angle: NDArray[np.float32],
    scratch: NDArray[np.float32],
    out: NDArray[np.complex64],
) -> None:
    np.cos(angle, out=out.real)
    np.sin(angle, out=out.imag)
    out *= _amplitude(level, scratch)


def _amplitude(level: NDArray[np.float32], out: NDArray[np.float32]) -> NDArray[np.float32]:
    np.minimum(level, _MAX_LEVEL, out=out)
    np.exp(out, out=out)
    return out


def _noise_bits(noise: np.random.Philox, n_frames: int) -> NDArray[np.int16]:
    """Return 16-bit integers, uniform, shape (n_frames, 2 * BINS), the same on any machine."""
    count = n_frames * 2 * BINS
    words = np.asarray(noise.random_raw(-(-count // 4)), dtype="<u8")
    return words.view("<i2")[:count].reshape(n_frames, 2 * BINS)


def _pulse_train(f0_hz: NDArray[np.float32]) -> Mono:
    """Return the sum of all harmonics below 11 kHz, each of amplitude one; zero where unvoiced.

    With t the phase and H the number of harmonics, the sum of cos(h t) for h = 1 to H is
    sin((H + 1/2) t) / (2 sin(t / 2)) - 1/2 (Dirichlet's kernel), and H where t is a multiple of
    2 pi.
    """
    hertz = _per_sample(f0_hz)
    voiced = hertz > _VOICED_HZ
    np.maximum(hertz, np.float32(_VOICED_HZ), out=hertz)
    # In double precision: the phase of a minute is thousands of turns.
    turns = np.cumsum(hertz, dtype=np.float64)
    turns *= 1.0 / _RATE_HZ
    turns -= np.floor(turns)
    phase = (turns * (2 * np.pi)).astype(np.float32)
    order = np.floor(np.float32(_TOP_HZ) / hertz)
    order += np.float32(0.5)
    below = np.sin(phase * np.float32(0.5))
    below *= np.float32(2.0)
    peak = np.abs(below) <= np.float32(2e-3)
    below[peak] = 1.0
    train: Mono = np.sin(order * phase)
    train /= below
    np.copyto(train, order, where=peak)
    train -= np.float32(0.5)
    train[~voiced] = 0.0
    return train


def _per_sample(f0_hz: NDArray[np.float32]) -> NDArray[np.float32]:
    """Interpolate linearly between the middles of frames; constant before the first and after."""
    half = HOP // 2
    padded = np.pad(np.asarray(f0_hz, np.float32), 1, mode="edge")
    share = ((np.arange(HOP) + 0.5) / HOP).astype(np.float32)
    steps = padded[:-1, None] + np.diff(padded)[:, None] * share
    flat: NDArray[np.float32] = np.ascontiguousarray(steps.reshape(-1)[half:-half])
    return flat


@functools.lru_cache(maxsize=8)
def _overlap_gain(n_frames: int) -> NDArray[np.float32]:
    """Return one over the sum of squared windows at each sample, shape (n_frames + 3, HOP)."""
    squared = (_WINDOW * _WINDOW).reshape(_OVERLAP, HOP)
    total = np.zeros((n_frames + _OVERLAP - 1, HOP), np.float32)
    for shift in range(_OVERLAP):
        total[shift : shift + n_frames] += squared[shift]
    np.maximum(total, np.float32(1e-11), out=total)
    return np.divide(np.float32(1.0), total, out=total)
