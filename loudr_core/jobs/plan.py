"""The plan of a book: who speaks which segment with which seed, and what is left unspoken.

A plan is a JSON document and a job table below `books/<book_id>/plans/<plan_id>/`. It is written
only when the audit has shown that no word is lost, the document last: a plan whose document is
there is whole.
"""

import hashlib
import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from loudr_core.book.model import Book, Cover, Metadata
from loudr_core.canonical import canonical_json, digest
from loudr_core.errors import BundleError, StoreError
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
from loudr_core.jobs.keys import job_key, segment_seed
from loudr_core.jobs.phonemes import (
    PhonemeSource,
    phoneme_findings,
    unread_findings,
    unused_findings,
)
from loudr_core.jobs.table import Job, read_jobs, write_jobs
from loudr_core.jobs.voicing import (
    UNREADABLE,
    foreign_findings,
    spoken_language,
    unreadable_findings,
)
from loudr_core.store.protocol import ObjectStore
from loudr_core.text import TEXT_VERSION
from loudr_core.text.audit import AuditReport, audit
from loudr_core.text.lexicon import Lexicon
from loudr_core.text.model import LeftOut, Segment, Segmentation, TextOptions
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

_VERSION = "plan-2"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChapter:
    """A chapter that will be heard, and what it will cost.

    `voice` is the name of the voice that speaks it, empty for the narrator.
    """

    number: int
    title: str
    role: str
    level: int
    segments: int
    est_audio_s: float
    voice: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form; it names a voice only where a rule gave one."""
        data = asdict(self)
        if not self.voice:
            del data["voice"]
        return data


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A plan as it lies in the store, without its job table.

    `engine`, `voice`, `voice_sha256`, `fingerprint`, `speed` and `policy_digest` are the
    narrator's, `cast` holds the other voices; `sample_rate_hz` is that of the finished book.
    """

    book_id: str
    plan_id: str
    source_sha256: str
    format: str
    metadata: Mapping[str, Any]
    cover_key: str
    cover_media_type: str
    profile: Mapping[str, Any]
    engine: str
    voice: str
    voice_sha256: str
    fingerprint: str
    sample_rate_hz: int
    speed: float
    chapters: tuple[PlanChapter, ...]
    segments: int
    generated: tuple[Mapping[str, str], ...]
    left_out: tuple[LeftOut, ...]
    findings: tuple[Finding, ...]
    audit: Mapping[str, Any]
    est_audio_s: float
    policy_digest: str = ""
    profile_name: str = ""
    given: Mapping[str, str] = field(default_factory=dict)
    cast: tuple[PlanVoice, ...] = ()
    narrator_rate_hz: int = 0
    """Of the narrator's takes; 0 where that is the book's own rate."""

    @property
    def voices(self) -> dict[str, PlanVoice]:
        """Name to voice, the narrator first under an empty name."""
        narrator = PlanVoice(
            name="",
            engine=self.engine,
            voice=self.voice,
            voice_sha256=self.voice_sha256,
            fingerprint=self.fingerprint,
            sample_rate_hz=self.narrator_rate_hz or self.sample_rate_hz,
            speed=self.speed,
            policy_digest=self.policy_digest,
        )
        return {each.name: each for each in (narrator, *self.cast)}

    @property
    def chapter_voices(self) -> dict[int, PlanVoice]:
        """Chapter number to the voice that speaks it."""
        voices = self.voices
        return {chapter.number: voices[chapter.voice] for chapter in self.chapters}

    @property
    def policy_digests(self) -> dict[str, str]:
        """Name of each voice to the detector policy that the plan was made with."""
        return {name: voice.policy_digest for name, voice in self.voices.items()}

    def heard(self, chapters: Iterable[int] | None = None) -> tuple[PlanVoice, ...]:
        """Return the voices that speak some chapters, or the book, in the order they come."""
        wanted = None if chapters is None else frozenset(chapters)
        order = dict.fromkeys(
            chapter.voice for chapter in self.chapters if wanted is None or chapter.number in wanted
        )
        voices = self.voices
        return tuple(voices[name] for name in order)

    @property
    def unreadable(self) -> dict[str, str]:
        """Segment id to the reason, for each segment that no seed makes audible."""
        return {
            str(finding.where["segment_id"]): finding.message
            for finding in self.findings
            if finding.code == UNREADABLE
        }

    @property
    def folder(self) -> str:
        """The store prefix of the plan, without a slash at its end."""
        return plan_folder(self.book_id, self.plan_id)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        data = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("cast", "narrator_rate_hz"):  # of books with one voice nothing is new
            if not data[name]:
                del data[name]
        if self.cast:
            data["cast"] = [asdict(voice) for voice in self.cast]
        return {
            **data,
            "chapters": [chapter.as_dict() for chapter in self.chapters],
            "generated": [dict(row) for row in self.generated],
            "left_out": [asdict(row) for row in self.left_out],
            "findings": [finding.as_dict() for finding in self.findings],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Plan":
        """Return the plan whose `as_dict` is `data`."""
        return cls(
            **{
                **data,
                "chapters": tuple(PlanChapter(**row) for row in data["chapters"]),
                "generated": tuple(data["generated"]),
                "left_out": tuple(LeftOut(**row) for row in data["left_out"]),
                "findings": tuple(Finding.from_dict(row) for row in data["findings"]),
                "cast": tuple(PlanVoice(**row) for row in data.get("cast", ())),
            }
        )


def plan_folder(book_id: str, plan_id: str) -> str:
    """Return the store prefix of a plan."""
    return f"books/{book_id}/plans/{plan_id}"


def book_id_of(title: str, source_sha256: str) -> str:
    """Return a book's id: its title as a path can hold it, and 8 digits of its content's hash."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    slug = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:48].strip("-")
    return f"{slug or 'book'}-{source_sha256[:8]}"


def plan_id_of(source_sha256: str, request: PlanRequest) -> str:
    """Return a plan's id: 16 digits of the hash of what decides its segments and seeds."""
    return digest(
        [
            _VERSION,
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

    Parameters
    ----------
    replan : bool
        Make it again even if it is there.

    Raises
    ------
    BookError
        The segments would lose or change a word, or nothing is left to speak.
    BundleError
        The stored plan was made for other weights or another machine class.
    ConfigError
        A rule of the cast does not fit the chapters of the book.
    """
    book_id = book_id_of(book.metadata.title, book.source_sha256)
    plan_id = plan_id_of(book.source_sha256, request)
    if not replan and (stored := load_plan(store, book_id, plan_id)) is not None:
        for name in ("", *request.cast):
            check_fingerprint(stored[0], request.voice(name).speaker.fingerprint, name)
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
    _write(plan, jobs, book.metadata, store)
    return plan, jobs


def load_plan(store: ObjectStore, book_id: str, plan_id: str) -> tuple[Plan, list[Job]] | None:
    """Return a stored plan and its jobs, or None when it is not there whole.

    Raises
    ------
    StoreError
        The plan or its table is damaged or of a newer loudr.
    """
    folder = plan_folder(book_id, plan_id)
    document = store.get(f"{folder}/plan.json")
    table = store.get(f"{folder}/jobs.parquet")
    if document is None or table is None:
        return None
    try:
        data = json.loads(document)
        version = data.pop("version")
        plan = Plan.from_dict(data) if version == _VERSION else None
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        raise StoreError(
            f"plan {plan_id} of {book_id} is damaged ({exc}); plan again with --replan",
            book=book_id,
        ) from exc
    if plan is None:
        raise StoreError(
            f"plan {plan_id} of {book_id} was written by another loudr ({version}); "
            "plan again with --replan",
            book=book_id,
        )
    return plan, read_jobs(table)


def find_books(store: ObjectStore) -> list[str]:
    """Return the ids of the books that have a whole plan."""
    keys = (key.split("/") for key in store.list("books/"))
    return sorted({parts[1] for parts in keys if parts[-1] == "plan.json"})


def find_plans(store: ObjectStore, book_id: str) -> list[str]:
    """Return the ids of a book's whole plans."""
    keys = store.list(f"books/{book_id}/plans/")
    return [key.split("/")[3] for key in keys if key.endswith("/plan.json")]


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


def _write(plan: Plan, jobs: Sequence[Job], metadata: Metadata, store: ObjectStore) -> None:
    if metadata.cover is not None:
        store.put(plan.cover_key, metadata.cover.data)
    store.put(f"{plan.folder}/jobs.parquet", write_jobs(jobs))
    document = {"version": _VERSION, **plan.as_dict()}
    store.put(f"{plan.folder}/plan.json", canonical_json(document))


def check_fingerprint(plan: Plan, fingerprint: str, name: str = "") -> None:
    """Refuse to go on with a plan that was made for something else.

    Parameters
    ----------
    fingerprint : str
        Of the engine that a voice of the plan has now.
    name : str
        Of that voice; the narrator's when empty.

    Raises
    ------
    BundleError
        The plan was made with another one.
    """
    planned = plan.voices[name]
    if planned.fingerprint != fingerprint:
        whose = f", for its voice {name!r}," if name else ""
        raise BundleError(
            f"{plan.book_id} was planned{whose} with other weights or on another kind of machine "
            f"(fingerprint {planned.fingerprint[:12]}, this engine has {fingerprint[:12]}): "
            "render with --replan to start anew",
            found=fingerprint,
            expected=planned.fingerprint,
        )
