"""Looks after a render under way: its page, its progress bar, its events, its numbers.

A thread of its own looks every few seconds; the render itself knows nothing of it. What it cannot
show is logged, and never stops a book.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

from flows import artifacts, metrics
from flows.artifacts import BookArtifacts
from flows.costs import Price, Spent
from flows.events import CondemnedSegments, FailureReport, book_done
from loudr_core.jobs.plan import Plan
from loudr_core.render.book import BookRender
from loudr_core.render.finish import Mastered, levels_json
from loudr_core.render.result import RenderResult

__all__ = ["Watch", "pause_s", "watching"]

logger = logging.getLogger(__name__)

_BAR_S = 3.0
_MOST_S = 30.0
_SHARE = 0.01
"""Of the time so far between two looks: each change of an artifact is a row and an event on the
server, and a long book need not have more of them than a short one."""
_PAGES = 5
"""Looks for each change of the page."""


class Watch:
    """What is shown and told of one render.

    Parameters
    ----------
    render : BookRender
    report : FailureReport
        Told of the plan, for the event of a book that fails.
    price : Price
    on_stage : callable
        Told the name of each stage, too.
    """

    def __init__(
        self,
        render: BookRender,
        report: FailureReport,
        price: Price,
        on_stage: Callable[[str], None],
    ) -> None:
        self._render = render
        self._report = report
        self._price = price
        self._on_stage = on_stage
        self._stage = "planning"
        self._page: BookArtifacts | None = None
        self._condemned: CondemnedSegments | None = None
        self._bar: UUID | None = None
        self._shown = -1
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="watch", daemon=True)

    def planned(self, plan: Plan) -> None:
        """Show the plan, and begin to look."""
        self._report.plan = plan
        self._page = BookArtifacts(plan)
        self._page.show_plan()
        self._bar = artifacts.start_progress(f"segments of {self._render.label}")
        self._thread.start()

    def stage(self, name: str) -> None:
        """Say which stage runs now."""
        self._stage = name
        self._on_stage(name)
        self._show_page()

    def given_out(self) -> None:
        """Tell of condemned segments from now on; what was finished before is known."""
        plan = self._report.plan
        if plan is not None:
            found = self._render.found
            self._condemned = CondemnedSegments(plan, self._render.jobs, found=found)

    def finished(self, result: RenderResult, mastered: Mastered, *, report: str = "") -> None:
        """Show and tell that the book is delivered.

        Parameters
        ----------
        report : str
            Where the listening report lies, if it was written.
        """
        self._end()
        plan, spent = self._report.plan, self._spent()
        if plan is None or self._page is None:
            return
        levels = levels_json(mastered)
        self._page.show_result(
            result, self._render.jobs, self._render.choices, levels, spent, report=report
        )
        book_done(plan, result, spent)

    def close(self) -> None:
        """Stop looking, and show how far it came."""
        self._end()

    def _end(self) -> None:
        if self._done.is_set():
            return
        self._done.set()
        if self._thread.is_alive():
            self._thread.join()
        self._look()
        if self._condemned is not None:
            self._condemned.close()

    def _loop(self) -> None:
        started, looks = time.monotonic(), 0
        while not self._done.wait(pause_s(time.monotonic() - started)):
            self._look()
            if looks % _PAGES == 0:
                self._show_page()
            looks += 1

    def _look(self) -> None:
        try:
            counts = self._render.progress.now()
            if counts.done != self._shown:
                self._shown = counts.done
                artifacts.update_progress(self._bar, counts)
            if self._condemned is not None:
                for code in self._condemned.look(self._render.choices):
                    metrics.count_finding(code)
        except Exception:
            logger.warning("a look at the render went wrong", exc_info=True)

    def _show_page(self) -> None:
        if self._page is None:
            return
        counts = self._render.progress.now()
        self._page.show_stage(self._stage, counts, self._spent())
        if self._condemned is not None and self._condemned.total:
            self._page.show_findings(self._render.jobs, self._render.choices)

    def _spent(self) -> Spent:
        return Spent.of(self._render.progress.now(), self._price)


def pause_s(running_s: float) -> float:
    """Return how long to wait before the next look at a render that has run for so long."""
    return min(_MOST_S, max(_BAR_S, running_s * _SHARE))


@contextmanager
def watching(
    render: BookRender,
    report: FailureReport,
    price: Price,
    on_stage: Callable[[str], None],
) -> Iterator[Watch]:
    """Look after a render while the block runs, and count what becomes of its book."""
    watch = Watch(render, report, price, on_stage)
    try:
        with metrics.counting(render):
            yield watch
    finally:
        watch.close()
