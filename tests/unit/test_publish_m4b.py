import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
from mutagen.mp4 import MP4

from loudr_core.errors import PublishError, StoreError
from loudr_core.publish.aac import FRAME_SAMPLES, Encoding, encode_book, pieces_of
from loudr_core.publish.boxes import read_layout
from loudr_core.publish.m4b import ChapterMark, M4bSpec, write_m4b
from loudr_core.publish.tags import Tags

RATE = 24_000
SILENT_FRAME = b"\x01\x18\x20\x07"
"""An AAC-LC frame of one channel without a sound."""
TAGS = Tags(title="The Time Machine", authors=("H. G. Wells",), narrator="Heart", language="en-GB")
ODD_TITLES = [
    "a = b ; c # d \\ e ' f",
    "Élan vital à l’œuvre",
    "第一章　時間旅行者",
    "👩‍👩‍👧 and 🏴󠁧󠁢󠁳󠁣󠁴󠁿",
    "العربية <b>&amp;</b>",
    '"quoted"',
]


class Clicks:
    """A book of silence with a click at each given sample."""

    def __init__(self, *at):
        self.at = at

    def read(self, start, n_samples):
        out = np.zeros(n_samples, np.float32)
        for sample in self.at:
            if start <= sample < start + n_samples:
                out[sample - start] = 0.8
        return out


def make(lengths, titles=None, *, clicks=None, **more):
    """Return packets and spec of a book with chapters of so many frames; encoded for `clicks`."""
    lengths = [n * FRAME_SAMPLES for n in lengths]
    titles = titles or [f"Chapter {k}" for k in range(1, len(lengths) + 1)]
    ends = np.cumsum(lengths).tolist()
    marks = [
        ChapterMark(title=title, start=end - n, end=end)
        for title, n, end in zip(titles, lengths, ends, strict=True)
    ]
    encoding = Encoding()
    packets = [SILENT_FRAME] * (ends[-1] // FRAME_SAMPLES + 1)
    if clicks is not None:
        packets = list(encode_book(Clicks(*clicks), pieces_of(lengths), encoding))
    spec = M4bSpec(encoding=encoding, n_samples=ends[-1], chapters=marks, tags=TAGS, **more)
    return packets, spec


def decoded(path):
    with av.open(str(path)) as container:
        return np.concatenate([f.to_ndarray()[0] for f in container.decode(audio=0)])


def test_marks_stand_on_the_sample(tmp_path):
    starts = [0, 40 * FRAME_SAMPLES, 97 * FRAME_SAMPLES]
    packets, spec = make([40, 57, 60], clicks=[at + 2400 for at in starts])
    written = write_m4b(tmp_path / "book.m4b", packets, spec)
    heard = np.abs(decoded(written.path))
    assert len(heard) == spec.n_samples
    marks = read_layout(written.path).quicktime
    assert [mark.title for mark in marks] == ["Chapter 1", "Chapter 2", "Chapter 3"]
    for mark, at in zip(marks, starts, strict=True):
        assert mark.start_s * RATE == pytest.approx(at, abs=1e-6)
        around = heard[at : at + 4800]
        assert abs(int(around.argmax()) - 2400) <= 1


def test_titles_survive_as_they_are(tmp_path):
    packets, spec = make([30] * len(ODD_TITLES), ODD_TITLES)
    written = write_m4b(tmp_path / "book.m4b", packets, spec)
    layout = read_layout(written.path)
    assert [mark.title for mark in layout.quicktime] == ODD_TITLES
    assert [mark.title for mark in layout.nero] == ODD_TITLES
    assert [chapter.title for chapter in MP4(written.path).chapters] == ODD_TITLES
    assert written.findings == ()


def test_a_huge_title_is_cut_at_a_character_and_told(tmp_path):
    packets, spec = make([30, 30], ["日本語" * 100, "line\none\ttwo\0"])
    written = write_m4b(tmp_path / "book.m4b", packets, spec)
    titles = [mark.title for mark in read_layout(written.path).nero]
    assert titles == [("日本語" * 100)[:85], "line one two"]
    assert [finding.code for finding in written.findings] == ["publish-title-cut"]


def test_an_empty_title_becomes_its_number(tmp_path):
    packets, spec = make([30, 30], ["", " \n"])
    write_m4b(tmp_path / "book.m4b", packets, spec)
    assert [m.title for m in read_layout(tmp_path / "book.m4b").quicktime] == ["1", "2"]


@pytest.mark.parametrize(("count", "nero"), [(255, 255), (256, None), (300, None)])
def test_more_chapters_than_nero_counts_stand_in_the_track(tmp_path, count, nero):
    packets, spec = make([3] * count)
    layout = read_layout(write_m4b(tmp_path / "book.m4b", packets, spec).path)
    assert len(layout.quicktime) == count
    assert layout.quicktime[-1].title == f"Chapter {count}"
    assert (layout.nero and len(layout.nero)) == nero


def test_the_same_input_gives_the_same_bytes(tmp_path):
    packets, spec = make([50, 60], ["One", "Two"])
    first = write_m4b(tmp_path / "a" / "book.m4b", packets, spec)
    time.sleep(1.1)  # a clock in the file would have moved on
    second = write_m4b(tmp_path / "b" / "other name.m4b", iter(packets), spec)
    assert first.sha256 == second.sha256
    assert first.path.read_bytes() == second.path.read_bytes()
    assert first.n_bytes == first.path.stat().st_size


def test_container_is_an_audiobook(tmp_path):
    packets, spec = make([50])
    layout = read_layout(write_m4b(tmp_path / "book.m4b", packets, spec).path)
    assert layout.brand == "M4B "
    assert layout.faststart
    assert layout.audio.language == "eng"
    assert layout.audio.edits[0][1] == FRAME_SAMPLES
    assert layout.audio.duration == 51 * FRAME_SAMPLES


def test_a_book_without_chapters_has_one_mark(tmp_path):
    packets, spec = make([24])  # one second
    spec = replace(spec, chapters=())
    layout = read_layout(write_m4b(tmp_path / "book.m4b", packets, spec).path)
    assert [mark.title for mark in layout.quicktime] == ["The Time Machine"]
    assert layout.quicktime[0].start_s == 0
    assert layout.quicktime[0].end_s == pytest.approx(24 * 1024 / RATE, abs=0.001)


def marks_of(*bounds):
    return [ChapterMark(title="x", start=s * 1024, end=e * 1024) for s, e in bounds]


@pytest.mark.parametrize(
    "marks",
    [
        marks_of((1, 50)),
        marks_of((0, 20), (21, 50)),
        marks_of((0, 20), (19, 50)),
        marks_of((0, 20), (20, 20), (20, 50)),
        marks_of((0, 49)),
        marks_of((0, 51)),
    ],
    ids=["late", "gap", "overlap", "empty", "short", "long"],
)
def test_marks_that_do_not_cover_the_book_are_refused(tmp_path, marks):
    packets, spec = make([50])
    with pytest.raises(ValueError, match="chapter"):
        write_m4b(tmp_path / "book.m4b", packets, replace(spec, chapters=marks))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", [lambda p: p[:-1], lambda p: [*p, p[-1]], lambda p: []])
def test_a_wrong_number_of_packets_leaves_nothing(tmp_path, change):
    packets, spec = make([50])
    with pytest.raises(PublishError, match="packets, not the 51"):
        write_m4b(tmp_path / "book.m4b", change(packets), spec)
    assert list(tmp_path.iterdir()) == []


def test_a_failing_source_leaves_the_old_file(tmp_path):
    packets, spec = make([50])
    old = write_m4b(tmp_path / "book.m4b", packets, spec)

    def broken():
        yield from packets[:20]
        raise StoreError("a take is gone")

    with pytest.raises(StoreError, match="gone"):
        write_m4b(tmp_path / "book.m4b", broken(), spec)
    assert [path.name for path in tmp_path.iterdir()] == ["book.m4b"]
    assert write_m4b(tmp_path / "book.m4b", packets, spec).sha256 == old.sha256


def test_a_folder_that_is_a_file_is_one_line(tmp_path):
    packets, spec = make([5])
    (tmp_path / "out").write_text("a file")
    with pytest.raises(PublishError, match=r"book\.m4b cannot be written"):
        write_m4b(tmp_path / "out" / "book.m4b", packets, spec)


def test_a_full_disk_is_one_line(tmp_path, monkeypatch):
    packets, spec = make([50])

    def full(part, *_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("loudr_core.publish.m4b._mux", full)
    with pytest.raises(PublishError, match="the disk is full; free some space and run again"):
        write_m4b(tmp_path / "book.m4b", packets, spec)
    assert list(tmp_path.iterdir()) == []


def test_a_guard_may_say_no_before_a_packet_is_taken(tmp_path):
    packets, spec = make([50])
    path = tmp_path / "book.m4b"
    path.write_bytes(b"another book")
    asked = []

    def guard(target):
        asked.append(target)
        raise KeyError("taken")

    with pytest.raises(KeyError, match="taken"):
        write_m4b(path, packets, spec, guard=guard)
    assert asked == [path]
    assert path.read_bytes() == b"another book"
    assert [each.name for each in tmp_path.iterdir()] == ["book.m4b"]
    assert write_m4b(tmp_path / "other.m4b", packets, spec).n_bytes > 0, "no packet was taken"


CHILD = """
import sys, time
from pathlib import Path
from loudr_core.publish.aac import Encoding
from loudr_core.publish.m4b import M4bSpec, write_m4b
from loudr_core.publish.tags import Tags

def packets():
    for k in range(101):
        if k == 60:
            print("half way", flush=True)
            time.sleep(60)
        yield b"\\x01\\x18\\x20\\x07"

spec = M4bSpec(encoding=Encoding(), n_samples=100 * 1024, chapters=(), tags=Tags(title="x"))
write_m4b(Path(sys.argv[1]), packets(), spec)
"""


def test_a_killed_writer_leaves_no_file_and_no_lock(tmp_path):
    target = tmp_path / "book.m4b"
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(target)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    packets, spec = make([50])
    with child:
        assert child.stdout.readline() == b"half way\n"
        with pytest.raises(PublishError, match="another process is writing"):
            write_m4b(target, packets, spec)
        child.send_signal(signal.SIGKILL)
        child.wait(60)
    assert not target.exists()
    write_m4b(target, packets, spec)
    assert [path.name for path in tmp_path.iterdir()] == ["book.m4b"]


@pytest.mark.skipif(not shutil.which("ffprobe"), reason="ffprobe is not on the path")
def test_ffprobe_agrees(tmp_path):
    packets, spec = make([40, 57], ODD_TITLES[:2])
    tags = replace(TAGS, series="Tales", series_part="3", isbn="978", publisher="Heinemann")
    path = write_m4b(tmp_path / "book.m4b", packets, replace(spec, tags=tags)).path
    command = ["ffprobe", "-v", "error", "-of", "json", "-show_chapters", "-show_format"]
    done = subprocess.run([*command, path], capture_output=True, check=True, timeout=60)
    found = json.loads(done.stdout)
    assert [c["tags"]["title"] for c in found["chapters"]] == ODD_TITLES[:2]
    assert float(found["chapters"][1]["start_time"]) == pytest.approx(40 * 1024 / RATE, abs=5e-4)
    assert float(found["format"]["duration"]) == pytest.approx(97 * 1024 / RATE, abs=2e-3)
    said = found["format"]["tags"]
    assert said["major_brand"] == "M4B "
    wanted = {"SERIES": "Tales", "SERIES-PART": "3", "ISBN": "978", "PUBLISHER": "Heinemann"}
    assert said | wanted == said
    assert said["composer"] == "Heart"
    assert "synthetic voice" in said["comment"]
