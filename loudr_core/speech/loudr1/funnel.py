"""What happens to a passage's text before it is cut: the text funnel.

`loudr` leaves the words as the plan made them. `loudkit` puts them through the front end that the
models' own fingerprint names (loudr-1 specification, section 6), from the optional package of
that name, which only this module imports; a profile that asks for it should keep loudr's own
normaliser out (`text.normalizer = "none"`).
"""

import importlib
import importlib.metadata
from collections.abc import Callable
from typing import Protocol

from loudr_core.errors import ConfigError, DeviceError, SynthesisError

__all__ = ["FUNNELS", "Funnel", "open_funnel"]

_VERSION = "0.1.1"
"""The only version whose data hash to the grammar in the models' fingerprints."""
_INSTALL = 'install it with pip install "loudr[loudkit-text]", or leave text_funnel at "loudr"'


class Funnel(Protocol):
    """Text in, text as it is spoken out."""

    @property
    def identity(self) -> str:
        """Name, version and data; part of the engine's fingerprint."""
        ...

    def prepare(self, text: str, language: str) -> str:
        """Return the text as it is spoken.

        Raises
        ------
        SynthesisError
            The funnel refuses the text.
        """
        ...


class _PlainFunnel:
    """Words of the plan, already normalised."""

    identity = "loudr"

    def prepare(self, text: str, language: str) -> str:
        return text.strip()


class _LoudkitFunnel:
    """The reference engine's front end."""

    def __init__(self, speech_text: Callable[[str, str], str], identity: str) -> None:
        self._speech_text = speech_text
        self.identity = identity

    def prepare(self, text: str, language: str) -> str:
        try:
            return self._speech_text(text, language)
        except Exception as error:
            # ValueError for a number that its grammar cannot say; whatever it is, one text's fault.
            reason = " ".join(str(error).split())[:200]
            raise SynthesisError(f"loudkit's text funnel refuses the text: {reason}") from error


def open_funnel(name: str) -> Funnel:
    """Return a text funnel.

    Parameters
    ----------
    name : {"loudr", "loudkit"}

    Raises
    ------
    ConfigError
        There is no funnel of that name.
    DeviceError
        The package of `loudkit` is missing, damaged or of another version.
    """
    if name not in FUNNELS:
        raise ConfigError(
            f"text_funnel {name!r} is unknown: use {' or '.join(FUNNELS)}", option="text_funnel"
        )
    return FUNNELS[name]()


def _open_loudkit() -> Funnel:
    try:
        version = importlib.metadata.version("loudkit")
    except importlib.metadata.PackageNotFoundError as error:
        raise DeviceError(
            f"text_funnel 'loudkit' needs the package loudkit {_VERSION}: {_INSTALL}",
            package="loudkit",
            expected=_VERSION,
        ) from error
    if version != _VERSION:
        raise DeviceError(
            f"text_funnel 'loudkit' needs loudkit {_VERSION}, found {version}: {_INSTALL}",
            package="loudkit",
            found=version,
            expected=_VERSION,
        )
    try:
        speech_text = importlib.import_module("loudkit.frontend.speechtext").speech_text
        data = importlib.import_module("loudkit.frontend.textconfig").TextConfig()
        identity = f"loudkit {version} {data.recipe} {data.grammar}"
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise DeviceError(
            f"loudkit {version} is damaged ({reason}): {_INSTALL}", package="loudkit"
        ) from error
    return _LoudkitFunnel(speech_text, identity)


FUNNELS: dict[str, Callable[[], Funnel]] = {"loudr": _PlainFunnel, "loudkit": _open_loudkit}
"""Name, as the engine option `text_funnel` takes it, to what opens it."""
