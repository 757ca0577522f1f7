"""What a render tells other programs: events on the Prefect server, for automations.

| event | when |
|---|---|
| `loudr.segment.condemned` | a segment spoken by this run has no good take |
| `loudr.book.condemned` | there were more of them than events: how many, and why |
| `loudr.book.done` | the book is delivered |
| `loudr.book.failed` | it is not, and why; not when somebody stopped it |

Every event is about the resource `loudr.book.<book_id>`, or a segment of it, so an automation can
watch one book or all (`loudr.book.*`); `loudr.code` and `loudr.retryable` are labels of it, since
automations choose by labels and not by payloads. Numbers that JSON readers would round, seeds above
all, are strings. Nobody need listen: an event that cannot be sent is a line in the log.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from prefect import Flow
from prefect.client.schemas.objects import FlowRun, State
from prefect.events import emit_event

from flows.costs import Spent
from loudr_core.errors import LoudrError
from loudr_core.jobs.plan import Plan
from loudr_core.jobs.table import Job
from loudr_core.render.result import RenderResult
from loudr_core.render.speak import Interrupted
from loudr_core.speech.orders import Choice

__all__ = [
    "BOOK_CONDEMNED",
    "BOOK_DONE",
    "BOOK_FAILED",
    "MOST_CONDEMNED",
    "SEGMENT_CONDEMNED",
    "CondemnedSegments",
    "FailureReport",
    "book_crashed",
    "book_done",
    "fault_of",
    "reporting_failure",
]

SEGMENT_CONDEMNED = "loudr.segment.condemned"
BOOK_CONDEMNED = "loudr.book.condemned"
BOOK_DONE = "loudr.book.done"
BOOK_FAILED = "loudr.book.failed"

MOST_CONDEMNED = 20
"""Events about single segments of one book in one run."""

_MESSAGE = 500
_MOST_IDS = 50

logger = logging.getLogger(__name__)


def fault_of(choice: Choice) -> tuple[str, str]:
    """Return code and sentence of what is worst about a choice; `no-audio` when it has no take."""
    if choice.status == "failed":
        return "no-audio", choice.error or "no attempt gave samples"
    ranked = sorted(choice.findings, key=lambda f: ("error", "warning", "info").index(f.severity))
    return (ranked[0].code, ranked[0].message) if ranked else ("unknown", "")


class CondemnedSegments:
    """Tells of segments without a good take, each once, and of the first ones only.

    Parameters
    ----------
    plan : Plan
    jobs : sequence of Job
        The segments that are wanted, in book order.
    found : iterable of str
        Job keys that were finished before this run; nothing is said about those.
    most : int
        Events about single segments; the rest is counted in `loudr.book.condemned`.
    """

    def __init__(
        self, plan: Plan, jobs: Sequence[Job], *, found: Iterable[str], most: int = MOST_CONDEMNED
    ) -> None:
        self._plan = plan
        self._jobs: dict[str, list[Job]] = {}
        for job in jobs:
            self._jobs.setdefault(job.job_key, []).append(job)
        self._seen = set(found)
        self._most = most
        self._codes: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """Segments condemned so far; those with equal words count one by one."""
        return self._codes.total()

    def look(self, choices: Mapping[str, Choice]) -> list[str]:
        """Tell of what is new among a render's choices; return the code of each new one."""
        fresh = choices.keys() - self._seen
        self._seen |= fresh
        bad = [key for key in self._jobs if key in fresh and choices[key].status != "ok"]
        return [code for key in bad for code in self._tell(self._jobs[key], choices[key])]

    def close(self) -> None:
        """Tell how many there were, when they were more than were told of one by one."""
        if self.total > self._most:
            codes = dict(self._codes.most_common())
            payload = {"condemned": self.total, "told": self._most, "codes": codes}
            _emit(BOOK_CONDEMNED, _book(self._plan), {**_identity(self._plan), **payload})

    def _tell(self, jobs: Sequence[Job], choice: Choice) -> list[str]:
        code, message = fault_of(choice)
        for job in jobs:
            self._codes[code] += 1
            if self.total > self._most:
                continue
            resource = {
                "prefect.resource.id": f"loudr.book.{self._plan.book_id}.{job.segment_id}",
                "prefect.resource.name": f"{self._plan.metadata['title']}, {job.segment_id}",
                "loudr.code": code,
            }
            payload = {
                **_identity(self._plan),
                "segment": job.segment_id,
                "chapter": job.chapter,
                "status": choice.status,
                "code": code,
                "codes": sorted({f.code for f in choice.findings if f.severity == "error"}),
                "message": message[:_MESSAGE],
                "seed": str(choice.seed),
                "attempt": choice.attempt,
                "take": choice.take_key,
            }
            book = {**_book(self._plan), "prefect.resource.role": "book"}
            _emit(SEGMENT_CONDEMNED, resource, payload, related=[book])
        return [code] * len(jobs)


def book_done(plan: Plan, result: RenderResult, spent: Spent) -> None:
    """Tell that a book is delivered, where, and what it took."""
    flagged = sorted({str(f.where["segment_id"]) for f in result.findings if _is_condemned(f)})
    payload = {
        **_identity(plan),
        "files": [
            {
                "path": file.path,
                "bytes": file.bytes,
                "sha256": file.sha256,
                "duration_s": file.duration_s,
            }
            for file in result.files
        ],
        "segments": {
            name: getattr(result.segments, name)
            for name in ("total", "rendered", "reused", "retried", "failed")
        },
        "condemned": len(flagged),
        "condemned_segments": flagged[:_MOST_IDS],
        "pcm_sha256": result.pcm_sha256,
        "loudness": dict(result.loudness),
        "rtf": round(result.rtf, 4),
        "wall_s": round(result.wall_s, 1),
        **spent.as_dict(),
    }
    _emit(BOOK_DONE, _book(plan), payload)


@dataclass(slots=True)
class FailureReport:
    """What is known of a book when it fails; `plan` is set as soon as there is one."""

    label: str
    plan: Plan | None = None


@contextmanager
def reporting_failure(label: str) -> Iterator[FailureReport]:
    """Tell when the block fails, and raise what it raised; a render that was stopped is no failure.

    Parameters
    ----------
    label : str
        What people know the book by before it is planned.
    """
    report = FailureReport(label)
    try:
        yield report
    except Interrupted:
        raise
    except LoudrError as error:
        said = {"exit_code": error.exit_code, "retryable": error.retryable}
        _failed(report, type(error).__name__, error.message, said)
        raise
    except Exception as error:
        _failed(report, type(error).__name__, str(error), {"exit_code": 1, "retryable": False})
        raise


def book_crashed(flow: "Flow[..., Any]", flow_run: FlowRun, state: State[Any]) -> None:
    """Tell of a render whose process died; the worker calls it, in its own process."""
    request = flow_run.parameters.get("request")
    book = request.get("book") if isinstance(request, dict) else getattr(request, "book", None)
    report = FailureReport(str(book or flow_run.name))
    said = {"exit_code": 1, "retryable": True, "flow_run_id": str(flow_run.id)}
    _failed(report, "crashed", state.message or "the process of the run died", said)


def _failed(report: FailureReport, kind: str, message: str, said: Mapping[str, Any]) -> None:
    plan = report.plan
    payload = {
        **(_identity(plan) if plan else {"book_id": "", "plan_id": "", "title": report.label}),
        "book": report.label,
        "code": kind,
        "message": message[:_MESSAGE],
        **said,
    }
    unplanned = {
        "prefect.resource.id": f"loudr.book.{_slug(report.label)}",
        "prefect.resource.name": report.label,
    }
    resource = {
        **(_book(plan) if plan else unplanned),
        "loudr.code": kind,
        "loudr.retryable": "true" if said["retryable"] else "false",
    }
    _emit(BOOK_FAILED, resource, payload)


def _is_condemned(finding: Any) -> bool:
    return finding.severity == "error" and "segment_id" in finding.where


def _identity(plan: Plan) -> dict[str, str]:
    return {
        "book_id": plan.book_id,
        "plan_id": plan.plan_id,
        "title": str(plan.metadata["title"]),
    }


def _book(plan: Plan) -> dict[str, str]:
    return {
        "prefect.resource.id": f"loudr.book.{plan.book_id}",
        "prefect.resource.name": str(plan.metadata["title"]) or plan.book_id,
        "loudr.plan_id": plan.plan_id,
    }


def _slug(label: str) -> str:
    name = label.rstrip("/").rpartition("/")[2]
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in name)[:80] or "unknown"


def _emit(
    event: str,
    resource: dict[str, str],
    payload: dict[str, Any],
    *,
    related: list[dict[str, str]] | None = None,
) -> None:
    try:
        emit_event(event=event, resource=resource, payload=payload, related=related)
    except Exception:
        logger.warning("the event %s could not be sent", event, exc_info=True)
