"""A voice from a recording, through the three enrolment graphs of a bundle.

loudr-1 specification, section 21.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from loudr_core.arrays import Mono
from loudr_core.errors import BundleError, ConfigError
from loudr_core.speech.loudr1.algorithm import ACOUSTIC_TOKENS, MEL_BINS
from loudr_core.speech.loudr1.enrol_dsp import fbank, partials, prompt_mel, token_mel
from loudr_core.speech.loudr1.graphs import Graph, Signature
from loudr_core.speech.loudr1.reference_audio import (
    PROMPT_SECONDS,
    check_reference,
    end_in_silence,
)
from loudr_core.speech.loudr1.sinc_resample import resample_sinc
from loudr_core.speech.loudr1.text_tokens import LANGUAGES
from loudr_core.speech.loudr1.voice import VoiceProfile
from loudr_core.speech.session import Port

__all__ = ["ENROLMENT_SIGNATURES", "Enroller", "checked_language"]

F32: TypeAlias = NDArray[np.float32]

_FLOAT = "tensor(float)"
ENROLMENT_SIGNATURES: Mapping[str, Signature] = {
    # Any kind of integer will do for the tokens, and any shape that has the right number of values.
    "s3_tokenizer": Signature((Port("mel", _FLOAT, (1, 128, None)),), (Port("tokens", "", ()),)),
    "camp": Signature((Port("fbank", _FLOAT, (1, 80, None)),), (Port("out", _FLOAT, ()),)),
    "voice_encoder": Signature(
        (Port("partials", _FLOAT, (None, 160, 40)),), (Port("out", _FLOAT, ()),)
    ),
}
"""The published signatures of the enrolment graphs; section 21."""

_RATE_HZ, _SPEAKER_RATE_HZ = 24_000, 16_000
_COND_SECONDS, _COND_FRAMES = 6, 600
_SPEAKER_VALUES, _FLOW_VALUES = 256, 192
_SMALLEST_NORM = 1e-6


class Enroller:
    """The enrolment graphs of a bundle, loaded.

    Parameters
    ----------
    graphs : mapping of str to Path
        `Bundle.enrolment_graphs`.
    provider : str
    threads : int
        As `open_session` takes them.

    Raises
    ------
    BundleError
        A graph is missing, cannot be loaded, or has another signature than the published one.
    DeviceError
        The provider is not there.
    """

    def __init__(
        self, graphs: Mapping[str, Path], *, provider: str = "cpu", threads: int = 1
    ) -> None:
        missing = [name for name in ENROLMENT_SIGNATURES if name not in graphs]
        if missing:
            raise BundleError(
                f"the bundle cannot enrol voices, onnx/{missing[0]}.onnx is not there: get the "
                f"release's enrolment graphs ({', '.join(f'{m}.onnx' for m in missing)})",
                key=missing[0],
            )
        self._graphs = {
            name: Graph(name, graphs[name], signature, provider=provider, threads=threads)
            for name, signature in ENROLMENT_SIGNATURES.items()
        }

    def enrol(
        self,
        samples: Mono,
        sample_rate_hz: int,
        *,
        name: str,
        language: str = "en",
        pause: bool = False,
        what: str = "recording",
    ) -> VoiceProfile:
        """Return the voice of a recording.

        Parameters
        ----------
        samples : float32, shape (n,)
            One channel; 1 to 30 s, of which the first 10 s become the prompt.
        sample_rate_hz : int
        name : str
            Of the voice.
        language : str
            One of `LANGUAGES`: the recording's, and the voice's own when a text names none.
        pause : bool
            End the prompt in silence (`reference_audio.end_in_silence`).
        what : str
            What to call the recording in an error.

        Raises
        ------
        ConfigError
            The recording is too short, too long, silent or not finite, or the model does not speak
            the language.
        BundleError
            A graph gave something that is no voice.
        SynthesisError
            A graph failed on this recording.
        """
        spoken = checked_language(language)
        check_reference(samples, sample_rate_hz, what=what)
        if pause:
            samples = end_in_silence(samples, sample_rate_hz)
        heard = samples[: int(PROMPT_SECONDS * sample_rate_hz)]
        check_reference(heard, sample_rate_hz, what=f"the prompt (first 10 s) of {what}")
        full = resample_sinc(samples, sample_rate_hz, _RATE_HZ)
        prompt = full[: int(PROMPT_SECONDS * _RATE_HZ)]
        flow = resample_sinc(prompt, _RATE_HZ, _SPEAKER_RATE_HZ)
        speaker = resample_sinc(full, _RATE_HZ, _SPEAKER_RATE_HZ)
        tokens, mel = self._tokens(token_mel(flow)), prompt_mel(prompt)
        n_tokens = min(len(tokens), mel.shape[1] // 2)
        cond = token_mel(speaker[: _COND_SECONDS * _SPEAKER_RATE_HZ])[:, :_COND_FRAMES]
        return VoiceProfile(
            name=name,
            language=spoken,
            enrolment="first-10s-pause" if pause else "first-10s",
            source_sample_rate_hz=sample_rate_hz,
            speaker_embedding=self._speaker_embedding(partials(speaker)),
            flow_embedding=self._flow_embedding(fbank(flow)),
            prompt_tokens=tokens[:n_tokens],
            prompt_mel=np.ascontiguousarray(mel[:MEL_BINS, : 2 * n_tokens]),
            cond_prompt_tokens=self._tokens(cond),
        )

    def _tokens(self, mel: F32) -> NDArray[np.int64]:
        found = self._run("s3_tokenizer", "mel", mel[None])
        if found.dtype.kind not in "iu":
            raise _unfit("s3_tokenizer", f"{found.dtype} values, expected whole numbers")
        tokens = found.reshape(-1).astype(np.int64)
        if tokens.size and not 0 <= int(tokens.min()) <= int(tokens.max()) < ACOUSTIC_TOKENS:
            raise _unfit(
                "s3_tokenizer",
                f"tokens {tokens.min()} to {tokens.max()}, expected 0 to {ACOUSTIC_TOKENS - 1}",
            )
        return tokens

    def _speaker_embedding(self, stretches: F32) -> F32:
        found = self._run("voice_encoder", "partials", stretches)
        if found.size != len(stretches) * _SPEAKER_VALUES:
            raise _unfit(
                "voice_encoder",
                f"{found.size} values for {len(stretches)} stretches, expected "
                f"{_SPEAKER_VALUES} each",
            )
        mean = found.reshape(len(stretches), _SPEAKER_VALUES).mean(axis=0)
        norm = np.linalg.norm(_checked_embedding("voice_encoder", mean))
        embedding: F32 = (mean / norm).astype(np.float32)
        return embedding

    def _flow_embedding(self, features: F32) -> F32:
        found = self._run("camp", "fbank", features[None]).reshape(-1)
        if found.size != _FLOW_VALUES:
            raise _unfit("camp", f"{found.size} values, expected {_FLOW_VALUES}")
        return _checked_embedding("camp", found)

    def _run(self, graph: str, name: str, value: F32) -> NDArray[Any]:
        return self._graphs[graph].run({name: np.ascontiguousarray(value)})[0]


def checked_language(language: str) -> str:
    """Return the language as profiles hold it, in lower case.

    Raises
    ------
    ConfigError
        It is none of `LANGUAGES`.
    """
    spoken = language.lower()
    if spoken not in LANGUAGES:
        raise ConfigError(
            f"no voice can speak {language!r}: the languages are {', '.join(LANGUAGES)}",
            language=language,
            expected=list(LANGUAGES),
        )
    return spoken


def _checked_embedding(graph: str, values: NDArray[Any]) -> F32:
    norm = float(np.linalg.norm(values.astype(np.float64)))
    if not np.isfinite(norm) or norm < _SMALLEST_NORM:
        raise _unfit(graph, f"an embedding of norm {norm:g}")
    return values


def _unfit(graph: str, found: str) -> BundleError:
    return BundleError(
        f"graph {graph} gave {found}: check the bundle with `loudr bundle verify`, or try another "
        "recording",
        key=graph,
    )
