"""A loudr-1 bundle: checkpoint, graphs, tokenizer and voices that belong together.

loudr-1 specification, section 3. `open_bundle` reads headers and compares what the parts say of
one another; no graph is loaded and no table read, so it takes as long as one pass over the
checkpoint for its digest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from loudr_core.errors import BundleError
from loudr_core.findings import Finding
from loudr_core.speech.files import file_sha256, is_file
from loudr_core.speech.json_values import Section
from loudr_core.speech.loudr1.algorithm import Algorithm, DecodeMode
from loudr_core.speech.loudr1.checkpoint import choose_checkpoint, read_manifest
from loudr_core.speech.loudr1.container import Header
from loudr_core.speech.loudr1.export_record import check_export_record
from loudr_core.speech.loudr1.fingerprint import algorithm_fingerprint
from loudr_core.speech.loudr1.manifest import algorithm_from_manifest
from loudr_core.speech.loudr1.runnable import runnable_faults
from loudr_core.speech.loudr1.tokenizer_file import read_tokenizer_json
from loudr_core.speech.loudr1.voice import VoiceProfile
from loudr_core.speech.loudr1.voice_folder import voice_files, voice_in_folder
from loudr_core.speech.loudr1.weights import Weights, check_weights, read_weights

__all__ = ["Bundle", "Weights", "open_bundle"]

_GENERATOR: Final[Mapping[DecodeMode, tuple[str, ...]]] = {
    "single": ("t3_cond", "t3_prefill", "t3_step"),
    "fusion_mtp2": ("t3_cond", "t3_prefill", "t3_pair_step", "t3_head2"),
}
_RENDERER: Final = ("flow_encoder", "flow_estimator", "vocoder")
_ENROLMENT: Final = ("s3_tokenizer", "camp", "voice_encoder")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bundle:
    """An opened bundle.

    Parameters
    ----------
    checkpoint, folder : Path
        The checkpoint file, and the folder it lies in.
    manifest : dict
        The JSON object in the checkpoint's header.
    algorithm : Algorithm
    fingerprint : str
        Of the algorithm, 16 hexadecimal digits.
    checkpoint_sha256 : str
        Of the checkpoint file.
    graphs : mapping of str to Path
        The graphs that the decode mode needs, by their names without suffix.
    enrolment_graphs : mapping of str to Path
        Those of the three enrolment graphs that are there.
    findings : tuple of Finding
        What is unusual and does not hinder.
    """

    checkpoint: Path
    folder: Path
    manifest: dict[str, object]
    algorithm: Algorithm
    fingerprint: str
    checkpoint_sha256: str
    graphs: Mapping[str, Path]
    enrolment_graphs: Mapping[str, Path]
    findings: tuple[Finding, ...] = ()
    header: Header = field(repr=False)

    def tokenizer_json(self) -> bytes:
        """Return the tokenizer's JSON: the checkpoint's own asset, or the file beside it.

        Raises
        ------
        BundleError
            The file is missing or is not the one that the manifest names.
        """
        return read_tokenizer_json(self.checkpoint, self.header, self.manifest)

    def weights(self) -> Weights:
        """Read the tables that are used outside the graphs, about 70 MB in float32.

        Raises
        ------
        BundleError
            The checkpoint cannot be read any more, or a table holds NaN or infinity.
        """
        return read_weights(self.checkpoint, self.header, self.algorithm.decode_mode)

    def voice_names(self) -> tuple[str, ...]:
        """Return the names of the voices in the bundle, sorted."""
        return tuple(voice_files(self.folder))

    def voice(self, name: str) -> VoiceProfile:
        """Return the profile of a voice.

        Raises
        ------
        ConfigError
            The bundle has no voice of that name.
        BundleError
            The profile is damaged, or is a link that leads out of the bundle.
        """
        return voice_in_folder(self.folder, name)


def open_bundle(path: Path, *, graphs: Path | None = None) -> Bundle:
    """Open a bundle and check that its parts belong together.

    Parameters
    ----------
    path : Path
        The folder of a release, or its checkpoint.
    graphs : Path, optional
        A folder to look for the graphs in before `onnx` beside the checkpoint.

    Raises
    ------
    BundleError
        A part is missing, damaged, or belongs to another checkpoint; `context["path"]` and
        `context["key"]` say which.
    """
    checkpoint = choose_checkpoint(path)
    manifest, header = read_manifest(checkpoint)
    algorithm = algorithm_from_manifest(manifest, path=checkpoint)
    for fault in runnable_faults(algorithm):
        raise Section(manifest, path=checkpoint).fault(fault.key, fault.problem)
    check_weights(checkpoint, header, algorithm.decode_mode)
    read_tokenizer_json(checkpoint, header, manifest)
    names = (*_GENERATOR[algorithm.decode_mode], *_RENDERER)
    folder = _graph_folder(checkpoint, graphs, names)
    sha256 = file_sha256(checkpoint)
    fingerprint = algorithm_fingerprint(algorithm)
    finding = check_export_record(
        folder,
        [f"{name}.onnx" for name in names],
        checkpoint_sha256=sha256,
        fingerprint=fingerprint,
        euler_steps=algorithm.euler_steps,
        estimator_sha256=_estimator(manifest),
    )
    return Bundle(
        checkpoint=checkpoint,
        folder=checkpoint.parent,
        manifest=manifest,
        algorithm=algorithm,
        fingerprint=fingerprint,
        checkpoint_sha256=sha256,
        graphs=MappingProxyType({name: folder / f"{name}.onnx" for name in names}),
        enrolment_graphs=MappingProxyType(_present(folder, _ENROLMENT)),
        findings=(finding,) if finding else (),
        header=header,
    )


def _graph_folder(checkpoint: Path, given: Path | None, names: tuple[str, ...]) -> Path:
    candidates = [each for each in (given, checkpoint.parent / "onnx") if each is not None]
    for folder in candidates:
        if len(_present(folder, names)) == len(names):
            return folder
    missing = [name for name in names if name not in _present(candidates[0], names)]
    searched = " and ".join(str(each) for each in candidates)
    raise BundleError(
        f"{searched} lacks {', '.join(f'{name}.onnx' for name in missing)}, which "
        f"{checkpoint.name} needs: get the whole release",
        path=str(candidates[0]),
        key=missing[0],
    )


def _present(folder: Path, names: tuple[str, ...]) -> dict[str, Path]:
    files = {name: folder / f"{name}.onnx" for name in names}
    return {name: path for name, path in files.items() if is_file(path)}


def _estimator(manifest: Mapping[str, object]) -> str | None:
    sources = manifest.get("sources")
    if not isinstance(sources, dict):
        return None
    for entry in sources.values():
        if isinstance(entry, dict) and entry.get("role") == "estimator":
            digest = entry.get("sha256")
            return digest if isinstance(digest, str) else None
    return None
