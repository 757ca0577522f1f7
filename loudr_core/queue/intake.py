"""One look into a drop folder: every settled book is claimed once and given to a run.

Pollers may run beside one another and die at any point. A claim is exclusive; one without a run
after a while is submitted again under the same idempotency key, so that a run which was made but
not noted is found, not doubled. A run that ended without a result gets a successor, a few times.
"""

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from loudr_core.book.read import MAX_FILE_BYTES
from loudr_core.errors import LoudrError
from loudr_core.queue.ledger import Entry, Ledger
from loudr_core.queue.status import Outcome, write_status
from loudr_core.queue.watch import Ticket, scan
from loudr_core.store.protocol import ObjectStore

__all__ = ["PollOptions", "PollReport", "Runs", "poll"]

logger = logging.getLogger(__name__)

_CLOCK_STEP_S = 2.0
"""Servers tell the time in whole seconds, and of an object perhaps more exactly."""


_LATE_S = 10.0
"""A status is written after the word in the ledger; one so much older was written before it."""


class Runs(Protocol):
    """Where books are rendered."""

    def submit(self, ticket: Ticket, attempt: int, note: Callable[[str], bool]) -> None:
        """Have a book rendered, and give the run's name to `note`.

        Called with the same ticket and attempt again, it makes no second run. `note` says whether
        the run is the one that counts; what starts work here and now asks it first.

        Parameters
        ----------
        attempt : int
            1 for the first run of a ticket.
        """
        ...

    def ended(self, ticket: Ticket, run: str) -> str:
        """Return why a run will never have a result, empty while it may have one."""
        ...

    def was_stopped(self, ticket: Ticket, run: str) -> bool:
        """Say whether a run that is over was ended with the service that ran it.

        Nothing went wrong with its book then, so it counts as none of the book's runs.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PollOptions:
    """How patient a poller is.

    Parameters
    ----------
    settle_s : float
        A file unchanged for so long is whole.
    stale_s : float
        A claim without a run for so long is submitted again.
    retry_s : float
        Time between a run's start and its successor's, at least.
    attempts : int
        Runs that a book gets; those that ended with their service are not counted.
    """

    settle_s: float = 60.0
    stale_s: float = 600.0
    retry_s: float = 300.0
    attempts: int = 3


@dataclass(slots=True)
class PollReport:
    """What a poll found, by place of the book."""

    submitted: list[str] = field(default_factory=list)
    settling: list[str] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    troubled: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)


def poll(watched: ObjectStore, ledger: Ledger, runs: Runs, options: PollOptions) -> PollReport:
    """Look once, and submit what is settled and nobody's.

    A book that makes trouble is logged and named in the report, and keeps no other from its turn.

    Parameters
    ----------
    watched : ObjectStore
        The drop folder.

    Raises
    ------
    StoreError
        The drop folder or the ledger cannot be listed.
    """
    now = watched.now_s()
    found = scan(watched)
    known = ledger.read()
    report = PollReport(ignored=found.strange, troubled=found.unusable)
    for line in found.unusable:
        logger.warning("%s", line)
    for ticket in found.tickets:
        entry = known.get(ticket.id, Entry())
        look = _Look(watched, ledger, runs, options, report)
        told_s = found.told_s.get(ticket.key)
        try:
            look.at(ticket, entry, age_s=now - ticket.touched_s)
            if entry.done and told_s is not None and now - told_s > entry.done_s + _LATE_S:
                look.tell_again(ticket)
        except LoudrError as error:
            logger.warning("%s: %s", ticket.place, error.message)
            report.troubled.append(f"{ticket.place}: {error.message}")
    return report


@dataclass(frozen=True, slots=True)
class _Look:
    watched: ObjectStore
    ledger: Ledger
    runs: Runs
    options: PollOptions
    report: PollReport

    def at(self, ticket: Ticket, entry: Entry, *, age_s: float) -> None:
        if entry.done:
            self.report.finished.append(ticket.place)
        elif entry.attempts:
            self._look_after(ticket, entry)
        elif entry.claimed_s is not None:
            if entry.claimed_s < self.options.stale_s:
                self.report.running.append(ticket.place)
            else:
                self._submit(ticket, 1)
        elif not self._settled(ticket, entry, age_s):
            self.report.settling.append(ticket.place)
        elif self.ledger.claim(ticket.id, {"ticket": ticket.as_dict()}):
            self._take(ticket)
        else:
            self.report.running.append(ticket.place)

    def tell_again(self, ticket: Ticket) -> None:
        """Write the status that could not be written when the book was done."""
        said = self.ledger.outcome_of(ticket.id)
        state, reason = said.pop("state", None), said.pop("reason", "")
        if state is not None:
            write_status(self.watched, ticket, Outcome(state=state, reason=reason, result=said))

    def _settled(self, ticket: Ticket, entry: Entry, age_s: float) -> bool:
        """Say whether nothing has changed for long enough.

        A file brings its own time into a folder, and that may lie in the future; then it counts
        from when we first saw this version.
        """
        if age_s >= -_CLOCK_STEP_S:
            return max(0.0, age_s) >= self.options.settle_s
        seen_s = entry.ages_s.get("seen")
        if seen_s is None:
            self.ledger.see(ticket.id)
            return self.options.settle_s == 0
        return seen_s >= self.options.settle_s

    def _take(self, ticket: Ticket) -> None:
        if ticket.size > MAX_FILE_BYTES:
            self._end(
                ticket,
                Outcome(
                    state="refused",
                    reason=f"{ticket.size} bytes are more than {MAX_FILE_BYTES}: it is not a book",
                ),
            )
            return
        write_status(self.watched, ticket, Outcome(state="queued"))
        self._submit(ticket, 1)

    def _submit(self, ticket: Ticket, attempt: int) -> None:
        self.runs.submit(
            ticket, attempt, lambda run: self.ledger.submitted(ticket.id, attempt, run)
        )
        self.report.submitted.append(ticket.place)

    def _look_after(self, ticket: Ticket, entry: Entry) -> None:
        """Give a successor to a run that ended without a word, or give up."""
        attempt = entry.attempts
        run = self.ledger.run_of(ticket.id, attempt)
        cause = self.runs.ended(ticket, run)
        stopped = bool(cause) and self.runs.was_stopped(ticket, run)
        if not cause or (entry.submitted_s < self.options.retry_s and not stopped):
            self.report.running.append(ticket.place)
        elif self.ledger.is_done(ticket.id):  # it spoke after we had read the ledger
            self.report.finished.append(ticket.place)
        elif attempt < self.options.attempts or self._has_runs_left(ticket, attempt):
            logger.warning("%s: run %d ended: %s", ticket.place, attempt, cause)
            self._submit(ticket, attempt + 1)
        else:
            self._end(
                ticket,
                Outcome(
                    state="failed",
                    reason=f"{attempt} runs ended without a result, the last one so: {cause}; "
                    "put the file again to try anew",
                ),
            )

    def _has_runs_left(self, ticket: Ticket, attempts: int) -> bool:
        """Count again, without the runs that a restart of the service ended."""
        runs = [self.ledger.run_of(ticket.id, number + 1) for number in range(attempts)]
        failed = sum(not self.runs.was_stopped(ticket, run) for run in runs)
        return failed < self.options.attempts

    def _end(self, ticket: Ticket, outcome: Outcome) -> None:
        if self.ledger.finish(ticket.id, outcome.as_dict()):
            write_status(self.watched, ticket, outcome)
        self.report.given_up.append(f"{ticket.place}: {outcome.reason}")
