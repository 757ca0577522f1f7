"""What to do next about the shards of a book that machines elsewhere speak.

Truth is which segments have a choice in the store. A run is only somebody's promise to work on
them: it may end, or go silent because its machine died, which nobody reports. A shard whose run has
ended with segments missing, or that has not been heard of for the stall time, is given out again;
the run before it may be alive, which costs at most the segments both have in hand. Pure: time and
what was seen come in, the next step comes out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from loudr_core.speech.orders import Order

__all__ = ["Board", "ReconcileRule", "RunPhase", "ShardStanding", "Step"]

RunPhase = Literal["waiting", "starting", "running", "ended"]
"""Of a run: nobody has taken it; somebody has; it works; it will do no more."""
Step = Literal["done", "wait", "submit", "replace", "give up"]
"""About a shard: `replace` is `submit` for one whose run has gone silent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileRule:
    """When a shard is given out again.

    Parameters
    ----------
    stall_s : float
        Seconds without a sign of life from a run that has begun to answer; it gives one every few
        seconds, however long a segment takes.
    start_s : float
        The same for a run that was taken and has not answered yet: its process starts.
    attempts : int
        Runs that a shard gets.
    """

    stall_s: float = 30.0
    start_s: float = 300.0
    attempts: int = 3


@dataclass(slots=True, kw_only=True, eq=False)
class ShardStanding:
    """What is known of one shard.

    Parameters
    ----------
    number : int
    missing : dict of str to float
        Job key to estimated seconds of audio, of the segments without a choice.
    attempt : int
        Of the latest run; 0 when there was none.
    phase : RunPhase
        Of the latest run.
    moved_at : float
        When it last did something, on the clock of whoever calls.
    answered : bool
        Whether the latest run has said anything.
    cause : str
        Why the latest run ended, as far as that is known.
    """

    number: int
    missing: dict[str, float]
    attempt: int = 0
    phase: RunPhase = "ended"
    moved_at: float = 0.0
    answered: bool = False
    cause: str = ""

    def submitted(self, now: float) -> None:
        """Note that a new run was asked for."""
        self.attempt += 1
        self.phase, self.moved_at, self.answered, self.cause = "waiting", now, False, ""

    def see(self, phase: RunPhase, now: float, cause: str = "") -> None:
        """Note in which phase the latest run was found."""
        if phase != self.phase:
            self.phase, self.moved_at = phase, now
        self.cause = cause or self.cause

    def hear(self, now: float) -> None:
        """Note that the latest run has written something new."""
        self.moved_at, self.answered = now, True

    def next_step(self, now: float, rule: ReconcileRule) -> Step:
        """Return what is to be done at this moment."""
        if not self.missing:
            return "done"
        last = self.attempt >= rule.attempts
        if self.phase == "ended":
            return "give up" if last else "submit"
        if self.phase != "waiting" and now - self.moved_at > self._patience(rule):
            self.cause = f"nothing new for {now - self.moved_at:.0f} s"
            return "give up" if last else "replace"
        return "wait"

    def _patience(self, rule: ReconcileRule) -> float:
        return rule.stall_s if self.answered else rule.start_s


@dataclass(slots=True, eq=False)
class Board:
    """The shards of one book, and which of them each segment belongs to."""

    shards: dict[int, ShardStanding] = field(default_factory=dict)
    _shard_of: dict[str, int] = field(default_factory=dict)

    def add(self, orders: Iterable[Order]) -> ShardStanding:
        """Take a shard in, under the next number."""
        missing = {order.job_key: order.est_audio_s for order in orders}
        shard = ShardStanding(number=len(self.shards), missing=missing)
        self.shards[shard.number] = shard
        self._shard_of.update(dict.fromkeys(missing, shard.number))
        return shard

    def finish(self, job_key: str) -> bool:
        """Note that a segment is finished; say whether it was still missing."""
        shard = self.shards.get(self._shard_of.get(job_key, -1))
        return shard is not None and shard.missing.pop(job_key, None) is not None

    def steps(self, now: float, rule: ReconcileRule) -> Mapping[int, Step]:
        """Return shard number to what is to be done, where that is not waiting."""
        steps = {number: shard.next_step(now, rule) for number, shard in self.shards.items()}
        return {number: step for number, step in steps.items() if step not in ("wait", "done")}

    @property
    def missing(self) -> int:
        """Segments that are not finished."""
        return sum(len(shard.missing) for shard in self.shards.values())
