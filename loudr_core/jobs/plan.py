"""The plan of a book: who speaks which segment with which seed, and what is left unspoken.

It is written only when the audit has shown that no word is lost. What a plan is, once made, and how
it is found again, is in `plan_document`.
"""

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loudr_core.book.model import Book, Cover, Metadata
from loudr_core.canonical import digest
from loudr_core.errors import BundleError
from loudr_core.findings import Finding
from loudr_core.jobs.casting import (
    CastRule,
    CastVoice,
    PlanVoice,
    Speaker,
    cast_voice,
    check_cast,
    master_rate,
)
from loudr_core.jobs.choices import was_spoken
from loudr_core.jobs.keys import job_key, segment_seed
from loudr_core.jobs.phonemes import (
    PhonemeSource,
    phoneme_findings,
    unread_findings,
    unused_findings,
)
from loudr_core.jobs.plan_document import (
    PLAN_VERSION,
    Plan,
    PlanChapter,
    check_fingerprint,
    find_books,
    find_plans,
    load_plan,
    plan_folder,
    write_plan,
)
from loudr_core.jobs.table import Job
from loudr_core.jobs.voicing import (
    foreign_findings,
    spoken_language,
    unreadable_findings,
    unsaid_findings,
)
from loudr_core.store.protocol import ObjectStore
from loudr_core.text import TEXT_VERSION
from loudr_core.text.audit import AuditReport, audit
from loudr_core.text.lexicon import Lexicon
from loudr_core.text.model import Segment, Segmentation, TextOptions
from loudr_core.text.segment import segment_book

__all__ = [
    "Plan",
    "PlanChapter",
    "PlanRequest",
    "Speaker",
    "book_id_of",
    "check_fingerprint",
    "find_books",
    "find_plans",
    "load_plan",
    "plan_book",
    "plan_folder",
    "plan_id_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """How a book is to be planned.

    Parameters
    ----------
    profile : mapping
        The whole resolved profile as JSON holds it; part of the plan's identity, so that what is
        made of a plan later is levelled and written as it was meant, too.
    text : TextOptions
    lexicon : Lexicon
    speaker : Speaker
    book_seed : int
        0 to 2^64 - 1.
    speed : float
    policy_digest : str
        Of the detector policy that the profile gives; follows from it and from the engine.
    profile_name : str
        What people call the profile; no part of the identity.
    given : mapping of str to str
        What was said about the book from outside, such as its language; part of the identity.
    phonemes : PhonemeSource
        Its table and pronunciations are to be in `given` and `profile`, too.
    cast : mapping of str to CastVoice
        Voices beside `speaker`, by the names that `rules` give them.
    rules : sequence of CastRule
        Which chapters they speak.
    sample_rate_hz : int, optional
        Of the finished book; `casting.master_rate` chooses when None.
    """

    profile: Mapping[str, Any]
    text: TextOptions
    lexicon: Lexicon
    speaker: Speaker
    book_seed: int
    speed: float
    policy_digest: str = ""
    profile_name: str = ""
    given: Mapping[str, str] = field(default_factory=dict)
    phonemes: PhonemeSource = field(default_factory=PhonemeSource)
    cast: Mapping[str, CastVoice] = field(default_factory=dict)
    rules: Sequence[CastRule] = ()
    sample_rate_hz: int | None = None

    def voice(self, name: str) -> CastVoice:
        """Return a voice by its name, the narrator's when empty."""
        if name:
            return self.cast[name]
        return CastVoice(
            speaker=self.speaker,
            text=self.text,
            speed=self.speed,
            policy_digest=self.policy_digest,
        )


def book_id_of(title: str, source_sha256: str) -> str:
    """Return a book's id: its title as a path can hold it, and 8 digits of its content's hash."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:48].strip("-")
    return f"{slug or 'book'}-{source_sha256[:8]}"


def plan_id_of(source_sha256: str, request: PlanRequest) -> str:
    """Return a plan's id: 16 digits of the hash of what decides its segments and seeds."""
    return digest(
        [
            PLAN_VERSION,
            source_sha256,
            dict(request.profile),
            request.lexicon.digest(),
            request.speaker.voice,
            TEXT_VERSION,
            dict(request.given),
        ]
    )[:16]


def plan_book(
    book: Book, request: PlanRequest, store: ObjectStore, *, replan: bool = False
) -> tuple[Plan, list[Job]]:
    """Return the stored plan of a book, made and audited now when there is none.

    A plan that was made for another engine and of which nothing was ever spoken is made again:
    nothing can be lost by it, and a farm whose engine was replaced goes on by itself.

    Parameters
    ----------
    replan : bool
        Make it again even if it is there.

    Raises
    ------
    BookError
        The segments would lose or change a word, or nothing is left to speak.
    BundleError
        The stored plan was made for other weights or another machine class, and is half spoken.
    ConfigError
        A rule of the cast does not fit the chapters of the book.
    """
    book_id = book_id_of(book.metadata.title, book.source_sha256)
    plan_id = plan_id_of(book.source_sha256, request)
    if not replan and (stored := load_plan(store, book_id, plan_id)) is not None:
        try:
            for name in ("", *request.cast):
                check_fingerprint(stored[0], request.voice(name).speaker.fingerprint, name)
        except BundleError:
            if was_spoken(stored[1], store):
                raise
        else:
            return stored
    segmentation = segment_book(
        book,
        request.text,
        of_chapter=lambda number, title: (
            request.voice(cast_voice(request.rules, number, title)).text
        ),
    )
    check_cast(request.rules, segmentation.chapters)
    voices = {
        chapter.number: cast_voice(request.rules, chapter.number, chapter.title)
        for chapter in segmentation.chapters
    }
    found = _foreign(segmentation, request, voices)
    report = audit(book, segmentation)
    jobs = [
        _job(segment, request, request.voice(voices[segment.chapter]))
        for segment in segmentation.segments
    ]
    found += _phonemes_said(jobs, request, voices)
    found += unreadable_findings(jobs)
    plan = _describe(book, segmentation, report, jobs, request, book_id, plan_id, found, voices)
    write_plan(plan, jobs, store, cover=book.metadata.cover)
    return plan, jobs


def _foreign(
    segmentation: Segmentation, request: PlanRequest, voices: Mapping[int, str]
) -> list[Finding]:
    """Return what is in a language that its voice does not speak, voice by voice."""
    found: list[Finding] = []
    for name in dict.fromkeys(voices.values()):
        speaker = request.voice(name).speaker
        found += foreign_findings(
            [each for each in segmentation.segments if voices[each.chapter] == name],
            engine=speaker.engine,
            languages=speaker.languages,
            whose=name if request.cast else None,
        )
    return found


def _phonemes_said(
    jobs: Sequence[Job], request: PlanRequest, voices: Mapping[int, str]
) -> list[Finding]:
    """Return what is odd about the phonemes of the plan, and which are missing, voice by voice."""
    table = request.phonemes.table
    found = unused_findings(table)
    for name in dict.fromkeys(voices.values()):
        speaker = request.voice(name).speaker
        own = [job for job in jobs if voices[job.chapter] == name]
        found += phoneme_findings(own, taken=speaker.phonemes, table=table)
        found += unread_findings(own, unread=speaker.unread)
        found += unsaid_findings(own, alphabet=speaker.alphabet)
    return found


def _job(segment: Segment, request: PlanRequest, cast: CastVoice) -> Job:
    speaker = cast.speaker
    language = spoken_language(segment.language, speaker.languages)
    spoken = request.lexicon.apply(segment.spoken)
    phonemes = segment.phonemes or request.phonemes.find(
        segment.segment_id, language, spoken, fingerprint=speaker.fingerprint
    )
    seed = segment_seed(
        book_seed=request.book_seed,
        engine=speaker.engine,
        voice=speaker.voice,
        language=language,
        spoken=spoken,
        phonemes=phonemes,
    )
    low, high = speaker.seconds_per_character
    return Job(
        segment_id=segment.segment_id,
        chapter=segment.chapter,
        ordinal=segment.ordinal,
        kind=segment.kind,
        role=segment.role,
        origin=segment.origin,
        text=segment.text,
        spoken=spoken,
        phonemes=phonemes,
        spans=segment.spans,
        inner=segment.inner,
        language=language,
        voice=speaker.voice,
        engine=speaker.engine,
        seed=seed,
        pause_after_ms=segment.pause_after_ms,
        est_audio_s=len(spoken) * (low + high) / 2 / cast.speed,
        job_key=job_key(
            fingerprint=speaker.fingerprint,
            voice_sha256=speaker.voice_sha256,
            language=language,
            spoken=spoken,
            phonemes=phonemes,
            seed=seed,
            speed=cast.speed,
        ),
    )


def _describe(
    book: Book,
    segmentation: Segmentation,
    report: AuditReport,
    jobs: Sequence[Job],
    request: PlanRequest,
    book_id: str,
    plan_id: str,
    found: Sequence[Finding],
    voices: Mapping[int, str],
) -> Plan:
    counts = Counter(job.chapter for job in jobs)
    seconds: defaultdict[int, float] = defaultdict(float)
    for job in jobs:
        seconds[job.chapter] += job.est_audio_s + job.pause_after_ms / 1000
    speaker, cover = request.speaker, book.metadata.cover
    heard = {request.voice(name).speaker.sample_rate_hz for name in voices.values()}
    rate = master_rate(heard, request.sample_rate_hz)
    return Plan(
        book_id=book_id,
        plan_id=plan_id,
        source_sha256=book.source_sha256,
        format=book.format,
        metadata=_metadata(book.metadata),
        cover_key=_cover_key(book_id, cover) if cover else "",
        cover_media_type=cover.media_type if cover else "",
        profile=dict(request.profile),
        engine=speaker.engine,
        voice=speaker.voice,
        voice_sha256=speaker.voice_sha256,
        fingerprint=speaker.fingerprint,
        sample_rate_hz=rate,
        speed=request.speed,
        chapters=tuple(
            PlanChapter(
                number=chapter.number,
                title=chapter.title,
                role=chapter.role,
                level=chapter.level,
                segments=counts[chapter.number],
                est_audio_s=round(seconds[chapter.number], 1),
                voice=voices[chapter.number],
            )
            for chapter in segmentation.chapters
        ),
        segments=len(jobs),
        generated=tuple(
            {"segment_id": job.segment_id, "text": job.spoken}
            for job in jobs
            if job.origin == "generated"
        ),
        left_out=segmentation.left_out,
        findings=(*book.findings, *segmentation.findings, *found),
        audit={
            "lossless": report.lossless,
            "source_chars": report.source_chars,
            "claimed_chars": report.claimed_chars,
        },
        est_audio_s=round(sum(seconds.values()), 1),
        policy_digest=request.policy_digest,
        profile_name=request.profile_name,
        given=dict(request.given),
        cast=tuple(_plan_voice(name, cast) for name, cast in sorted(request.cast.items())),
        narrator_rate_hz=0 if speaker.sample_rate_hz == rate else speaker.sample_rate_hz,
    )


def _plan_voice(name: str, cast: CastVoice) -> PlanVoice:
    speaker = cast.speaker
    return PlanVoice(
        name=name,
        engine=speaker.engine,
        voice=speaker.voice,
        voice_sha256=speaker.voice_sha256,
        fingerprint=speaker.fingerprint,
        sample_rate_hz=speaker.sample_rate_hz,
        speed=cast.speed,
        policy_digest=cast.policy_digest,
    )


def _cover_key(book_id: str, cover: Cover) -> str:
    """Return where a cover lies; plans of a book may have covers of their own."""
    suffix = cover.media_type.rpartition("/")[2].partition("+")[0]
    return f"books/{book_id}/cover-{hashlib.sha256(cover.data).hexdigest()[:8]}.{suffix}"


def _metadata(metadata: Metadata) -> dict[str, Any]:
    data = {name: getattr(metadata, name) for name in metadata.__dataclass_fields__}
    del data["cover"]
    data["identifiers"] = dict(metadata.identifiers)
    return {key: list(value) if isinstance(value, tuple) else value for key, value in data.items()}
