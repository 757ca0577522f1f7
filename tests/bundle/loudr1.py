"""Write a tiny, complete loudr-1 or loudr-1-turbo bundle; the same bytes each time.

    python tests/bundle/loudr1.py OUT [--turbo] [--enrolment]

Layout, signatures and manifest are those of a release (loudr-1 specification, sections 3, 5, 18 and
21); the weights are random and the graphs small, so a whole engine runs in seconds. The voice is a
tone: pitch and length follow the tokens, pauses are quiet.
"""

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
from loudr1_graphs import enrolment_graphs, generator_graphs, renderer_graphs, write_graph
from loudr1_language import (
    HIDDEN,
    QUIET,
    RENDER_SILENCE,
    SILENCE,
    SPEECH_VOCABULARY,
    START,
    STOP,
    TRIGGERS,
    embeddings,
    heads,
    tokenizer_document,
)
from numpy.typing import NDArray
from safetensors.numpy import save_file

from loudr_core.speech.loudr1.fingerprint import algorithm_fingerprint
from loudr_core.speech.loudr1.manifest import algorithm_from_manifest

__all__ = [
    "REMOVED",
    "TRIGGERS",
    "checkpoint_name",
    "refresh_records",
    "write_bundle",
    "write_files",
]


class _Sign(Enum):
    """Looks the same in every process, as the names of tests must."""

    REMOVED = "removed"


REMOVED = _Sign.REMOVED
"""As a value in `manifest`: the key is left out."""

_LANGUAGES = ("en", "de", "pl")
_PROMPT_TOKENS = (250, 250, 120)  # the last is shorter than the renderer's prompt


def checkpoint_name(*, turbo: bool) -> str:
    """Return the canonical name of the checkpoint."""
    return "loudr-1-turbo.safetensors" if turbo else "loudr-1.safetensors"


def write_bundle(
    folder: Path,
    *,
    turbo: bool = False,
    seed: int = 1,
    voices: Sequence[str] = ("ada", "bob", "cleo"),
    enrolment: bool = False,
    manifest: Mapping[str, Any] | None = None,
    stop_bias: float = 0.0,
) -> Path:
    """Write a bundle into a folder and return the folder.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    turbo : bool
        Whether two tokens are made a step.
    seed : int
        Of the weights and voices.
    voices : sequence of str
        Their names. Languages are English, German, Polish, English, …
    enrolment : bool
        Whether the three graphs that make a voice from a recording are written too.
    manifest : mapping, optional
        Keys that replace those of the release; `REMOVED` leaves one out.
    stop_bias : float
        Added to the logit of the stop token: below zero, rows grow long.
    """
    rng = np.random.default_rng([seed, turbo])
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    tensors = _tensors(rng, turbo=turbo)
    speech_rows = tensors["t3.speech_emb.weight"].astype(np.float32)
    head_weights = heads(rng, stop_bias=stop_bias)
    graphs = generator_graphs(rng, head_weights, speech_rows, turbo=turbo) | renderer_graphs(rng)
    if enrolment:
        graphs |= enrolment_graphs(rng)
    for name, graph in graphs.items():
        write_graph(graph, folder / "onnx" / f"{name}.onnx")
    write_files(folder, tensors, turbo=turbo, seed=seed, voices=voices, manifest=manifest)
    return folder


def write_files(
    folder: Path,
    tensors: Mapping[str, NDArray[Any]],
    *,
    turbo: bool,
    seed: int = 1,
    voices: Sequence[str] = ("ada", "bob", "cleo"),
    manifest: Mapping[str, Any] | None = None,
    toolchain: Mapping[str, Any] | None = None,
) -> None:
    """Write everything of a bundle that is no graph, around the graphs that lie there already.

    Parameters
    ----------
    folder : Path
        Holds `onnx/*.onnx`.
    tensors : mapping
        Of the checkpoint, by name.
    turbo, seed, voices, manifest
        As `write_bundle` takes them.
    toolchain : mapping, optional
        What made the graphs, for the record beside them.
    """
    (folder / "voices").mkdir(parents=True, exist_ok=True)
    document = json.dumps(tokenizer_document(), ensure_ascii=False)
    (folder / "tokenizer.json").write_text(document, "utf-8")
    declared = _manifest(tensors, document.encode(), turbo=turbo) | dict(manifest or {})
    declared = {key: value for key, value in declared.items() if value is not REMOVED}
    text = json.dumps(declared, sort_keys=True)
    save_file(dict(tensors), folder / checkpoint_name(turbo=turbo), metadata={"manifest": text})
    (folder / "manifest.json").write_text(json.dumps(declared, indent=1, sort_keys=True), "utf-8")
    for place, name in enumerate(voices):
        _write_voice(folder / "voices" / f"{name}.safetensors", place, seed)
    refresh_records(folder, turbo=turbo, toolchain=toolchain)


def refresh_records(
    folder: Path,
    *,
    turbo: bool = False,
    fingerprint: str | None = None,
    toolchain: Mapping[str, Any] | None = None,
) -> None:
    """Write export.json, release.json and SHA256SUMS of the files as they are now.

    Parameters
    ----------
    folder : Path
        A bundle.
    turbo : bool
        Which kind it is.
    fingerprint : str, optional
        Recorded instead of the manifest's own, which must be readable without it.
    toolchain : mapping, optional
        What made the graphs.
    """
    declared = json.loads((folder / "manifest.json").read_text("utf-8"))
    if fingerprint is None:
        fingerprint = algorithm_fingerprint(algorithm_from_manifest(declared))
    names = sorted(path.name for path in (folder / "onnx").glob("*.onnx"))
    checkpoint = checkpoint_name(turbo=turbo)
    entry = {
        "checkpoint": checkpoint,
        "checkpoint_sha256": _sha256(folder / checkpoint),
        "algorithm_fingerprint": fingerprint,
        "euler_steps": declared.get("n_cfm_timesteps", 2),
        "decode": "fusion_mtp2" if turbo else "single",
        "graph_set": names,
        "toolchain": dict(toolchain or {"onnx": "helper API"}),
    }
    record = {"format": "loudkit-onnx-export", "graphs": dict.fromkeys(names, entry)}
    (folder / "onnx" / "export.json").write_text(json.dumps(record, indent=1), "utf-8")
    _write_release(folder, turbo=turbo)


def _write_release(folder: Path, *, turbo: bool) -> None:
    own = {"SHA256SUMS", "release.json"}
    paths = sorted(p for p in folder.rglob("*") if p.is_file() and p.name not in own)
    sums = {path.relative_to(folder).as_posix(): _sha256(path) for path in paths}
    release: dict[str, Any] = {"profile": "turbo-0.1" if turbo else "full-0.1", "verified": True}
    release["files"] = {
        name: {"sha256": value, "bytes": (folder / name).stat().st_size}
        for name, value in sums.items()
    }
    (folder / "release.json").write_text(json.dumps(release, indent=1), "utf-8")
    sums["release.json"] = _sha256(folder / "release.json")
    lines = [f"{value}  {name}\n" for name, value in sums.items()]
    (folder / "SHA256SUMS").write_text("".join(lines), "utf-8")


def _tensors(rng: np.random.Generator, *, turbo: bool) -> dict[str, NDArray[Any]]:
    tensors: dict[str, NDArray[Any]] = dict(embeddings(rng))
    weight = rng.standard_normal((80, 192), np.float32) * np.float32(0.1)
    weight[:40] += rng.standard_normal(192, np.float32) * np.float32(0.4)  # a voice has its pitch
    tensors["s3gen.flow.spk_embed_affine_layer.weight"] = weight
    tensors["s3gen.flow.spk_embed_affine_layer.bias"] = np.zeros(80, np.float32)
    if turbo:
        tensors |= _fuse(rng)
    return dict(sorted(tensors.items()))


def _fuse(rng: np.random.Generator) -> dict[str, NDArray[np.float16]]:
    """Return the layers that join a pair's rows; flag and class columns pass by them untouched."""
    first = rng.standard_normal((HIDDEN, 2 * HIDDEN), np.float32) * np.float32(0.03)
    second = rng.standard_normal((HIDDEN, HIDDEN), np.float32) * np.float32(0.03)
    biases = rng.standard_normal((2, HIDDEN), np.float32) * np.float32(0.05)
    for columns in (slice(256, 264), slice(1016, 1024)):
        second[columns] = biases[1, columns] = 0
    return {
        "t3.fuse.0.weight": first.astype(np.float16),
        "t3.fuse.0.bias": biases[0].astype(np.float16),
        "t3.fuse.2.weight": second.astype(np.float16),
        "t3.fuse.2.bias": biases[1].astype(np.float16),
    }


def _manifest(
    tensors: Mapping[str, NDArray[Any]], tokenizer: bytes, *, turbo: bool
) -> dict[str, Any]:
    declared: dict[str, Any] = {
        "format": "loudkit-checkpoint",
        "format_version": 2 if turbo else 1,
        "name": "tiny-loudr-1-turbo" if turbo else "tiny-loudr-1",
        "artifact_role": "synthesis",
        "recipe_version": "loudkit-1",
        "guidance": "single_path",
        "guidance_rate": 0.0,
        "n_cfm_timesteps": 1 if turbo else 2,
        "edge_fade_seconds": 0.02,
        "sample_rate": 24000,
        "token_rate_hz": 25.0,
        "speech_vocab_size": SPEECH_VOCABULARY,
        "speech_tokens": {"start": START, "stop": STOP},
        "silence_token_ids": list(SILENCE),
        "silence_render_ids": list(RENDER_SILENCE),
        "quiet_render_ids": list(QUIET),
        "sampling_defaults": {
            "temperature": 0.8,
            "repetition_penalty": 1.2,
            "min_p": 0.05,
            "max_new_tokens": 255,
        },
        "window": {
            "max_speech_tokens": 255,
            "static_length": 255,
            "pad_token_id": 4254,
            "static_prompt_tokens": 238,
        },
        "eos_floor": {"min_tokens_floor": 10, "min_tokens_text_ratio": 1.2},
        "chunking": {
            "enabled": True,
            "max_tokens": 255,
            "prefix_tokens": 6,
            "split_on": [". ", "! ", "? ", "; ", ", "],
        },
        "postprocess": {"mode": "trim", "calibrated_on": "loudr-1"},
        "tensor_count": len(tensors),
        "tensor_payload_sha256": _payload_sha256(tensors),
        "tokenizer_sha256": hashlib.sha256(tokenizer).hexdigest(),
    }
    if turbo:
        declared["decode"] = {"mode": "fusion_mtp2"}
    return declared


def _write_voice(path: Path, place: int, seed: int) -> None:
    rng = np.random.default_rng([seed, 100, place])
    n_prompt = _PROMPT_TOKENS[place % 3]
    tensors: dict[str, NDArray[Any]] = {
        "speaker_embedding": rng.standard_normal(256, np.float32) * np.float32(0.0625),
        "flow_embedding": rng.standard_normal(192, np.float32),
        "prompt_tokens": rng.integers(0, 6561, n_prompt, dtype=np.int64),
        "prompt_mel": rng.standard_normal((80, 2 * n_prompt), np.float32) * 0.5 - 4,
        "cond_prompt_tokens": rng.integers(0, 6561, 150, dtype=np.int64),
    }
    header = {
        "format_version": 1,
        "name": path.stem,
        "language": _LANGUAGES[place % 3],
        "source_sample_rate": 24000,
        "enrolment": "first-10s",
    }
    save_file(tensors, path, metadata={"voice": json.dumps(header)})


def _payload_sha256(tensors: Mapping[str, NDArray[Any]]) -> str:
    """Digest names, dtypes, shapes and bytes; loudr-1 specification, section 3.3."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name}torch.{tensor.dtype}{tensor.shape}".encode())
        digest.update(tensor.tobytes())
    return digest.hexdigest()


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--turbo", action="store_true")
    parser.add_argument("--enrolment", action="store_true")
    asked = parser.parse_args()
    write_bundle(asked.out, turbo=asked.turbo, enrolment=asked.enrolment)


if __name__ == "__main__":
    _main()
