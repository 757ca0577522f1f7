"""What ACX measures of a chapter file, from the same state as its loudness.

Our target is set in LUFS; these numbers say whether a retailer's meter would let the file pass.

References
----------
ACX Audio Submission Requirements: RMS between -23 and -18 dB, peak at most -3 dB, noise floor at
most -60 dB RMS, at most 120 minutes a file. The noise floor is read as the quietest half second, as
the ACX Check plug-in of Audacity does.
"""

import math
from dataclasses import dataclass

import numpy as np

from loudr_core.audio.loudness import LoudnessState
from loudr_core.findings import Finding

__all__ = ["AcxReport", "acx_report"]

_RMS_DB = (-23.0, -18.0)
_PEAK_DB = -3.0
_NOISE_FLOOR_DB = -60.0
_LONGEST_S = 120 * 60
_FLOOR_WINDOW = 5  # sub-blocks of 100 ms


@dataclass(frozen=True, slots=True, kw_only=True)
class AcxReport:
    """Measured values of one file, in dB re full scale, and what breaks the requirements."""

    rms_dbfs: float
    peak_dbfs: float
    noise_floor_dbfs: float
    duration_s: float
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether every requirement is met."""
        return not self.findings

    def as_dict(self) -> dict[str, object]:
        """Return the JSON form; None stands for -inf."""
        values = {
            "rms_dbfs": self.rms_dbfs,
            "peak_dbfs": self.peak_dbfs,
            "noise_floor_dbfs": self.noise_floor_dbfs,
            "duration_s": self.duration_s,
        }
        numbers = {name: value if math.isfinite(value) else None for name, value in values.items()}
        return {"ok": self.ok, **numbers, "findings": [each.as_dict() for each in self.findings]}


def acx_report(state: LoudnessState) -> AcxReport:
    """Return the ACX numbers of a measured file.

    Parameters
    ----------
    state : LoudnessState
        Of the file at its delivery level; `LoudnessState.scaled` applies a planned gain.
    """
    floor = state.plain
    if len(floor) >= _FLOOR_WINDOW:
        floor = np.lib.stride_tricks.sliding_window_view(floor, _FLOOR_WINDOW).mean(axis=1)
    rms = _power_db(float(state.plain.mean()) if len(state.plain) else 0.0)
    peak = _power_db(state.sample_peak**2)
    noise = _power_db(float(floor.min()) if len(floor) else 0.0)
    duration = state.n_samples / state.sample_rate_hz
    return AcxReport(
        rms_dbfs=rms,
        peak_dbfs=peak,
        noise_floor_dbfs=noise,
        duration_s=duration,
        findings=tuple(_findings(rms, peak, noise, duration)),
    )


def _findings(rms: float, peak: float, noise: float, duration_s: float) -> list[Finding]:
    low, high = _RMS_DB
    rules = [
        (low <= rms <= high, "acx-rms", f"RMS is {rms:.1f} dB; ACX wants {low:.0f} to {high:.0f}"),
        (peak <= _PEAK_DB, "acx-peak", f"Peak is {peak:.1f} dB; ACX wants at most {_PEAK_DB:.0f}"),
        (
            noise <= _NOISE_FLOOR_DB,
            "acx-noise-floor",
            f"Noise floor is {noise:.1f} dB; ACX wants at most {_NOISE_FLOOR_DB:.0f}",
        ),
        (
            duration_s <= _LONGEST_S,
            "acx-length",
            f"The file lasts {duration_s / 60:.0f} minutes; ACX takes at most 120",
        ),
    ]
    return [
        Finding(code=code, severity="warning", message=f"{message}.")
        for met, code, message in rules
        if not met
    ]


def _power_db(power: float) -> float:
    return 10 * math.log10(power) if power > 0 else -math.inf
