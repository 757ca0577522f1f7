"""Who speaks which chapter: the rules of a profile, laid over the chapters of a book.

A book has one voice that speaks whatever no rule gives away, and may have others, of the same
engine or of different ones. A rule gives a voice chapters by their numbers or by a pattern on
their titles.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol

from loudr_core.errors import ConfigError
from loudr_core.speech.given_phonemes import GivenPhonemes
from loudr_core.text.model import TextOptions

__all__ = [
    "CastRule",
    "CastVoice",
    "HeardChapter",
    "PlanVoice",
    "Speaker",
    "cast_voice",
    "check_cast",
    "master_rate",
    "parse_chapters",
]

_RANGE = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?")
_MOST_TITLES = 6
_LOW_RATE_HZ, _HIGH_RATE_HZ = 24_000, 44_100


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """The voice that speaks, and everything about its engine that moves samples."""

    engine: str
    voice: str
    voice_sha256: str
    fingerprint: str
    sample_rate_hz: int
    languages: frozenset[str]
    max_characters: int
    target_characters: int
    seconds_per_character: tuple[float, float]
    phonemes: GivenPhonemes | None = None
    """What given phonemes may hold; None for an engine that takes none."""
    unread: frozenset[str] = frozenset()
    """Languages that the engine speaks, and reads no text of."""
    alphabet: frozenset[str] | None = None
    """Characters that the engine refuses a text for when it has others; None when it does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CastVoice:
    """A voice beside the narrator's, as a book is planned with it.

    Parameters
    ----------
    speaker : Speaker
    text : TextOptions
        How its chapters are read and cut, for the limits of its engine.
    speed : float
    policy_digest : str
        Of the detector policy that its takes are judged by.
    """

    speaker: Speaker
    text: TextOptions
    speed: float
    policy_digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanVoice:
    """A voice of a plan, as it is kept: what orders are made of.

    Parameters
    ----------
    name : str
        What the profile calls it; empty for the narrator, who speaks what no rule gives away.
    sample_rate_hz : int
        Of its takes.
    """

    name: str
    engine: str
    voice: str
    voice_sha256: str
    fingerprint: str
    sample_rate_hz: int
    speed: float
    policy_digest: str = ""

    @property
    def label(self) -> str:
        """How people read it: the voice, and the engine it is of."""
        return f"{self.voice} ({self.engine})"


class HeardChapter(Protocol):
    """A chapter that rules are laid over."""

    @property
    def number(self) -> int:
        """Its number in the plan, from 1."""
        ...

    @property
    def title(self) -> str:
        """Its title, may be empty."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CastRule:
    """Chapters that a voice is given, by numbers or by a pattern; exactly one of the two.

    Parameters
    ----------
    voice : str
        A name of the profile's voices.
    chapters : frozenset of int
        Numbers as the plan has them; empty for a pattern.
    title : str
        A pattern that a whole title is held against, without regard to case: `*` is any text, `?`
        one character, `[ab]` one of these; empty for numbers.
    said : str
        The rule as the profile has it, for messages.
    """

    voice: str
    chapters: frozenset[int] = frozenset()
    title: str = ""
    said: str = ""

    def covers(self, number: int, title: str) -> bool:
        """Say whether a chapter is meant."""
        if self.title:
            return fnmatchcase(" ".join(title.split()).casefold(), self.title.casefold())
        return number in self.chapters

    @property
    def label(self) -> str:
        """How a message names the rule."""
        said = self.said or self.title or ",".join(map(str, sorted(self.chapters)))
        return f"title {said!r}" if self.title else f"chapters {said}"


def cast_voice(rules: Iterable[CastRule], number: int, title: str) -> str:
    """Return the name of the voice that speaks a chapter; empty for the narrator."""
    return next((rule.voice for rule in rules if rule.covers(number, title)), "")


def check_cast(rules: Sequence[CastRule], chapters: Sequence[HeardChapter]) -> None:
    """Refuse rules that cannot be meant for a book.

    Raises
    ------
    ConfigError
        A rule names a chapter that is not there, or matches none; or two rules match one chapter.
    """
    taken: dict[int, CastRule] = {}
    numbers = {chapter.number for chapter in chapters}
    for rule in rules:
        absent = rule.chapters - numbers
        if absent:
            raise ConfigError(
                f"[[cast]] {rule.label}: there is no chapter {min(absent)}, the book has 1 to "
                f"{max(numbers)}; `loudr plan` lists them",
                voice=rule.voice,
            )
        covered = [each for each in chapters if rule.covers(each.number, each.title)]
        if not covered:
            raise ConfigError(
                f"[[cast]] {rule.label} matches no chapter: titles are {_titles(chapters)}",
                voice=rule.voice,
            )
        for chapter in covered:
            other = taken.setdefault(chapter.number, rule)
            if other is not rule:
                raise ConfigError(
                    f"[[cast]] {other.label} and {rule.label} both match chapter {chapter.number}, "
                    f"{chapter.title!r}: let one of them have it",
                    chapter=chapter.number,
                )


def master_rate(rates: Iterable[int], wanted: int | None) -> int:
    """Return the sample rate of the finished book, in Hz.

    Parameters
    ----------
    rates : iterable of int
        Of the engines that speak in it; at least one.
    wanted : int, optional
        What the profile says; it counts.

    Returns
    -------
    int
        The one rate of the engines where they agree, so that nothing is resampled; else 24,000,
        or 44,100 where an engine has more than 24,000, of which nothing is to be lost.
    """
    if wanted is not None:
        return wanted
    found = set(rates)
    if len(found) == 1:
        return found.pop()
    return _LOW_RATE_HZ if max(found) <= _LOW_RATE_HZ else _HIGH_RATE_HZ


def parse_chapters(text: str) -> frozenset[int]:
    """Return the chapter numbers of a list such as `1-3,7`.

    Raises
    ------
    ValueError
        It is not such a list.
    """
    numbers: set[int] = set()
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip())
        if found is None:
            raise ValueError(f"{part.strip()[:40]!r} is not a list of chapters such as 1-3,7")
        low, high = int(found[1]), int(found[2] or found[1])
        if not 1 <= low <= high:
            raise ValueError(f"{part.strip()!r} is not a range of chapters such as 1-3")
        numbers.update(range(low, high + 1))
    return frozenset(numbers)


def _titles(chapters: Sequence[HeardChapter]) -> str:
    shown = ", ".join(repr(chapter.title) for chapter in chapters[:_MOST_TITLES])
    more = len(chapters) - _MOST_TITLES
    return f"{shown} and {more} more" if more > 0 else shown
