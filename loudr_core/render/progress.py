"""How far a render is: counts that one lock guards and any thread may read."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from loudr_core.speech.orders import Outcome

__all__ = ["Counts", "Progress"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """A moment of a render.

    Parameters
    ----------
    total, reused, rendered, failed : int
        Segments of the book; found finished; spoken by this run; without audio.
    retried : int
        Takes beyond the first of a segment, made by this run.
    suspect : int
        Segments whose best take still has an error finding.
    audio_s, compute_s : float
        Seconds of audio made by this run, and seconds its engines worked for it.
    wall_s : float
        Seconds since the first order was given.
    audio_left_s : float
        Estimated seconds of audio still to make.
    engine : str
        Whose answer came last, as people read it; empty for a book of one engine.
    """

    total: int = 0
    reused: int = 0
    rendered: int = 0
    retried: int = 0
    suspect: int = 0
    failed: int = 0
    audio_s: float = 0.0
    compute_s: float = 0.0
    wall_s: float = 0.0
    audio_left_s: float = 0.0
    engine: str = ""

    @property
    def done(self) -> int:
        """Segments that need nothing more."""
        return self.reused + self.rendered + self.failed

    @property
    def rtf(self) -> float:
        """Real-time factor so far: wall seconds per second of audio; 0 before the first take."""
        return self.wall_s / self.audio_s if self.audio_s else 0.0

    @property
    def eta_s(self) -> float:
        """Seconds until the last take at the present pace."""
        return self.audio_left_s * self.rtf


@dataclass(slots=True)
class Progress:
    """The counts of one render under way."""

    clock: Callable[[], float] = time.monotonic
    _counts: Counts = field(default_factory=Counts)
    _started: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, *, total: int, reused: int, audio_left_s: float) -> None:
        """Start counting: `reused` segments of `total` are finished already."""
        with self._lock:
            self._started = self.clock()
            self._counts = Counts(total=total, reused=reused, audio_left_s=audio_left_s)

    def add(self, outcome: Outcome, *, segments: int, est_audio_s: float, engine: str = "") -> None:
        """Count an answer of an engine that finishes `segments` segments with equal words."""
        choice, before = outcome.choice, self._counts
        spoken = outcome.rendered > 0
        rate = max(1, choice.sample_rate_hz)
        with self._lock:
            before = self._counts
            self._counts = replace(
                before,
                rendered=before.rendered + (segments if spoken and choice.take_key else 0),
                reused=before.reused + (0 if spoken or not choice.take_key else segments),
                failed=before.failed + (0 if choice.take_key else segments),
                suspect=before.suspect + (segments if choice.status == "suspect" else 0),
                retried=before.retried + max(0, outcome.rendered - 1),
                audio_s=before.audio_s + (choice.n_samples / rate if spoken else 0.0),
                compute_s=before.compute_s + sum(row.compute_s for row in outcome.results),
                audio_left_s=max(0.0, before.audio_left_s - est_audio_s),
                engine=engine,
            )

    def now(self) -> Counts:
        """Return the counts of this moment."""
        with self._lock:
            counts, started = self._counts, self._started
        if started is None or counts.done >= counts.total:
            return counts if counts.wall_s or started is None else self._stop(started)
        return replace(counts, wall_s=self.clock() - started)

    def _stop(self, started: float) -> Counts:
        """Freeze the wall time at the moment at which the last segment was seen finished."""
        with self._lock:
            self._counts = replace(self._counts, wall_s=max(self.clock() - started, 1e-9))
            return self._counts
