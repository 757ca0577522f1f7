"""ACX numbers of signals whose answers are known."""

import numpy as np
import pytest

from loudr_core.audio.acx import acx_report
from loudr_core.audio.loudness import LoudnessState, measure

RATE = 24000


def state(peak_dbfs: float, floor_dbfs: float, seconds: float = 10) -> LoudnessState:
    t = np.arange(round(RATE * seconds)) / RATE
    tone = 10 ** (peak_dbfs / 20) * np.sin(2 * np.pi * 400 * t)
    floor = 10 ** (floor_dbfs / 20) * np.random.default_rng(0).standard_normal(RATE)
    return measure([np.concatenate([floor, tone]).astype(np.float32)], RATE)


def test_a_good_file_passes() -> None:
    report = acx_report(state(-16.5, -70))
    assert report.ok
    assert report.rms_dbfs == pytest.approx(-16.5 - 3.01 - 0.41, abs=0.05)
    assert report.peak_dbfs == pytest.approx(-16.5, abs=0.01)
    assert report.noise_floor_dbfs == pytest.approx(-70, abs=0.3)


@pytest.mark.parametrize(
    ("peak", "floor", "codes"),
    [
        (-30, -70, ["acx-rms"]),
        (-1, -70, ["acx-rms", "acx-peak"]),
        (-17, -50, ["acx-noise-floor"]),
    ],
)
def test_each_requirement_has_its_finding(peak: float, floor: float, codes: list[str]) -> None:
    assert [finding.code for finding in acx_report(state(peak, floor)).findings] == codes


def test_a_long_file_is_told_by_its_length() -> None:
    short = state(-17, -70)
    long = LoudnessState.joined([short] * 700)
    assert [finding.code for finding in acx_report(long).findings] == ["acx-length"]


def test_digital_silence_has_a_json_form() -> None:
    data = acx_report(measure([np.zeros(RATE, np.float32)], RATE)).as_dict()
    assert data["noise_floor_dbfs"] is None
    assert data["ok"] is False
