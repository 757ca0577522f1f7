"""Enrolment beside the reference engine: the same tables, features, cuts, verdicts and profiles."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from loudr_core.errors import ConfigError
from loudr_core.speech.loudr1 import enrol_dsp, mel_tables
from loudr_core.speech.loudr1.bundle import open_bundle
from loudr_core.speech.loudr1.enrol import Enroller
from loudr_core.speech.loudr1.reference_audio import check_reference, end_in_silence
from loudr_core.speech.loudr1.sinc_resample import resample_sinc
from loudr_core.speech.loudr1.voice import read_voice, write_voice

loudkit = pytest.importorskip("loudkit", reason="the reference engine is not installed")

from loudkit.backends import graph_enroll  # noqa: E402
from loudkit.models.enrollment_audio import (  # noqa: E402
    validate_reference_audio,
    with_prompt_ending_in_silence,
)
from loudkit.models.resample import resample  # noqa: E402
from loudkit.voice import VoiceProfile as ReferenceVoice  # noqa: E402

F32 = NDArray[np.float32]
ARRAYS = (
    "speaker_embedding", "flow_embedding", "prompt_tokens", "prompt_mel", "cond_prompt_tokens",
)  # fmt: skip
SEEDS = st.integers(0, 2**32 - 1)


def sound(rng: np.random.Generator, n: int, rate: int) -> F32:
    """Return tones and noise with pauses, steps and quiet ends, by chance."""
    t = np.arange(n) / rate
    audio = rng.standard_normal(n) * 10 ** rng.uniform(-5, -1)
    for _ in range(rng.integers(0, 4)):
        tone = np.sin(2 * np.pi * rng.uniform(40, 0.45 * rate) * t + rng.uniform(0, 6))
        audio += 10 ** rng.uniform(-2, -0.5) * tone
    for _ in range(rng.integers(0, 8)):
        start, length = rng.integers(0, n), int(rate * rng.choice([0.055, 0.06, 0.065, 0.2, 0.7]))
        audio[start : start + length] *= 10 ** rng.uniform(-6, -1)
    if rng.random() < 0.2:
        audio = np.round(audio, 2)
    if rng.random() < 0.2:
        audio[: rng.integers(0, n)] = 0
    audio[rng.integers(0, n)] += 0.1
    return audio.astype(np.float32)


def equal(found: F32, expected: F32) -> None:
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("s3_hann400", mel_tables.hann_periodic(400)),
        ("matcha_hann1920", mel_tables.hann_periodic(1920)),
        ("voiceenc_hann400", mel_tables.hann_symmetric(400)),
        ("kaldi_povey400", mel_tables.povey(400)),
        ("s3_mel_filters", mel_tables.slaney_filters(16_000, 400, 128, fmin_hz=0, fmax_hz=8000)),
        (
            "matcha_mel_filters",
            mel_tables.slaney_filters(24_000, 1920, 80, fmin_hz=0, fmax_hz=8000),
        ),
        (
            "voiceenc_mel_filters",
            mel_tables.slaney_filters(16_000, 400, 40, fmin_hz=0, fmax_hz=8000),
        ),
        ("kaldi_mel_filters", mel_tables.kaldi_filters(16_000, 512, 80, fmin_hz=20)),
    ],
)
def test_tables_are_the_references(name: str, table: F32) -> None:
    theirs = graph_enroll._table(name, rows=len(table) if table.ndim == 2 else 1)
    equal(table.reshape(theirs.shape), theirs)


# Rates whose common divisor with the target is large: the reference fills gigabytes otherwise.
RATES = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 88_200, 96_000)


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.sampled_from(RATES), st.sampled_from((16_000, 24_000)))
def test_resampling_is_the_references(seed: int, old: int, new: int) -> None:
    """Five lengths an example."""
    rng = np.random.default_rng(seed)
    for n in rng.integers(1, 2000, 5):
        audio = sound(rng, int(n), old)
        equal(resample_sinc(audio, old, new), resample(audio, old, new))


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_features_are_the_references(seed: int) -> None:
    """Four features of three signals an example."""
    rng = np.random.default_rng(seed)
    for n in rng.integers(3_000, 10_000, 3):
        audio = sound(rng, int(n), 16_000)
        equal(enrol_dsp.token_mel(audio), graph_enroll._token_mel(audio))
        equal(enrol_dsp.prompt_mel(audio), graph_enroll._prompt_mel(audio))
        equal(enrol_dsp.fbank(audio), graph_enroll._fbank(audio))
        equal(enrol_dsp.partials(audio), graph_enroll._partials(audio))


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_cuts_are_the_references(seed: int) -> None:
    """Sixteen signals an example, at any rate."""
    rng = np.random.default_rng(seed)
    for rate in rng.choice([100, 199, 200, 1000, 2999, 4410, 8000, 11_025], 16):
        audio = sound(rng, max(1, int(rng.uniform(0.5, 14) * rate)), int(rate))
        equal(
            end_in_silence(audio, int(rate)),
            with_prompt_ending_in_silence(audio, int(rate)),
        )


def taken(check: object, audio: F32, rate: int) -> bool:
    assert callable(check)
    try:
        check(audio, rate)
    except (ConfigError, ValueError):
        return False
    return True


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_verdicts_are_the_references(seed: int) -> None:
    """Forty recordings an example, most of them at the edge of a rule."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        rate = int(rng.choice([-1, 0, 1, 7, 50, 100, 333]))
        n = max(0, int(rng.choice([1, 30]) * max(rate, 1) + rng.integers(-2, 3)))
        peak = np.float32(1e-4)
        level = rng.choice([peak, np.nextafter(peak, np.float32(0)), np.float32(0.5)])
        audio = np.full(n, level, np.float32) * rng.choice(np.float32([-1, 1]), n)
        if n and rng.random() < 0.2:
            audio[rng.integers(0, n)] = rng.choice([math.nan, math.inf, -math.inf])
        if rng.random() < 0.05:
            audio = np.stack([audio, audio])
        assert taken(check_reference, audio, rate) == taken(validate_reference_audio, audio, rate)


@pytest.fixture(scope="module")
def enrollers(loudr1_bundle: Path) -> tuple[Enroller, Path]:
    bundle = open_bundle(loudr1_bundle)
    return Enroller(bundle.enrolment_graphs), bundle.checkpoint


@pytest.mark.parametrize("pause", [False, True])
@pytest.mark.parametrize(
    ("rate", "seconds"),
    [(24_000, 12.3), (44_100, 3.1), (48_000, 11), (16_000, 1), (22_050, 30), (96_000, 7.7)],
)
def test_profiles_are_the_references(
    enrollers: tuple[Enroller, Path], tmp_path: Path, rate: int, seconds: float, pause: bool
) -> None:
    enroller, checkpoint = enrollers
    audio = sound(np.random.default_rng(rate), int(rate * seconds), rate)
    audio[: 2 * rate] += np.sin(np.arange(len(audio[: 2 * rate])), dtype=np.float32) / 8
    theirs = loudkit.enroll(
        audio, str(checkpoint), name="me", language="pl", device="onnx", sample_rate=rate,
        end_in_silence=pause,
    )  # fmt: skip
    ours = enroller.enrol(audio, rate, name="me", language="pl", pause=pause)
    assert (ours.name, ours.language, ours.enrolment, ours.source_sample_rate_hz) == (
        theirs.name, theirs.language, theirs.enrolment, theirs.source_sample_rate,
    )  # fmt: skip
    for name in ARRAYS:
        equal(getattr(ours, name), getattr(theirs, name))
    write_voice(ours, tmp_path / "ours.safetensors")
    theirs.save(tmp_path / "theirs.safetensors")
    loaded = ReferenceVoice.load(tmp_path / "ours.safetensors")
    assert loaded.cond_key() == theirs.cond_key()
    for name in ARRAYS:
        equal(getattr(loaded, name), getattr(theirs, name))
        equal(
            getattr(read_voice(tmp_path / "theirs.safetensors"), name),
            getattr(read_voice(tmp_path / "ours.safetensors"), name),
        )
