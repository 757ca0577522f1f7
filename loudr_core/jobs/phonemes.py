"""Where the phonemes of a plan come from, and whether the engines of the plan take them.

A table made beforehand comes first; a segment that is not in it is read here when it has a word of
the pronunciation lexicon. All others keep None: the engine reads them itself.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from loudr_core.errors import ConfigError, LoudrError
from loudr_core.findings import Finding
from loudr_core.jobs.phoneme_table import PhonemeTable
from loudr_core.jobs.pronouncing import has_pronunciation, phonemes_of
from loudr_core.jobs.table import Job
from loudr_core.jobs.voicing import UNREADABLE
from loudr_core.speech.front_ends import FrontEnd
from loudr_core.speech.given_phonemes import GivenPhonemes, cover
from loudr_core.text.lexicon import Lexicon

__all__ = ["PhonemeSource", "phoneme_findings", "unread_findings", "unused_findings"]

_MOST_SYMBOLS = 12
_SHOWN = 40
_MOST_FOR_EACH, _MOST_BESIDE = 20, 200
"""Characters of phonemes for one of the words, and beside those; ids take six or so."""


class PhonemeSource:
    """Phonemes for the segments of one plan.

    Parameters
    ----------
    table : PhonemeTable, optional
    pronunciations : Lexicon, optional
        Word to phonemes.
    open_front : callable, optional
        From the fingerprint of an engine to its front end; called for the first segment that needs
        one. Needed with `pronunciations`.
    """

    def __init__(
        self,
        table: PhonemeTable | None = None,
        pronunciations: Lexicon | None = None,
        open_front: Callable[[str], FrontEnd] | None = None,
    ) -> None:
        self.table = table
        self._pronunciations = pronunciations or Lexicon()
        self._open_front = open_front
        self._fronts: dict[str, FrontEnd] = {}

    def find(self, segment_id: str, language: str, spoken: str, *, fingerprint: str) -> str | None:
        """Return the phonemes of a segment, None where the engine is to read it.

        Raises
        ------
        ConfigError
            The table says the same words in two ways, or the engine takes no phonemes.
        DeviceError, BundleError
            The front end cannot be opened.
        SynthesisError
            It cannot read the segment.
        """
        if self.table is not None:
            found = self.table.find(segment_id, language, spoken)
            if found is not None:
                return found
        if self._open_front is None or not has_pronunciation(spoken, self._pronunciations):
            return None
        try:
            if fingerprint not in self._fronts:
                self._fronts[fingerprint] = self._open_front(fingerprint)
            front = self._fronts[fingerprint]
            return phonemes_of(spoken, language, front, self._pronunciations)
        except LoudrError as error:
            raise type(error)(
                f"{segment_id} has a word of [pronunciations]: {error.message}",
                **{**error.context, "segment": segment_id},
            ) from error


def phoneme_findings(
    jobs: Sequence[Job], *, taken: GivenPhonemes | None, table: PhonemeTable | None
) -> list[Finding]:
    """Return what is odd about the phonemes of a plan.

    Parameters
    ----------
    jobs : sequence of Job
        Of one engine.
    taken : GivenPhonemes, optional
        What that engine takes; None if it takes none.
    table : PhonemeTable, optional
        What the phonemes were looked up in.

    Raises
    ------
    ConfigError
        The engine takes no phonemes, or not these.
    """
    given = [job for job in jobs if job.phonemes is not None]
    if given and taken is None:
        raise ConfigError(
            f"engine {given[0].engine!r} takes no phonemes, and {len(given)} segments have some, "
            f"{given[0].segment_id} first: respell words in the lexicon, or choose another engine",
            engine=given[0].engine,
            segment=given[0].segment_id,
        )
    for job in given:
        _check_length(job)
    found = [] if taken is None else _unknown_symbols(given, taken)
    if table is not None and len(given) < len(jobs):
        first = next(job for job in jobs if job.phonemes is None)
        count = len(jobs) - len(given)
        found.append(
            _warning(
                "plan-phonemes-missing",
                f"{_counted(count, 'segment')} without phonemes in the table, {first.segment_id} "
                "first: what is missing the engine reads itself, if it can",
                segments=count,
            )
        )
    return found


def unread_findings(jobs: Sequence[Job], *, unread: frozenset[str]) -> list[Finding]:
    """Return an error for each segment without phonemes in a language that nothing here reads.

    Parameters
    ----------
    jobs : sequence of Job
        Of one engine.
    unread : frozenset of str
        Languages that the engine speaks, and reads no text of.
    """
    return [
        Finding(
            code=UNREADABLE,
            severity="error",
            message=f"nothing here reads {job.language!r} for {job.engine}, so install its front "
            f"end or give --phonemes: {_short(job.text)!r}",
            where={"segment_id": job.segment_id, "chapter": job.chapter},
        )
        for job in jobs
        if job.phonemes is None and job.language.partition("-")[0].lower() in unread
    ]


def unused_findings(table: PhonemeTable | None) -> list[Finding]:
    """Return a finding when rows of a table were looked up by no segment.

    Raises
    ------
    ConfigError
        That is so for all of them.
    """
    if table is None or not table.unused:
        return []
    unused = table.unused
    if not table.used:
        raise ConfigError(
            f"{table.name}: none of its {len(table)} rows is of a segment of this plan, "
            f"{_short(unused[0])!r} is the first: it is the table of another book, or the words "
            "have changed since"
        )
    message = (
        f"{_counted(len(unused), 'row')} of the phonemes {'is' if len(unused) == 1 else 'are'} of "
        f"no segment of this plan, {_short(unused[0])!r} first"
    )
    return [_warning("plan-phonemes-unused", message, rows=len(unused))]


def _check_length(job: Job) -> None:
    """Refuse phonemes that cannot be those of the words: hours of sound, or none."""
    given = job.phonemes or ""
    most = _MOST_FOR_EACH * len(job.spoken) + _MOST_BESIDE
    if len(given) > most:
        raise ConfigError(
            f"the phonemes of {job.segment_id} have {len(given)} characters, for the "
            f"{len(job.spoken)} of {_short(job.spoken)!r}: at most {most} can be meant; correct "
            "them",
            segment=job.segment_id,
        )


def _unknown_symbols(jobs: Sequence[Job], taken: GivenPhonemes) -> list[Finding]:
    refused, left_out = Counter[str](), Counter[str]()
    segments: list[str] = []
    for job in jobs:
        coverage = cover(job.phonemes or "", taken)
        if not coverage.sounds:
            raise ConfigError(
                f"the phonemes of {job.segment_id} hold no sound: {_short(job.phonemes or '')!r}; "
                "correct them",
                segment=job.segment_id,
            )
        if not coverage.unknown:
            continue
        if coverage.unknown_sounds > taken.most_unknown * coverage.sounds or not taken.most_unknown:
            refused += coverage.unknown
            segments.append(job.segment_id)
        else:
            left_out += coverage.unknown
    if refused:
        raise ConfigError(
            f"engine {jobs[0].engine!r} has no sound for {_counted(len(refused), 'symbol')} in the "
            f"phonemes of {_counted(len(segments), 'segment')}, {segments[0]} first "
            f"({_report(refused)}): correct them",
            engine=jobs[0].engine,
            segment=segments[0],
            unknown=dict(refused),
        )
    if not left_out:
        return []
    message = f"the voice has no sound for {_report(left_out)} in the phonemes, and leaves it out"
    return [_warning("plan-phonemes-unknown", message, symbols=left_out.total())]


def _report(unknown: Counter[str]) -> str:
    named = [f"{each} {_points(each)} x{count}" for each, count in unknown.most_common()]
    more = f" and {len(named) - _MOST_SYMBOLS} more" if len(named) > _MOST_SYMBOLS else ""
    return ", ".join(named[:_MOST_SYMBOLS]) + more


def _points(symbol: str) -> str:
    return "" if symbol.isascii() and symbol.isdigit() else f"U+{ord(symbol[0]):04X}"


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _warning(code: str, message: str, **where: str | int) -> Finding:
    return Finding(code=code, severity="warning", message=message, where=dict(where))
