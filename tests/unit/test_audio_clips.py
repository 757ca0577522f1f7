"""Users' clips and other rates."""

from pathlib import Path

import av
import numpy as np
import pytest

from loudr_core.audio.clips import load_clip
from loudr_core.audio.takefile import encode_take
from loudr_core.errors import ConfigError


def tone(rate: int, seconds: float = 0.5, hz: float = 440) -> np.ndarray:
    t = np.arange(round(rate * seconds)) / rate
    return (0.3 * np.sin(2 * np.pi * hz * t)).astype(np.float32)


def write(path: Path, codec: str, rate: int = 44100, seconds: float = 0.5) -> None:
    left = tone(rate, seconds)
    stereo = np.stack([left, 0.5 * left])
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate, layout="stereo")
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(stereo), "fltp", "stereo")
        frame.sample_rate = rate
        resampler = av.AudioResampler(format=stream.format.name, layout="stereo", rate=rate,
                                      frame_size=stream.frame_size or 0)  # fmt: skip
        for source in (frame, None):
            for piece in resampler.resample(source):
                container.mux(stream.encode(piece))
        container.mux(stream.encode(None))


@pytest.mark.parametrize(("name", "codec"), [("a.wav", "pcm_s16le"), ("b.flac", "flac")])
def test_a_stereo_clip_becomes_one_channel_at_our_rate(
    tmp_path: Path, name: str, codec: str
) -> None:
    write(tmp_path / name, codec)
    samples = load_clip(tmp_path / name, 24000)
    assert len(samples) == 12000
    middle = samples[3000:9000]
    assert np.abs(middle).max() == pytest.approx(0.3 * 0.75, abs=0.01)
    assert abs(samples[0]) < 1e-3 > abs(samples[-1])


def test_gain_is_applied(tmp_path: Path) -> None:
    path = tmp_path / "take.flac"
    path.write_bytes(encode_take(tone(24000), 24000, {}))
    quiet = load_clip(path, 24000, gain_db=-6.0, fade_in_ms=0, fade_out_ms=0)
    assert quiet == pytest.approx(tone(24000) * 10 ** (-6 / 20), abs=1e-4)


def test_what_is_no_clip_is_refused_in_one_line(tmp_path: Path) -> None:
    text = tmp_path / "notes.mp3"
    text.write_text("not music")
    for path in (tmp_path / "missing.wav", tmp_path, text):
        with pytest.raises(ConfigError, match="clip") as caught:
            load_clip(path, 24000)
        assert "\n" not in caught.value.message


def test_a_clip_of_hours_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loudr_core.audio.clips.LONGEST_CLIP_S", 0.2)
    write(tmp_path / "long.wav", "pcm_s16le")
    with pytest.raises(ConfigError, match="cut it shorter"):
        load_clip(tmp_path / "long.wav", 24000)
