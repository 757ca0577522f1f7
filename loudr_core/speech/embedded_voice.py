"""hibari's voice "heart": words to phonemes by its package, phonemes to samples by its network.

The only importer of hibari. Of its package are used `Hibari(voice, threads, model)`, `phonemize`,
`vocab`, `sample_rate` and the files beside it. hibari opens an onnxruntime session of its own; here
it is let go of and the same network opened through `session`, its last transposing left out, since
`spectral` wants frames in rows. The samples differ from hibari's in the noise alone, 40 dB under
the speech, which is drawn from Philox here.
"""

import functools
import hashlib
import importlib.metadata
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from loudr_core.arrays import Mono
from loudr_core.errors import BundleError, LoudrError
from loudr_core.speech.graph import before_split
from loudr_core.speech.session import open_session, render_class
from loudr_core.speech.spectral import BINS, render_frames

__all__ = ["VOICE", "EmbeddedVoice", "voice_facts", "voice_sha256"]

VOICE = "heart"
_MODEL = "hibari.onnx"
_SMALLEST = "oov.onnx"
_ASSETS = (
    _MODEL, "vocab.json", "lexicon_us_gold.json.gz", "lexicon_us_silver.json.gz", "normalize.json",
    "oov.json", "oov.onnx", "tagger.json.gz", "tokenizer_exceptions.json",
)  # fmt: skip
_PARTS = ("lh", "theta", "ln", "lr", "phi")
_RENDERER_VERSION = 1
"""Raised when `spectral` or this file comes to give other samples for the same phonemes."""


class EmbeddedVoice:
    """The loaded voice.

    Raises
    ------
    BundleError
        hibari's files are missing or cannot be loaded.
    """

    def __init__(self) -> None:
        try:
            from hibari import Hibari

            # The session that it opens is not used: so it is one of the smallest network there.
            self._tts = Hibari(VOICE, threads=1, model=str(_asset_path(_SMALLEST)))
            self._tts.sess = None
            self._ids: dict[str, int] = dict(self._tts.vocab)
            self.sample_rate_hz = int(self._tts.sample_rate)
            model = _asset_path(_MODEL)
            changed = before_split(model, outputs=_PARTS, name="head")
            self._session = open_session(model if changed is None else changed)
            self._outputs = ("head", "f0") if changed is not None else (*_PARTS, "f0")
            # Loads the lexicons and grows the arena now, while the parent is still planning.
            self.render(" ".join(self.phonemize("Ready, steady, go.")), 1.0, 0)
        except LoudrError:
            raise
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise BundleError(
                f"the embedded voice cannot be loaded ({reason}): install hibari-tts again"
            ) from error

    @property
    def alphabet(self) -> frozenset[str]:
        """The phoneme symbols that the network knows."""
        return frozenset(self._ids)

    def phonemize(self, text: str) -> list[str]:
        """Return phoneme strings, one or more for each sentence."""
        strings: list[str] = self._tts.phonemize(text)
        return strings

    def render(self, phonemes: str, speed: float, key: int) -> Mono:
        """Speak one pass.

        Parameters
        ----------
        phonemes : str
            Symbols outside `alphabet` are skipped.
        speed : float
            1.0 is the voice's own pace.
        key : int
            Of the Philox counter that the noise is drawn from, below 2^128.

        Returns
        -------
        float32, shape (n,)
            With the silence that the network puts around speech.
        """
        known = [self._ids[symbol] for symbol in phonemes if symbol in self._ids]
        if not known:
            return np.zeros(0, np.float32)
        feed = {
            "ids": np.array([[0, *known, 0]], np.int64),
            "speed": np.array([speed], np.float32),
        }
        *parts, f0 = self._session.run(self._outputs, feed)
        return render_frames(_frames_in_rows(parts), f0[0], np.random.Philox(key=key))


def _frames_in_rows(parts: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    if len(parts) == 1:
        head: NDArray[np.float32] = parts[0][0]
        return head
    # A network with another end than `before_split` knows: the same numbers, only slower.
    stacked: NDArray[np.float32] = np.concatenate([part[0] for part in parts])
    assert len(stacked) == len(_PARTS) * BINS
    return np.ascontiguousarray(stacked.T)


def voice_sha256() -> str:
    """Return the digest of the network's file."""
    return _asset_digests()[_MODEL]


def voice_facts() -> dict[str, object]:
    """Return all that the samples of a pass depend on besides phonemes, speed and key, as JSON."""
    return {
        "hibari": importlib.metadata.version("hibari-tts"),
        "assets": _asset_digests(),
        "renderer": _RENDERER_VERSION,
        "render_class": render_class("cpu", precision="int8-dynamic"),
    }


def _asset_path(name: str) -> Path:
    return Path(str(resources.files("hibari") / "assets" / name))


@functools.lru_cache(maxsize=1)
def _asset_digests() -> dict[str, str]:
    digests = {}
    for name in _ASSETS:
        try:
            digests[name] = hashlib.sha256(_asset_path(name).read_bytes()).hexdigest()
        except OSError as error:
            raise BundleError(
                f"hibari's {name} cannot be read ({error.strerror}): install hibari-tts again",
                path=name,
            ) from error
    return digests
