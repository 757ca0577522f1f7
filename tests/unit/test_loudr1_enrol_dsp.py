"""Features and resampling of enrolment: recorded values, and signals with known answers."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from loudr_core.speech.loudr1.enrol_dsp import (
    fbank,
    partials,
    prompt_mel,
    token_mel,
    trim_quiet_ends,
)
from loudr_core.speech.loudr1.reference_audio import end_in_silence
from loudr_core.speech.loudr1.sinc_resample import resample_sinc

F32 = NDArray[np.float32]


@pytest.fixture(scope="module")
def recorded(test_data: Path) -> dict[str, Any]:
    path = test_data / "specs/loudr1/vectors/enrolment_dsp.json"
    if not path.is_file():
        pytest.skip(f"no {path}")
    content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return content


def signal(rate: int = 24_000, seconds: float = 12.3) -> F32:
    """Return the signal of the vectors, as its description says."""
    t = np.arange(round(rate * seconds)) / rate
    envelope = np.sin(2 * np.pi * 0.7 * t) > -0.6
    tones = (
        0.3 * np.sin(2 * np.pi * 140 * t)
        + 0.2 * np.sin(2 * np.pi * 910 * t + 0.3)
        + 0.05 * np.sin(2 * np.pi * 3300 * t)
    )
    return (envelope * tones).astype(np.float32)


def sine(hz: float, rate: int, seconds: float = 2.0, level: float = 0.5) -> F32:
    return (level * np.sin(2 * np.pi * hz * np.arange(int(rate * seconds)) / rate)).astype("f4")


def same(found: F32, expected: dict[str, Any], *, exact: bool = True) -> None:
    """Compare with a recorded array; its bits where no logarithm of the host is in them."""
    assert list(found.shape) == expected["shape"]
    assert str(found.dtype) == expected["dtype"]
    first = found.reshape(-1)[:4].view(np.uint32).astype(np.int64)
    np.testing.assert_allclose(first, expected["first4_bits"], atol=0 if exact else 4)
    total = float(found.astype(np.float64).sum())
    np.testing.assert_allclose(total, expected["sum_f64"], rtol=1e-6, atol=1e-2)
    if exact:
        digest = hashlib.sha256(np.ascontiguousarray(found).tobytes()).hexdigest()
        assert digest == expected["sha256"]


def test_the_recorded_resampling(recorded: dict[str, Any]) -> None:
    audio = signal()
    same(resample_sinc(audio[:240_000], 24_000, 16_000), recorded["flow16k"])
    same(resample_sinc(audio, 24_000, 16_000), recorded["speaker16k"])


def test_the_recorded_features(recorded: dict[str, Any]) -> None:
    audio = signal()
    flow = resample_sinc(audio[:240_000], 24_000, 16_000)
    speaker = resample_sinc(audio, 24_000, 16_000)
    same(partials(speaker), recorded["partials"])
    # A logarithm in float32 is the host's, within an ulp or two.
    same(token_mel(flow), recorded["token_mel_prompt"], exact=False)
    cond = token_mel(speaker[:96_000])[:, :600]
    same(cond, recorded["token_mel_cond_600_frames"], exact=False)
    same(prompt_mel(audio[:240_000]), recorded["prompt_mel"], exact=False)
    same(fbank(flow), recorded["fbank"], exact=False)


def test_the_recorded_cuts(recorded: dict[str, Any]) -> None:
    for case in recorded["with_prompt_ending_in_silence"]:
        audio = signal()[: int(case["seconds"] * 24_000)]
        same(end_in_silence(audio, 24_000), case["out"])


@pytest.mark.parametrize(("old", "new"), [(44_100, 24_000), (24_000, 16_000), (8_000, 24_000)])
def test_a_tone_keeps_pitch_and_level(old: int, new: int) -> None:
    found = resample_sinc(sine(440, old), old, new)
    middle = slice(new // 10, -new // 10)
    np.testing.assert_allclose(found[middle], sine(440, new)[middle], atol=2e-3)


def test_a_tone_above_the_new_limit_is_gone() -> None:
    found = resample_sinc(sine(11_000, 48_000), 48_000, 16_000)
    assert np.abs(found[2000:-2000]).max() < 2e-3


@pytest.mark.parametrize(
    ("n", "old", "new"), [(0, 3, 2), (1, 3, 2), (5, 44_100, 24_000), (7, 1, 9)]
)
def test_lengths_are_rounded_up(n: int, old: int, new: int) -> None:
    assert len(resample_sinc(np.ones(n, np.float32), old, new)) == -(-n * new // old)


def test_a_prime_rate_needs_no_gigabytes() -> None:
    audio = sine(300, 47_981, 1.0)
    found = resample_sinc(audio, 47_981, 24_000)
    np.testing.assert_allclose(found[2400:-2400], sine(300, 24_000, 1.0)[2400:-2400], atol=2e-3)


def test_equal_rates_change_nothing_and_no_rate_is_refused() -> None:
    audio = sine(100, 24_000)
    assert resample_sinc(audio, 24_000, 24_000) is audio
    with pytest.raises(ValueError, match="rates are positive"):
        resample_sinc(audio, 0, 24_000)


@pytest.mark.parametrize("n", [16_000, 16_001, 31_999, 160_000])
def test_shapes(n: int) -> None:
    audio = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    assert token_mel(audio).shape == (128, n // 160)
    assert prompt_mel(audio).shape == (80, n // 480)
    assert fbank(audio).shape == (80, 1 + (n - 400) // 160)
    assert partials(audio).shape[1:] == (160, 40)
    assert {f(audio).dtype for f in (token_mel, prompt_mel, fbank, partials)} == {np.dtype("f4")}


def test_features_see_where_a_tone_is() -> None:
    low, high = sine(300, 16_000), sine(3000, 16_000)
    for feature, axis in ((token_mel, 1), (fbank, 1), (partials, (0, 1))):
        means = [feature(tone).mean(axis=axis) for tone in (low, high)]
        if feature is not fbank:  # each of its bins has the mean zero
            assert means[0].argmax() < means[1].argmax()


def test_token_mel_spans_eight_decades() -> None:
    audio = sine(500, 16_000)
    audio[16_000:] = 0
    mel = token_mel(audio)
    assert mel.max() - mel.min() == pytest.approx(2.0, abs=1e-6)


def test_quiet_ends_are_cut_and_silence_is_kept() -> None:
    audio = np.concatenate([np.zeros(8000, "f4"), sine(200, 16_000), np.zeros(9000, "f4")])
    kept = trim_quiet_ends(audio)
    assert 32_000 <= len(kept) <= 32_000 + 2 * 1536
    silent = np.zeros(5000, np.float32)
    assert len(trim_quiet_ends(silent)) == 5000


@pytest.mark.parametrize(
    ("frames", "stretches"), [(1, 1), (160, 1), (204, 1), (205, 2), (237, 2), (281, 2), (282, 3)]
)
def test_stretches_start_every_77_frames(frames: int, stretches: int) -> None:
    audio = np.random.default_rng(4).uniform(-0.5, 0.5, frames * 160 - 80).astype(np.float32)
    found = partials(audio)
    assert len(found) == stretches
    if stretches > 1:
        np.testing.assert_array_equal(found[0][77:], found[1][:83])
