"""What a render tells other programs, as it would go to a Prefect server."""

import json
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prefect.client.schemas.objects import FlowRun
from prefect.states import Crashed

from flows import events
from flows.costs import Price, Spent
from flows.events import CondemnedSegments
from loudr_core.errors import BookError, StoreUnavailable
from loudr_core.findings import Finding
from loudr_core.jobs.plan import Plan
from loudr_core.jobs.table import Job
from loudr_core.render.result import RenderResult
from loudr_core.render.speak import Interrupted
from loudr_core.speech.orders import Choice

CLIPPING = Finding(code="audio-clipping", severity="error", message="it clips")
QUIET = Finding(code="audio-quiet", severity="warning", message="it is quiet")
Sent = list[dict[str, Any]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Return what was emitted, as the JSON that a server gets."""
    told: Sent = []
    monkeypatch.setattr(events, "emit_event", lambda **said: told.append(_as_json(said)))
    return told


def _as_json(said: dict[str, Any]) -> dict[str, Any]:
    return cast(dict[str, Any], json.loads(json.dumps(said)))


def test_a_condemned_segment_is_told_of_once_with_seed_and_take(
    sent: Sent,
    made_up_plan: Plan,
    made_up_jobs: Sequence[Job],
    made_up_choice: Callable[..., Choice],
) -> None:
    condemned = CondemnedSegments(made_up_plan, made_up_jobs, found=())
    good = made_up_choice("k1")
    bad = made_up_choice(
        "k2", status="suspect", findings=(QUIET, CLIPPING), attempt=2, seed=2**64 - 1
    )
    assert condemned.look({"k1": good}) == []
    assert condemned.look({"k1": good, "k2": bad}) == ["audio-clipping"]
    assert condemned.look({"k1": good, "k2": bad}) == []
    condemned.close()
    (event,) = sent
    assert event["event"] == "loudr.segment.condemned"
    assert event["resource"]["prefect.resource.id"] == "loudr.book.the-harbour-0badcafe.c001-s0002"
    (book,) = event["related"]
    assert book["prefect.resource.id"] == "loudr.book.the-harbour-0badcafe"
    assert book["prefect.resource.role"] == "book"
    assert event["payload"] == {
        "book_id": "the-harbour-0badcafe",
        "plan_id": "0123456789abcdef",
        "title": "The *Harbour*",
        "segment": "c001-s0002",
        "chapter": 1,
        "status": "suspect",
        "code": "audio-clipping",
        "codes": ["audio-clipping"],
        "message": "it clips",
        "seed": "18446744073709551615",
        "attempt": 2,
        "take": "take-k2",
    }


def test_segments_of_equal_words_are_told_of_each(
    sent: Sent,
    made_up_plan: Plan,
    made_up_jobs: Sequence[Job],
    made_up_choice: Callable[..., Choice],
) -> None:
    condemned = CondemnedSegments(made_up_plan, made_up_jobs, found=())
    silent = made_up_choice("k5", status="failed", take_key="", error="the engine died")
    condemned.look({"k5": silent})
    assert [each["payload"]["segment"] for each in sent] == ["c002-s0002", "c002-s0003"]
    assert {each["payload"]["code"] for each in sent} == {"no-audio"}
    assert {each["payload"]["message"] for each in sent} == {"the engine died"}


def test_what_an_earlier_run_condemned_is_not_told_again(
    sent: Sent,
    made_up_plan: Plan,
    made_up_jobs: Sequence[Job],
    made_up_choice: Callable[..., Choice],
) -> None:
    condemned = CondemnedSegments(made_up_plan, made_up_jobs, found={"k2"})
    condemned.look({"k2": made_up_choice("k2", status="suspect", findings=(CLIPPING,))})
    condemned.close()
    assert sent == []


def test_after_so_many_there_is_one_summary(
    sent: Sent,
    made_up_plan: Plan,
    made_up_jobs: Sequence[Job],
    made_up_choice: Callable[..., Choice],
) -> None:
    condemned = CondemnedSegments(made_up_plan, made_up_jobs, found=(), most=2)
    clipping = {
        key: made_up_choice(key, status="suspect", findings=(CLIPPING,)) for key in ("k1", "k2")
    }
    condemned.look(clipping)
    failed = made_up_choice("k5", status="failed", take_key="")
    assert condemned.look({**clipping, "k5": failed}) == ["no-audio", "no-audio"]
    condemned.close()
    assert [each["event"] for each in sent] == [
        "loudr.segment.condemned",
        "loudr.segment.condemned",
        "loudr.book.condemned",
    ]
    said = sent[-1]["payload"]
    assert (said["condemned"], said["told"]) == (4, 2)
    assert said["codes"] == {"audio-clipping": 2, "no-audio": 2}


def test_a_finished_book_says_where_it_is_and_what_it_cost(
    sent: Sent, made_up_plan: Plan, made_up_result: RenderResult
) -> None:
    spent = Spent(engine_s=1800, price=Price(per_hour=1.5, currency="EUR"))
    events.book_done(made_up_plan, made_up_result, spent)
    (event,) = sent
    assert event["event"] == "loudr.book.done"
    assert event["resource"]["prefect.resource.id"] == "loudr.book.the-harbour-0badcafe"
    said = event["payload"]
    assert said["files"] == [
        {
            "path": "/books/The Harbour.m4b",
            "bytes": 1_500_000,
            "sha256": "3" * 64,
            "duration_s": 180.0,
        }
    ]
    assert said["segments"]["failed"] == 1
    assert said["condemned_segments"] == ["c001-s0002"]
    assert (said["engine_s"], said["cost"], said["currency"]) == (1800, 0.75, "EUR")


def test_a_failed_book_says_why_and_the_error_goes_on(sent: Sent, made_up_plan: Plan) -> None:
    with pytest.raises(StoreUnavailable), events.reporting_failure("harbour") as report:
        report.plan = made_up_plan
        raise StoreUnavailable("cannot write s3://b/k: run again", bucket="b")
    (event,) = sent
    assert event["event"] == "loudr.book.failed"
    assert event["resource"]["prefect.resource.id"] == "loudr.book.the-harbour-0badcafe"
    assert event["resource"]["loudr.retryable"] == "true"
    said = event["payload"]
    assert (said["code"], said["exit_code"], said["retryable"]) == ("StoreUnavailable", 9, True)
    assert said["message"] == "cannot write s3://b/k: run again"
    assert said["plan_id"] == "0123456789abcdef"


def test_a_book_that_fails_before_its_plan_is_known_by_its_file(sent: Sent) -> None:
    with pytest.raises(BookError), events.reporting_failure("My Book (1)") as report:
        assert report.plan is None
        raise BookError("it is encrypted")
    (event,) = sent
    assert event["resource"]["prefect.resource.id"] == "loudr.book.My-Book--1-"
    assert event["payload"]["book"] == "My Book (1)"
    assert event["payload"]["book_id"] == ""


def test_a_bug_is_a_failure_and_a_stopped_render_is_none(sent: Sent) -> None:
    with pytest.raises(ZeroDivisionError), events.reporting_failure("a"):
        raise ZeroDivisionError("x" * 9_000)
    assert sent[0]["payload"]["code"] == "ZeroDivisionError"
    assert len(sent[0]["payload"]["message"]) == 500
    with pytest.raises(Interrupted), events.reporting_failure("a"):
        raise Interrupted
    assert len(sent) == 1


@pytest.mark.parametrize(
    "request_", [{"book": "/in/novel.epub"}, SimpleNamespace(book="/in/novel.epub")]
)
def test_a_killed_process_is_a_failure_too(sent: Sent, request_: Any) -> None:
    run = FlowRun.model_construct(
        id="11111111-1111-1111-1111-111111111111",
        name="render novel",
        parameters={"request": request_},
    )
    events.book_crashed(cast(Any, None), run, Crashed(message="SIGKILL"))
    (event,) = sent
    assert event["resource"]["prefect.resource.id"] == "loudr.book.novel-epub"
    assert event["payload"]["code"] == "crashed"
    assert event["payload"]["message"] == "SIGKILL"
    assert event["payload"]["retryable"] is True


def test_a_server_that_refuses_costs_the_event_only(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    made_up_plan: Plan,
    made_up_result: RenderResult,
) -> None:
    def refuse(**_: Any) -> None:
        raise ConnectionError("no server")

    monkeypatch.setattr(events, "emit_event", refuse)
    events.book_done(made_up_plan, made_up_result, Spent(engine_s=1))
    assert "loudr.book.done could not be sent" in caplog.text


def test_what_condemns_a_choice(made_up_choice: Callable[..., Choice]) -> None:
    assert events.fault_of(made_up_choice("k", findings=(QUIET, CLIPPING)))[0] == "audio-clipping"
    assert events.fault_of(made_up_choice("k", status="failed", error="why")) == ("no-audio", "why")
    assert events.fault_of(made_up_choice("k", status="suspect")) == ("unknown", "")
