import io
import re
from dataclasses import replace
from html.parser import HTMLParser

import av
import numpy as np
import pytest

from loudr_core.findings import Finding
from loudr_core.publish.clip import Clip, make_clip
from loudr_core.publish.cover import Cover
from loudr_core.publish.naming import SOMEBODY, Owner
from loudr_core.publish.plot import clock, plot_loudness
from loudr_core.publish.report import (
    ReportChapter,
    ReportData,
    ReportFile,
    ReportOmission,
    ReportSegment,
    read_owner,
    write_report,
)

EVIL = "<script>alert('x')</script>&\"'{{ 7 * 7 }}"


def finding(severity, code="audio-step", **where):
    return Finding(code=code, severity=severity, message=f"a {severity}", where=where)


def segment(segment_id="c001-s0001", *findings, **more):
    facts = {"chapter": 1, "start_s": 1.0, "end_s": 3.0, "text": "He said.", "spoken": "He said."}
    facts |= {"seed": 2**64 - 1, "attempt": 1, "attempts": 2, "status": "ok", "voice": "heart"}
    return ReportSegment(segment_id=segment_id, findings=findings, **(facts | more))


EMPTY = ReportData(book_id="b-1", plan_id="p-1", title="A Book")


class Page(HTMLParser):
    """Start tags, and all text outside of style and script."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self._skip = [], "", False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._skip = tag in ("style", "script")

    def handle_endtag(self, tag):
        if tag in ("style", "script"):
            self._skip = False

    def handle_data(self, data):
        if not self._skip:
            self.text += data

    def all(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]


def test_an_empty_book_has_a_page():
    page = Page(write_report(EMPTY))
    assert "A Book" in page.text
    assert "nothing was flagged" in page.text
    assert not page.all("svg")


def test_everything_from_the_book_is_escaped():
    evil = segment(EVIL, finding("error", where=EVIL), text=EVIL, spoken=EVIL, voice=EVIL)
    data = ReportData(
        book_id=EVIL, plan_id=EVIL, title=EVIL, authors=[EVIL], language=EVIL, voices=[EVIL],
        made=EVIL, duration_s=100,
        files=[ReportFile(path=EVIL, format=EVIL, n_bytes=1, sha256=EVIL)],
        chapters=[ReportChapter(number=1, title=EVIL, start_s=0, end_s=9, segments=1, flagged=1)],
        flagged=[evil, replace(evil, status="failed", error=EVIL)],
        curve=[(3, -19), (4, -20), (5, -18)],
        left_out=[ReportOmission(chapter=EVIL, kind=EVIL, reason=EVIL, text=EVIL)],
        findings=[Finding(code=EVIL, severity="info", message=EVIL, where={EVIL: EVIL})],
    )  # fmt: skip
    html = write_report(data)
    page = Page(html)
    assert len(page.all("script")) == 1
    assert "alert('x')" not in html
    assert "{{ 7 * 7 }}" in page.text
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]


def test_the_page_loads_nothing():
    cover = Cover(data=b"\xff\xd8\xff", media_type="image/jpeg", width=1, height=1)
    data = replace(EMPTY, cover=cover, flagged=[segment()])
    html = write_report(data, clip_of=lambda _: Clip(data=b"abc", media_type="audio/mpeg"))
    page = Page(html)
    sources = [a[n] for _, a in page.tags for n in ("src", "href", "srcset", "data") if a.get(n)]
    assert sorted(sources) == ["data:audio/mpeg;base64,YWJj", "data:image/jpeg;base64,/9j/"]
    assert not re.search(r"https?://|@import|url\(", html)
    policy = next(m["content"] for m in page.all("meta") if "http-equiv" in m)
    assert policy.startswith("default-src 'none'")


def test_the_gravest_stand_first():
    flagged = [
        segment("s-info", finding("info")),
        segment("s-late", finding("error"), start_s=90.0),
        segment("s-warn", finding("warning"), finding("info")),
        segment("s-early", finding("info"), finding("error")),
        segment("s-gone", status="failed", error="the engine died", start_s=50.0),
    ]
    page = Page(write_report(replace(EMPTY, flagged=flagged)))
    order = [attributes["id"] for attributes in page.all("article")]
    assert order == ["s-gone", "s-early", "s-late", "s-warn", "s-info"]
    assert "the engine died" in page.text


def test_a_segment_tells_how_to_make_it_again():
    page = Page(write_report(replace(EMPTY, book_id="my book", flagged=[segment()])))
    plan = EMPTY.plan_id[:8]
    command = f"loudr rerender 'my book' --plan {plan} --segment c001-s0001"
    assert command in page.text
    assert [b["data-copy"] for b in page.all("button")] == [command]
    assert str(2**64 - 1) in page.text
    assert "take 2 of 2" in page.text


def test_a_page_says_whose_it_is(tmp_path):
    report = replace(EMPTY, book_id='b"1', plan_id="0123456789abcdef", rendered="1-3")
    path = tmp_path / "page.html"
    assert read_owner(path) is None
    path.write_text(write_report(report), encoding="utf-8")
    assert read_owner(path) == Owner(book_id='b"1', plan_id="0123456789abcdef", chapters="1-3")
    path.write_text("<html>some other page</html>", encoding="utf-8")
    assert read_owner(path) == SOMEBODY


def test_clips_stop_at_the_limit_and_the_page_says_so():
    asked = []

    def clip_of(each):
        asked.append(each.segment_id)
        return Clip(data=bytes(600_000), media_type="audio/mpeg")

    flagged = [segment(f"s{k}", finding("error"), start_s=float(k)) for k in range(5)]
    page = Page(
        write_report(replace(EMPTY, flagged=flagged), clip_of=clip_of, max_clip_bytes=2_000_000)
    )
    assert len(page.all("audio")) == 3
    assert asked == ["s0", "s1", "s2", "s3"]
    assert "2 of them have no player here" in page.text
    assert len(page.all("article")) == 5


def test_silence_has_a_dash_and_a_page():
    page = Page(write_report(replace(EMPTY, duration_s=3.0, chapters=[
        ReportChapter(number=1, title="", start_s=0, end_s=3, segments=0, flagged=0)
    ])))  # fmt: skip
    assert "– LUFS" in page.text


def test_the_plot_stays_in_its_box_and_breaks_at_silence():
    curve = [(t, -19.0) for t in range(3, 50)] + [
        (t, -90.0 if t % 2 else 5.0) for t in range(60, 99)
    ]
    plot = plot_loudness(
        curve,
        duration_s=100,
        target_lufs=-19,
        chapters=[(0, "1", "One"), (0.5, "2", "Two"), (50, "3", "Three")],
    )
    assert len(plot.lines) == 2
    for line in plot.lines:
        for point in line.split():
            x, y = map(float, point.split(","))
            assert plot.left <= x <= plot.right
            assert plot.top <= y <= plot.bottom
    assert {p.split(",")[1] for p in plot.lines[0].split()} == {str(plot.target_at)}
    assert [tick.label for tick in plot.chapters] == ["1", "", "3"]


@pytest.mark.parametrize("curve", [[], [(3.0, -19.0)]])
def test_nothing_to_draw_draws_nothing(curve):
    assert plot_loudness(curve, duration_s=10, target_lufs=-19, chapters=[]) is None


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (59.6, "1:00"), (3723, "1:02:03")])
def test_a_clock_reads_like_a_player(seconds, text):
    assert clock(seconds) == text


@pytest.mark.parametrize("rate", [16_000, 24_000, 37_000, 48_000])
def test_a_clip_plays_back(rate):
    tone = (0.3 * np.sin(np.arange(2 * rate) * 2 * np.pi * 440 / rate)).astype(np.float32)
    clip = make_clip(tone, rate)
    assert clip == make_clip(tone, rate)
    assert len(clip.data) < 14_000
    with av.open(io.BytesIO(clip.data)) as container:
        found = container.streams.audio[0].sample_rate
        heard = np.concatenate([f.to_ndarray()[0] for f in container.decode(audio=0)])
    assert len(heard) / found == pytest.approx(2, abs=0.15)
    spectrum = np.abs(np.fft.rfft(heard))
    assert spectrum.argmax() * found / len(heard) == pytest.approx(440, abs=2)


def test_a_long_clip_is_cut():
    assert len(make_clip(np.zeros(24_000 * 20, np.float32), 24_000, max_s=5).data) < 35_000
