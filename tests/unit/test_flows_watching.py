"""What looks after a render under way: what it shows, tells and counts, and when it stops."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import pytest

from flows import artifacts, events, metrics, watching
from flows.costs import Price
from flows.events import FailureReport
from loudr_core.errors import BookError
from loudr_core.findings import Finding
from loudr_core.jobs.plan import Plan
from loudr_core.jobs.table import Job
from loudr_core.render.book import BookRender
from loudr_core.render.finish import Mastered
from loudr_core.render.progress import Counts, Progress
from loudr_core.render.result import RenderResult
from loudr_core.render.speak import Interrupted
from loudr_core.speech.orders import Choice

CLIPPING = Finding(code="audio-clipping", severity="error", message="it clips")


class Render:
    """As much of a render as is looked at."""

    label = "harbour"

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = jobs
        self.choices: dict[str, Choice] = {}
        self.found: frozenset[str] = frozenset()
        self.progress = Progress()

    def finish(self, choice: Choice) -> None:
        self.choices[choice.job_key] = choice
        self.progress._counts = Counts(total=6, rendered=len(self.choices), compute_s=3600.0)


class Seen:
    """What reached a server and Prometheus."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.stages: list[str] = []
        self.bars: list[int] = []
        self.results: list[dict[str, Any]] = []
        self.books: list[tuple[str, str]] = []
        self.codes: list[str] = []


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Return what is seen from outside, in the place of a server and a registry."""
    seen = Seen()

    class Page:
        def __init__(self, plan: Plan) -> None:
            pass

        def show_plan(self) -> None:
            seen.stages.append("plan")

        def show_stage(self, stage: str, counts: Counts, spent: Any) -> None:
            seen.stages.append(stage)

        def show_findings(self, jobs: Any, choices: Any) -> None:
            seen.stages.append("findings")

        def show_result(self, result: RenderResult, *_: Any, **said: Any) -> None:
            seen.results.append(said)

    monkeypatch.setattr(watching, "BookArtifacts", Page)
    monkeypatch.setattr(watching, "levels_json", lambda mastered: {})
    monkeypatch.setattr(watching, "_BAR_S", 0.01)
    monkeypatch.setattr(artifacts, "start_progress", lambda said: None)
    monkeypatch.setattr(
        artifacts, "update_progress", lambda there, counts: seen.bars.append(counts.done)
    )
    monkeypatch.setattr(events, "emit_event", lambda **said: seen.events.append(said["event"]))
    monkeypatch.setattr(
        metrics, "count_book", lambda render, *said: seen.books.append((*said, "")[:2])
    )
    monkeypatch.setattr(metrics, "count_finding", seen.codes.append)
    return seen


@pytest.fixture
def render(made_up_jobs: Sequence[Job]) -> Iterator[Render]:
    yield Render(made_up_jobs)
    assert "watch" not in {thread.name for thread in threading.enumerate()}, "it looks on"


def watched(render: Render, report: FailureReport, stages: list[str]) -> Any:
    there = cast(BookRender, render)
    return watching.watching(there, report, Price(per_hour=2.0), stages.append)


def test_a_whole_render(
    seen: Seen,
    render: Render,
    made_up_plan: Plan,
    made_up_choice: Callable[..., Choice],
    made_up_result: RenderResult,
) -> None:
    report, stages = FailureReport("harbour"), list[str]()
    with watched(render, report, stages) as watch:
        watch.planned(made_up_plan)
        watch.stage("speaking")
        watch.given_out()
        render.finish(made_up_choice("k1"))
        render.finish(made_up_choice("k2", status="suspect", findings=(CLIPPING,)))
        watch.stage("mastering")
        watch.finished(made_up_result, cast(Mastered, None), report="/s/report.html")
    assert report.plan is made_up_plan
    assert stages == ["speaking", "mastering"]
    assert seen.events == ["loudr.segment.condemned", "loudr.book.done"]
    assert seen.codes == ["audio-clipping"]
    assert seen.books == [("done", "")]
    assert seen.results == [{"report": "/s/report.html"}]
    assert seen.bars[-1] == 2
    assert len(seen.bars) == len(set(seen.bars)), "what has not changed is not sent again"


def test_it_looks_by_itself(
    seen: Seen, render: Render, made_up_plan: Plan, made_up_choice: Callable[..., Choice]
) -> None:
    with watched(render, FailureReport("harbour"), []) as watch:
        watch.planned(made_up_plan)
        watch.given_out()
        render.finish(made_up_choice("k2", status="failed", take_key="", error="it died"))
        for _ in range(500):
            if "findings" in seen.stages and 1 in seen.bars:
                break
            threading.Event().wait(0.01)
    assert seen.events == ["loudr.segment.condemned"]
    assert seen.codes == ["no-audio"]
    assert {"plan", "planning", "findings"} <= set(seen.stages)


@pytest.mark.parametrize(
    ("error", "counted"),
    [
        (Interrupted(), ("stopped", "")),
        (BookError("no"), ("failed", "BookError")),
        (ZeroDivisionError(), ("failed", "bug")),
    ],
)
def test_what_ends_a_render_is_counted_and_raised(
    seen: Seen,
    render: Render,
    made_up_plan: Plan,
    error: Exception,
    counted: tuple[str, str],
) -> None:
    with pytest.raises(type(error)), watched(render, FailureReport("harbour"), []) as watch:
        watch.planned(made_up_plan)
        raise error
    assert seen.books == [counted]


def test_a_book_that_fails_before_its_plan_shows_nothing(seen: Seen, render: Render) -> None:
    with pytest.raises(BookError), watched(render, FailureReport("harbour"), []):
        raise BookError("no")
    assert seen.stages == []
    assert seen.books == [("failed", "BookError")]


def test_a_long_render_is_looked_at_less_often() -> None:
    assert watching.pause_s(0) == watching.pause_s(60) == 3.0
    assert watching.pause_s(1_000) == 10.0
    assert watching.pause_s(100_000) == 30.0
