"""The folder of a Koko bundle: where its files lie, and which graphs a precision takes.

A bundle is `tokenizer.json` beside three graphs, in `onnx/` or at the folder's top. Flow step and
vocoder come in single precision, half precision or both; the text encoder in single only, for its
rotary positions (Koko specification, section 2).
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from loudr_core.errors import BundleError, ConfigError
from loudr_core.speech.files import file_sha256, is_file, is_folder
from loudr_core.speech.graph_facts import side_files

__all__ = [
    "GRAPHS",
    "PRECISIONS",
    "KokoBundle",
    "bundle_folder",
    "find_graph",
    "open_koko_bundle",
]

GRAPHS = ("text_encoder", "flow_step", "vocoder")
"""Names of the graphs, without suffix, in the order in which they run."""
PRECISIONS = ("float32", "float16")
TOKENIZER = "tokenizer.json"

_HALF = "_fp16"
_GRAPH_FOLDER = "onnx"


@dataclass(frozen=True, kw_only=True)
class KokoBundle:
    """The files that speaking needs.

    Parameters
    ----------
    folder : Path
    tokenizer : Path
    graphs : dict of str to Path
        A name of `GRAPHS` to the file that was chosen for it.
    precision : str
        As it was asked for. Half precision takes the half graphs that are there, at least one.
    """

    folder: Path
    tokenizer: Path
    graphs: dict[str, Path]
    precision: str

    @property
    def half_graphs(self) -> tuple[str, ...]:
        """Names of the graphs that run in half precision."""
        return tuple(name for name, path in self.graphs.items() if path.stem.endswith(_HALF))

    @cached_property
    def parts(self) -> dict[str, tuple[Path, ...]]:
        """Each graph's file and the files beside it that hold its weights.

        Raises
        ------
        BundleError
            A graph cannot be read, or a file that it names is missing.
        """
        return {name: (path, *side_files(path)) for name, path in self.graphs.items()}

    @cached_property
    def digests(self) -> dict[str, str]:
        """SHA-256 of the tokenizer, and of each graph with its weights, by name.

        Raises
        ------
        BundleError
            A file cannot be read.
        """
        files = {"tokenizer": (self.tokenizer,), **self.parts}
        return {name: _sha256(paths) for name, paths in files.items()}


def open_koko_bundle(path: Path, *, precision: str = "float32") -> KokoBundle:
    """Find the files of a bundle.

    Parameters
    ----------
    path : Path
        The folder, or a file in it.
    precision : str
        `float32`, or `float16`.

    Raises
    ------
    ConfigError
        The precision is none of `PRECISIONS`.
    BundleError
        The folder or a file is missing.
    """
    if precision not in PRECISIONS:
        raise ConfigError(
            f"precision {precision!r} is not one of {', '.join(PRECISIONS)}", option="precision"
        )
    folder = bundle_folder(path)
    if not is_folder(folder):
        raise BundleError(f"no bundle folder {path}: give the folder of a release", path=str(path))
    tokenizer = folder / TOKENIZER
    missing = [] if is_file(tokenizer) else [TOKENIZER]
    graphs: dict[str, Path] = {}
    for name in GRAPHS:
        single, half = find_graph(folder, name), find_graph(folder, name + _HALF)
        wanted = half if precision == "float16" and half is not None else single
        if wanted is None:
            missing.append(f"{_GRAPH_FOLDER}/{name}.onnx" + _other_precision(half))
        else:
            graphs[name] = wanted
    if missing:
        raise BundleError(
            f"{folder} has no {', no '.join(missing)}: fetch the bundle again",
            path=str(folder),
            key=missing[0],
        )
    bundle = KokoBundle(folder=folder, tokenizer=tokenizer, graphs=graphs, precision=precision)
    if precision == "float16" and not bundle.half_graphs:
        raise BundleError(
            f"{folder} has no graph in half precision (flow_step_fp16.onnx, vocoder_fp16.onnx): "
            "fetch them, or leave the option precision at float32",
            path=str(folder),
            key="flow_step_fp16",
        )
    return bundle


def bundle_folder(path: Path) -> Path:
    """Return the folder of a bundle, of which a file may have been named."""
    if not is_file(path):
        return path
    return path.parent.parent if path.parent.name == _GRAPH_FOLDER else path.parent


def find_graph(folder: Path, stem: str) -> Path | None:
    """Return a graph's file below `onnx/` or at the top, None where it is in neither."""
    for place in (folder / _GRAPH_FOLDER, folder):
        candidate = place / f"{stem}.onnx"
        if is_file(candidate):
            return candidate
    return None


def _other_precision(half: Path | None) -> str:
    return f" (only {half.name}: ask for it with the option precision = float16)" if half else ""


def _sha256(paths: tuple[Path, ...]) -> str:
    """Return the SHA-256 of one file, or over those of several."""
    digests = [file_sha256(path) for path in paths]
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256(b"".join(map(bytes.fromhex, digests))).hexdigest()
