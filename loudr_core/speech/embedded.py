"""The embedded engine: American English with nothing to download, one unit at a time.

What the voice cannot say it drops without a word. Here nothing is dropped silently: letters without
phonemes, foreign scripts and unknown symbols are errors or findings.
"""

import functools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event

import numpy as np

from loudr_core.canonical import digest
from loudr_core.errors import BundleError, ConfigError, DeviceError, SynthesisError
from loudr_core.findings import Finding
from loudr_core.speech.answering import answer_each, check_request
from loudr_core.speech.embedded_voice import VOICE, EmbeddedVoice, voice_facts, voice_sha256
from loudr_core.speech.given_phonemes import GivenPhonemes
from loudr_core.speech.legible import foreign_letters, unreadable
from loudr_core.speech.limits import EMBEDDED
from loudr_core.speech.passes import cut_passes, join_passes
from loudr_core.speech.protocol import Speech, SpeechRequest, VoiceInfo
from loudr_core.speech.tags import primary_subtag

__all__ = ["EmbeddedEngine", "open_embedded"]

_ADAPTER_VERSION = 1
"""Raised whenever this file or `passes` comes to give other samples for the same request."""
_PASS_PHONEMES = 350
_JOIN_S = 0.18
"""Silence between two passes of one unit, at speed 1."""
_WORD = re.compile(r"[^\W\d_]+")
_READ_LETTERS = 24
"""hibari's reader of unknown words stops after so many letters."""
_LONG_WORD = re.compile(rf"[^\W\d_]{{{_READ_LETTERS + 1},}}")


def open_embedded(
    *, bundle: Path | None = None, provider: str = "cpu", voice: str = VOICE
) -> "EmbeddedEngine":
    """Open the embedded voice; the factory of the registry.

    Raises
    ------
    BundleError
        A bundle was given, which this engine has no use for, or hibari's own files are damaged.
    ConfigError
        The voice is another than the one in the wheel.
    DeviceError
        The provider is another than `cpu`.
    """
    if bundle is not None:
        raise BundleError(
            f"engine 'embedded' takes no bundle (got {bundle}): its voice is inside the package; "
            "leave --bundle out or choose the engine that the bundle is for",
            path=str(bundle),
        )
    if provider != "cpu":
        raise DeviceError(
            f"engine 'embedded' runs on the cpu only, not on {provider!r}: ask for provider cpu",
            provider=provider,
        )
    if voice != VOICE:
        raise ConfigError(f"engine 'embedded' has no voice {voice!r}: use {VOICE!r}", voice=voice)
    return EmbeddedEngine()


class EmbeddedEngine:
    """The voice behind the engine protocol; one thread.

    Raises
    ------
    BundleError
        hibari's files are missing or cannot be loaded.
    """

    name = "embedded"

    def __init__(self) -> None:
        self._voice = EmbeddedVoice()
        self.sample_rate_hz = self._voice.sample_rate_hz
        symbols = frozenset(unicodedata.normalize("NFD", each) for each in self._voice.alphabet)
        self.limits = replace(EMBEDDED, phonemes=GivenPhonemes(symbols=symbols))

    def fingerprint(self) -> str:
        """Return the digest of voice, text front end, versions and render class."""
        return _fingerprint()

    def voices(self) -> Sequence[VoiceInfo]:
        """Return the one voice in the wheel."""
        return (
            VoiceInfo(
                name=VOICE,
                language="en-US",
                sha256=voice_sha256(),
                description="American English, female, neutral narration",
                licence="Apache-2.0",
            ),
        )

    def synthesize(
        self, requests: Iterable[SpeechRequest], *, cancel: Event | None = None
    ) -> Iterator[Speech]:
        """Speak requests one after the other; see `Engine.synthesize`."""
        return answer_each(requests, self._speak, cancel=cancel)

    def _speak(self, request: SpeechRequest) -> Speech:
        self._check(request)
        phonemes, findings = self._phonemes(request)
        passes = cut_passes(phonemes, _PASS_PHONEMES)
        parts = [
            # A Philox key has 128 bits: the seed, and above it the number of the pass.
            self._voice.render(each, request.speed, request.seed + (number << 64))
            for number, each in enumerate(passes)
        ]
        pauses_s = [_JOIN_S / request.speed] * len(parts)
        samples = join_passes(parts, self.sample_rate_hz, pauses_s=pauses_s)
        if len(samples) == 0 or not np.isfinite(samples).all():
            found = "no samples" if len(samples) == 0 else "samples that are not finite"
            raise SynthesisError(f"the voice gave {found} for {len(phonemes)} phonemes")
        return Speech(
            id=request.id,
            samples=np.ascontiguousarray(samples, dtype=np.float32),
            tokens=len(phonemes),
            windows=len(passes),
            findings=findings,
        )

    def _check(self, request: SpeechRequest) -> None:
        check_request(request, self.limits)
        if request.voice != VOICE:
            raise SynthesisError(f"no voice {request.voice!r}: the embedded engine has {VOICE!r}")
        if primary_subtag(request.language) not in self.limits.languages:
            raise SynthesisError(
                f"the embedded voice speaks English, not {request.language!r}: "
                "choose another engine"
            )

    def sentences(self, text: str, language: str = "en") -> list[str]:
        """Return the phonemes of each sentence of a text; `language` makes no difference."""
        del language
        return self._voice.phonemize(_LONG_WORD.sub(self._split_long, _plain(text)))

    def _phonemes(self, request: SpeechRequest) -> tuple[str, tuple[Finding, ...]]:
        if request.phonemes is not None:
            # The alphabet has ç as one letter.
            given = unicodedata.normalize("NFC", " ".join(request.phonemes.split()))
            if unknown := sorted(set(given) - self._voice.alphabet):
                raise SynthesisError(
                    f"phonemes {' '.join(unknown)} are not in the voice's alphabet"
                )
            if not any(symbol.isalpha() for symbol in given):
                raise SynthesisError("the given phonemes hold no sound")
            return given, ()
        text = _LONG_WORD.sub(self._split_long, _plain(request.text))
        findings = list(self._script_findings(text))
        phonemes = " ".join(self._voice.phonemize(text))
        if not any(symbol.isalpha() for symbol in phonemes):
            raise SynthesisError(f"no word of it can be read: {_shown(request.text)}")
        if unknown := sorted(set(phonemes) - self._voice.alphabet):
            findings.append(
                _warning(
                    "speech-unknown-phonemes",
                    f"The voice has no sound for {' '.join(unknown)}, which it leaves out.",
                )
            )
        return phonemes, tuple(findings)

    def _script_findings(self, text: str) -> Iterator[Finding]:
        """Yield a finding when words would be left out or spelled as nonsense."""
        if text.isascii():
            return
        if reason := unreadable(self.name, text):
            raise SynthesisError(f"{reason}: {_shown(text)}")
        foreign, _ = foreign_letters(text)
        if foreign:
            yield _warning(
                "speech-foreign-script",
                f"{foreign} letters are not Latin; the voice guesses at them.",
            )
        words = {word for word in _WORD.findall(text) if not word.isascii()}
        if silent := sorted(word for word in words if not self._voice.phonemize(word)):
            yield _warning(
                "speech-unread-word",
                f"The voice cannot read {', '.join(silent)} and leaves it out.",
            )

    def _split_long(self, match: re.Match[str]) -> str:
        """Return a word in pieces that are read whole, where its end would be left out."""
        word = match.group()
        if self._voice.phonemize(word) != self._voice.phonemize(word[:_READ_LETTERS]):
            return word
        return " ".join(
            word[start : start + _READ_LETTERS] for start in range(0, len(word), _READ_LETTERS)
        )


@functools.lru_cache(maxsize=1)
def _fingerprint() -> str:
    return digest(
        {
            "engine": "embedded",
            "adapter": _ADAPTER_VERSION,
            "voice": voice_facts(),
            "pass_phonemes": _PASS_PHONEMES,
            "join_s": _JOIN_S,
        }
    )


def _plain(text: str) -> str:
    # "](" would start hibari's own mark-up for given phonemes, and the words after it would go.
    return " ".join(text.split()).replace("](", "] (")


def _warning(code: str, message: str) -> Finding:
    return Finding(code=code, severity="warning", message=message)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")
