"""Hebrew to IPA by Phonikud, from the extra `hebrew`; the only importer of phonikud.

phonikud-onnx adds the points and the marks of stress with a model that has to be named, phonikud
turns pointed words into IPA. A text that has its points needs no model.
"""

import hashlib
import importlib.metadata
from pathlib import Path
from typing import Any, Final

from loudr_core.errors import DeviceError, SynthesisError

__all__ = ["EXTRA", "HebrewFront", "hebrew_identity", "is_pointed"]

EXTRA: Final = "hebrew"
_PACKAGES: Final = ("phonikud", "phonikud-onnx")
_LEAST_POINTED: Final = 0.3
"""Points a letter, above which a text is taken for one that has them."""


class HebrewFront:
    """Reads Hebrew.

    Parameters
    ----------
    model : str
        The file of phonikud-onnx; empty where every text has its points.

    Raises
    ------
    DeviceError
        A package is not installed, or the model cannot be loaded.
    """

    def __init__(self, model: str = "") -> None:
        self._points: Any = None
        try:
            import phonikud

            self._phonikud: Any = phonikud
            if model:
                from phonikud_onnx import Phonikud

                self._points = Phonikud(model)
        except Exception as error:  # the packages fail with whatever their libraries raise
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise DeviceError(
                f"Phonikud cannot be loaded ({reason}): install the extra {EXTRA!r}, or give "
                "phonemes with the segments",
                package="phonikud",
            ) from error

    def phonemize(self, text: str) -> str:
        """Return IPA.

        Parameters
        ----------
        text : str
            Hebrew words and plain punctuation.

        Raises
        ------
        SynthesisError
            The text has no points and there is no model to add them, or a package fails.
        """
        if self._points is None and not is_pointed(text):
            raise SynthesisError(
                "the text has no points: name the model of phonikud-onnx in the option hebrew_model"
            )
        try:
            pointed = text if self._points is None else str(self._points.add_diacritics(text))
            return str(self._phonikud.phonemize(pointed))
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            raise SynthesisError(f"Phonikud cannot read it: {reason}") from error


def hebrew_identity(model: str = "") -> dict[str, str]:
    """Return what Hebrew phonemes depend on: versions of the packages and digest of the model.

    Raises
    ------
    DeviceError
        The model is named and cannot be read.
    """
    identity = {name: _version(name) for name in _PACKAGES}
    if not model:
        return identity
    try:
        with Path(model).open("rb") as file:
            return identity | {"model": hashlib.file_digest(file, "sha256").hexdigest()}
    except OSError as error:
        raise DeviceError(
            f"option hebrew_model: {model} cannot be read ({error.strerror})", path=model
        ) from None


def is_pointed(text: str) -> bool:
    """Say whether a Hebrew text has vowel points."""
    letters = sum("\u05d0" <= symbol <= "\u05ea" for symbol in text)
    points = sum("\u05b0" <= symbol <= "\u05bc" for symbol in text)
    return points > _LEAST_POINTED * letters


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "none"
