"""Words to IPA, each language by the front end that the model was trained with.

German, English, Spanish and Italian are read by espeak-ng, Hebrew by Phonikud, Russian by RUAccent
and RUPhon. Yiddish had a front end that was not released: it needs phonemes with the segment, which
every language may have. espeak-ng never reads Russian: it knows no stress from context, and its ы
collides with the German ü of this vocabulary (BlueTTS specification, section 3).
"""

from typing import Final, Protocol

from loudr_core.errors import ConfigError, DeviceError, LoudrError, SynthesisError
from loudr_core.speech.bluetts.hebrew_front import HebrewFront, hebrew_identity
from loudr_core.speech.bluetts.russian_front import RussianFront, russian_identity
from loudr_core.speech.espeak import EXTRA, PiperEspeak, piper_installed
from loudr_core.speech.espeak_binary import PROGRAM, EspeakBinary
from loudr_core.speech.sanotts.reading import plain_marks

__all__ = ["ESPEAK_VOICES", "PHONEMIZERS", "BlueReader"]

PHONEMIZERS: Final = ("auto", "piper", "espeak-ng", "ipa", "none")
"""Values of the engine's option `phonemizer`."""
ESPEAK_VOICES: Final = {"de": "de", "en": "en-us", "es": "es", "it": "it"}
"""Language to the voice of espeak-ng that its texts were read with in training."""

_NONE: Final = "none"
"""Version of a package that is not installed."""


class _Espeak(Protocol):
    @property
    def identity(self) -> dict[str, str]: ...

    def phonemize(self, text: str, voice: str) -> list[str]: ...


class _Front(Protocol):
    def phonemize(self, text: str) -> str: ...


class BlueReader:
    """Reads text of any language of the model.

    Parameters
    ----------
    phonemizer : str
        One of `PHONEMIZERS`: what reads the languages of espeak-ng. `auto` takes piper-tts where it
        is installed, else the program espeak-ng, else none. `ipa` takes every text for IPA, `none`
        reads nothing.
    hebrew_model : str
        File of phonikud-onnx.
    russian_models : str
        Folder of the models of RUAccent and RUPhon.

    Raises
    ------
    ConfigError
        No phonemizer has that name.
    DeviceError
        One was asked for by name and is not installed, or the Hebrew model cannot be read.
    """

    def __init__(
        self, phonemizer: str = "auto", *, hebrew_model: str = "", russian_models: str = ""
    ) -> None:
        if phonemizer not in PHONEMIZERS:
            raise ConfigError(
                f"no phonemizer {phonemizer!r}: choose one of {', '.join(PHONEMIZERS)}",
                option="phonemizer",
            )
        self._kind, self._hebrew, self._russian = phonemizer, hebrew_model, russian_models
        # Made once: a new espeak-ng leaks memory and costs half a second.
        self._espeak = _open_espeak(phonemizer)
        self._fronts: dict[str, _Front | LoudrError] = {}
        self.identity = self._identity()

    def unread(self, languages: frozenset[str]) -> frozenset[str]:
        """Return those of some languages that no front end is installed for."""
        if self._kind == "ipa":
            return frozenset()
        read = set[str]()
        if self._espeak is not None:
            read |= set(ESPEAK_VOICES)
        if self._kind != "none":
            # phonikud-onnx adds points, which a text may have.
            versions = {"he": [hebrew_identity()["phonikud"]], "ru": [*russian_identity().values()]}
            read |= {language for language, found in versions.items() if _NONE not in found}
        return languages - read

    def read(self, text: str, language: str) -> str:
        """Return the IPA of a text; parameters and errors are those of `sentences`."""
        return " ".join(self.sentences(text, language))

    def sentences(self, text: str, language: str) -> list[str]:
        """Return the IPA of each sentence, as far as the front end tells them apart.

        Parameters
        ----------
        text : str
            Normalised words and plain punctuation.
        language : str
            A primary subtag.

        Raises
        ------
        SynthesisError
            It cannot be read.
        DeviceError
            What reads the language is not installed; the message names the extra.
        """
        if self._kind == "ipa":
            return [text]
        if self._kind == "none":
            raise SynthesisError("the engine reads no text: give phonemes with the segment")
        if language in ESPEAK_VOICES:
            return self._read_espeak(text, language)
        if any(map(str.isnumeric, text)):
            raise SynthesisError(
                f"figures in {language!r} cannot be read: spell them, or give phonemes"
            )
        return [self._front(language).phonemize(text)]

    def _read_espeak(self, text: str, language: str) -> list[str]:
        if self._espeak is None:
            raise DeviceError(
                f"{language!r} is read with espeak-ng, which is not here: install the extra "
                f"{EXTRA!r}, or the program {PROGRAM}, or give phonemes with the segments",
                package="piper-tts",
            )
        return self._espeak.phonemize(plain_marks(text), ESPEAK_VOICES[language])

    def _front(self, language: str) -> _Front:
        """Return a front end, opened when it is first asked for; a failure is remembered."""
        if language not in self._fronts:
            try:
                self._fronts[language] = self._opened(language)
            except LoudrError as error:
                self._fronts[language] = error
        front = self._fronts[language]
        if isinstance(front, LoudrError):
            raise type(front)(front.message, **front.context)  # anew: a traceback grows
        return front

    def _opened(self, language: str) -> _Front:
        if language == "he":
            return HebrewFront(self._hebrew)
        if language == "ru":
            return RussianFront(self._russian)
        raise SynthesisError(
            f"no front end for {language!r} was released: give phonemes with the segments"
        )

    def _identity(self) -> dict[str, object]:
        if self._kind in ("ipa", "none"):
            return {"phonemizer": self._kind}
        espeak = {"phonemizer": "none"} if self._espeak is None else self._espeak.identity
        return {
            "espeak": espeak,
            "hebrew": hebrew_identity(self._hebrew),
            "russian": russian_identity(),
        }


def _open_espeak(kind: str) -> _Espeak | None:
    if kind == "piper" or (kind == "auto" and piper_installed()):
        return PiperEspeak()
    if kind == PROGRAM:
        return EspeakBinary()
    if kind != "auto":
        return None
    try:
        return EspeakBinary()
    except DeviceError:
        return None
