"""What a worker is asked for and what it answers: a segment, its attempts, the take that counts.

A worker knows keys of the store and no book. The keys come from `jobs.keys`, which speech does not
import: whoever gives an order has computed them.
"""

from dataclasses import dataclass
from typing import Any, Literal

from loudr_core.findings import Finding

__all__ = ["Attempt", "Choice", "Order", "Outcome", "TakeResult", "audio_key"]

Status = Literal["ok", "suspect", "failed"]


def audio_key(take_key: str) -> str:
    """Return the store key under which a take's FLAC lies."""
    return f"audio/{take_key[:2]}/{take_key}.flac"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One rendering that may be made of a segment."""

    number: int
    seed: int
    take_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One segment to speak: make takes in the order of `attempts` until one is good."""

    id: str
    job_key: str
    choice_key: str
    """Store key of the choice object."""
    text: str
    language: str
    voice: str
    attempts: tuple[Attempt, ...]
    speed: float = 1.0
    phonemes: str | None = None
    est_audio_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeResult:
    """What one attempt came to; the row of the results table and the FLAC's own tag."""

    segment_id: str
    job_key: str
    take_key: str
    attempt: int
    seed: int
    status: Status
    n_samples: int
    sample_rate_hz: int
    pcm_sha256: str
    tokens: int
    windows: int
    findings: tuple[Finding, ...]
    compute_s: float
    worker: str
    fingerprint: str
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The take that counts for a job under one detector policy. A job is finished when it exists.

    `status` is `ok` without a finding of severity error, `suspect` when every attempt had one and
    the least bad take was kept, `failed` when no attempt gave samples; then `take_key` is empty.
    """

    job_key: str
    status: Status
    take_key: str
    attempt: int
    seed: int
    n_samples: int
    sample_rate_hz: int
    pcm_sha256: str
    findings: tuple[Finding, ...]
    error: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form; the seed as a decimal string, since JSON readers round integers."""
        return {
            "job_key": self.job_key,
            "status": self.status,
            "take_key": self.take_key,
            "attempt": self.attempt,
            "seed": str(self.seed),
            "n_samples": self.n_samples,
            "sample_rate_hz": self.sample_rate_hz,
            "pcm_sha256": self.pcm_sha256,
            "findings": [finding.as_dict() for finding in self.findings],
            "error": self.error,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Choice":
        """Return the choice whose `as_dict` is `data`."""
        return cls(
            **{
                **data,
                "seed": int(data["seed"]),
                "findings": tuple(Finding.from_dict(item) for item in data["findings"]),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A worker's answer to an order."""

    id: str
    job_key: str
    choice: Choice
    rendered: int
    """Takes that were synthesised for this answer."""
    reused: int
    """Takes that were in the store already."""
    results: tuple[TakeResult, ...]
