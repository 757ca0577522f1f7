import io
import json
import struct
from dataclasses import replace

import av
import numpy as np
import pytest
from mutagen.mp4 import MP4

from loudr_core.errors import PublishError
from loudr_core.publish.aac import FRAME_SAMPLES, Encoding, encode_book, pieces_of
from loudr_core.publish.boxes import read_layout
from loudr_core.publish.check import check_m4b
from loudr_core.publish.cover import Cover
from loudr_core.publish.m4b import ChapterMark, M4bSpec, write_m4b
from loudr_core.publish.tags import Tags

RATE = 24_000
FRAMES = 240


class Tone:
    """A sine of 997 Hz at -20 dBFS peak."""

    level = 0.1

    def read(self, start, n_samples):
        at = np.arange(start, start + n_samples)
        edge = np.minimum(at, FRAMES * FRAME_SAMPLES - at)
        inside = np.clip(edge / 2400, 0, 1)  # a hard edge would overshoot in the codec
        return (self.level * np.sin(2 * np.pi * 997 / RATE * at) * inside).astype(np.float32)


class Silence(Tone):
    level = 0.0


def book(path, source=None, **tags):
    half = FRAMES // 2 * FRAME_SAMPLES
    marks = [
        ChapterMark(title="One", start=0, end=half),
        ChapterMark(title="Two", start=half, end=2 * half),
    ]
    said = Tags(title="A Book", authors=("An Author",), narrator="Heart", language="en", **tags)
    spec = M4bSpec(encoding=Encoding(), n_samples=2 * half, chapters=marks, tags=said)
    packets = encode_book(source or Tone(), pieces_of([half, half]), spec.encoding)
    return write_m4b(path, packets, replace(spec, cover=png())).path


def png():
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="image2pipe") as out:
        stream = out.add_stream("png", rate=1)
        stream.width = stream.height = 600
        stream.pix_fmt = "rgb24"
        frame = av.VideoFrame.from_ndarray(np.zeros((600, 600, 3), np.uint8), format="rgb24")
        for packet in [*stream.encode(frame), *stream.encode(None)]:
            out.mux(packet)
    return Cover(data=buffer.getvalue(), media_type="image/png", width=600, height=600)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return book(tmp_path_factory.mktemp("check") / "book.m4b", series="S", series_part="2")


def codes(report):
    return [finding.code for finding in report.findings]


def patched(tmp_path, good, old, new, count=1):
    data = good.read_bytes()
    assert data.count(old) >= 1
    path = tmp_path / "patched.m4b"
    path.write_bytes(data.replace(old, new, count))
    return path


def test_our_own_file_is_clean(good):
    report = check_m4b(good)
    assert report.ok
    assert codes(report) == []
    seconds = FRAMES * FRAME_SAMPLES / RATE
    assert report.duration_s == pytest.approx(seconds, abs=0.001)
    assert [(c.title, c.start_s) for c in report.chapters] == [("One", 0), ("Two", seconds / 2)]
    assert report.chapters[-1].end_s == pytest.approx(report.duration_s, abs=0.001)
    assert report.tags["title"] == "A Book"
    assert report.tags["series_part"] == "2"
    assert report.cover["width"] == 600
    assert report.format["faststart"] is True
    assert report.format["priming_samples"] == FRAME_SAMPLES
    # BS.1770: 997 Hz at 0 dBFS on one channel reads -3.01 LKFS.
    assert report.loudness["integrated_lufs"] == pytest.approx(-23.0, abs=0.1)
    assert report.loudness["true_peak_dbtp"] == pytest.approx(-20, abs=0.3)
    assert report.acx["rms_dbfs"] == pytest.approx(-23, abs=0.1)


def test_the_report_is_json(good):
    data = json.loads(json.dumps(check_m4b(good).as_dict(), allow_nan=False))
    keys = {
        "ok",
        "format",
        "duration_s",
        "chapters",
        "tags",
        "cover",
        "loudness",
        "acx",
        "findings",
    }
    assert keys <= set(data)


def test_quick_leaves_the_audio_alone(good):
    report = check_m4b(good, quick=True)
    assert report.ok
    assert report.loudness is report.acx is None


def test_silence_has_no_loudness(tmp_path):
    report = check_m4b(book(tmp_path / "silent.m4b", Silence()))
    assert report.loudness["integrated_lufs"] is None
    assert codes(report) == ["publish-silent"]


def test_a_cut_file_is_told(tmp_path, good):
    path = tmp_path / "cut.m4b"
    data = good.read_bytes()
    path.write_bytes(data[: len(data) * 4 // 5])
    report = check_m4b(path)
    assert not report.ok
    assert "publish-truncated" in codes(report)


def test_damaged_audio_is_told(tmp_path, good):
    data = bytearray(good.read_bytes())
    media = data.rindex(b"mdat") + 4
    noise = np.random.default_rng(0).integers(0, 256, 1000, np.uint8)
    data[media + 2000 : media + 3000] = noise.tobytes()
    path = tmp_path / "damaged.m4b"
    path.write_bytes(data)
    report = check_m4b(path)
    assert not report.ok
    assert "publish-damaged" in codes(report)


def test_marks_that_disagree_are_told(tmp_path, good):
    path = patched(tmp_path, good, b"\x03Two", b"\x03Tow")  # only chpl counts in one byte
    report = check_m4b(path, quick=True)
    assert codes(report) == ["publish-marks-disagree"]
    assert "'Tow'" in report.findings[0].message


def test_marks_that_end_early_are_told(tmp_path, good):
    layout = read_layout(good)
    rate = check_m4b(good, quick=True).format["sample_rate_hz"]
    end = round(layout.quicktime[-1].end_s * rate)
    half = round(layout.quicktime[0].end_s * rate)
    old = struct.pack(">I", end - half)
    data = good.read_bytes()
    at = data.rindex(b"stts")
    entry = data.index(old, at)
    path = tmp_path / "early.m4b"
    path.write_bytes(data[:entry] + struct.pack(">I", 900) + data[entry + 4 :])
    assert "publish-last-mark" in codes(check_m4b(path, quick=True))


def test_a_missing_title_brand_and_cover_are_told(tmp_path, good):
    path = patched(tmp_path, good, b"M4B ", b"isom")
    file = MP4(path)
    del file.tags["\xa9nam"], file.tags["covr"]
    file.save()
    report = check_m4b(path, quick=True)
    assert codes(report) == ["publish-brand", "publish-tag-missing", "publish-no-cover"]
    assert report.ok


def test_another_makers_file_is_checked(tmp_path):
    path = tmp_path / "plain.m4a"
    with av.open(str(path), "w", format="mp4") as out:
        stream = out.add_stream("aac", rate=44_100)
        stream.layout = "stereo"
        frame = av.AudioFrame.from_ndarray(
            np.zeros((2, 44_100), np.float32), format="fltp", layout="stereo"
        )
        frame.sample_rate = 44_100
        for packet in [*stream.encode(frame), *stream.encode(None)]:
            out.mux(packet)
    report = check_m4b(path)
    assert report.ok
    assert report.format["channels"] == 2
    assert {"publish-brand", "publish-faststart", "publish-no-chapters", "publish-silent"} <= set(
        codes(report)
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no MP4"),
        (b"Chapter 1. It was a dark night.\n" * 40, "cannot be checked"),
        (b"ID3\4\0\0" + bytes(400), "no MP4"),
        (b"\0\0\0\x18ftypM4B \0\0\2\0M4B isom", "cannot be played"),
        (b"\0\0\0\x18ftypM4B \0\0\2\0M4B isom\0\0\0\4moov", "box"),
    ],
    ids=["empty", "text", "mp3", "head only", "bad size"],
)
def test_what_is_no_audiobook_is_one_line(tmp_path, content, says):
    path = tmp_path / "thing.m4b"
    path.write_bytes(content)
    with pytest.raises(PublishError, match=says) as caught:
        check_m4b(path)
    assert "\n" not in caught.value.message


def test_a_missing_file_and_a_folder_are_one_line(tmp_path):
    with pytest.raises(PublishError, match=r"no such file: .*gone\.m4b"):
        check_m4b(tmp_path / "gone.m4b")
    with pytest.raises(PublishError, match="is a folder: give one file in it"):
        check_m4b(tmp_path)


def test_a_file_cut_anywhere_never_gives_a_traceback(tmp_path, good):
    data = good.read_bytes()
    path = tmp_path / "cut.m4b"
    for end in range(0, 12_000, 97):
        path.write_bytes(data[:end])
        try:
            report = check_m4b(path)
        except PublishError:
            continue
        assert not report.ok


def test_a_damaged_index_never_gives_a_traceback(tmp_path, good):
    data = good.read_bytes()
    rng = np.random.default_rng(4)
    path = tmp_path / "damaged.m4b"
    for _ in range(150):
        damaged = bytearray(data)
        for at in rng.integers(0, 6000, 6):
            damaged[at] = rng.integers(0, 256)
        path.write_bytes(damaged)
        try:
            json.dumps(check_m4b(path, quick=True).as_dict(), allow_nan=False)
        except PublishError as error:
            assert "\n" not in error.message
