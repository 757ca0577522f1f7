"""espeak-ng as Piper drives it, from the extra `espeak`: words to IPA, a string a sentence.

The only importer of piper (package piper-tts, GPL-3.0-or-later, espeak-ng and its data inside).
Imported when a phonemiser is asked for; loudr runs without it. Voices that were trained on Piper's
phonemes get exactly those: clause marks `, . ; : ? !` are kept, a space follows those inside a
sentence, and the flags of a switch of language are gone.
"""

import importlib.metadata
from typing import Any

from loudr_core.errors import DeviceError, SynthesisError

__all__ = ["EXTRA", "PiperEspeak", "piper_installed"]

EXTRA = "espeak"
"""The extra that brings piper-tts."""


def piper_installed() -> bool:
    """Say whether the package is there."""
    try:
        importlib.metadata.version("piper-tts")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


class PiperEspeak:
    """Reads with the espeak-ng inside piper-tts.

    Raises
    ------
    DeviceError
        piper-tts is not installed or cannot be loaded; the message names the extra.
    """

    def __init__(self) -> None:
        try:
            from piper.phonemize_espeak import EspeakPhonemizer

            self._espeak: Any = EspeakPhonemizer()
            self._version = importlib.metadata.version("piper-tts")
        except Exception as error:  # its native part fails with what the loader has to say
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise DeviceError(
                f"piper-tts cannot be loaded ({reason}): install the extra {EXTRA!r}",
                package="piper-tts",
            ) from error

    @property
    def identity(self) -> dict[str, str]:
        """What the phonemes depend on besides words and voice."""
        return {"phonemizer": "piper", "version": self._version}

    def phonemize(self, text: str, voice: str) -> list[str]:
        """Return the phonemes of each sentence; none is empty.

        Parameters
        ----------
        text : str
        voice : str
            Of espeak-ng, such as `de` or `en-us`.

        Raises
        ------
        SynthesisError
            espeak-ng has no such voice, or fails.
        """
        try:
            sentences = self._espeak.phonemize(voice, text)
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            raise SynthesisError(f"espeak voice {voice!r} cannot read it: {reason}") from error
        found = ("".join(sentence).strip() for sentence in sentences)
        return [sentence for sentence in found if sentence]
