"""The meter against the recommendation's own numbers, EBU's test signals, and pyloudnorm."""

import math

import numpy as np
import pyloudnorm
import pytest

from loudr_core.audio.loudness import LoudnessState, k_weighting, measure, sum_channels
from loudr_core.audio.true_peak import true_peak


def tone(rate: int, seconds: float, level_dbfs: float, hz: float = 1000.0) -> np.ndarray:
    t = np.arange(round(rate * seconds)) / rate
    return (10 ** (level_dbfs / 20) * np.sin(2 * np.pi * hz * t)).astype(np.float32)


def steps(rate: int, *parts: tuple[float, float]) -> np.ndarray:
    return np.concatenate([tone(rate, seconds, level) for level, seconds in parts])


def stereo_lufs(samples: np.ndarray, rate: int) -> float:
    state = measure([samples], rate)
    return sum_channels([state, state]).loudness().integrated_lufs


def test_k_weighting_is_the_table_at_48_khz() -> None:
    # BS.1770-5, Annex 1, Tables 1 and 2.
    shelf, high_pass = k_weighting(48000)
    assert shelf == pytest.approx(
        [1.53512485958697, -2.69169618940638, 1.19839281085285, 1, -1.69065929318241,
         0.73248077421585], abs=1e-9,
    )  # fmt: skip
    assert high_pass == pytest.approx([1, -2, 1, 1, -1.99004745483398, 0.99007225036621], abs=1e-9)


@pytest.mark.parametrize("rate", [22050, 24000, 44100, 48000])
def test_full_scale_997_hz_in_one_channel_reads_minus_3_01(rate: int) -> None:
    # BS.1770-5, Annex 1: a 0 dB FS, 997 Hz sine in left, centre or right reads -3.01 LKFS.
    loudness = measure([tone(rate, 20, 0.0, 997.0)], rate).loudness()
    assert loudness.integrated_lufs == pytest.approx(-3.01, abs=0.03)


@pytest.mark.parametrize("rate", [24000, 48000])
@pytest.mark.parametrize(
    ("parts", "want"),
    [
        ([(-23, 20)], -23.0),  # EBU Tech 3341, Table 1, case 1
        ([(-33, 20)], -33.0),  # case 2
        ([(-36, 10), (-23, 60), (-36, 10)], -23.0),  # case 3
        ([(-72, 10), (-36, 10), (-23, 60), (-36, 10), (-72, 10)], -23.0),  # case 4
        ([(-26, 20), (-20, 20.1), (-26, 20)], -23.0),  # case 5
    ],
)
def test_ebu_tech_3341_tones(rate: int, parts: list[tuple[float, float]], want: float) -> None:
    assert stereo_lufs(steps(rate, *parts), rate) == pytest.approx(want, abs=0.1)


def test_short_term_of_a_steady_tone_is_constant() -> None:
    # EBU Tech 3341, case 9: the short-term reading is -23 from 3 s on.
    state = measure([tone(24000, 20, -23.0)], 24000)
    curve = sum_channels([state, state]).short_term_lufs()
    assert len(curve) == 18
    assert curve == pytest.approx(np.full(18, -23.0), abs=0.1)


@pytest.mark.parametrize(
    ("phase_degrees", "level", "want"),
    [(0, 0.5, -6.0), (45, 0.5, -6.0), (60, 0.5, -6.0), (67.5, 0.5, -6.0), (45, 1.41, 3.0)],
)
def test_ebu_tech_3341_true_peak(phase_degrees: float, level: float, want: float) -> None:
    # EBU Tech 3341, cases 15 to 19: fs/4, fs/6 and fs/8 tones, +0.2 / -0.4 dB.
    divisor = {0: 4, 45: 4, 60: 6, 67.5: 8}[phase_degrees]
    n = np.arange(48000)
    samples = level * np.sin(2 * np.pi * n / divisor + math.radians(phase_degrees))
    fade = np.minimum(1, np.minimum(n, n[::-1]) / 2400)
    found = 20 * math.log10(true_peak((samples * fade).astype(np.float32)))
    assert want - 0.4 <= found <= want + 0.2


def test_pyloudnorm_agrees_on_gated_noise() -> None:
    rng = np.random.default_rng(3)
    levels = np.repeat([0.2, 0.002, 0.1, 0.0, 0.3, 0.02], 24000)
    samples = (rng.standard_normal(len(levels)) * levels * 0.5).astype(np.float32)
    ours = measure([samples], 24000).loudness().integrated_lufs
    # pyloudnorm approximates the two filters; EBU allows 0.1 LU between meters.
    theirs = pyloudnorm.Meter(24000).integrated_loudness(samples.astype(np.float64))
    assert ours == pytest.approx(theirs, abs=0.1)


def test_chapters_of_whole_sub_blocks_join_to_one_pass() -> None:
    rng = np.random.default_rng(4)
    chapters = []
    for level in (0.2, 0.05, 0.3):
        speech = rng.standard_normal(24000 * 7) * level * 0.4
        chapters.append(np.append(speech, np.zeros(24000)).astype(np.float32))
    whole = measure([np.concatenate(chapters)], 24000)
    joined = LoudnessState.joined([measure([chapter], 24000) for chapter in chapters])
    assert joined.weighted == pytest.approx(whole.weighted, rel=1e-9, abs=1e-12)
    assert joined.true_peak == whole.true_peak
    assert joined.loudness().integrated_lufs == pytest.approx(
        whole.loudness().integrated_lufs, abs=1e-9
    )


def test_chapters_off_the_grid_join_within_2_hundredths() -> None:
    rng = np.random.default_rng(5)
    envelope = np.abs(np.sin(np.arange(24000 * 20) / 9000))
    speech = (rng.standard_normal(len(envelope)) * envelope * 0.1).astype(np.float32)
    chapters = [
        np.append(part, np.zeros(-len(part) % 1024 + 10240, np.float32))
        for part in np.split(speech, [100_003, 260_111, 400_777])
    ]
    whole = measure([np.concatenate(chapters)], 24000).loudness()
    joined = LoudnessState.joined([measure([chapter], 24000) for chapter in chapters]).loudness()
    assert joined.integrated_lufs == pytest.approx(whole.integrated_lufs, abs=0.02)
