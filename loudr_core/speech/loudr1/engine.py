"""loudr-1 behind the engine protocol: each request is a passage, cut, drawn and judged here.

The engine's own detectors condemn a window and draw it again with other seeds; when none of them is
good the take carries a finding that condemns it, and the one who asked tries another seed.
"""

import hashlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from threading import Event

import numpy as np

from loudr_core.canonical import digest
from loudr_core.errors import BundleError, SynthesisError
from loudr_core.speech.answering import answer_each, check_request, check_threads, needed_bundle
from loudr_core.speech.files import file_sha256
from loudr_core.speech.limits import LOUDR1
from loudr_core.speech.loudr1.bundle import Bundle, open_bundle
from loudr_core.speech.loudr1.findings import passage_findings, reading_findings
from loudr_core.speech.loudr1.model import Loudr1
from loudr_core.speech.loudr1.voice import VoiceProfile
from loudr_core.speech.protocol import Speech, SpeechRequest, VoiceInfo
from loudr_core.speech.session import render_class
from loudr_core.speech.tags import primary_subtag

__all__ = ["Loudr1Engine", "open_loudr1"]

_log = logging.getLogger(__name__)

_ADAPTER_VERSION = 1
"""Raised whenever this package comes to give other samples for the same request."""


def open_loudr1(
    *,
    bundle: Path | None = None,
    provider: str = "cpu",
    text_funnel: str = "loudr",
    threads: int = 1,
) -> "Loudr1Engine":
    """Open a bundle of loudr-1 or loudr-1-turbo; the factory of the registry.

    Parameters
    ----------
    bundle : Path
        The folder, or the checkpoint in it.
    provider : str
        `cpu` or `cuda`.
    text_funnel : str
        `loudr` takes the words of the plan; `loudkit` puts them through the reference engine's own
        preparation, from the extra `loudkit-text`.
    threads : int
        Inside one operator of a graph. Part of the fingerprint.

    Raises
    ------
    ConfigError
        No bundle is given, or an option has a value that it cannot have.
    BundleError
        The bundle is missing, damaged, without a voice, or its parts do not fit together.
    DeviceError
        The provider or a package is not there.
    """
    check_threads(threads)
    return Loudr1Engine(
        open_bundle(needed_bundle(bundle, "loudr1")),
        provider=provider,
        text_funnel=text_funnel,
        threads=threads,
    )


class Loudr1Engine:
    """A bundle behind the engine protocol; one passage at a time.

    Parameters
    ----------
    bundle : Bundle
    provider, text_funnel, threads
        As `open_loudr1` takes them.

    Raises
    ------
    BundleError, ConfigError, DeviceError
        As `open_loudr1`.
    """

    name = "loudr1"
    limits = LOUDR1

    def __init__(
        self, bundle: Bundle, *, provider: str = "cpu", text_funnel: str = "loudr", threads: int = 1
    ) -> None:
        self._bundle, self._provider, self._threads = bundle, provider, threads
        for finding in bundle.findings:
            _log.warning("%s: %s", finding.code, finding.message)
        self._model = Loudr1(bundle, provider=provider, threads=threads, text_funnel=text_funnel)
        self.sample_rate_hz = bundle.algorithm.sample_rate_hz
        self._profiles: dict[str, VoiceProfile] = {}
        if not bundle.voice_names():
            raise BundleError(
                f"{bundle.folder} has no voice in voices/: fetch one, or make one with "
                "`loudr voices enroll`",
                path=str(bundle.folder),
            )

    def fingerprint(self) -> str:
        """Return the digest of weights, tokenizer, text funnel, options and render class."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        bundle = self._bundle
        return digest(
            {
                "engine": self.name,
                "adapter": _ADAPTER_VERSION,
                "algorithm": bundle.fingerprint,
                "checkpoint": bundle.checkpoint_sha256,
                "graphs": {name: _graph_digest(path) for name, path in bundle.graphs.items()},
                "tokenizer": hashlib.sha256(bundle.tokenizer_json()).hexdigest(),
                "text_funnel": self._model.funnel.identity,
                "threads": self._threads,
                "render_class": render_class(self._provider),
            }
        )

    def voices(self) -> Sequence[VoiceInfo]:
        """Return the voices of the bundle, by name.

        A damaged profile is left out with a warning that names it; a request for it is answered
        with what is wrong.

        Raises
        ------
        BundleError
            Every profile is damaged; the error is that of the first.
        """
        voices: list[VoiceInfo] = []
        damaged: list[BundleError] = []
        for name in self._bundle.voice_names():
            try:
                voices.append(self._info(name))
            except BundleError as error:
                damaged.append(error)
        if not voices and damaged:
            raise damaged[0]
        for each in damaged:
            _log.warning("bundle-damaged-voice: %s", each.message)
        return tuple(voices)

    def synthesize(
        self, requests: Iterable[SpeechRequest], *, cancel: Event | None = None
    ) -> Iterator[Speech]:
        """Speak requests one after the other; see `Engine.synthesize`.

        A passage in hand when `cancel` is set is given up at its next token.
        """
        return answer_each(requests, lambda request: self._speak(request, cancel), cancel=cancel)

    def _speak(self, request: SpeechRequest, cancel: Event | None) -> Speech:
        if not any(symbol.isalnum() for symbol in request.text):
            raise SynthesisError("there is no word to speak")
        check_request(request, self.limits)
        language = _tokenizer_language(request.language)
        voice = self._profile(request.voice)
        findings = reading_findings(request, unread=self._model.unread(request.text, language))
        passage = self._model.synthesize(
            request.text,
            voice,
            seed=request.seed,
            language=language,
            speed=request.speed,
            should_cancel=cancel.is_set if cancel is not None else None,
        )
        if len(passage.audio) == 0 or not np.isfinite(passage.audio).all():
            found = "no samples" if len(passage.audio) == 0 else "samples that are not finite"
            raise SynthesisError(f"the voice gave {found} for {len(request.text)} characters")
        trimmed = self._bundle.algorithm.detectors.mode == "trim"
        findings += passage_findings(passage, trimmed=trimmed)
        return Speech(
            id=request.id,
            samples=passage.audio,
            tokens=len(passage.tokens),
            windows=len(passage.windows),
            findings=tuple(findings),
        )

    def _profile(self, name: str) -> VoiceProfile:
        if name not in self._profiles:
            self._profiles[name] = self._bundle.voice(name)
        return self._profiles[name]

    def _info(self, name: str) -> VoiceInfo:
        profile = self._profile(name)
        return VoiceInfo(name=name, language=profile.language or "en", sha256=profile.sha256)


def _tokenizer_language(tag: str) -> str:
    """Return a BCP 47 tag as the tokenizer names the language: no region, one Norwegian."""
    language = primary_subtag(tag)
    return "no" if language in {"nb", "nn"} else language


def _graph_digest(path: Path) -> str:
    """Return the SHA-256 over a graph and what lies beside it under its name, such as weights."""
    total = hashlib.sha256()
    for part in sorted(path.parent.glob(f"{path.name}*")):
        total.update(bytes.fromhex(file_sha256(part)))
    return total.hexdigest()
