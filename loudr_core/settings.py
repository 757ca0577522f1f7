"""What an operator may choose: the models of a profile, with every default.

A profile says how a book is read, spoken, checked and mastered. It is part of the identity of a
plan, so two profiles of one book never overwrite one another. `flows.configuration` fills it from
arguments, environment and TOML; nothing else reads those.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from loudr_core.book.languages import language_tag
from loudr_core.errors import ConfigError
from loudr_core.jobs.casting import CastRule, parse_chapters
from loudr_core.text.model import Normalizer, NotePolicy, PartPolicy, Pauses, TextOptions

__all__ = [
    "CastProfile",
    "LoudnessProfile",
    "OutputProfile",
    "PauseProfile",
    "Profile",
    "TextProfile",
    "VoiceProfile",
]

Milliseconds = Annotated[int, Field(ge=0, le=30_000)]

_TEXT = TextOptions(max_characters=1, target_characters=1)  # for its defaults


_NAME = "^[a-z0-9]+([_-][a-z0-9]+)*$"
"""Of a voice: also part of the names of environment variables, which know no case."""


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    """Refuse what no engine process could be told, and no plan could hold: nan, dates."""
    for name, value in options.items():
        _check_plain(name, value)
    return options


def _check_plain(name: str, value: object) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _check_plain(f"{name}.{key}", inner)
    elif isinstance(value, list):
        for inner in value:
            _check_plain(name, inner)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} = {value} is no finite number")
    elif value is not None and not isinstance(value, str | int | float):
        raise ValueError(f"{name} is a {type(value).__name__}: give text, a number, true or false")


def _number_of(rate: object) -> object:
    """Return a rate that came as text, as all of the environment does, as a number."""
    return int(rate) if isinstance(rate, str) and rate.isascii() and rate.isdigit() else rate


Options = Annotated[dict[str, Any], AfterValidator(_plain)]
"""Of an engine: text, finite numbers, true, false, and lists and tables of those."""
MasterRate = Annotated[Literal[24_000, 44_100], BeforeValidator(_number_of)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PauseProfile(_Model):
    """Silence after a segment, in milliseconds, by what follows it."""

    sentence: Milliseconds = Pauses().sentence
    verse_line: Milliseconds = Pauses().verse_line
    paragraph: Milliseconds = Pauses().paragraph
    list_item: Milliseconds = Pauses().list_item
    heading: Milliseconds = Pauses().heading
    before_heading: Milliseconds = Pauses().before_heading
    scene_break: Milliseconds = Pauses().scene_break
    chapter: Milliseconds = Pauses().chapter


class TextProfile(_Model):
    """What of a book is read, and who makes spoken words of it."""

    boilerplate: PartPolicy = _TEXT.boilerplate
    notes: NotePolicy = _TEXT.notes
    note_marks: PartPolicy = _TEXT.note_marks
    tables: PartPolicy = _TEXT.tables
    code: PartPolicy = _TEXT.code
    captions: PartPolicy = _TEXT.captions
    alt_text: PartPolicy = _TEXT.alt_text
    list_numbers: PartPolicy = _TEXT.list_numbers
    merge_short: bool = _TEXT.merge_short
    announce_titles: bool = _TEXT.announce_titles
    default_language: str = _TEXT.default_language
    normalizer: Normalizer = _TEXT.normalizer
    """What makes spoken words of the text; "none" leaves that to the engine."""


class LoudnessProfile(_Model):
    """Delivery level of the finished book."""

    target_lufs: Annotated[float, Field(ge=-31, le=-9)] = -19.0
    true_peak_dbtp: Annotated[float, Field(ge=-12, le=-0.5)] = -3.0


class OutputProfile(_Model):
    """The finished file."""

    bit_rate: Annotated[int, Field(ge=24_000, le=320_000)] = 80_000
    lead_in_ms: Milliseconds = 500
    """Silence before the first word of the book."""
    sample_rate_hz: MasterRate | None = None
    """Of the finished book; the engine's own when None, `jobs.casting.master_rate` of several."""


class VoiceProfile(_Model):
    """A voice beside the book's own, for the chapters that `cast` gives it.

    One that names no engine is of the profile's engine, with its bundle, provider and options
    unless it has its own.
    """

    engine: str | None = None
    bundle: str | None = None
    provider: Literal["cpu", "cuda"] | None = None
    voice: str | None = None
    """A voice of the engine; its first one when None."""
    language: str = ""
    """What its chapters are in where they do not say so themselves; the book's when empty."""
    speed: Annotated[float, Field(ge=0.5, le=2.0)] | None = None
    options: Options | None = None

    @field_validator("language")
    @classmethod
    def _tag(cls, language: str) -> str:
        if language and not language_tag(language):
            raise ValueError("no language: give a tag such as en or de-AT")
        return language_tag(language)


class CastProfile(_Model):
    """Chapters that a voice speaks: by their numbers, or by a pattern on their titles."""

    voice: str
    """A name in `voices`."""
    chapters: str | int | list[int | str] = ""
    """As `loudr plan` numbers them: "1-3,7", 4 or [2, "5-7"]."""
    title: str = ""
    """`*` is any text, `?` one character; upper and lower case are one."""

    @field_validator("chapters", mode="before")
    @classmethod
    def _numbers_or_text(cls, chapters: object) -> object:
        many = chapters if isinstance(chapters, list) else [chapters]
        if any(isinstance(each, bool) or not isinstance(each, int | str) for each in many):
            raise ValueError('chapters are a number, "1-3,7", or a list of such')
        return chapters

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.said == "") == (self.title == ""):
            raise ValueError("give either chapters or a title")
        self.rule()
        return self

    @property
    def said(self) -> str:
        """The chapters as a list in text."""
        many = self.chapters if isinstance(self.chapters, list) else [self.chapters]
        return ",".join(map(str, many))

    def rule(self) -> CastRule:
        """Return the rule that a plan goes by; ValueError when its chapters are no list."""
        numbers = parse_chapters(self.said) if self.said else frozenset()
        return CastRule(
            voice=self.voice, chapters=numbers, title=self.title, said=self.said or self.title
        )


class Profile(_Model):
    """Everything that decides how a book sounds."""

    engine: str = "embedded"
    bundle: str | None = None
    provider: Literal["cpu", "cuda"] = "cpu"
    voice: str | None = None
    """A voice of the engine; its first one when None."""
    speed: Annotated[float, Field(ge=0.5, le=2.0)] = 1.0
    book_seed: Annotated[int, Field(ge=0, lt=2**64)] = 7
    attempts: Annotated[int, Field(ge=1, le=3)] = 3
    """Renderings of a condemned segment before the least bad is kept."""
    options: Options = Field(default_factory=dict)
    """Options of the engine, as its documentation names them."""
    voices: dict[Annotated[str, Field(pattern=_NAME)], VoiceProfile] = Field(default_factory=dict)
    """Voices for the chapters that `cast` gives away, by names of your own."""
    cast: tuple[CastProfile, ...] = ()
    """Which chapters they speak; `voice` speaks the others."""
    text: TextProfile = TextProfile()
    pauses: PauseProfile = PauseProfile()
    detectors: dict[str, float] = Field(default_factory=dict)
    """Thresholds that differ from the detectors' own."""
    loudness: LoudnessProfile = LoudnessProfile()
    output: OutputProfile = OutputProfile()
    lexicon: dict[str, str] = Field(default_factory=dict)
    """Word to respelling."""
    pronunciations: dict[str, str] = Field(default_factory=dict)
    """Word to phonemes, in the symbols of the engine; for engines that take them."""

    def voice_profile(self, name: str) -> VoiceProfile:
        """Return what a voice is to be, nothing left open but which voice of the engine.

        Parameters
        ----------
        name : str
            In `voices`; empty for the narrator.
        """
        own = self.voices[name] if name else VoiceProfile()
        shared = own.engine is None
        options = own.options
        if options is None:
            options = self.options if shared else {}
        return VoiceProfile(
            engine=own.engine or self.engine,
            bundle=self.bundle if shared and own.bundle is None else own.bundle,
            provider=own.provider or (self.provider if shared else "cpu"),
            voice=own.voice if name else self.voice,
            language=own.language,
            speed=self.speed if own.speed is None else own.speed,
            options=options,
        )

    def cast_rules(self) -> tuple[CastRule, ...]:
        """Return the rules by which chapters are given away.

        Raises
        ------
        ConfigError
            A rule names a voice that is not there, or there is a voice that no rule names.
        """
        rules = tuple(each.rule() for each in self.cast)
        for rule in rules:
            if rule.voice not in self.voices:
                there = ", ".join(sorted(self.voices)) or "none"
                raise ConfigError(
                    f"[[cast]] {rule.label}: no voice {rule.voice!r} in [voices], which has "
                    f"{there}",
                    voice=rule.voice,
                )
        idle = sorted(self.voices.keys() - {rule.voice for rule in rules})
        if idle:
            raise ConfigError(
                f"[voices.{idle[0]}] speaks no chapter: give it some by [[cast]], or take it out",
                voice=idle[0],
            )
        return rules

    def text_options(
        self, *, max_characters: int, target_characters: int, name: str = ""
    ) -> TextOptions:
        """Return the options of the text stage for an engine's limits, in characters.

        Parameters
        ----------
        name : str
            Of the voice that is to speak; empty for the narrator.

        Raises
        ------
        ConfigError
            Two text front ends would work on the same words.
        """
        own = self.voice_profile(name)
        funnel = (own.options or {}).get("text_funnel")
        if funnel == "loudkit" and self.text.normalizer == "loudr":
            raise ConfigError(
                "text_funnel 'loudkit' makes spoken words itself: set text.normalizer to 'none', "
                "or leave text_funnel at 'loudr'",
                option="text_funnel",
            )
        return TextOptions(
            max_characters=max_characters,
            target_characters=target_characters,
            language=own.language,
            pauses=Pauses(**self.pauses.model_dump()),
            **self.text.model_dump(),
        )
