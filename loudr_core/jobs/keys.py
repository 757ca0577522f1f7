"""Seeds and keys: what a segment is spoken with, and under which names its audio lies.

A key is the SHA-256 of canonical JSON, so it depends on nothing but what it names: no path, no
time, no place in the book.
"""

from loudr_core.canonical import digest, low64
from loudr_core.seeds import derive

__all__ = [
    "MAX_ATTEMPTS",
    "attempt_seed",
    "choice_key",
    "derive",
    "job_key",
    "override_key",
    "segment_seed",
    "take_key",
]

MAX_ATTEMPTS = 3
"""Renderings of one segment outside an engine's own retries."""

_ATTEMPT_STREAM = 1 << 20


def segment_seed(
    *,
    book_seed: int,
    engine: str,
    voice: str,
    language: str,
    spoken: str,
    phonemes: str | None,
) -> int:
    """Return the base seed of a segment: equal words in one voice of one book share a take."""
    return low64(["loudr-seed-1", book_seed, engine, voice, language, spoken, phonemes])


def attempt_seed(seed: int, attempt: int) -> int:
    """Return the seed of an attempt: the base seed itself for attempt 0."""
    return seed if attempt == 0 else derive(seed, _ATTEMPT_STREAM + attempt)


def take_key(
    *,
    fingerprint: str,
    voice_sha256: str,
    language: str,
    spoken: str,
    phonemes: str | None,
    seed: int,
    speed: float,
) -> str:
    """Return the name of one rendering; `seed` is the attempt's own."""
    return digest(
        ["take-1", fingerprint, voice_sha256, language, spoken, phonemes, seed, float(speed)]
    )


def job_key(
    *,
    fingerprint: str,
    voice_sha256: str,
    language: str,
    spoken: str,
    phonemes: str | None,
    seed: int,
    speed: float,
) -> str:
    """Return the name of a job: the take key of its base seed."""
    return take_key(
        fingerprint=fingerprint,
        voice_sha256=voice_sha256,
        language=language,
        spoken=spoken,
        phonemes=phonemes,
        seed=seed,
        speed=speed,
    )


def choice_key(job: str, policy_digest: str) -> str:
    """Return the store key of the choice made for a job under a detector policy."""
    return f"choice/{job[:2]}/{job}-{policy_digest[:16]}.json"


def override_key(spoken: str, voice: str, before: str, after: str) -> str:
    """Return the name under which a seed given by hand is kept, so that it survives re-planning.

    Parameters
    ----------
    spoken, voice : str
        Of the segment.
    before, after : str
        `spoken` of its neighbours, empty at an end of the book.
    """
    return digest(["override-1", spoken, voice, before, after])
