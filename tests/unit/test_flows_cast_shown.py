"""Who speaks which chapter, as people and programs read it; nothing of it for a single voice."""

from dataclasses import replace

import pytest

from flows import output, run_page
from flows.commands.plan import plan_json
from flows.progress_bar import _words
from loudr_core.jobs.casting import PlanVoice
from loudr_core.jobs.plan import Plan, PlanChapter
from loudr_core.render.progress import Counts
from loudr_core.render.result import voice_rows

CHAPTERS = tuple(
    PlanChapter(
        number=number, title=f"Chapter {number}", role="body", level=0, segments=2,
        est_audio_s=60.0, voice=voice,
    )
    for number, voice in enumerate(("", "aunt", "", "boy"), 1)
)  # fmt: skip
AUNT = PlanVoice(
    name="aunt", engine="koko", voice="koko:046", voice_sha256="", fingerprint="a",
    sample_rate_hz=24_000, speed=0.9,
)  # fmt: skip
MIXED = Plan(
    book_id="b", plan_id="p", source_sha256="", format="md",
    metadata={"title": "A Book", "authors": [], "language": "en"}, cover_key="",
    cover_media_type="", profile={"text": {"notes": "omit"}}, engine="embedded", voice="heart",
    voice_sha256="", fingerprint="f", sample_rate_hz=24_000, speed=1.0, chapters=CHAPTERS,
    segments=8, generated=(), left_out=(), findings=(), audit={"source_chars": 9},
    est_audio_s=240.0,
    cast=(AUNT, replace(AUNT, name="boy", voice="koko:001")),
)  # fmt: skip
ALONE = replace(MIXED, cast=(), chapters=tuple(replace(each, voice="") for each in CHAPTERS))
SPEAKS = ["heart (embedded)", "koko:046 (koko)", "heart (embedded)", "koko:001 (koko)"]


def test_the_page_of_a_run_names_voices() -> None:
    assert [row["voice"] for row in run_page.chapter_rows(MIXED)] == SPEAKS
    assert all("voice" not in row for row in run_page.chapter_rows(ALONE))


def test_the_table_of_a_plan_names_voices(capsys: pytest.CaptureFixture[str]) -> None:
    with output.results.capture() as shown:
        output.show_plan(MIXED, eta_s=None)
    lines = [line for line in shown.get().splitlines() if "Chapter" in line]
    for line, voice in zip(lines, SPEAKS, strict=True):
        assert line.rstrip().endswith(voice)
    with output.results.capture() as shown:
        output.show_plan(ALONE, eta_s=None)
    assert "heart" not in shown.get()


def test_programs_read_voice_and_engine_of_every_chapter() -> None:
    for plan, engines in ((MIXED, ["embedded", "koko", "embedded", "koko"]),
                          (ALONE, ["embedded"] * 4)):  # fmt: skip
        data = plan_json(plan)
        assert [row["engine"] for row in data["chapters"]] == engines
        assert data["sample_rate_hz"] == 24_000
    assert [row["voice"] for row in plan_json(MIXED)["chapters"]] == [
        "heart", "koko:046", "heart", "koko:001",
    ]  # fmt: skip


def test_who_is_at_work_is_said_while_there_is_work() -> None:
    busy = Counts(total=8, rendered=3, audio_s=9.0, wall_s=1.0, engine="koko:046 (koko)")
    assert _words(busy).endswith("koko:046 (koko)")
    assert run_page.progress_line(busy).endswith("speaking: koko:046 (koko)")
    done = replace(busy, rendered=8)
    assert "koko" not in _words(done) + run_page.progress_line(done)
    assert "speaking" not in run_page.progress_line(replace(busy, engine=""))


def test_a_result_says_who_spoke_what() -> None:
    rows = voice_rows(MIXED, [1, 3, 4])
    assert [(row["name"], row["voice"], row["chapters"]) for row in rows] == [
        ("", "heart", [1, 3]),
        ("boy", "koko:001", [4]),
    ]
    assert rows[1]["speed"] == 0.9
