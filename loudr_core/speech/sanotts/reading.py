"""Words to sentences of phonemes, by the phonemiser that a voice asks for.

The marks of a book are first made those that espeak-ng reads as pauses: it takes two words around
an ellipsis for one, speaks an isolated dash in some languages, and takes two square brackets for
phonemes (sanoTTS specification, section 2).
"""

import re
import unicodedata
from typing import Final, Protocol

from loudr_core.errors import BundleError, ConfigError, DeviceError, SynthesisError
from loudr_core.speech.espeak import EXTRA, PiperEspeak, piper_installed
from loudr_core.speech.espeak_binary import PROGRAM, EspeakBinary
from loudr_core.speech.sanotts.phonemes import PhonemeConfig

__all__ = ["PHONEMIZERS", "Phonemizer", "Reader", "open_reader", "plain_marks"]

PHONEMIZERS: Final = ("auto", "piper", "espeak-ng", "none")
"""Values of the engine's option `phonemizer`."""

_MARKS: Final = str.maketrans(
    {"’": "'", "‘": "'", "‚": "'", "‹": "'", "›": "'", "[": " ", "]": " ", "{": " ", "}": " "}
    | dict.fromkeys('"“”„‟«»', " ")
)
_ELLIPSIS_END: Final = re.compile(r"\s*(?:…|\.{2,})+(?=\s*$|\s+[^\W\d_a-zß-öø-ÿ])")
_ELLIPSIS: Final = re.compile(r"\s*(?:…|\.{2,})+\s*")
_DASH: Final = re.compile(r"\s*(?:[—―]|(?<=\s)[–-]+(?=\s|$)|(?<=\s)--+|--+(?=\s|\w))[—―–-]*\s*")
_EDGE: Final = re.compile(r"^[\s,;:]+|[\s,;:]+$")
_TWO_MARKS: Final = re.compile(r"([,;:.?!])\s*[,;:]+")
_BEFORE_MARK: Final = re.compile(r"\s+([,;:.?!])")
_SENTENCE: Final = re.compile(r"(?<=[.?!])\s+")
_PROBE: Final = "a"


class Phonemizer(Protocol):
    """What reads words aloud into IPA."""

    @property
    def identity(self) -> dict[str, str]:
        """What the phonemes depend on besides words and voice."""

    def phonemize(self, text: str, voice: str) -> list[str]:
        """Return the phonemes of each sentence; none is empty."""


class Reader:
    """Reads text for one voice.

    Parameters
    ----------
    config : PhonemeConfig
        Of the voice.
    phonemizer : Phonemizer, optional
        None for a voice whose phonemes are letters, and where only given phonemes are spoken.
    espeak_voice : str
        That the phonemiser reads with.
    """

    def __init__(
        self, config: PhonemeConfig, phonemizer: Phonemizer | None, espeak_voice: str = ""
    ) -> None:
        self._config, self._phonemizer, self._voice = config, phonemizer, espeak_voice
        self._folds = not any(symbol.isupper() for symbol in config.ids)

    @property
    def reads(self) -> bool:
        """Whether text can be read; otherwise only given phonemes are spoken."""
        return self._phonemizer is not None or self._config.kind == "text"

    @property
    def identity(self) -> dict[str, str]:
        """What the phonemes of a text depend on, for the fingerprint."""
        if self._phonemizer is not None:
            return {**self._phonemizer.identity, "espeak_voice": self._voice}
        return {"phonemizer": "letters" if self._config.kind == "text" else "none"}

    def sentences(self, text: str) -> list[str]:
        """Return the phonemes of each sentence, none of them empty.

        Raises
        ------
        SynthesisError
            The phonemiser fails, or there is none.
        """
        plain = plain_marks(text)
        if self._phonemizer is not None:
            return self._phonemizer.phonemize(plain, self._voice)
        if not self.reads:
            raise SynthesisError(
                "the voice was opened without a phonemiser: give phonemes with the segment"
            )
        letters = unicodedata.normalize("NFD", plain.casefold() if self._folds else plain)
        return [sentence for sentence in _SENTENCE.split(letters) if sentence.strip()]


def open_reader(config: PhonemeConfig, *, phonemizer: str, path: str) -> Reader:
    """Return the reader of a voice.

    Parameters
    ----------
    config : PhonemeConfig
    phonemizer : str
        One of `PHONEMIZERS`. `auto` takes piper-tts where it is installed, else the program
        espeak-ng. `none` reads nothing: each request must bring phonemes.
    path : str
        Of the phoneme configuration, for errors.

    Raises
    ------
    ConfigError
        No phonemiser has that name.
    DeviceError
        The phonemiser is not installed.
    BundleError
        It has no voice such as the package asks for, or loudr has no phonemiser of that kind.
    """
    if phonemizer not in PHONEMIZERS:
        raise ConfigError(f"no phonemizer {phonemizer!r}: choose one of {', '.join(PHONEMIZERS)}")
    if phonemizer == "none" or config.kind == "text":
        return Reader(config, None)
    if config.kind != "espeak":
        raise BundleError(
            f"{path}: phoneme_type is {config.kind!r}, and loudr reads 'espeak' and 'text': give "
            'phonemes with the segments and the option phonemizer = "none"',
            path=path,
            key="phoneme_type",
        )
    reader = _phonemizer(phonemizer)
    voice = config.espeak_voice
    # Newer releases of espeak-ng know dialects of English only.
    for name in (voice, "en-us") if voice == "en" else (voice,):
        try:
            reader.phonemize(_PROBE, name)
        except SynthesisError:
            continue
        return Reader(config, reader, name)
    raise BundleError(
        f"{path}: espeak.voice is {voice!r}, which this espeak-ng does not have",
        path=path,
        key="espeak.voice",
    )


def _phonemizer(name: str) -> Phonemizer:
    if name == "piper" or (name == "auto" and piper_installed()):
        return PiperEspeak()
    if name == PROGRAM:
        return EspeakBinary()
    try:
        return EspeakBinary()
    except DeviceError:
        raise DeviceError(
            f"engine 'sanotts' reads text with espeak-ng, which is not here: install the extra "
            f"{EXTRA!r}, or the program {PROGRAM}; with phonemes in the plan, ask for the option "
            'phonemizer = "none"',
            package="piper-tts",
        ) from None


def plain_marks(text: str) -> str:
    """Return a text with the marks that espeak-ng knows, and none that it stumbles over.

    Quotation marks and square brackets go, apostrophes become straight, an ellipsis becomes a full
    stop before a capital or the end and a comma elsewhere, and a dash between words a semicolon.
    """
    text = " ".join(text.translate(_MARKS).split())
    text = _ELLIPSIS_END.sub(". ", text)
    text = _ELLIPSIS.sub(", ", text)
    text = _DASH.sub("; ", text)
    text = _BEFORE_MARK.sub(r"\1", text)
    text = _TWO_MARKS.sub(r"\1", text)
    return " ".join(_EDGE.sub("", text).split())
