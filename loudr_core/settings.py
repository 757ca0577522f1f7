"""What an operator may choose: the models of a profile, with every default.

A profile says how a book is read, spoken, checked and mastered. It is part of the identity of a
plan, so two profiles of one book never overwrite one another. `flows.configuration` fills it from
arguments, environment and TOML; nothing else reads those.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from loudr_core.errors import ConfigError
from loudr_core.text.model import Normalizer, NotePolicy, PartPolicy, Pauses, TextOptions

__all__ = [
    "LoudnessProfile",
    "OutputProfile",
    "PauseProfile",
    "Profile",
    "TextProfile",
]

Milliseconds = Annotated[int, Field(ge=0, le=30_000)]

_TEXT = TextOptions(max_characters=1, target_characters=1)  # for its defaults


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
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the engine, as its documentation names them."""
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

    def text_options(self, *, max_characters: int, target_characters: int) -> TextOptions:
        """Return the options of the text stage for an engine's limits, in characters.

        Raises
        ------
        ConfigError
            Two text front ends would work on the same words.
        """
        if self.options.get("text_funnel") == "loudkit" and self.text.normalizer == "loudr":
            raise ConfigError(
                "text_funnel 'loudkit' makes spoken words itself: set text.normalizer to 'none', "
                "or leave text_funnel at 'loudr'",
                option="text_funnel",
            )
        return TextOptions(
            max_characters=max_characters,
            target_characters=target_characters,
            pauses=Pauses(**self.pauses.model_dump()),
            **self.text.model_dump(),
        )
