"""The phonemes of a plan: what a profile and a command give, and what the front ends here read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from loudr_core.errors import LoudrError, SynthesisError
from loudr_core.jobs.phoneme_table import PhonemeRow, read_phoneme_table
from loudr_core.jobs.phonemes import PhonemeSource
from loudr_core.jobs.plan import Plan
from loudr_core.jobs.pronouncing import phonemes_of
from loudr_core.jobs.table import Job
from loudr_core.settings import Profile
from loudr_core.speech.front_ends import FRONT_ENDS, FrontEnd, open_front_end
from loudr_core.text.lexicon import Lexicon

__all__ = ["ReadRow", "phoneme_source", "read_phonemes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRow:
    """A row of a table of phonemes, and why its phonemes are missing; empty when they are there."""

    row: PhonemeRow
    reason: str = ""


def phoneme_source(
    table: Path | None, profile: Profile, voices: Mapping[str, str]
) -> PhonemeSource:
    """Return where the phonemes of a plan come from.

    Parameters
    ----------
    table : Path, optional
        As `loudr phonemes` makes it.
    profile : Profile
        Its pronunciations are read with the front ends of its engines.
    voices : mapping of str to str
        Fingerprint of an engine to the name of a voice of the profile that it speaks.

    Raises
    ------
    ConfigError
        The table cannot be read, or a pronunciation has no sound.
    """
    return PhonemeSource(
        None if table is None else read_phoneme_table(table),
        _pronunciations(profile),
        lambda fingerprint: _front_end(profile, voices[fingerprint]),
    )


def read_phonemes(plan: Plan, jobs: Sequence[Job]) -> Iterator[ReadRow]:
    """Yield a row for each text of a plan, read with the front ends of this machine.

    Segments of equal words share a row; it has the id of the first. A segment that was planned with
    phonemes keeps them.

    Parameters
    ----------
    plan : Plan
        Words of its profile's pronunciations are as they are there.
    jobs : sequence of Job
        Those of an engine that takes no phonemes are passed over, unless all are.

    Raises
    ------
    ConfigError, BundleError, DeviceError
        A front end cannot be opened.
    """
    profile = Profile.model_validate(dict(plan.profile))
    pronunciations = _pronunciations(profile)
    taking = [job for job in jobs if job.engine in FRONT_ENDS]
    voice_of = {chapter.number: chapter.voice for chapter in plan.chapters}
    names = dict.fromkeys(voice_of[job.chapter] for job in taking or jobs)
    fronts = {name: _front_end(profile, name) for name in names}
    seen: set[tuple[str, str, str | None]] = set()
    for job in taking:
        key = (job.language, job.spoken, job.phonemes)
        if key in seen:
            continue
        seen.add(key)
        phonemes, reason = job.phonemes, ""
        if phonemes is None:
            try:
                front = fronts[voice_of[job.chapter]]
                phonemes = phonemes_of(job.spoken, job.language, front, pronunciations)
                if not phonemes.strip():
                    raise SynthesisError("no word of it can be read")
            except LoudrError as error:
                phonemes, reason = None, error.message
        row = PhonemeRow(
            segment_id=job.segment_id, language=job.language, spoken=job.spoken, phonemes=phonemes
        )
        yield ReadRow(row=row, reason=reason)


def _front_end(profile: Profile, voice: str) -> FrontEnd:
    own = profile.voice_profile(voice)
    return open_front_end(own.engine or profile.engine, bundle=own.bundle, options=own.options)


def _pronunciations(profile: Profile) -> Lexicon:
    return Lexicon(profile.pronunciations, what="pronunciation")
