"""A plan as it lies in the store: what it says, and how it is written, found and read.

A plan is a JSON document and a job table below `books/<book_id>/plans/<plan_id>/`. The document is
written last: a plan whose document is there is whole.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from loudr_core.book.model import Cover
from loudr_core.canonical import canonical_json
from loudr_core.errors import BundleError, StoreError
from loudr_core.findings import Finding
from loudr_core.jobs.casting import PlanVoice
from loudr_core.jobs.table import Job, read_jobs, write_jobs
from loudr_core.jobs.voicing import UNREADABLE
from loudr_core.store.protocol import ObjectStore
from loudr_core.text.model import LeftOut

__all__ = [
    "PLAN_VERSION",
    "Plan",
    "PlanChapter",
    "check_fingerprint",
    "find_books",
    "find_plans",
    "load_plan",
    "plan_folder",
    "write_plan",
]

PLAN_VERSION = "plan-2"
"""Of the document; part of a plan's id."""


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
        """Return the plan whose `as_dict` is `data`; ValueError when its voices do not fit."""
        plan = cls(
            **{
                **data,
                "chapters": tuple(PlanChapter(**row) for row in data["chapters"]),
                "generated": tuple(data["generated"]),
                "left_out": tuple(LeftOut(**row) for row in data["left_out"]),
                "findings": tuple(Finding.from_dict(row) for row in data["findings"]),
                "cast": tuple(PlanVoice(**row) for row in data.get("cast", ())),
            }
        )
        if absent := {chapter.voice for chapter in plan.chapters} - plan.voices.keys():
            raise ValueError(f"its cast has no voice {min(absent)!r}")
        return plan


def plan_folder(book_id: str, plan_id: str) -> str:
    """Return the store prefix of a plan."""
    return f"books/{book_id}/plans/{plan_id}"


def write_plan(
    plan: Plan, jobs: Sequence[Job], store: ObjectStore, *, cover: Cover | None = None
) -> None:
    """Keep a plan, its jobs and its cover; the document last."""
    if cover is not None:
        store.put(plan.cover_key, cover.data)
    store.put(f"{plan.folder}/jobs.parquet", write_jobs(jobs))
    document = {"version": PLAN_VERSION, **plan.as_dict()}
    store.put(f"{plan.folder}/plan.json", canonical_json(document))


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
        plan = Plan.from_dict(data) if version == PLAN_VERSION else None
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
