"""The declared books, by priority, until all are done or the night is over.

A book that is not finished when the window closes stops cleanly: its takes are in the store, and
the next night goes on behind them. What is wrong with one manifest or book stays with that one.
"""

import logging
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect import flow, runtime
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.client.schemas.objects import State
from prefect.events import emit_event
from prefect.states import Completed

from flows.configuration import Settings, load
from flows.forms import NightlyRequest
from flows.opening import open_settings_store
from flows.places import refuse_relative
from flows.plain_failure import plain_failure
from flows.request import parse_chapters
from flows.studio import Studio, studio
from loudr_core.errors import BookError, ConfigError, LoudrError
from loudr_core.printable import printable
from loudr_core.queue.manifest import Listed, in_order
from loudr_core.queue.night import Night, NightBook, NightState, night_id, read_manifests, summary
from loudr_core.queue.source import check_source, local_file
from loudr_core.queue.window import Window, open_window
from loudr_core.render.book import RenderOptions
from loudr_core.render.speak import Interrupted

__all__ = ["nightly"]

logger = logging.getLogger(__name__)

_LEAST_S = 60.0
"""A book is not begun when less is left of the night."""


def _run_name() -> str:
    return f"nightly {datetime.now(UTC):%Y-%m-%d}"


@flow(name="nightly", flow_run_name=_run_name, persist_result=False)
@plain_failure
def nightly(request: NightlyRequest) -> Any:
    """Render the declared books of a night, and say in the morning what became of them."""
    refuse_relative(manifests=request.manifests, base=request.base, destination=request.dest)
    settings = load(request.profile, voice=request.voice, store=request.store)
    window = open_window(datetime.now(UTC), until=request.until, timezone=request.timezone)
    listed = read_manifests(request.manifests)
    books = [_fault(each) for each in listed if each.entry is None]
    cancel = threading.Event()
    with studio() as here, _closing(window, cancel):
        night = _Work(request, settings, window, cancel, here)
        books += [night.render(each) for each in in_order(listed)]
    _say(books)
    return _state(books)


class _Work:
    """A night under way."""

    def __init__(
        self,
        request: NightlyRequest,
        settings: Settings,
        window: Window,
        cancel: threading.Event,
        here: Studio,
    ) -> None:
        self._request = request
        self._window = window
        self._cancel = cancel
        self._studio = here
        self._ledger = Night(open_settings_store(settings))

    def render(self, listed: Listed) -> NightBook:
        """Render one book, unless there is no time or no need; nothing it does is raised."""
        if self._cancel.is_set() or self._window.left_s(datetime.now(UTC)) < _LEAST_S:
            return _book(listed, "not begun", "the window has closed")
        try:
            return self._render(listed)
        except Interrupted:
            return _book(listed, "unfinished", "the window has closed; it goes on the next night")
        except (BookError, ConfigError) as error:
            return _book(listed, "refused", error.message)
        except LoudrError as error:
            return _book(listed, "failed", error.message)
        except Exception as error:
            logger.exception("%s failed", listed.name)
            return _book(listed, "failed", printable(f"{type(error).__name__}: {error}"))

    def _render(self, listed: Listed) -> NightBook:
        entry, request = listed.entry, self._request
        if entry is None:
            return _fault(listed)
        settings = load(
            entry.profile or request.profile,
            voice=entry.voice or request.voice,
            store=request.store,
        )
        chapters = _chapters(entry.chapters)
        with tempfile.TemporaryDirectory(prefix="loudr-") as aside:
            base = Path(request.base) if request.base else None
            source = local_file(entry.source, Path(aside), base=base)
            found = check_source(source, n_bytes=entry.bytes, sha256=entry.sha256, name=listed.name)
            identity = night_id(
                sha256=found,
                profile=settings.profile.model_dump(mode="json"),
                dest=request.dest,
                chapters=sorted(chapters) if chapters else None,
                allow_gaps=entry.allow_gaps,
            )
            before = None if request.again else self._ledger.finished(identity)
            if before is not None:
                return _book(listed, "done before", result=before)
            result = self._studio.render(
                source,
                settings,
                dest=request.dest,
                options=RenderOptions(chapters=chapters, allow_gaps=entry.allow_gaps),
                cancel=self._cancel,
            ).as_dict()
        self._ledger.finish(identity, result)
        return _book(listed, "done", result=result)


def _chapters(text: str | None) -> frozenset[int] | None:
    try:
        return parse_chapters(text) if text else None
    except ValueError as error:
        raise ConfigError(f"chapters: {error}") from error


def _fault(listed: Listed) -> NightBook:
    return NightBook(name=listed.name, title=listed.title, state="refused", reason=listed.fault)


def _book(listed: Listed, state: NightState, reason: str = "", *, result: Any = None) -> NightBook:
    due = listed.entry.due if listed.entry else None
    done = state in ("done", "done before")
    return NightBook(
        name=listed.name,
        title=listed.title,
        state=state,
        reason=reason,
        result=result,
        late=bool(due and not done and due < datetime.now(UTC)),
    )


@contextmanager
def _closing(window: Window, cancel: threading.Event) -> Iterator[None]:
    """Set `cancel` when the window closes, unless the block has ended by then."""
    left_s = window.left_s(datetime.now(UTC))
    timer = threading.Timer(min(left_s, threading.TIMEOUT_MAX), cancel.set)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _say(books: list[NightBook]) -> None:
    """Make the morning's summary: an artifact, a table and an event."""
    rows = [book.as_dict() for book in books]
    line = summary(books)
    try:
        create_markdown_artifact(key="nightly-summary", markdown=_markdown(books, line))
        if rows:
            table = [{key: str(value) for key, value in row.items()} for row in rows]
            create_table_artifact(key="nightly-books", table=table, description=line)
        emit_event(
            event="loudr.nightly.done",
            resource={
                "prefect.resource.id": f"loudr.nightly.{runtime.flow_run.id}",
                "prefect.resource.name": f"nightly {datetime.now(UTC):%Y-%m-%d}",
            },
            payload={"summary": line, "books": rows},
        )
    except Exception:
        logger.warning("the summary could not be shown: %s", line, exc_info=True)


def _markdown(books: list[NightBook], line: str) -> str:
    said = [f"# The night: {line}", ""]
    for book in books:
        late = ", **past its deadline**" if book.late else ""
        said.append(f"- **{book.title}**: {book.state}{late}. {book.reason}".rstrip())
        if book.result is not None:
            said += [f"  - `{file['path']}`" for file in book.result["files"]]
    return "\n".join(said) + "\n"


def _state(books: list[NightBook]) -> State[Any]:
    """Return the state of the run: completed, by a name that says whether all went well."""
    bad = any(book.state in ("refused", "failed") for book in books)
    rows = [book.as_dict() for book in books]
    return Completed(
        name="With failures" if bad else "Completed",
        message=summary(books),
        data={"summary": summary(books), "books": rows},
    )
