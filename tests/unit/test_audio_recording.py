"""Recordings of others: formats, channels, damage, clipping."""

from pathlib import Path

import numpy as np
import pytest
import soundfile
from numpy.typing import NDArray

from loudr_core.audio.recording import clipped_share, read_recording
from loudr_core.errors import ConfigError

RATE = 44_100


def speechlike(seconds: float = 2.0, level: float = 0.4) -> NDArray[np.float32]:
    t = np.arange(int(seconds * RATE)) / RATE
    return (level * np.sin(2 * np.pi * 170 * t) * (0.6 + 0.4 * np.sin(5 * t))).astype(np.float32)


def refused(path: Path, *parts: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_recording(path, most_seconds=30)
    assert "\n" not in caught.value.message
    for part in (path.name, *parts):
        assert part in caught.value.message


@pytest.mark.parametrize(
    ("kind", "subtype", "tolerance"),
    [
        ("wav", "PCM_16", 2**-15),
        ("wav", "PCM_24", 2**-23),
        ("wav", "FLOAT", 0),
        ("flac", "PCM_16", 2**-15),
        ("ogg", "VORBIS", 0.05),
        ("mp3", "MPEG_LAYER_III", 0.05),
    ],
)
def test_formats(tmp_path: Path, kind: str, subtype: str, tolerance: float) -> None:
    audio = speechlike()
    path = tmp_path / f"me.{kind}"
    soundfile.write(path, audio, RATE, subtype=subtype)
    found = read_recording(path, most_seconds=30)
    assert (found.sample_rate_hz, found.channels, found.findings) == (RATE, 1, ())
    assert found.samples.dtype == np.float32
    assert abs(len(found.samples) - len(audio)) < 3000  # a codec may pad
    n = min(len(audio), len(found.samples))
    if kind != "mp3":  # delays what it codes
        assert np.abs(found.samples[:n] - audio[:n]).max() <= tolerance


def test_channels_are_mixed_and_said(tmp_path: Path) -> None:
    path = tmp_path / "stereo.wav"
    left, right = speechlike(), speechlike(level=0.2)
    soundfile.write(path, np.stack([left, right], axis=1), RATE, subtype="FLOAT")
    found = read_recording(path, most_seconds=30)
    np.testing.assert_allclose(found.samples, (left + right) / 2, atol=1e-7)
    (finding,) = found.findings
    assert (finding.code, finding.severity) == ("recording-mixed-to-mono", "info")
    assert finding.where == {"path": str(path), "channels": 2}


def test_equal_channels_mix_to_themselves(tmp_path: Path) -> None:
    path = tmp_path / "dual.wav"
    audio = speechlike()
    soundfile.write(path, np.stack([audio] * 3, axis=1), RATE, subtype="FLOAT")
    np.testing.assert_array_equal(read_recording(path, most_seconds=30).samples, audio)


def test_the_longest_is_taken_and_one_sample_more_is_not(tmp_path: Path) -> None:
    path = tmp_path / "long.wav"
    soundfile.write(path, np.zeros(2 * RATE), RATE)
    assert len(read_recording(path, most_seconds=2).samples) == 2 * RATE
    soundfile.write(path, np.zeros(2 * RATE + 1), RATE)
    with pytest.raises(ConfigError, match="longer than 2 s"):
        read_recording(path, most_seconds=2)


def test_files_that_are_none(tmp_path: Path) -> None:
    refused(tmp_path / "missing.wav", "no recording", "check the path")
    refused(tmp_path, "no recording")
    empty = tmp_path / "empty.wav"
    empty.touch()
    refused(empty, "cannot read", "convert it")
    text = tmp_path / "text.wav"
    text.write_text("not a sound\n" * 99)
    refused(text, "cannot read")
    with pytest.raises(ConfigError, match="cannot read"):
        read_recording(tmp_path / ("x" * 5000), most_seconds=30)


def test_a_file_without_samples(tmp_path: Path) -> None:
    path = tmp_path / "none.wav"
    soundfile.write(path, np.zeros(0), RATE)
    refused(path, "holds no samples")


def test_damaged_flac(tmp_path: Path) -> None:
    path = tmp_path / "damaged.flac"
    soundfile.write(path, np.random.default_rng(1).uniform(-0.5, 0.5, 90_000), RATE)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 3])
    refused(path, "cannot read")


def test_an_absurd_rate(tmp_path: Path) -> None:
    path = tmp_path / "fast.wav"
    soundfile.write(path, np.zeros(100), 500_000)
    refused(path, "500000 samples a second", "resample")


@pytest.mark.parametrize("channel", [0, 1])
def test_a_clipped_channel_is_seen_before_the_mix(tmp_path: Path, channel: int) -> None:
    path = tmp_path / "clipped.wav"
    audio = np.stack([speechlike(level=0.3)] * 2, axis=1)
    audio[:, channel] = np.clip(audio[:, channel] * 8, -1, 1)
    soundfile.write(path, audio, RATE)
    refused(path, "is clipped", "lower level")


def test_not_finite_samples_are_left_to_the_caller(tmp_path: Path) -> None:
    path = tmp_path / "inf.wav"
    audio = np.stack([speechlike()] * 2, axis=1)
    audio[5], audio[6] = (np.inf, -np.inf), (np.nan, 0)
    soundfile.write(path, audio, RATE, subtype="FLOAT")
    assert np.isnan(read_recording(path, most_seconds=30).samples).sum() == 2


@pytest.mark.parametrize(
    ("samples", "share"),
    [
        ([], 0),
        ([1.0, 1.0, 0.0, 1.0, 1.0], 0),
        ([1.0, 1.0, 1.0, 0.0], 3 / 4),
        ([-1.0, -1.0, -1.0, -1.0], 1),
        ([1.0, 1.0, -1.0, -1.0, 1.0], 0),
        ([0.9995, 0.9996, 0.9997, 0.9996], 0),
        ([0.5, 0.5, 0.5, 0.5], 0),
        ([1.3, 1.3, 1.3, 0.2, 0.1, 0.3], 1 / 2),
        ([float("nan")] * 4, 0),
    ],
)
def test_flat_tops_are_counted(samples: list[float], share: float) -> None:
    assert clipped_share(np.array(samples, np.float32)) == pytest.approx(share)


def test_touching_full_scale_is_no_clipping(tmp_path: Path) -> None:
    path = tmp_path / "loud.wav"
    audio = speechlike(level=1.0)
    soundfile.write(path, audio / np.abs(audio).max(), RATE)
    read_recording(path, most_seconds=30)
