"""BlueTTS behind the engine protocol: a request is read to IPA, spoken in passes, and looked at.

A pass is at most 240 tokens, since the model crams more words into the same fifteen seconds. A unit
with more is cut as text and read again part by part: cut IPA makes scraps that come out as noise.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import Final

import numpy as np
from numpy.typing import NDArray

from loudr_core.arrays import Mono
from loudr_core.audio.limiter import soft_limit
from loudr_core.canonical import digest
from loudr_core.errors import ConfigError, SynthesisError
from loudr_core.speech.answering import answer_each, check_request, check_threads, needed_bundle
from loudr_core.speech.bluetts.bundle import BlueBundle, open_blue_bundle
from loudr_core.speech.bluetts.findings import reading_findings, sound_findings
from loudr_core.speech.bluetts.ipa import Prepared, check_form, prepare
from loudr_core.speech.bluetts.model import MOST_TOKENS, BlueModel, Utterance
from loudr_core.speech.bluetts.reading import BlueReader
from loudr_core.speech.bluetts.recipe import Recipe
from loudr_core.speech.bluetts.tables import SAMPLE_RATE_HZ
from loudr_core.speech.bluetts.voices import BlueVoice, voice_info
from loudr_core.speech.cancelling import Poll, poll_of
from loudr_core.speech.given_phonemes import GivenPhonemes
from loudr_core.speech.limits import BLUETTS
from loudr_core.speech.passes import cut_passes, join_passes
from loudr_core.speech.protocol import Speech, SpeechRequest, VoiceInfo
from loudr_core.speech.session import render_class
from loudr_core.speech.tags import primary_subtag

__all__ = ["BlueEngine", "open_bluetts"]

_log = logging.getLogger(__name__)

_ADAPTER_VERSION = 1
"""Raised whenever this package comes to give other samples for the same request."""
_POLICIES: Final = ("strict", "lenient")
_JOIN_S: Final = 0.2
"""Silence between two passes of one unit, at speed 1."""
_FADE_S: Final = 0.005
"""At both ends of a pass, which the trim cuts anywhere."""
_OLD_TAGS: Final = {"iw": "he", "ji": "yi"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Part:
    """What one pass is to say."""

    prepared: Prepared
    ids: NDArray[np.int64]
    unknown: Counter[str]


def open_bluetts(
    *,
    bundle: Path | None = None,
    provider: str = "cpu",
    n_steps: int = 16,
    cfg: float = 3.0,
    pace_blend: float = 0.0,
    language_speed: Mapping[str, float] | None = None,
    pad_spaces: bool = True,
    unicode_form: str = "NFD",
    unknown: str = "strict",
    phonemizer: str = "auto",
    hebrew_model: str = "",
    russian_models: str = "",
    threads: int = 1,
) -> "BlueEngine":
    """Open a BlueTTS bundle; the factory of the registry.

    Parameters
    ----------
    bundle : Path
        The folder, or a file in it.
    provider : str
        `cpu` or `cuda`.
    n_steps, cfg, pace_blend, language_speed
        As `Recipe` has them.
    pad_spaces : bool
        A space before and after every pass.
    unicode_form : str
        `NFD`, as in training; `NFC` gives the German ich-sound its own symbol.
    unknown : str
        `strict` refuses a unit with an IPA symbol that the vocabulary lacks; `lenient` leaves the
        symbol out and says so.
    phonemizer, hebrew_model, russian_models
        As `BlueReader` takes them.
    threads : int
        Inside one operator of a graph. Part of the fingerprint.

    Raises
    ------
    ConfigError
        No bundle is given, or an option has a value that it cannot have.
    BundleError
        The bundle is missing, damaged, or another model's.
    DeviceError
        The provider, or a phonemizer that was asked for by name, is not there.
    """
    check_threads(threads)
    if unknown not in _POLICIES:
        raise ConfigError(
            f"option unknown = {unknown!r} is not one of {', '.join(_POLICIES)}", option="unknown"
        )
    if not isinstance(pad_spaces, bool):
        raise ConfigError(f"option pad_spaces = {pad_spaces!r} must be true or false")
    form = check_form(unicode_form)
    recipe = Recipe(
        n_steps=n_steps,
        cfg=cfg,
        pace_blend=pace_blend,
        language_speed={} if language_speed is None else language_speed,
    )
    reader = BlueReader(phonemizer, hebrew_model=hebrew_model, russian_models=russian_models)
    return BlueEngine(
        open_blue_bundle(needed_bundle(bundle, "bluetts")),
        recipe,
        reader,
        prepare=lambda text, language: prepare(
            text, form=form, pad_spaces=pad_spaces, repair_length=language != "ru"
        ),
        text_options={"unicode_form": form, "pad_spaces": pad_spaces, "unknown": unknown},
        provider=provider,
        threads=threads,
    )


class BlueEngine:
    """A bundle behind the engine protocol; one unit at a time.

    Parameters
    ----------
    bundle : BlueBundle
    recipe : Recipe
    reader : BlueReader
    prepare : callable
        From IPA and a primary subtag to what is encoded.
    text_options : dict
        `unknown`, and whatever else the result of `prepare` depends on.
    provider, threads
        As `open_bluetts` takes them.

    Raises
    ------
    BundleError, DeviceError
        As `open_bluetts`.
    """

    name = "bluetts"
    sample_rate_hz = SAMPLE_RATE_HZ

    def __init__(
        self,
        bundle: BlueBundle,
        recipe: Recipe,
        reader: BlueReader,
        *,
        prepare: Callable[[str, str], Prepared],
        text_options: Mapping[str, object],
        provider: str = "cpu",
        threads: int = 1,
    ) -> None:
        self._bundle, self._recipe, self._reader = bundle, recipe, reader
        self._prepare, self._text_options = prepare, dict(text_options)
        self._provider, self._threads = provider, threads
        self._model = BlueModel(bundle, recipe, provider=provider, threads=threads)
        taken = GivenPhonemes(
            symbols=self._model.vocabulary.taken,
            most_unknown=0.0 if self._text_options["unknown"] == "strict" else 1.0,
        )
        self.limits = replace(BLUETTS, phonemes=taken, unread=reader.unread(BLUETTS.languages))
        self._infos = tuple(map(voice_info, self._model.voices.values()))

    def fingerprint(self) -> str:
        """Return the digest of weights, tables, front ends, options and render class."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        voices = {self._bundle.name_of(path) for path in self._bundle.voices}
        files = {name: sha for name, sha in self._bundle.digests.items() if name not in voices}
        return digest(
            {
                "engine": self.name,
                "adapter": _ADAPTER_VERSION,
                "files": files,
                "recipe": self._recipe.as_dict(),
                "reader": self._reader.identity,
                "text": self._text_options,
                "threads": self._threads,
                "render_class": render_class(self._provider),
            }
        )

    def voices(self) -> Sequence[VoiceInfo]:
        """Return the voices of the bundle, the preferred one first."""
        return self._infos

    def synthesize(
        self, requests: Iterable[SpeechRequest], *, cancel: Event | None = None
    ) -> Iterator[Speech]:
        """Speak requests one after the other; see `Engine.synthesize`.

        A unit in hand when `cancel` is set is given up at its next step.
        """
        poll = poll_of(cancel.is_set if cancel is not None else None)
        return answer_each(requests, lambda request: self._speak(request, poll), cancel=cancel)

    def _speak(self, request: SpeechRequest, poll: Poll) -> Speech:
        language = _primary(request.language)
        voice = self._check(request, language)
        parts = self._parts(request, language)
        language_speed = self._recipe.speed_of(language)
        speed = request.speed * language_speed
        passes = self._passes(parts, voice, request.seed, speed, poll)
        samples = _joined(passes, request.speed)
        missing: Counter[str] = sum((each.unknown for each in parts), Counter())
        findings = [
            *reading_findings(
                [each.prepared for each in parts],
                missing,
                language=language,
                language_speed=language_speed,
            ),
            *sound_findings(passes, samples, speed=speed),
        ]
        return Speech(
            id=request.id,
            samples=samples,
            tokens=sum(each.tokens for each in passes),
            windows=len(passes),
            findings=tuple(findings),
        )

    def _check(self, request: SpeechRequest, language: str) -> BlueVoice:
        check_request(request, self.limits)
        if language not in self.limits.languages:
            spoken = ", ".join(sorted(self.limits.languages))
            raise SynthesisError(f"BlueTTS speaks {spoken}, not {request.language!r}")
        voice = self._model.voices.get(request.voice)
        if voice is None:
            raise SynthesisError(
                f"no voice {request.voice!r}: the bundle has {', '.join(self._model.voices)}"
            )
        return voice

    def _parts(self, request: SpeechRequest, language: str) -> list[_Part]:
        """Return what each pass says; every part is read before any graph runs."""
        given = request.phonemes is not None
        text = " ".join((request.phonemes or "").split()) if given else request.text
        if not any(map(str.isalnum, text)):
            raise SynthesisError("there is no word to speak")
        waiting, parts = [text], list[_Part]()
        while waiting:
            piece = waiting.pop(0)
            if not any(map(str.isalnum, piece)):  # a mark that a cut left alone
                continue
            ipa = piece if given else self._reader.read(piece, language)
            part = self._part(ipa, language)
            if len(part.ids) <= MOST_TOKENS:
                parts.append(part)
            elif " " not in piece:
                raise SynthesisError(
                    f"{len(part.ids)} tokens without a space are more than the {MOST_TOKENS} of "
                    "one pass"
                )
            else:
                waiting[:0] = cut_passes(piece, len(piece) - 1)
        return parts

    def _part(self, ipa: str, language: str) -> _Part:
        prepared = self._prepare(ipa, language)
        coverage = self._model.vocabulary.encode(prepared.text)
        if coverage.unknown and self._text_options["unknown"] == "strict":
            raise SynthesisError(
                f"the voice has no symbol for {coverage.unknown.total()} of {len(prepared.text)} "
                f"in the phonemes ({coverage.report}): correct them, or set the option "
                "unknown = lenient",
                unknown=dict(coverage.unknown),
            )
        return _Part(prepared=prepared, ids=coverage.ids, unknown=coverage.unknown)

    def _passes(
        self, parts: Sequence[_Part], voice: BlueVoice, seed: int, speed: float, poll: Poll
    ) -> list[Utterance]:
        passes: list[Utterance] = []
        for place, part in enumerate(parts):
            passes.append(
                self._model.speak(
                    part.ids, voice, seed=seed, stream=2 * place, speed=speed, poll=poll
                )
            )
            if sum(each.seconds for each in passes) > self.limits.max_seconds:
                raise SynthesisError(
                    f"the unit lasts longer than {self.limits.max_seconds:.0f} s: the durations of "
                    "this bundle are not those of speech"
                )
        return passes


def _joined(passes: Sequence[Utterance], speed: float) -> Mono:
    """Return the passes, limited by the same curve and not by their own peaks."""
    limited = [soft_limit(_faded(each.samples)) for each in passes]
    return join_passes(limited, SAMPLE_RATE_HZ, pauses_s=[_JOIN_S / speed] * len(limited))


def _faded(samples: Mono) -> Mono:
    count = min(round(_FADE_S * SAMPLE_RATE_HZ), len(samples) // 2)
    ramp = np.arange(count, dtype=np.float32) / np.float32(max(count, 1))
    out = samples.copy()
    out[:count] *= ramp
    out[len(out) - count :] *= ramp[::-1]
    return out


def _primary(tag: str) -> str:
    language = primary_subtag(tag)
    return _OLD_TAGS.get(language, language)
