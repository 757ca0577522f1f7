"""Koko behind the engine protocol: a request is read, spoken in one pass, and looked at.

A unit that comes out longer than one pass may be is cut where a listener expects a breath, and its
parts are joined with a short silence. Nothing is left out unsaid: each character that was replaced
or dropped is a finding, or the unit is refused.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from threading import Event

import numpy as np

from loudr_core.audio.limiter import soft_limit
from loudr_core.canonical import digest
from loudr_core.errors import ConfigError, SynthesisError
from loudr_core.speech.answering import answer_each, check_request, check_threads, needed_bundle
from loudr_core.speech.cancelling import Poll, poll_of
from loudr_core.speech.koko.bundle import KokoBundle, open_koko_bundle
from loudr_core.speech.koko.findings import reading_findings, sound_findings
from loudr_core.speech.koko.model import SAMPLE_RATE_HZ, KokoModel, TooLong, Utterance
from loudr_core.speech.koko.reading import POLICIES, close_sentence, read_text
from loudr_core.speech.koko.recipe import Recipe
from loudr_core.speech.koko.voices import speaker_of, voice_infos
from loudr_core.speech.limits import KOKO
from loudr_core.speech.passes import cut_passes, join_passes
from loudr_core.speech.protocol import Speech, SpeechRequest, VoiceInfo
from loudr_core.speech.session import render_class
from loudr_core.speech.tags import primary_subtag

__all__ = ["KokoEngine", "open_koko"]

_log = logging.getLogger(__name__)

_ADAPTER_VERSION = 1
"""Raised whenever this package comes to give other samples for the same request."""
_JOIN_S = 0.18
"""Silence between two passes of one unit, at speed 1."""
_LEAST_S = 0.1
"""A single character that lasts shorter than this is a click."""


def open_koko(
    *,
    bundle: Path | None = None,
    provider: str = "cpu",
    precision: str = "float32",
    n_steps: int = 16,
    temperature: float = 0.667,
    cfg: float = 1.5,
    length_scale: float = 1.0,
    sway: float = -1.0,
    unsupported: str = "strict",
    threads: int = 1,
) -> "KokoEngine":
    """Open a Koko bundle; the factory of the registry.

    Parameters
    ----------
    bundle : Path
        The folder, or a file in it.
    provider : str
        `cpu` or `cuda`.
    precision : str
        `float32`, or `float16` for the half graphs of the bundle. On most processors those are
        slower.
    n_steps, temperature, cfg, length_scale, sway
        As `Recipe` has them.
    unsupported : str
        `strict` refuses a unit with a character that the vocabulary lacks; `lenient` leaves the
        character out and says so.
    threads : int
        Inside one operator of a graph. Part of the fingerprint.

    Raises
    ------
    ConfigError
        No bundle is given, or an option has a value that it cannot have.
    BundleError
        The bundle is missing, damaged, or another model's.
    DeviceError
        The provider is not there.
    """
    check_threads(threads)
    if unsupported not in POLICIES:
        raise ConfigError(
            f"option unsupported = {unsupported!r} is not one of {', '.join(POLICIES)}",
            option="unsupported",
        )
    recipe = Recipe(
        n_steps=n_steps, temperature=temperature, cfg=cfg, length_scale=length_scale, sway=sway
    )
    found = open_koko_bundle(needed_bundle(bundle, "koko"), precision=precision)
    return KokoEngine(found, recipe, provider=provider, unsupported=unsupported, threads=threads)


class KokoEngine:
    """A bundle behind the engine protocol; one unit at a time.

    Parameters
    ----------
    bundle : KokoBundle
    recipe : Recipe
    provider, unsupported, threads
        As `open_koko` takes them.

    Raises
    ------
    BundleError, DeviceError
        As `open_koko`.
    """

    name = "koko"
    sample_rate_hz = SAMPLE_RATE_HZ

    def __init__(
        self,
        bundle: KokoBundle,
        recipe: Recipe | None = None,
        *,
        provider: str = "cpu",
        unsupported: str = "strict",
        threads: int = 1,
    ) -> None:
        self._bundle, self._provider, self._threads = bundle, provider, threads
        self._recipe, self._policy = recipe or Recipe(), unsupported
        if bundle.precision == "float16":
            _log.info("in half precision: %s", ", ".join(bundle.half_graphs))
        self._model = KokoModel(bundle, self._recipe, provider=provider, threads=threads)
        slow = self._recipe.length_scale
        low, high = KOKO.seconds_per_character
        self.limits = replace(
            KOKO,
            seconds_per_character=(low * slow, high * slow),
            speeds=self._recipe.speeds,
            alphabet=frozenset(self._model.vocabulary.ids) if unsupported == "strict" else None,
        )
        self._voices = voice_infos(self._model.speakers, bundle.digests["text_encoder"])

    def fingerprint(self) -> str:
        """Return the digest of weights, tokenizer, options, probed facts and render class."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        return digest(
            {
                "engine": self.name,
                "adapter": _ADAPTER_VERSION,
                "files": self._bundle.digests,
                "frame_multiple": self._model.frame_multiple,
                "recipe": self._recipe.as_dict(),
                "unsupported": self._policy,
                "threads": self._threads,
                "render_class": render_class(self._provider, precision=self._bundle.precision),
            }
        )

    def voices(self) -> Sequence[VoiceInfo]:
        """Return the speakers of the bundle, `koko:000` first."""
        return self._voices

    def synthesize(
        self, requests: Iterable[SpeechRequest], *, cancel: Event | None = None
    ) -> Iterator[Speech]:
        """Speak requests one after the other; see `Engine.synthesize`.

        A unit in hand when `cancel` is set is given up at its next step.
        """
        poll = poll_of(cancel.is_set if cancel is not None else None)
        return answer_each(requests, lambda request: self._speak(request, poll), cancel=cancel)

    def _speak(self, request: SpeechRequest, poll: Poll) -> Speech:
        self._check(request)
        speaker = speaker_of(request.voice, self._model.speakers)
        reading = read_text(request.text, self._model.vocabulary, policy=self._policy)
        if not any(symbol.isalnum() for symbol in reading.text):
            raise SynthesisError("there is no word to speak")
        findings = reading_findings(request, reading)
        passes = self._passes(reading.text, speaker, request, poll)
        samples = join_passes(
            [each.samples for each in passes],
            SAMPLE_RATE_HZ,
            pauses_s=[_JOIN_S / request.speed] * len(passes),
        )
        if sum(map(str.isalnum, reading.text)) == 1 and len(samples) < _LEAST_S * SAMPLE_RATE_HZ:
            raise SynthesisError(
                f"{reading.text!r} alone would be a click of "
                f"{1000 * len(samples) / SAMPLE_RATE_HZ:.0f} ms: join it with its neighbour"
            )
        peak = float(np.abs(samples).max())
        findings += sound_findings(
            passes=len(passes),
            # As long as it would be at speed 1, which the band is for.
            pace_s=len(samples) / SAMPLE_RATE_HZ * request.speed / len(reading.text),
            band_s=self.limits.seconds_per_character,
            peak=peak,
        )
        if peak > 1.0:
            samples = soft_limit(samples)
        return Speech(
            id=request.id,
            samples=samples,
            tokens=sum(each.tokens for each in passes),
            windows=len(passes),
            findings=tuple(findings),
        )

    def _check(self, request: SpeechRequest) -> None:
        check_request(request, self.limits)
        if primary_subtag(request.language) not in self.limits.languages:
            raise SynthesisError(
                f"Koko was trained on English, not on {request.language!r}: choose another engine"
            )

    def _passes(
        self, text: str, speaker: int, request: SpeechRequest, poll: Poll
    ) -> list[Utterance]:
        """Speak a text, cut in halves as long as a pass would be too long."""
        waiting, done, seconds = [text], list[Utterance](), 0.0
        while waiting:
            part = waiting.pop(0)
            if not any(map(str.isalnum, part)):  # a mark that a cut left alone
                continue
            try:
                utterance = self._model.speak(
                    close_sentence(part, self._model.vocabulary),
                    speaker,
                    seed=request.seed,
                    stream=2 * len(done),
                    speed=request.speed,
                    poll=poll,
                )
            except TooLong:
                if " " not in part:
                    raise
                waiting[:0] = cut_passes(part, len(part) - 1)
                continue
            done.append(utterance)
            seconds += len(utterance.samples) / SAMPLE_RATE_HZ
            if seconds > self.limits.max_seconds:
                raise SynthesisError(
                    f"{len(text)} characters last longer than {self.limits.max_seconds:.0f} s: "
                    "the durations of this bundle are not those of speech"
                )
        return done
