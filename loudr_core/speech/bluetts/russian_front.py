"""Cyrillic to IPA by RUAccent and RUPhon, from the extra `russian`; the only importer of both.

Their models are fetched by the packages themselves when they are loaded for the first time; a
folder that holds them already can be named. Nothing is imported before Russian is to be read.
"""

import importlib.metadata
from typing import Any, Final

from loudr_core.errors import DeviceError, SynthesisError
from loudr_core.speech.bluetts.russian import (
    apply_word_overrides,
    mark_yo_stress,
    remap_ruphon_ipa,
)
from loudr_core.speech.sanotts.reading import plain_marks

__all__ = ["EXTRA", "RussianFront", "russian_identity"]

EXTRA: Final = "russian"
_PACKAGES: Final = ("ruaccent", "ruphon")


class RussianFront:
    """Reads Russian with stress from context and vowels reduced by it.

    Parameters
    ----------
    models : str
        Folder of the packages' models; empty lets each use its own.

    Raises
    ------
    DeviceError
        A package is not installed, or its models cannot be loaded.
    """

    def __init__(self, models: str = "") -> None:
        place = {"workdir": models} if models else {}
        try:
            from ruaccent import RUAccent
            from ruphon import RUPhon

            self._accent: Any = RUAccent()
            self._accent.load(omograph_model_size="turbo", use_dictionary=True, **place)
            self._phon: Any = RUPhon.load("big", **place)  # a new object, not itself
        except Exception as error:  # the packages fail with whatever their libraries raise
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise DeviceError(
                f"RUAccent and RUPhon cannot be loaded ({reason}): install the extra {EXTRA!r} "
                "with its models, or give phonemes with the segments",
                package="ruphon",
            ) from error

    def phonemize(self, text: str) -> str:
        """Return IPA in the symbols of the vocabulary.

        Parameters
        ----------
        text : str
            Cyrillic words and plain punctuation.

        Raises
        ------
        SynthesisError
            A package fails.
        """
        try:
            # RUPhon takes a dash for a word and lets its letters model guess at it.
            accented = mark_yo_stress(str(self._accent.process_all(plain_marks(text))))
            ipa = str(self._phon.phonemize(accented, put_stress=True, stress_symbol="'"))
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            raise SynthesisError(f"RUAccent and RUPhon cannot read it: {reason}") from error
        return remap_ruphon_ipa(apply_word_overrides(accented, ipa))


def russian_identity() -> dict[str, str]:
    """Return the versions of the packages, `none` for one that is not installed."""
    return {name: _version(name) for name in _PACKAGES}


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "none"
