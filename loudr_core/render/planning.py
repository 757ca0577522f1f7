"""From a book, or from a plan that lies in the store already, to what is to be spoken."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from loudr_core.audio.policy import DetectorPolicy
from loudr_core.book.languages import language_tag
from loudr_core.book.model import Book, Cover
from loudr_core.book.read import read_book
from loudr_core.errors import BookError, ConfigError, StoreError
from loudr_core.jobs.casting import Speaker
from loudr_core.jobs.plan import (
    Plan,
    PlanRequest,
    check_fingerprint,
    load_plan,
    plan_book,
)
from loudr_core.jobs.table import Job
from loudr_core.publish.cover import prepare_cover
from loudr_core.render.casting import cast_of, naming_voice
from loudr_core.render.options import AboutBook
from loudr_core.render.reading import phoneme_source
from loudr_core.settings import Profile
from loudr_core.speech.wire import EngineInfo
from loudr_core.store.protocol import ObjectStore
from loudr_core.text.lexicon import Lexicon

__all__ = [
    "AboutBook",
    "StoredPlan",
    "chapters_wanted",
    "open_plan",
    "policy_of",
    "read_as_told",
    "resolved",
    "source_key",
    "speaker_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPlan:
    """A plan that lies in the store: what is rendered again needs no file."""

    book_id: str
    plan_id: str


def open_plan(
    source: Path | StoredPlan,
    *,
    profile: Profile,
    profile_name: str,
    about: AboutBook,
    info: EngineInfo,
    store: ObjectStore,
    replan: bool,
    cast: Mapping[str, EngineInfo] = MappingProxyType({}),
) -> tuple[Plan, list[Job]]:
    """Return the plan of a book and all its jobs, made now if it is not there.

    Parameters
    ----------
    info : EngineInfo
        Of the narrator's engine.
    cast : mapping of str to EngineInfo
        Of each other voice's, by its name in the profile.

    Raises
    ------
    BookError
        The book cannot be read or narrated, its plan would lose a word, or the cover is no picture.
    BundleError
        The stored plan was made for other weights or another machine class.
    ConfigError
        A voice is not there, the language is none, or a rule of the cast does not fit the book.
    StoreError
        A stored plan is damaged or gone.
    """
    speaker = speaker_of(info, profile.voice)
    _check_speed(info, profile.speed)
    others = {}
    for name in profile.voices:
        with naming_voice(name):
            own = profile.voice_profile(name)
            others[name] = speaker_of(cast[name], own.voice)
            _check_speed(cast[name], profile.speed if own.speed is None else own.speed)
    if isinstance(source, StoredPlan):
        loaded = load_plan(store, source.book_id, source.plan_id)
        if loaded is None:
            raise StoreError(
                f"plan {source.plan_id} of {source.book_id} is gone: render the book's file again",
                book=source.book_id,
            )
        for name, each in {"": speaker, **others}.items():
            check_fingerprint(loaded[0], each.fingerprint, name)
        return loaded
    book, given = read_as_told(source, about)
    names = {each.fingerprint: name for name, each in {**others, "": speaker}.items()}
    phonemes = phoneme_source(about.phonemes, profile, names)
    if phonemes.table is not None:
        given["phonemes"] = phonemes.table.digest()
    request = PlanRequest(
        profile=resolved(profile, speaker, others),
        text=profile.text_options(
            max_characters=speaker.max_characters,
            target_characters=speaker.target_characters,
        ),
        lexicon=Lexicon(profile.lexicon),
        speaker=speaker,
        book_seed=profile.book_seed,
        speed=profile.speed,
        policy_digest=policy_of(profile, info).digest(),
        profile_name=profile_name,
        given=given,
        cast=cast_of(
            profile, others, {name: policy_of(profile, cast[name]).digest() for name in others}
        ),
        rules=profile.cast_rules(),
        sample_rate_hz=profile.output.sample_rate_hz,
        phonemes=phonemes,
    )
    plan, jobs = plan_book(book, request, store, replan=replan)
    key = source_key(plan, source.suffix)
    if not store.exists(key):
        store.put_file(key, source)
    return plan, jobs


def read_as_told(path: Path, about: AboutBook) -> tuple[Book, dict[str, str]]:
    """Return a book with what was said about it, and that as a plan keeps it.

    Raises
    ------
    BookError
        The book cannot be read, or the cover is no JPEG or PNG.
    ConfigError
        The language is none.
    """
    given: dict[str, str] = {}
    language = ""
    if about.language:
        language = language_tag(about.language)
        if not language:
            raise ConfigError(
                f"{about.language!r} is no language: give a tag such as en or de-AT",
                language=about.language,
            )
        given["language"] = language
    cover = _cover(about.cover) if about.cover is not None else None
    if cover is not None:
        given["cover"] = hashlib.sha256(cover.data).hexdigest()
    book = read_book(path, language=language)
    if cover is not None:
        book = replace(book, metadata=replace(book.metadata, cover=cover))
    return book, given


def _cover(path: Path) -> Cover:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BookError(
            f"cannot read the cover {path}: {error.strerror}; check the name", path=str(path)
        ) from None
    prepared, findings = prepare_cover(data)
    if prepared is None:
        message = findings[0].message.removesuffix("; left out").replace(" by --cover", "")
        raise BookError(f"{path}: {message}", path=str(path))
    return Cover(data=prepared.data, media_type=prepared.media_type)


def chapters_wanted(plan: Plan, chapters: frozenset[int] | None) -> frozenset[int] | None:
    """Return the chapters of a plan that are asked for; None when that is all of them.

    Raises
    ------
    ConfigError
        The plan has no such chapter.
    """
    if chapters is None:
        return None
    numbers = frozenset(chapter.number for chapter in plan.chapters)
    unknown = chapters - numbers
    if unknown:
        raise ConfigError(
            f"{plan.book_id} has no chapter {min(unknown)}: it has 1 to {max(numbers)}",
            book=plan.book_id,
        )
    return None if chapters == numbers else chapters


def source_key(plan: Plan, suffix: str) -> str:
    """Return the store key of the book itself; `suffix` is its file's, with the dot."""
    return f"books/{plan.book_id}/source{suffix.lower()}"


def _check_speed(info: EngineInfo, speed: float) -> None:
    low, high = info.limits.speeds
    if not low <= speed <= high:
        raise ConfigError(
            f"speed {speed:g} is outside {low:g} to {high:g}, which are the speeds of engine "
            f"{info.name!r} with its options",
            speed=speed,
        )


def speaker_of(info: EngineInfo, voice: str | None) -> Speaker:
    """Return the speaker for a voice of an engine, its first one when None.

    Raises
    ------
    ConfigError
        The engine has no such voice.
    """
    chosen = info.voice(voice) if voice else info.voices[0]
    return Speaker(
        engine=info.name,
        voice=chosen.name,
        voice_sha256=chosen.sha256,
        fingerprint=info.fingerprint,
        sample_rate_hz=info.sample_rate_hz,
        languages=info.limits.languages,
        max_characters=info.limits.max_characters,
        target_characters=info.limits.target_characters,
        seconds_per_character=info.limits.seconds_per_character,
        phonemes=info.limits.phonemes,
        unread=info.limits.unread,
        alphabet=info.limits.alphabet,
    )


def policy_of(profile: Profile, info: EngineInfo) -> DetectorPolicy:
    """Return the detectors' thresholds: the profile's, over the engine's calibration."""
    calibrated = {"seconds_per_character": list(info.limits.seconds_per_character)}
    return DetectorPolicy.from_dict({**calibrated, **profile.detectors})


def resolved(
    profile: Profile, speaker: Speaker, cast: Mapping[str, Speaker] = MappingProxyType({})
) -> dict[str, Any]:
    """Return the whole of a profile as JSON holds it, with its voices named.

    What decides how takes are judged, levelled and written is part of it: the takes have keys of
    their own and are shared between plans, and whoever comes back to a plan finds all of it.
    """
    said = {**profile.model_dump(mode="json"), "voice": speaker.voice}
    # A profile that says nothing of these is what it was before there were any.
    for name in ("pronunciations", "voices", "cast"):
        if not said[name]:
            del said[name]
    if profile.output.sample_rate_hz is None:
        del said["output"]["sample_rate_hz"]
    for name, other in cast.items():
        said["voices"][name]["voice"] = other.voice
    return said
