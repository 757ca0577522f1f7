"""What can become a voice, and where a prompt is cut."""

import numpy as np
import pytest
from numpy.typing import NDArray

from loudr_core.errors import ConfigError
from loudr_core.speech.loudr1.reference_audio import check_reference, end_in_silence

RATE = 8000


def noise(seconds: float, level: float = 0.1) -> NDArray[np.float32]:
    rng = np.random.default_rng(int(seconds * 1000))
    return rng.uniform(-level, level, int(seconds * RATE)).astype(np.float32)


@pytest.mark.parametrize("seconds", [1, 5, 30])
def test_the_ends_of_the_range_are_taken(seconds: float) -> None:
    check_reference(noise(seconds), RATE)


def test_the_quietest_peak_is_taken() -> None:
    audio = np.zeros(RATE, np.float32)
    audio[7] = -np.float32(1.1e-4)
    check_reference(audio, RATE)


@pytest.mark.parametrize(
    ("audio", "part"),
    [
        (noise(1)[:-1], "1.00 s long, a voice needs 1 s"),
        (np.append(noise(30), np.float32(0)), "at most 30 s"),
        (np.zeros(0, np.float32), "0.00 s long"),
        (noise(2, 5e-5), "silent"),
        (np.where(np.arange(RATE) == 9, np.nan, noise(1)).astype("f4"), "1 samples that are NaN"),
        (np.where(np.arange(RATE) < 2, np.inf, noise(1)).astype("f4"), "2 samples"),
    ],
)
def test_the_rest_is_refused_by_name(audio: NDArray[np.float32], part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_reference(audio, RATE, what="recording me.wav")
    assert caught.value.message.startswith("recording me.wav ")
    assert part in caught.value.message
    assert "\n" not in caught.value.message


def test_what_is_no_recording_is_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="one channel"):
        check_reference(np.ones((2, RATE), np.float32), RATE)
    with pytest.raises(ValueError, match="sample rate"):
        check_reference(noise(1), 0)


def test_the_cut_is_where_the_last_pause_begins() -> None:
    audio = noise(9)
    audio[4 * RATE : int(4.1 * RATE)] *= 0.001
    audio[7 * RATE : int(7.2 * RATE)] *= 0.001
    found = end_in_silence(audio, RATE)
    assert len(found) == 7 * RATE + int(0.4 * RATE)
    np.testing.assert_array_equal(found[: 7 * RATE], audio[: 7 * RATE])
    assert not found[7 * RATE :].any()


@pytest.mark.parametrize(("start_s", "length_s"), [(2.9, 0.3), (5, 0.05), (10.0, 0.5), (9.96, 0.5)])
def test_pauses_that_do_not_count(start_s: float, length_s: float) -> None:
    audio = noise(12)
    audio[int(start_s * RATE) : int((start_s + length_s) * RATE)] = 0
    assert len(end_in_silence(audio, RATE)) == 10 * RATE


def test_a_short_recording_is_kept_whole() -> None:
    audio = noise(2)
    found = end_in_silence(audio, RATE)
    np.testing.assert_array_equal(found[: len(audio)], audio)
    assert len(found) == len(audio) + int(0.4 * RATE)
