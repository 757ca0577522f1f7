"""A package of Root A: the manifest read and checked, its files found, its tensors loaded."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from loudr_core.errors import BundleError
from loudr_core.findings import Finding
from loudr_core.speech.files import is_file, is_folder
from loudr_core.speech.json_values import Section, parse_object, shown
from loudr_core.speech.sanotts.configs import (
    HOP,
    SAMPLE_RATE_HZ,
    AcousticConfig,
    DecoderConfig,
    DurationConfig,
    needed,
    read_acoustic,
    read_decoder,
    read_duration,
)
from loudr_core.speech.sanotts.languages import language_of
from loudr_core.speech.sanotts.lookalikes import (
    FORMAT,
    MANIFEST,
    manifest_of,
    refuse_look_alike,
)
from loudr_core.speech.sanotts.phonemes import PhonemeConfig, read_phoneme_config
from loudr_core.speech.sanotts.shapes import (
    Shapes,
    acoustic_shapes,
    decoder_shapes,
    duration_shapes,
)
from loudr_core.speech.sanotts.weights import Blob, map_weights, read_tensors

__all__ = ["Package", "open_package"]

_PHONEMES: Final = "piper-phoneme-config.json"
_SCALES: Final = (0.1, 10.0)
_Config = TypeVar("_Config")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Package:
    """One voice, whole and checked.

    Parameters
    ----------
    folder : Path
    name : str
        Of the package.
    voice : str
        The name that the voice is asked for by.
    language : str
        BCP 47.
    licence : str
        As the manifest has it; empty where it has none.
    length_scale : float
        Pace of the voice: above 1 is slower.
    weights_name, phonemes_name : str
        Of those files in the folder.
    weights_sha256, manifest_sha256 : str
    tensors : mapping
        Component (`duration`, `acoustic`, `decoder`) to its tensors by name, float32.
    findings : tuple of Finding
        What is unusual.
    """

    folder: Path
    name: str
    voice: str
    language: str
    licence: str
    length_scale: float
    weights_name: str
    phonemes_name: str
    weights_sha256: str
    manifest_sha256: str
    phonemes: PhonemeConfig
    duration: DurationConfig
    acoustic: AcousticConfig
    decoder: DecoderConfig
    tensors: Mapping[str, dict[str, NDArray[np.float32]]]
    findings: tuple[Finding, ...] = ()

    @property
    def vocabulary(self) -> int:
        """Ids from here on are known to no student, or to too few of them to be spoken."""
        acoustic = self.acoustic.vocab_size
        if self.duration.unknown_id is not None:
            return acoustic
        return min(acoustic, self.duration.vocab_size)

    @property
    def parameters(self) -> int:
        """Numbers in all tensors."""
        return sum(array.size for tensors in self.tensors.values() for array in tensors.values())


def open_package(path: Path) -> Package:
    """Open a package.

    Parameters
    ----------
    path : Path
        Its folder, or a file in it.

    Raises
    ------
    BundleError
        It is missing, something else, damaged, or its parts do not fit together; the error names
        the file, and the manifest's key.
    """
    if not (is_file(path) or is_folder(path)):
        raise BundleError(f"{path} is not there: give the folder of a package", path=str(path))
    refuse_look_alike(path)
    folder = path.parent if is_file(path) else path
    content = manifest_of(folder)
    manifest = Section(
        parse_object(content, what="manifest", path=folder / MANIFEST), path=folder / MANIFEST
    )
    _check_format(manifest)
    weights = _file_beside(manifest, folder, "weights_file", manifest.text("weights_file", ""))
    digest = manifest.text("weights_sha256", "").lower()
    blob = map_weights(weights, size_bytes=manifest.whole("weights_size_bytes", 0), sha256=digest)
    frontend = manifest.section("frontend")
    config_name = frontend.text("included_config", _PHONEMES)
    config_path = _file_beside(frontend, folder, "included_config", config_name)
    phonemes = read_phoneme_config(config_path)
    students, tensors = _components(manifest, blob, folder / MANIFEST)
    language, findings = language_of(manifest.text("language", ""), phonemes.espeak_voice)
    if not language:
        raise manifest.fault("language", "names no language, and neither does espeak.voice")
    name = _shown_name(manifest, "package_name") or folder.resolve().name
    package = Package(
        folder=folder,
        name=name,
        voice=_shown_name(manifest, "voice") or name,
        language=language,
        licence=_shown_name(manifest, "license") or _shown_name(manifest, "licence"),
        length_scale=_length_scale(manifest.section("inference")),
        weights_name=weights.name,
        phonemes_name=config_path.name,
        weights_sha256=digest,
        manifest_sha256=hashlib.sha256(content).hexdigest(),
        phonemes=phonemes,
        duration=students[0],
        acoustic=students[1],
        decoder=students[2],
        tensors=tensors,
        findings=findings,
    )
    _check_total(manifest, package)
    return package


def _check_format(manifest: Section) -> None:
    for key in (
        "format", "sample_rate", "weights_file", "weights_size_bytes", "weights_sha256",
        "components",
    ):  # fmt: skip
        needed(manifest, key)
    manifest.choice("format", (FORMAT,), FORMAT)
    for key, wanted in (("sample_rate", SAMPLE_RATE_HZ), ("hop_length", HOP)):
        if (found := manifest.whole(key, wanted)) != wanted:
            raise manifest.fault(key, f"must be {wanted}, found {found}")


def _components(
    manifest: Section, blob: Blob, path: Path
) -> tuple[
    tuple[DurationConfig, AcousticConfig, DecoderConfig],
    dict[str, dict[str, NDArray[np.float32]]],
]:
    tensors: dict[str, dict[str, NDArray[np.float32]]] = {}
    components = manifest.section("components")

    def load(
        name: str, read: Callable[[Section], _Config], shapes: Callable[[_Config], Shapes]
    ) -> _Config:
        needed(components, name)
        component = components.section(name)
        needed(component, "config")
        config = read(component.section("config"))
        tensors[name] = read_tensors(components, name, blob, shapes(config), manifest=path)
        return config

    duration = load("duration", read_duration, duration_shapes)
    acoustic = load("acoustic", read_acoustic, acoustic_shapes)
    decoder = load("decoder", read_decoder, decoder_shapes)
    if decoder.in_channels != acoustic.out_channels:
        raise components.fault(
            "decoder.config.in_channels",
            f"is {decoder.in_channels}, but the acoustic student gives {acoustic.out_channels}",
        )
    return (duration, acoustic, decoder), tensors


def _file_beside(section: Section, folder: Path, key: str, name: str) -> Path:
    """Return a file of the package by its name, which may not lead out of the folder."""
    parts = (PurePosixPath(name), PureWindowsPath(name))
    if not name or any(each.is_absolute() or each.drive or ".." in each.parts for each in parts):
        raise section.fault(key, f"must name a file inside the package, found {shown(name)}")
    return folder / name


def _length_scale(inference: Section) -> float:
    scale = inference.number("duration_length_scale", 1.0)
    low, high = _SCALES
    if not low <= scale <= high:
        raise inference.fault("duration_length_scale", f"must be {low} to {high}, found {scale}")
    return scale


def _shown_name(manifest: Section, key: str) -> str:
    """Return a text that people are shown, which must keep to its line."""
    name = manifest.text(key, "")
    if not name.isprintable():
        raise manifest.fault(key, f"must be one printable line, found {shown(name)}")
    return name


def _check_total(manifest: Section, package: Package) -> None:
    told = manifest.whole_or_null("total_parameters")
    if told is not None and told != package.parameters:
        raise manifest.fault(
            "total_parameters", f"is {told}, but the tensors have {package.parameters}"
        )
