"""Edge silence goes, soft onsets stay, seams have no step."""

import numpy as np
import pytest

from loudr_core.audio.levels import frame_levels_db
from loudr_core.audio.trim import trim_edges

RATE = 24000


def noise(seconds: float, level: float) -> np.ndarray:
    samples = np.random.default_rng(int(seconds * 1000)).standard_normal(round(RATE * seconds))
    return (samples * level).astype(np.float32)


def voiced(seconds: float, level: float = 0.1) -> np.ndarray:
    t = np.arange(round(RATE * seconds)) / RATE
    return (level * (np.sin(2 * np.pi * 120 * t) + 0.3 * np.sin(2 * np.pi * 900 * t))).astype(
        np.float32
    )


def silence(seconds: float) -> np.ndarray:
    return np.zeros(round(RATE * seconds), np.float32)


def test_silence_at_the_edges_goes_but_for_the_guards() -> None:
    kept = trim_edges(np.concatenate([silence(0.3), voiced(1.0), silence(0.5)]), RATE)
    assert len(kept) / RATE == pytest.approx(1.0 + 0.02 + 0.06, abs=0.011)


def test_a_soft_fricative_before_the_vowel_is_kept_whole() -> None:
    # 40 dB under the vowel: an f or a th.
    take = np.concatenate([silence(0.3), noise(0.09, 0.0008), voiced(0.8), silence(0.4)])
    kept = trim_edges(take, RATE)
    assert len(kept) / RATE >= 0.09 + 0.8


def test_the_same_with_a_noisy_voice() -> None:
    take = np.concatenate([silence(0.3), voiced(1.0), silence(0.5)]) + noise(1.8, 0.0005)
    kept = trim_edges(take.astype(np.float32), RATE)
    assert len(kept) / RATE == pytest.approx(1.08, abs=0.03)


def test_a_pause_inside_stays() -> None:
    take = np.concatenate([voiced(0.5), silence(0.7), voiced(0.5)])
    assert len(trim_edges(take, RATE)) / RATE == pytest.approx(1.7, abs=0.02)


def test_a_take_cut_at_both_ends_has_no_step_at_its_seams() -> None:
    kept = trim_edges(voiced(1.0), RATE)
    seam = np.concatenate([silence(0.01), kept, silence(0.01)])
    near = np.abs(np.diff(seam))
    assert kept[0] == 0
    assert max(near[: RATE // 100 + 1].max(), near[-RATE // 100 - 1 :].max()) < 10 ** (-60 / 20)


@pytest.mark.parametrize(
    "take", [silence(0), silence(0.5), np.full(100, np.nan, np.float32), noise(0.5, 1e-6)]
)
def test_what_holds_no_speech_comes_back_as_it_is(take: np.ndarray) -> None:
    assert np.array_equal(trim_edges(take, RATE), take, equal_nan=True)


def test_the_input_is_not_written_to() -> None:
    take = voiced(0.3)
    before = take.copy()
    trim_edges(take, RATE)
    assert np.array_equal(take, before)


def test_levels_of_a_full_and_a_short_frame() -> None:
    levels = frame_levels_db(np.array([0.1] * 10 + [1.0] * 3, np.float32), 10)
    assert levels == pytest.approx([-20, 0], abs=1e-4)
