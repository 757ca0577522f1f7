"""Whether the voice of a plan can say its text: languages, and letters that it cannot read."""

from collections import Counter
from collections.abc import Sequence

from loudr_core.errors import BookError
from loudr_core.findings import Finding
from loudr_core.jobs.table import Job
from loudr_core.speech.koko.reading import unsupported_characters
from loudr_core.speech.legible import unreadable
from loudr_core.speech.tags import primary_subtag
from loudr_core.text.model import Segment

__all__ = [
    "UNREADABLE",
    "foreign_findings",
    "spoken_language",
    "unreadable_findings",
    "unsaid_findings",
]

UNREADABLE = "plan-unreadable"
"""Code of a finding that names a segment which no seed makes audible."""

_SHOWN = 40
_MOST_NAMED = 6


def foreign_findings(
    segments: Sequence[Segment],
    *,
    engine: str,
    languages: frozenset[str],
    whose: str | None = None,
) -> list[Finding]:
    """Return a finding for each language that the engine reads with the rules of another.

    Parameters
    ----------
    segments : sequence of Segment
        What the engine is to read: the book, or the chapters of one voice.
    whose : str, optional
        Name of that voice, empty for the narrator's; None where the book has one voice.

    Raises
    ------
    BookError
        More than half of it is in such languages.
    """
    characters: Counter[str] = Counter()
    for segment in segments:
        characters[segment.language] += len(segment.spoken)
    foreign = {
        language: count
        for language, count in sorted(characters.items())
        if primary_subtag(language) not in languages
    }
    if sum(foreign.values()) * 2 > characters.total():
        most = max(foreign, key=lambda language: foreign[language])
        what = (
            "the book is" if whose is None else f"most of what {whose or 'the narrator'} reads is"
        )
        raise BookError(
            f"{what} in {most!r}, and engine {engine!r} speaks "
            f"{', '.join(sorted(languages))}: choose another engine, or say --language "
            "if the book names its language wrongly",
            language=most,
        )
    return [
        Finding(
            code="plan-language",
            severity="warning",
            message=f"{count} characters are in {language!r}, which {engine} does not "
            "speak: they are read with its own rules",
            where={"language": language, "characters": count},
        )
        for language, count in foreign.items()
    ]


def unreadable_findings(jobs: Sequence[Job]) -> list[Finding]:
    """Return an error for each segment whose text its engine cannot read, whatever the seed.

    Raises
    ------
    BookError
        That is more than half of the book.
    """
    found = []
    silent = 0
    for job in jobs:
        reason = "" if job.phonemes else unreadable(job.engine, job.spoken, job.language)
        if not reason:
            continue
        silent += len(job.spoken)
        found.append(_silent(job, reason))
    if silent * 2 > sum(len(job.spoken) for job in jobs):
        raise BookError(
            f"engine {_engine_of(jobs, found[0])!r} cannot read most of the book "
            f"({found[0].message}): "
            "choose another engine",
            segments=len(found),
        )
    return found


def unsaid_findings(jobs: Sequence[Job], *, alphabet: frozenset[str] | None) -> list[Finding]:
    """Return an error for each segment with characters that its engine refuses it for.

    Segments that `unreadable_findings` names are left to it.

    Parameters
    ----------
    jobs : sequence of Job
        Of one engine.
    alphabet : frozenset of str, optional
        `EngineLimits.alphabet` of that engine.
    """
    if alphabet is None:
        return []
    found = []
    for job in jobs:
        missing = "" if job.phonemes else unsupported_characters(job.spoken, alphabet)
        if missing and not unreadable(job.engine, job.spoken, job.language):
            found.append(_silent(job, f"the voice has no character for {_named(missing)}"))
    return found


def spoken_language(language: str, languages: frozenset[str]) -> str:
    """Return the language that an engine is asked for: the text's, if it speaks that."""
    if primary_subtag(language) in languages or not languages:
        return language
    return "en" if "en" in languages else min(languages)


def _silent(job: Job, reason: str) -> Finding:
    shown = job.text if len(job.text) <= _SHOWN else job.text[:_SHOWN] + "…"
    return Finding(
        code=UNREADABLE,
        severity="error",
        message=f"{reason}: {shown!r}",
        where={"segment_id": job.segment_id, "chapter": job.chapter},
    )


def _named(characters: str) -> str:
    """Return a few characters with their code points: some of them are not seen."""
    named = [f"{each} U+{ord(each):04X}" for each in characters[:_MOST_NAMED]]
    more = len(characters) - _MOST_NAMED
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def _engine_of(jobs: Sequence[Job], finding: Finding) -> str:
    """Return the engine of the segment that a finding names."""
    segment = finding.where["segment_id"]
    return next(job.engine for job in jobs if job.segment_id == segment)
