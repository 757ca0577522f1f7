"""What a person sees of a render in the Prefect UI."""

import base64
import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4
from xml.etree import ElementTree

import pytest

from flows import artifacts, run_page
from flows.artifacts import BookArtifacts
from flows.costs import Price, Spent
from loudr_core.findings import Finding
from loudr_core.jobs.plan import Plan, PlanChapter
from loudr_core.jobs.table import Job
from loudr_core.publish.plot import plot_loudness
from loudr_core.publish.plot_svg import data_url, plot_svg
from loudr_core.render.progress import Counts
from loudr_core.render.result import RenderResult
from loudr_core.speech.orders import Choice

CLIPPING = Finding(code="audio-clipping", severity="error", message="it clips")
QUIET = Finding(code="audio-quiet", severity="warning", message="it is quiet")
LEVELS = {
    "target_lufs": -19.0,
    "chapters": [
        {
            "number": 1,
            "title": "Ebb & flow",
            "start_s": 0.0,
            "end_s": 95.0,
            "integrated_lufs": -19.2,
        },
        {"number": 2, "title": "Flood", "start_s": 95.0, "end_s": 180.0, "integrated_lufs": -18.7},
    ],
    "curve": [[3.0 + second, -19.0 - second % 7] for second in range(170)],
}


class Server:
    """As much of a Prefect server as artifacts need: what there is of each, and how it came."""

    def __init__(self) -> None:
        self.kept: dict[UUID, dict[str, Any]] = {}
        self.calls: list[str] = []

    def create(self, argument: str) -> Callable[..., UUID]:
        def make(key: str, description: str | None = None, **data: Any) -> UUID:
            there = uuid4()
            shown = data[argument]
            shown = json.dumps(shown) if argument == "table" else shown
            self.kept[there] = {"key": key, "data": shown, "description": description, **data}
            self.calls.append(f"create {key}")
            return there

        return make

    def update_artifact(self, artifact_id: UUID, update: Any) -> None:
        self.kept[artifact_id] |= {"data": update.data, "description": update.description}
        self.calls.append(f"update {self.kept[artifact_id]['key']}")

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def of(self, name: str) -> Any:
        (found,) = [each["data"] for each in self.kept.values() if each["key"].endswith(f"-{name}")]
        return found


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    """Return a server in the place of Prefect's."""
    server = Server()
    for kind, argument in (
        ("table", "table"),
        ("markdown", "markdown"),
        ("link", "link"),
        ("image", "image_url"),
    ):
        monkeypatch.setattr(artifacts, f"create_{kind}_artifact", server.create(argument))
    monkeypatch.setattr(artifacts, "get_client", lambda *, sync_client: server)
    return server


def test_a_render_has_one_artifact_of_each_kind_and_keeps_it_up_to_date(
    server: Server,
    made_up_plan: Plan,
    made_up_jobs: Sequence[Job],
    made_up_choice: Callable[..., Choice],
    made_up_result: RenderResult,
) -> None:
    page = BookArtifacts(made_up_plan)
    page.show_plan()
    spent = Spent(engine_s=12.0, price=Price(per_hour=2.0, currency="EUR"))
    page.show_stage("speaking", Counts(total=6, rendered=2), spent)
    choices = {
        "k1": made_up_choice("k1"),
        "k2": made_up_choice("k2", status="suspect", findings=(CLIPPING,), attempt=2),
    }
    page.show_findings(made_up_jobs, choices)
    page.show_result(made_up_result, made_up_jobs, choices, LEVELS, spent, report="s3://b/r.html")
    created = [call for call in server.calls if call.startswith("create")]
    assert sorted(created) == sorted(
        f"create {artifacts.artifact_key(made_up_plan, name)}"
        for name in ("chapters", "findings", "summary", "file", "report", "loudness")
    )
    assert len(server.calls) > len(created)
    rows = json.loads(server.of("chapters"))
    assert [(row["title"], row["condemned"], row["starts at"]) for row in rows] == [
        ("Ebb", 1, "0:00"),
        ("Flood", 0, "1:35"),
    ]
    assert rows[0]["LUFS"] == -19.2
    assert "The Harbour.m4b" in server.of("summary")
    assert server.of("file") == "file:///books/The%20Harbour.m4b"
    assert server.of("report") == "s3://b/r.html"
    picture = server.of("loudness")
    assert picture.startswith("data:image/svg+xml;base64,")
    assert picture in server.of("summary")
    keys = {each["key"] for each in server.kept.values()}
    assert all(re.fullmatch(r"[a-z0-9-]+", key) for key in keys), "as Prefect takes them"
    said = {each["key"].rpartition("-")[2]: each["description"] for each in server.kept.values()}
    assert said["summary"] == (
        "done: 3 min 00 s, -19.0 LUFS, real-time factor 0.051, 1 without audio, 0.0067 EUR"
    )
    assert said["findings"] == "Findings: 1 error, 1 warning, 1 info"


def test_a_server_that_refuses_costs_the_artifact_only(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, made_up_plan: Plan
) -> None:
    def refuse(**_: Any) -> None:
        raise ConnectionError("no server")

    for kind in ("table", "markdown", "link", "image", "progress"):
        monkeypatch.setattr(artifacts, f"create_{kind}_artifact", refuse)
    with caplog.at_level(logging.WARNING):
        artifacts.publish_plan(made_up_plan)
        assert artifacts.start_progress("segments") is None
    artifacts.update_progress(None, Counts(total=3))
    assert "artifact chapters could not be shown" in caplog.text


def test_findings_name_segment_code_text_and_seed_and_the_worst_is_first(
    made_up_plan: Plan, made_up_jobs: Sequence[Job], made_up_choice: Callable[..., Choice]
) -> None:
    choices = {
        "k1": made_up_choice("k1", findings=(QUIET,), seed=2**64 - 1),
        "k2": made_up_choice("k2", status="suspect", findings=(CLIPPING,), attempt=2),
        "k5": made_up_choice("k5", status="failed", take_key="", error="the engine died"),
    }
    rows = run_page.finding_rows(made_up_plan.findings, made_up_jobs, choices)
    assert [(row["segment"], row["code"], row["severity"]) for row in rows] == [
        ("c001-s0002", "audio-clipping", "error"),
        ("c002-s0002", "no-audio", "error"),
        ("c002-s0003", "no-audio", "error"),
        ("c001-s0001", "audio-quiet", "warning"),
        ("–", "book-no-cover", "warning"),
    ]
    assert rows[3]["seed"] == "18446744073709551615"
    assert rows[0]["attempt"] == 2
    assert rows[0]["text"].startswith("Sentence 1: the tide | was high, and the <boats>")
    assert "\n" not in rows[0]["text"]
    assert rows[4]["text"] == "href book.md"


def test_a_finding_about_a_segment_is_said_once_and_never_lost(
    made_up_jobs: Sequence[Job], made_up_choice: Callable[..., Choice]
) -> None:
    about = [replace(CLIPPING, where={"segment_id": name}) for name in ("c001-s0001", "c001-s0003")]
    choices = {"k1": made_up_choice("k1", status="suspect", findings=(CLIPPING,))}
    rows = run_page.finding_rows(about, made_up_jobs, choices)
    assert [row["segment"] for row in rows] == ["c001-s0001", "c001-s0003"]
    assert run_page.finding_rows((), (), {})[0]["message"] == "nothing was found"


def test_a_table_that_is_too_long_says_how_much_is_left_out(made_up_plan: Plan) -> None:
    many = [replace(QUIET, where={"n": number}) for number in range(1000)]
    rows = run_page.first_rows(run_page.finding_rows(many, (), {}))
    assert len(rows) == run_page.MOST_ROWS
    assert rows[-1]["message"] == "… and 801 more: see loudr report"
    chapters = tuple(
        PlanChapter(number=n, title="x", level=0, role="body", segments=1, est_audio_s=1)
        for n in range(500)
    )
    table = run_page.first_rows(run_page.chapter_rows(replace(made_up_plan, chapters=chapters)))
    assert table[-1]["title"] == "… and 301 more: see loudr report"
    assert {tuple(row) for row in table} == {tuple(table[0])}


def test_the_page_of_a_render_says_speed_time_left_and_cost() -> None:
    counts = Counts(
        total=100, rendered=30, reused=20, failed=1, suspect=2, retried=4,
        audio_s=600, compute_s=60, wall_s=120, audio_left_s=1200,
    )  # fmt: skip
    spent = Spent.of(counts, Price(per_hour=36.0, currency="EUR"))
    text = run_page.stage_text("A | *B* <c>", "speaking", counts, spent)
    assert text.startswith("# A \\| \\*B\\* \\<c\\>\n")
    assert "| segments | 51 of 100: 30 spoken, 20 found finished, 1 without audio" in text
    assert "| real-time factor | 0.200 |" in text
    assert "| time left | about 4 min 00 s |" in text
    assert "| engine time | 1 min 00 s, about 3 min 00 s in all |" in text
    assert "| cost | 0.60 EUR, about 1.80 EUR in all |" in text
    without = run_page.stage_text("A", "speaking", counts, Spent.of(counts, Price()))
    assert "cost" not in without
    assert run_page.stage_line("speaking", counts, spent) == (
        "speaking, 51 of 100 segments, 1 failed, 2 suspect, real-time factor 0.200, "
        "about 4 min 00 s left, 0.60 EUR so far"
    )
    line = run_page.progress_line(counts)
    assert (
        line == "51 of 100 segments, 1 failed, 2 suspect, real-time factor 0.200, "
        "about 4 min 00 s left"
    )


def test_the_page_of_a_finished_book(made_up_plan: Plan, made_up_result: RenderResult) -> None:
    spent = Spent(engine_s=90, price=Price(per_hour=4.0))
    text = run_page.result_text(made_up_plan, made_up_result, spent)
    assert text.startswith("# The \\*Harbour\\*\n")
    assert "`/books/The Harbour.m4b`: 3 min 00 s, 1.5 MB" in text
    assert "| cost | 0.10 |" in text
    assert "`loudr report the-harbour-0badcafe -o FOLDER` makes it" in text
    assert "| true peak | -3.1 dBTP |" in text
    named = run_page.result_text(made_up_plan, made_up_result, spent, report="/s/report.html")
    assert "\n- listening report: `/s/report.html`\n" in named


def test_nothing_is_known_before_the_first_take() -> None:
    text = run_page.stage_text("A", "speaking", Counts(total=5, audio_left_s=60), Spent(engine_s=0))
    assert "not known yet" in text
    assert Spent.of(Counts(), Price(per_hour=1)).as_dict() == {
        "engine_s": 0.0, "cost": 0.0, "currency": "",
    }  # fmt: skip


def test_the_plot_is_a_picture_that_stands_alone() -> None:
    plot = plot_loudness(
        LEVELS["curve"],  # type: ignore[arg-type]
        duration_s=180.0,
        target_lufs=-19.0,
        chapters=[(0.0, "1", "Ebb & flow"), (95.0, "<2>", "Flood")],
    )
    assert plot is not None
    svg = plot_svg(plot)
    root = ElementTree.fromstring(svg)
    kinds = [each.tag.rpartition("}")[2] for each in root.iter()]
    assert kinds.count("polyline") == len(plot.lines) == 1
    assert {"svg", "style", "rect", "line", "text"} <= set(kinds)
    texts = [each.text for each in root.iter() if each.tag.endswith("}text")]
    assert "<2>" in texts
    assert "−20" in texts
    assert not re.search(r"(href|url\(|<script)", svg), "it asks for nothing"
    url = data_url(svg)
    assert base64.b64decode(url.partition(",")[2]).decode() == svg


def test_a_short_text_is_whole_and_a_long_one_ends_in_an_ellipsis() -> None:
    assert run_page.excerpt(" a\n b ") == "a b"
    cut = run_page.excerpt("word " * 40)
    assert len(cut) <= 80
    assert cut.endswith("word…")
