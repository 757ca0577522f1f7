"""What an engine is: words, a voice and a seed in, samples out. It knows nothing of books."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Protocol, runtime_checkable

from loudr_core.arrays import Mono
from loudr_core.findings import Finding
from loudr_core.speech.given_phonemes import GivenPhonemes

__all__ = ["Engine", "EngineLimits", "Speech", "SpeechRequest", "VoiceInfo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLimits:
    """What one request may hold, and what an engine process costs."""

    max_characters: int
    """A longer request is answered with an error result."""
    target_characters: int
    """Segments are packed up to this length: best quality and speed."""
    languages: frozenset[str]
    """Primary BCP 47 subtags, such as `en`."""
    max_seconds: float
    """Audio one request can yield at most."""
    seconds_per_character: tuple[float, float]
    """Calibrated band of the voice family at speed 1, for detectors: below or above is suspect."""
    peak_memory_bytes: int
    """Resident size of one engine process at its peak."""
    batch: int = 1
    """Requests that one process works on at the same time."""
    real_time_factor: float = 0.0
    """Typical compute seconds per second of audio of one process, for estimates; 0 if unknown."""
    phonemes: GivenPhonemes | None = None
    """What `SpeechRequest.phonemes` may hold, known of a loaded engine; None if it takes none."""
    speeds: tuple[float, float] = (0.5, 2.0)
    """Least and greatest speed; options of a loaded engine may narrow it."""
    alphabet: frozenset[str] | None = None
    """Characters that a text is refused for when it has others, in no form that is among these;
    known of a loaded engine. None for one that refuses no text for its characters."""
    unread: frozenset[str] = frozenset()
    """Those of `languages` that need phonemes with the request: nothing here reads them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VoiceInfo:
    """A voice that an engine can speak with."""

    name: str
    language: str
    sha256: str
    """Of the voice's data; part of every take key."""
    description: str = ""
    licence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechRequest:
    """One unit to speak.

    Parameters
    ----------
    id : str
        Returned with the answer; the engine gives it no meaning.
    text : str
        Normalised words and plain punctuation.
    language : str
        BCP 47 tag.
    voice : str
        A name of `Engine.voices()`.
    seed : int
        0 to 2^64 - 1; addresses all randomness of this unit.
    speed : float
        1.0 is the voice's own pace; 0.5 to 2.0.
    phonemes : str, optional
        IPA that replaces the engine's own reading, for engines that take it.
    """

    id: str
    text: str
    language: str
    voice: str
    seed: int
    speed: float = 1.0
    phonemes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Speech:
    """The answer to one request: samples, or an error.

    Parameters
    ----------
    samples : float32, shape (n,), or None
        Untrimmed, at the engine's rate, in [-1, 1] nominally. None when `error` is set.
    tokens : int
        Units the model consumed or produced (codec tokens, phonemes), for rates and detectors.
    windows : int
        Renderer windows used.
    findings : tuple of Finding
        What the engine's own detectors say.
    error : str
        One line, empty when there are samples.
    compute_s : float
        Seconds of wall time spent on this unit.
    """

    id: str
    samples: Mono | None
    tokens: int = 0
    windows: int = 1
    findings: tuple[Finding, ...] = ()
    error: str = ""
    compute_s: float = 0.0


@runtime_checkable
class Engine(Protocol):
    """A loaded model family. `loudr_core.testing.EngineConformance` is the suite it must pass."""

    name: str
    sample_rate_hz: int
    limits: EngineLimits

    def fingerprint(self) -> str:
        """Return a digest of weights, text front end, options that move samples, render class."""
        ...

    def voices(self) -> Sequence[VoiceInfo]:
        """Return the voices that can be asked for; at least one."""
        ...

    def synthesize(
        self, requests: Iterable[SpeechRequest], *, cancel: Event | None = None
    ) -> Iterator[Speech]:
        """Speak requests, pulled lazily, answered as they finish.

        One bad request yields an error answer for its id and never takes the others down. When
        `cancel` is set the iterator ends after the unit in hand.
        """
        ...
