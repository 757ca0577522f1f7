"""Programme loudness by ITU-R BS.1770-5, measured as the samples pass by.

`LoudnessMeter` keeps one K-weighted mean square per 100 ms and forgets the samples. Everything else
is arithmetic on those: a chapter is measured once, its `LoudnessState` is stored, and states joined
in order give the loudness of the book. pyloudnorm, our oracle in the tests, needs the whole
programme in memory and cannot be continued or joined.

References
----------
ITU-R BS.1770-5, Annex 1 (K-weighting, gating) and Annex 2 (true peak).
EBU Tech 3341 (short-term loudness: 3 s).
"""

import io
import math
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from loudr_core.arrays import Mono
from loudr_core.audio.true_peak import TruePeakMeter
from loudr_core.errors import StoreError

__all__ = [
    "Loudness",
    "LoudnessMeter",
    "LoudnessState",
    "k_weighting",
    "measure",
    "sum_channels",
]

_OFFSET_LU = -0.691
_ABSOLUTE_GATE_LUFS = -70.0
_RELATIVE_GATE_LU = -10.0
_BLOCK = 4  # sub-blocks of 100 ms in a gating block of 400 ms; a hop of one is 75 % overlap
_SHORT_TERM = 30
_FORMAT = 1
_HIGH_PASS_HZ, _HIGH_PASS_Q = 38.13547087602444, 0.5003270373238773
_K_48 = math.tan(math.pi * _HIGH_PASS_HZ / 48000)
_HIGH_PASS_GAIN = 1 + _K_48 / _HIGH_PASS_Q + _K_48 * _K_48


@dataclass(frozen=True, slots=True, kw_only=True)
class Loudness:
    """Numbers of a programme. Silence has -inf everywhere."""

    integrated_lufs: float
    true_peak_dbtp: float
    sample_peak_dbfs: float
    duration_s: float

    def as_dict(self) -> dict[str, float | None]:
        """Return the JSON form; None stands for -inf, which JSON cannot spell."""
        values = {
            "integrated_lufs": self.integrated_lufs,
            "true_peak_dbtp": self.true_peak_dbtp,
            "sample_peak_dbfs": self.sample_peak_dbfs,
            "duration_s": self.duration_s,
        }
        return {name: value if math.isfinite(value) else None for name, value in values.items()}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoudnessState:
    """What a meter remembers of a stretch.

    Parameters
    ----------
    sample_rate_hz, n_samples : int
    weighted, plain : float64, shape (n,)
        Mean square of each whole 100 ms, with and without K-weighting.
    tail : float
        K-weighted sum of squares of the samples after the last whole 100 ms.
    true_peak, sample_peak : float
        Linear.
    """

    sample_rate_hz: int
    n_samples: int
    weighted: NDArray[np.float64]
    plain: NDArray[np.float64]
    tail: float
    true_peak: float
    sample_peak: float

    def loudness(self) -> Loudness:
        """Return the numbers of this stretch taken as a whole programme."""
        return Loudness(
            integrated_lufs=_gated(self._block_powers()),
            true_peak_dbtp=_decibel(self.true_peak),
            sample_peak_dbfs=_decibel(self.sample_peak),
            duration_s=self.n_samples / self.sample_rate_hz,
        )

    def short_term_lufs(self, hop_s: float = 1.0) -> NDArray[np.float64]:
        """Return loudness over windows of 3 s, one every `hop_s` from the start; -inf in silence.

        Returns
        -------
        float64, shape (m,)
            Value k covers the 3 s that end at 3 s + k · hop_s. Empty under 3 s.

        References
        ----------
        EBU Tech 3341, clause 2.2.
        """
        powers = _sliding_mean(self.weighted, _SHORT_TERM)[:: max(1, round(hop_s * 10))]
        with np.errstate(divide="ignore"):
            curve: NDArray[np.float64] = _OFFSET_LU + 10 * np.log10(powers)
        return curve

    def scaled(self, gain_db: float) -> "LoudnessState":
        """Return the state of the same stretch after a linear gain."""
        gain = 10 ** (gain_db / 20)
        return replace(
            self,
            weighted=self.weighted * gain**2,
            plain=self.plain * gain**2,
            tail=self.tail * gain**2,
            true_peak=self.true_peak * gain,
            sample_peak=self.sample_peak * gain,
        )

    @classmethod
    def joined(cls, states: Sequence["LoudnessState"]) -> "LoudnessState":
        """Return the state of stretches one after the other.

        The 100 ms grid starts anew in each stretch and what is left over at its end is dropped, so
        the result is that of one pass when every stretch is a whole number of 100 ms and ends in
        silence, and otherwise within 0.02 LU for chapters of speech.

        Raises
        ------
        ValueError
            No states, or different sample rates.
        """
        if not states:
            raise ValueError("there is nothing to join")
        rates = {state.sample_rate_hz for state in states}
        if len(rates) > 1:
            raise ValueError(f"states of different sample rates cannot be joined: {sorted(rates)}")
        return cls(
            sample_rate_hz=states[0].sample_rate_hz,
            n_samples=sum(state.n_samples for state in states),
            weighted=np.concatenate([state.weighted for state in states]),
            plain=np.concatenate([state.plain for state in states]),
            tail=states[-1].tail,
            true_peak=max(state.true_peak for state in states),
            sample_peak=max(state.sample_peak for state in states),
        )

    def to_bytes(self) -> bytes:
        """Return an npz file; equal states give equal bytes."""
        buffer = io.BytesIO()
        head = [_FORMAT, self.sample_rate_hz, self.n_samples]
        np.savez(
            buffer,
            head=np.array(head, dtype=np.int64),
            scalars=np.array([self.tail, self.true_peak, self.sample_peak]),
            weighted=self.weighted,
            plain=self.plain,
        )
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> "LoudnessState":
        """Return the state whose `to_bytes` is `data`.

        Raises
        ------
        StoreError
            The bytes are damaged or of another format; measure the audio again.
        """
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                version, rate, n_samples = (int(value) for value in file["head"])
                tail, true_peak, sample_peak = (float(value) for value in file["scalars"])
                weighted, plain = file["weighted"], file["plain"]
        except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise StoreError("stored loudness is damaged; delete it to measure again") from error
        if version != _FORMAT or len(weighted) != len(plain):
            raise StoreError(f"stored loudness has format {version}, expected {_FORMAT}; delete it")
        return cls(
            sample_rate_hz=rate,
            n_samples=n_samples,
            weighted=weighted,
            plain=plain,
            tail=tail,
            true_peak=true_peak,
            sample_peak=sample_peak,
        )

    def _block_powers(self) -> NDArray[np.float64]:
        if len(self.weighted) >= _BLOCK:
            return _sliding_mean(self.weighted, _BLOCK)
        # Shorter than one gating block, where the recommendation has no answer: all of it at once.
        if self.n_samples == 0:
            return np.zeros(0)
        whole = float(self.weighted.sum()) * _sub_block(self.sample_rate_hz)
        return np.array([(whole + self.tail) / self.n_samples])


class LoudnessMeter:
    """Measure one channel, block by block; memory grows by 160 bytes a second.

    Parameters
    ----------
    sample_rate_hz : int
        At least 8,000.
    """

    def __init__(self, sample_rate_hz: int) -> None:
        self._rate = sample_rate_hz
        self._sos = k_weighting(sample_rate_hz)
        self._filter = np.zeros((2, 2))
        self._step = _sub_block(sample_rate_hz)
        self._rest = (np.zeros(0), np.zeros(0))
        self._squares: tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]] = ([], [])
        self._peak = TruePeakMeter()
        self._n_samples = 0

    def push(self, block: Mono) -> None:
        """Take the next samples.

        Parameters
        ----------
        block : float32, shape (n,)

        Raises
        ------
        ValueError
            A sample is NaN or infinite: it would spoil every later value.
        """
        if len(block) == 0:
            return
        if not np.isfinite(block).all():
            raise ValueError("loudness of samples that are NaN or infinite is not defined")
        self._n_samples += len(block)
        self._peak.push(np.asarray(block, np.float32))
        plain = np.asarray(block, np.float64)
        # Imported here, since that package brings half a second of others, and whoever only reads
        # states or plans a book filters nothing.
        from scipy.signal import sosfilt

        weighted, self._filter = sosfilt(self._sos, plain, zi=self._filter)
        rests = []
        for new, rest, squares in zip((weighted, plain), self._rest, self._squares, strict=True):
            pending = np.concatenate([rest, new]) if len(rest) else new
            whole = len(pending) // self._step
            rows = pending[: whole * self._step].reshape(whole, self._step)
            squares.append(np.einsum("ij,ij->i", rows, rows) / self._step)
            rests.append(pending[whole * self._step :].copy())
        self._rest = (rests[0], rests[1])

    def state(self) -> LoudnessState:
        """Return what was measured so far; the meter can go on afterwards."""
        peak = TruePeakMeter.continued(self._peak)
        weighted, plain = (
            np.concatenate(squares) if squares else np.zeros(0) for squares in self._squares
        )
        return LoudnessState(
            sample_rate_hz=self._rate,
            n_samples=self._n_samples,
            weighted=weighted,
            plain=plain,
            tail=float(np.dot(self._rest[0], self._rest[0])),
            true_peak=peak.finish(),
            sample_peak=peak.sample_peak,
        )


def measure(blocks: Iterable[Mono], sample_rate_hz: int) -> LoudnessState:
    """Return the state after all blocks of one channel."""
    meter = LoudnessMeter(sample_rate_hz)
    for block in blocks:
        meter.push(block)
    return meter.state()


def sum_channels(states: Sequence[LoudnessState]) -> LoudnessState:
    """Return the state of channels that sound at the same time, each with weight 1.

    Left, right and centre weigh 1 (BS.1770-5, Annex 1, Table 3). The channels have one length.
    """
    first = states[0]
    return replace(
        first,
        weighted=np.sum([state.weighted for state in states], axis=0),
        plain=np.sum([state.plain for state in states], axis=0),
        tail=sum(state.tail for state in states),
        true_peak=max(state.true_peak for state in states),
        sample_peak=max(state.sample_peak for state in states),
    )


def k_weighting(sample_rate_hz: int) -> NDArray[np.float64]:
    """Return the K-weighting filter as two second-order sections.

    The recommendation tabulates coefficients for 48 kHz only. The same two analogue filters, a high
    shelf of 4 dB at 1,682 Hz and a high pass at 38 Hz, brought to any rate by the bilinear
    transform, give that table at 48 kHz.

    Returns
    -------
    float64, shape (2, 6)
        b0, b1, b2, 1, a1, a2 of each section.

    References
    ----------
    ITU-R BS.1770-5, Annex 1, Tables 1 and 2. Analogue parameters: B. De Man, "Evaluation of
    Implementations of the EBU R128 Loudness Measurement", AES 145, 2018.
    """
    if sample_rate_hz < 8000:
        raise ValueError(f"K-weighting needs a rate of at least 8,000 Hz, not {sample_rate_hz}")
    k, q = math.tan(math.pi * 1681.974450955533 / sample_rate_hz), 0.7071752369554196
    high = 10 ** (3.999843853973347 / 20)
    band = high**0.4996667741545416
    a0 = 1 + k / q + k * k
    shelf = [
        (high + band * k / q + k * k) / a0,
        2 * (k * k - high) / a0,
        (high - band * k / q + k * k) / a0,
        1.0,
        2 * (k * k - 1) / a0,
        (1 - k / q + k * k) / a0,
    ]
    k, q = math.tan(math.pi * _HIGH_PASS_HZ / sample_rate_hz), _HIGH_PASS_Q
    a0 = 1 + k / q + k * k
    # The table's high pass has b = 1, -2, 1, which is 0.04 dB above unity at 48 kHz; the same gain
    # is given at every rate, where plain 1, -2, 1 would read 24 kHz 0.04 LU too loud.
    b0 = _HIGH_PASS_GAIN / a0
    high_pass = [b0, -2 * b0, b0, 1.0, 2 * (k * k - 1) / a0, (1 - k / q + k * k) / a0]
    return np.array([shelf, high_pass])


def _sub_block(sample_rate_hz: int) -> int:
    return round(sample_rate_hz / 10)


def _sliding_mean(values: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    if len(values) < width:
        return np.zeros(0)
    means: NDArray[np.float64] = np.lib.stride_tricks.sliding_window_view(values, width).mean(
        axis=1
    )
    return means


def _gated(powers: NDArray[np.float64]) -> float:
    """Gate and average block powers: BS.1770-5, Annex 1, equations (4) to (7)."""
    absolute = 10 ** ((_ABSOLUTE_GATE_LUFS - _OFFSET_LU) / 10)
    loud = powers[powers > absolute]
    if len(loud) == 0:
        return -math.inf
    relative = float(loud.mean()) * 10 ** (_RELATIVE_GATE_LU / 10)
    # The loudest block is at least the mean, so the relative gate leaves something.
    kept = loud[loud > relative]
    return _OFFSET_LU + 10 * math.log10(float(kept.mean()))


def _decibel(value: float) -> float:
    return 20 * math.log10(value) if value > 0 else -math.inf
