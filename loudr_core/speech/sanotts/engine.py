"""sanoTTS Root A behind the engine protocol: sentence by sentence, without any randomness.

A sentence is one call of the model, as it was in training; one that is too long for the students is
cut at its strongest mark. Phonemes may be given with a request, and then no phonemiser is needed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import Final

import numpy as np

from loudr_core.arrays import Mono
from loudr_core.canonical import digest
from loudr_core.errors import SynthesisError
from loudr_core.findings import Finding
from loudr_core.speech.answering import answer_each, check_request, check_threads, needed_bundle
from loudr_core.speech.given_phonemes import IDS_MARK
from loudr_core.speech.limits import SANOTTS
from loudr_core.speech.passes import cut_passes, join_passes
from loudr_core.speech.protocol import Speech, SpeechRequest, VoiceInfo
from loudr_core.speech.sanotts.configs import SAMPLE_RATE_HZ
from loudr_core.speech.sanotts.languages import primary
from loudr_core.speech.sanotts.package import Package, open_package
from loudr_core.speech.sanotts.phonemes import IdRow, encode, given_ids, taken_phonemes
from loudr_core.speech.sanotts.reading import Reader, open_reader
from loudr_core.speech.sanotts.voice import RootA
from loudr_core.speech.session import render_class

__all__ = ["SanottsEngine", "open_sanotts"]

_ADAPTER_VERSION = 1
"""Raised whenever this package comes to give other samples for the same request."""
_SENTENCE_S: Final = 0.2
"""Silence between two sentences of one unit, at speed 1."""
_CUT_S: Final = 0.08
"""The same where a sentence had to be cut."""
_MOST_IDS: Final = 760
"""A row of ids is never longer, whatever a package says: memory grows with it."""


def open_sanotts(
    *,
    bundle: Path | None = None,
    provider: str = "cpu",
    phonemizer: str = "auto",
    decoder: str = "onnx",
    threads: int = 1,
) -> "SanottsEngine":
    """Open a package of Root A; the factory of the registry.

    Parameters
    ----------
    bundle : Path
        The package's folder.
    provider : str
        Where the decoder runs: `cpu` or `cuda`.
    phonemizer : str
        `piper` from the extra `espeak`, `espeak-ng` for the program of that name, `auto` for the
        first of the two that is there, `none` where every segment brings its phonemes.
    decoder : str
        `onnx`, or `numpy`, which is the slow reference.
    threads : int
        Inside one operator of the decoder.

    Raises
    ------
    ConfigError
        No package is given, or an option has a value that it cannot have.
    BundleError
        The package is missing, damaged, of another kind, or asks for what is not known.
    DeviceError
        The provider or the phonemiser is not there.
    """
    check_threads(threads)
    package = open_package(needed_bundle(bundle, "sanotts", what="voice"))
    reader = open_reader(
        package.phonemes,
        phonemizer=phonemizer,
        path=str(package.folder / package.phonemes_name),
    )
    return SanottsEngine(package, reader, provider=provider, decoder=decoder, threads=threads)


class SanottsEngine:
    """A package behind the engine protocol; one unit at a time.

    Parameters
    ----------
    package : Package
    reader : Reader
    provider, decoder, threads
        As `open_sanotts` takes them.

    Raises
    ------
    ConfigError, BundleError, DeviceError
        As `RootA`.
    """

    name = "sanotts"
    sample_rate_hz = SAMPLE_RATE_HZ

    def __init__(
        self,
        package: Package,
        reader: Reader,
        *,
        provider: str = "cpu",
        decoder: str = "onnx",
        threads: int = 1,
    ) -> None:
        self._package, self._reader = package, reader
        self._options = {"provider": provider, "decoder": decoder, "threads": threads}
        self._voice = RootA(package, provider=provider, threads=threads, decoder=decoder)
        self._most_ids = min(package.duration.max_tokens, _MOST_IDS)
        spoken = package.language.partition("-")[0].lower()
        norms = {"no", "nb", "nn"} if primary(spoken) == "no" else {spoken, primary(spoken)}
        taken = taken_phonemes(package.phonemes, vocabulary=package.vocabulary)
        self.limits = replace(
            SANOTTS,
            languages=frozenset(norms),
            phonemes=taken,
            unread=frozenset() if reader.reads else frozenset(norms),
        )

    def fingerprint(self) -> str:
        """Return the digest of package, phonemiser, options and render class."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        package = self._package
        return digest(
            {
                "engine": self.name,
                "adapter": _ADAPTER_VERSION,
                "manifest": package.manifest_sha256,
                "weights": package.weights_sha256,
                "phonemes": package.phonemes.sha256,
                "reader": self._reader.identity,
                "decoder": self._options["decoder"],
                "threads": self._options["threads"],
                "pauses_s": [_SENTENCE_S, _CUT_S],
                "render_class": render_class(str(self._options["provider"])),
            }
        )

    def voices(self) -> Sequence[VoiceInfo]:
        """Return the one voice of the package."""
        package = self._package
        return (
            VoiceInfo(
                name=package.voice,
                language=package.language,
                sha256=package.weights_sha256,
                description=package.name if package.name != package.voice else "",
                licence=package.licence,
            ),
        )

    def synthesize(
        self, requests: Iterable[SpeechRequest], *, cancel: Event | None = None
    ) -> Iterator[Speech]:
        """Speak requests one after the other; see `Engine.synthesize`.

        The seed is taken and has no effect: there is no noise anywhere in the voice.
        """
        return answer_each(requests, self._speak, cancel=cancel)

    def _speak(self, request: SpeechRequest) -> Speech:
        self._check(request)
        sentences = self._rows(request)
        parts = [
            [self._voice.render(row.ids, speed=request.speed) for row in rows] for rows in sentences
        ]
        rows = [row for each in sentences for row in each]
        samples = self._join(parts, request.speed)
        if not np.isfinite(samples).all():
            raise SynthesisError("the voice gave samples that are not finite")
        return Speech(
            id=request.id,
            samples=samples,
            tokens=sum(len(row.ids) for row in rows),
            windows=len(rows),
            findings=tuple(_findings(rows)),
        )

    def _check(self, request: SpeechRequest) -> None:
        check_request(request, self.limits)
        if request.voice != self._package.voice:
            raise SynthesisError(
                f"no voice {request.voice!r}: the package has {self._package.voice!r}"
            )
        if primary(request.language) != primary(self._package.language):
            raise SynthesisError(
                f"voice {self._package.voice!r} speaks {self._package.language}, not "
                f"{request.language!r}: choose another voice"
            )

    def _rows(self, request: SpeechRequest) -> list[list[IdRow]]:
        """Return each sentence as one row of ids, or as several where it is too long for one."""
        given = request.phonemes
        if given is not None and given.startswith(IDS_MARK):
            row = given_ids(given.removeprefix(IDS_MARK), vocabulary=self._package.vocabulary)
            if len(row.ids) > self._most_ids:
                raise SynthesisError(
                    f"{len(row.ids)} phoneme ids are more than the {self._most_ids} of one pass"
                )
            return [[row]]
        if given is not None:
            sentences = [" ".join(line.split()) for line in given.splitlines() if line.strip()]
        else:
            if not any(symbol.isalnum() for symbol in request.text):
                raise SynthesisError("there is no word to speak")
            sentences = self._reader.sentences(request.text)
        if not sentences or not any(sentences):
            raise SynthesisError("no word of it can be read")
        return [self._cut(sentence) for sentence in sentences]

    def _cut(self, sentence: str) -> list[IdRow]:
        row = self._encoded(sentence)
        if len(row.ids) <= self._most_ids:
            return [row]
        # Start, pad and end are three ids, and each phoneme brings its pad.
        return [self._encoded(each) for each in cut_passes(sentence, (self._most_ids - 3) // 2)]

    def _encoded(self, phonemes: str) -> IdRow:
        return encode(phonemes, self._package.phonemes, vocabulary=self._package.vocabulary)

    def _join(self, sentences: list[list[Mono]], speed: float) -> Mono:
        parts = [part for sentence in sentences for part in sentence]
        pauses_s = [
            (_SENTENCE_S if place == len(sentence) - 1 else _CUT_S) / speed
            for sentence in sentences
            for place in range(len(sentence))
        ]
        return join_passes(parts, self.sample_rate_hz, pauses_s=pauses_s)


def _findings(rows: Sequence[IdRow]) -> Iterator[Finding]:
    """Yield what was left out of a unit."""
    for symbols, what in (
        (Counter(s for row in rows for s in row.unmapped), "no id"),
        (Counter(s for row in rows for s in row.untaught), "an id that it was never taught"),
    ):
        if symbols:
            shown = ", ".join(f"{symbol!r} ({count})" for symbol, count in sorted(symbols.items()))
            message = f"The voice has {what} for {shown}, which it leaves out."
            yield Finding(code="speech-unknown-phonemes", severity="warning", message=message)
