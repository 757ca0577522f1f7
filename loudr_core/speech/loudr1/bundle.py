"""A loudr-1 bundle: checkpoint, graphs, tokenizer and voices that belong together.

loudr-1 specification, section 3. `open_bundle` reads headers and compares what the parts say of
one another; no graph is loaded and no table read, so it takes as long as one pass over the
checkpoint for its digest.
"""

import difflib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from loudr_core.errors import BundleError, ConfigError
from loudr_core.findings import Finding
from loudr_core.speech.loudr1.algorithm import Algorithm, DecodeMode
from loudr_core.speech.loudr1.checkpoint import choose_checkpoint, read_manifest
from loudr_core.speech.loudr1.container import Header, file_sha256, read_tensor
from loudr_core.speech.loudr1.export_record import check_export_record
from loudr_core.speech.loudr1.fingerprint import algorithm_fingerprint
from loudr_core.speech.loudr1.json_values import Section
from loudr_core.speech.loudr1.manifest import algorithm_from_manifest
from loudr_core.speech.loudr1.runnable import runnable_faults
from loudr_core.speech.loudr1.voice import VoiceProfile, read_voice
from loudr_core.speech.loudr1.weights import Weights, check_weights, read_weights

__all__ = ["Bundle", "Weights", "open_bundle"]

_GENERATOR: Final[Mapping[DecodeMode, tuple[str, ...]]] = {
    "single": ("t3_cond", "t3_prefill", "t3_step"),
    "fusion_mtp2": ("t3_cond", "t3_prefill", "t3_pair_step", "t3_head2"),
}
_RENDERER: Final = ("flow_encoder", "flow_estimator", "vocoder")
_ENROLMENT: Final = ("s3_tokenizer", "camp", "voice_encoder")
_TOKENIZER: Final = "tokenizer.json"
_TOKENIZER_ASSET: Final = "assets.tokenizer.json"
_MOST_TOKENIZER_BYTES: Final = 64 << 20
_NEAR: Final = 0.6


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
        return _tokenizer_json(self.checkpoint, self.header, self.manifest)

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
        return tuple(_voice_files(self.folder))

    def voice(self, name: str) -> VoiceProfile:
        """Return the profile of a voice.

        Raises
        ------
        ConfigError
            The bundle has no voice of that name.
        BundleError
            The profile is damaged, or is a link that leads out of the bundle.
        """
        files = _voice_files(self.folder)
        if name not in files:
            raise ConfigError(_no_voice(name, tuple(files), self.folder), voice=name)
        path = files[name]
        if not _inside(path, self.folder):
            raise BundleError(
                f"voice {path} is a link that leads out of the bundle: put the file itself there",
                path=str(path),
            )
        return read_voice(path)


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
    _tokenizer_json(checkpoint, header, manifest)
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
    return {name: path for name, path in files.items() if path.is_file()}


def _estimator(manifest: Mapping[str, object]) -> str | None:
    sources = manifest.get("sources")
    if not isinstance(sources, dict):
        return None
    for entry in sources.values():
        if isinstance(entry, dict) and entry.get("role") == "estimator":
            digest = entry.get("sha256")
            return digest if isinstance(digest, str) else None
    return None


def _tokenizer_json(checkpoint: Path, header: Header, manifest: Mapping[str, object]) -> bytes:
    if (asset := header.tensors.get(_TOKENIZER_ASSET)) is not None:
        if asset.dtype != "U8":
            raise BundleError(
                f"{checkpoint}: tensor {_TOKENIZER_ASSET!r} is {asset.dtype}, expected U8",
                path=str(checkpoint),
                key=_TOKENIZER_ASSET,
            )
        return read_tensor(checkpoint, header, _TOKENIZER_ASSET).tobytes()
    path = checkpoint.parent / _TOKENIZER
    wanted = manifest.get("tokenizer_sha256")
    if wanted is not None and not isinstance(wanted, str):
        raise Section(manifest, path=checkpoint).fault(
            "tokenizer_sha256", "must be a string of hexadecimal digits"
        )
    try:
        if path.stat().st_size > _MOST_TOKENIZER_BYTES:
            raise BundleError(f"{path} is above 64 MiB, too large for a tokenizer", path=str(path))
        content = path.read_bytes()
    except OSError as error:
        raise BundleError(
            f"{path} cannot be read ({error.strerror}): get the whole release",
            path=str(path),
            key="tokenizer_sha256",
        ) from None
    found = hashlib.sha256(content).hexdigest()
    if wanted is not None and found != wanted:
        raise BundleError(
            f"{path} has SHA-256 {found}, the checkpoint wants {wanted[:64]}: "
            "get tokenizer and checkpoint of one release",
            path=str(path),
            key="tokenizer_sha256",
        )
    return content


def _voice_files(folder: Path) -> dict[str, Path]:
    voices = folder / "voices"
    try:
        files = sorted(voices.iterdir()) if voices.is_dir() else []
        return {
            each.stem: each
            for each in files
            if each.suffix == ".safetensors" and not each.name.startswith(".") and each.is_file()
        }
    except OSError as error:
        raise BundleError(
            f"{voices} cannot be listed ({error.strerror}): check its permissions",
            path=str(voices),
        ) from None


def _no_voice(name: str, names: tuple[str, ...], folder: Path) -> str:
    if not names:
        return f"no voice {name!r}: {folder / 'voices'} has no voice profile, enrol one or name one"
    near = difflib.get_close_matches(name, names, n=1, cutoff=_NEAR)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
    return f"no voice {name[:80]!r} in {folder}: {hint}"


def _inside(path: Path, folder: Path) -> bool:
    """Say whether a file lies in the bundle once links are followed.

    A hub cache keeps a release as links in `snapshots/REVISION` to files in `blobs`; both are
    parts of the same release.
    """
    root = folder.resolve()
    roots = [root]
    if root.parent.name == "snapshots":
        roots.append(root.parent.parent / "blobs")
    found = path.resolve()
    return any(found.is_relative_to(each) for each in roots)
