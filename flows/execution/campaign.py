"""Runs of shards below one folder of the store, until nothing is missing.

One thread calls `round` every few seconds. A round reads what the runs have written, looks how
they are, and asks for those that are due. Whoever waits for segments is told through `Listener`.
When the store or the Prefect server does not answer, a campaign waits, and does not take silence
for death.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from flows.execution.shard_runs import ShardRuns, Unreachable
from flows.shard_request import ShardRequest
from loudr_core.errors import DeviceError, LoudrError, StoreUnavailable, SynthesisError
from loudr_core.render.reconcile import Board, ReconcileRule, ShardStanding
from loudr_core.render.shard_files import Entry, JournalReader
from loudr_core.store.protocol import ObjectStore

__all__ = ["Campaign", "Listener", "Terms"]

logger = logging.getLogger(__name__)

_LONELY_S = 60.0
"""A shard that nobody takes for so long is worth a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How shards are given out.

    Parameters
    ----------
    rule : ReconcileRule
    shard_audio_s : float
        Estimated audio of the smallest shards: what is worth a process and an engine's load.
    poll_s : float
        Seconds from round to round.
    outage_s : float
        How long the server or the store may not answer.
    """

    rule: ReconcileRule
    shard_audio_s: float = 1800.0
    poll_s: float = 2.0
    outage_s: float = 600.0


class Listener(Protocol):
    """Whoever gave a campaign its shards. Called in the campaign's thread."""

    def hear(self, entry: Entry) -> None:
        """Learn what a run has written."""
        ...

    def confirm(self, shard: ShardStanding) -> None:
        """Look into the store for what a run did not live to say, and mark it on the board."""
        ...

    def give_up(self, shard: ShardStanding, error: LoudrError) -> None:
        """Learn that a shard is not tried again, and clear it from the board."""
        ...


class Campaign:
    """Runs of shards, given out again as often as the rule allows.

    Parameters
    ----------
    store : ObjectStore
    folder : str
        Store prefix below which the shards' files lie.
    owner : str
    runs : ShardRuns
    terms : Terms
    request : callable
        Shard, as it stands, to what its next run is asked for.
    listener : Listener
    """

    def __init__(
        self,
        store: ObjectStore,
        folder: str,
        *,
        owner: str,
        runs: ShardRuns,
        terms: Terms,
        request: Callable[[ShardStanding], ShardRequest],
        listener: Listener,
    ) -> None:
        self.board = Board()
        self._folder, self._owner = folder, owner
        self._runs, self._terms = runs, terms
        self._request, self._listener = request, listener
        self._reader = JournalReader(store, folder)
        self._run_of: dict[int, str] = {}
        self._errors: dict[int, LoudrError] = {}
        self._lonely_since = time.monotonic()
        self._dark_since: float | None = None

    def round(self) -> None:
        """Look once and do what is to be done.

        Raises
        ------
        LoudrError
            The store refuses, or store or server did not answer for too long.
        """
        try:
            self._listen()
            self._look()
            self._excuse()
            self._act()
            self._see_again()
        except (Unreachable, StoreUnavailable) as error:
            self._bear(error)

    def end(self) -> None:
        """Call off what is not needed: runs that wait, and those that work on what is missing."""
        shards = self.board.shards
        runs = {run: bool(shards[number].missing) for number, run in self._run_of.items()}
        try:
            views = self._runs.look(runs)
            self._runs.call_off(
                run
                for run, view in views.items()
                if view.phase == "waiting" or (view.phase != "ended" and runs[run])
            )
        except Unreachable as error:
            logger.warning("%s: runs of %s may go on", error, self._folder)

    def _listen(self) -> None:
        now = time.monotonic()
        for entry in self._reader.read_new():
            shard = self.board.shards.get(entry.shard)
            if entry.owner == self._owner and shard is not None:
                if entry.attempt == shard.attempt:
                    shard.hear(now)
                if entry.error is not None:
                    self._errors[shard.number] = entry.error
            for outcome in entry.outcomes:
                self.board.finish(outcome.job_key)
            self._listener.hear(entry)

    def _look(self) -> None:
        shards = self.board.shards
        open_runs = {
            run: shards[number]
            for number, run in self._run_of.items()
            if shards[number].missing and shards[number].phase != "ended"
        }
        if not open_runs:
            return
        views = self._runs.look(open_runs)
        now = time.monotonic()
        for run, shard in open_runs.items():
            if run in views:
                shard.see(views[run].phase, now, views[run].cause)
            else:
                shard.see("ended", now, "its record is gone from the Prefect server")
        self._mind_loneliness(now)

    def _act(self) -> None:
        rule = self._terms.rule
        for number in self.board.steps(time.monotonic(), rule):
            if self.board.shards[number].attempt:
                self._listener.confirm(self.board.shards[number])
        for number, step in self.board.steps(time.monotonic(), rule).items():
            shard = self.board.shards[number]
            if step == "give up":
                self._listener.give_up(shard, self._why(shard))
                continue
            if shard.attempt:
                logger.warning(
                    "shard %d of %s, run %d: %s; its %d missing segments are given out again",
                    number,
                    self._folder,
                    shard.attempt,
                    shard.cause or "it ended and did not say why",
                    len(shard.missing),
                )
            if step == "replace":
                self._runs.call_off([self._run_of[number]])
            self._submit(shard)

    def _submit(self, shard: ShardStanding) -> None:
        before = shard.attempt
        shard.submitted(time.monotonic())
        try:
            self._run_of[shard.number] = self._runs.submit(self._request(shard))
        except Unreachable:
            # The same key is asked for again, and finds the run if it was made after all.
            shard.attempt, shard.phase = before, "ended"
            raise

    def _why(self, shard: ShardStanding) -> LoudrError:
        said = self._errors.get(shard.number)
        if said is not None:
            return said
        return SynthesisError(
            f"shard {shard.number} of {self._folder} was given up after {shard.attempt} runs, "
            f"the last one: {shard.cause or 'it did not say why'}; see its log in Prefect, and "
            "run again to go on",
            shard=shard.number,
        )

    def _mind_loneliness(self, now: float) -> None:
        if any(shard.phase not in ("waiting", "ended") for shard in self.board.shards.values()):
            self._lonely_since = now
        elif now - self._lonely_since > _LONELY_S:
            self._lonely_since = now + 9 * _LONELY_S  # said again, but not all night long
            logger.warning(
                "no worker has taken a shard of %s for a minute: is one running?", self._folder
            )

    def _bear(self, error: Unreachable | LoudrError) -> None:
        """Put up with an outage for a while."""
        now = time.monotonic()
        if self._dark_since is None:
            self._dark_since = now
            logger.warning("%s; trying on", error)
        if now - self._dark_since > self._terms.outage_s:
            if isinstance(error, LoudrError):
                raise error
            raise DeviceError(f"{error}: see that it runs, and run again to go on") from error

    def _excuse(self) -> None:
        """After an outage, give every run the time in which it could not be heard."""
        if self._dark_since is not None:
            now = time.monotonic()
            for shard in self.board.shards.values():
                shard.moved_at = now

    def _see_again(self) -> None:
        if self._dark_since is not None:
            logger.warning("all answer again after %.0f s", time.monotonic() - self._dark_since)
            self._dark_since = None
