"""The smallest folder that `open_bundle` accepts: tables of zeros, graphs that are only names.

It cannot speak. Tests of what a bundle must hold change one thing of it and look at the error; a
table of zeros is a hole in the file, so that a bundle costs kilobytes and milliseconds.
"""

import functools
import hashlib
import json
import math
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from loudr_core.speech.loudr1.fingerprint import algorithm_fingerprint
from loudr_core.speech.loudr1.manifest import algorithm_from_manifest
from loudr_core.speech.loudr1.voice import VoiceProfile, write_voice


class _Sign(Enum):
    """Looks the same in every process, as the names of tests must."""

    ABSENT = "absent"


ABSENT = _Sign.ABSENT
"""As a value in changes: the key is taken away."""

MANIFEST: dict[str, Any] = {
    "format": "loudkit-checkpoint",
    "format_version": 1,
    "recipe_version": "loudkit-1",
    "artifact_role": "synthesis",
    "name": "minimal",
    "n_cfm_timesteps": 2,
    "edge_fade_seconds": 0.02,
    "silence_token_ids": [
        1731, 1821, 1822, 1824, 1975, 2058, 2068, 3190, 3377, 3918, 3927, 3928, 3930, 4008, 4009,
        4011, 4012, 4137, 4146, 4161, 4171, 4173, 4174, 4218, 4245, 4251, 4252, 4254, 4255, 4260,
        4282,
    ],
    "silence_render_ids": [4137, 4215, 4218, 4299, 6162, 6324, 6405, 6486],
    "quiet_render_ids": [
        1458, 1461, 1488, 1701, 1704, 1707, 1716, 1731, 1785, 1788, 1869, 1947, 1950, 1951, 1959,
        1978, 2028, 2031, 2040, 2058, 2076, 2112, 2139, 3645, 3648, 3651, 3704, 3888, 3894, 4188,
        5838, 6081, 6183, 6537,
    ],
    "window": {
        "max_speech_tokens": 255,
        "static_length": 255,
        "pad_token_id": 4254,
        "static_prompt_tokens": 238,
    },
    "eos_floor": {"min_tokens_floor": 10, "min_tokens_text_ratio": 1.2},
}  # fmt: skip
TURBO = {"format_version": 2, "decode": {"mode": "fusion_mtp2"}, "n_cfm_timesteps": 1}

TENSORS: dict[str, tuple[str, list[int]]] = {
    "s3gen.flow.spk_embed_affine_layer.bias": ("F32", [80]),
    "s3gen.flow.spk_embed_affine_layer.weight": ("F32", [80, 192]),
    "t3.speech_emb.weight": ("F16", [8194, 1024]),
    "t3.speech_pos_emb.emb.weight": ("F16", [4100, 1024]),
    "t3.text_emb.weight": ("F16", [2454, 1024]),
    "t3.text_pos_emb.emb.weight": ("F16", [2050, 1024]),
}
FUSE_TENSORS: dict[str, tuple[str, list[int]]] = {
    "t3.fuse.0.bias": ("F16", [1024]),
    "t3.fuse.0.weight": ("F16", [1024, 2048]),
    "t3.fuse.2.bias": ("F16", [1024]),
    "t3.fuse.2.weight": ("F16", [1024, 1024]),
}
GRAPHS = ("t3_cond", "t3_prefill", "t3_step", "flow_encoder", "flow_estimator", "vocoder")
TURBO_GRAPHS = ("t3_cond", "t3_prefill", "t3_pair_step", "t3_head2", *GRAPHS[3:])
TOKENIZER = b'{"version": "1.0"}'
SIZES = {"F16": 2, "F32": 4, "U8": 1}


def changed(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping with keys replaced, and those taken away whose change is `ABSENT`."""
    merged = {**values, **changes}
    return {key: value for key, value in merged.items() if value is not ABSENT}


def write_checkpoint(
    path: Path,
    manifest: Mapping[str, Any] | str | None,
    tensors: Mapping[str, tuple[str, list[int]]] = TENSORS,
) -> Path:
    """Write a container of zeros; a manifest that is a string is written as it stands."""
    start, size = _container(manifest, tensors)
    with path.open("wb") as file:
        file.write(start)
        file.truncate(len(start) + size)
    return path


def _container(
    manifest: Mapping[str, Any] | str | None, tensors: Mapping[str, tuple[str, list[int]]]
) -> tuple[bytes, int]:
    """Return a container's bytes up to its payload, and the bytes of that."""
    header: dict[str, Any] = {}
    if manifest is not None:
        text = manifest if isinstance(manifest, str) else json.dumps(manifest)
        header["__metadata__"] = {"manifest": text}
    at = 0
    for name, (dtype, shape) in tensors.items():
        end = at + SIZES[dtype] * math.prod(shape)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text, at


@functools.lru_cache(maxsize=64)
def _sha256(start: bytes, zeros: int) -> str:
    return hashlib.sha256(start + bytes(zeros)).hexdigest()


def write_export_record(
    folder: Path,
    checkpoint: Path,
    manifest: Mapping[str, Any],
    tensors: Mapping[str, tuple[str, list[int]]] = TENSORS,
) -> Path:
    """Write the record of all graphs in a folder, agreeing with the checkpoint of zeros."""
    algorithm = algorithm_from_manifest(manifest)
    entry = {
        "checkpoint": checkpoint.name,
        "checkpoint_sha256": _sha256(*_container(manifest, tensors)),
        "algorithm_fingerprint": algorithm_fingerprint(algorithm),
        "euler_steps": algorithm.euler_steps,
        "decode": algorithm.decode_mode,
        "estimator_sha256": None,
    }
    graphs = {each.name: entry for each in sorted(folder.glob("*.onnx"))}
    record = folder / "export.json"
    record.write_text(json.dumps({"format": "loudkit-onnx-export", "graphs": graphs}))
    return record


def profile(name: str = "ada", **changes: Any) -> VoiceProfile:
    """Return a voice profile that keeps every rule, with changes."""
    values: dict[str, Any] = {
        "name": name,
        "speaker_embedding": np.linspace(-1, 1, 256, dtype=np.float32),
        "flow_embedding": np.linspace(1, 2, 192, dtype=np.float32),
        "prompt_tokens": np.arange(50, dtype=np.int64),
        "prompt_mel": np.zeros((80, 100), np.float32),
        "cond_prompt_tokens": np.arange(30, dtype=np.int64),
    }
    return VoiceProfile(**{**values, **changes})


def write_sums(folder: Path) -> Path:
    """Write SHA256SUMS over every file of a folder."""
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    lines = [
        f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.relative_to(folder).as_posix()}\n"
        for each in files
    ]
    path = folder / "SHA256SUMS"
    path.write_text("".join(lines))
    return path


def write_minimal(
    folder: Path, *, turbo: bool = False, manifest: Mapping[str, Any] | None = None
) -> Path:
    """Write the folder and return it; `manifest` holds keys to replace, or `ABSENT` ones."""
    (folder / "onnx").mkdir(parents=True)
    (folder / "voices").mkdir()
    (folder / "tokenizer.json").write_bytes(TOKENIZER)
    values = {
        **MANIFEST,
        **(TURBO if turbo else {}),
        "tokenizer_sha256": hashlib.sha256(TOKENIZER).hexdigest(),
    }
    values = changed(values, manifest or {})
    name = "loudr-1-turbo" if turbo else "loudr-1"
    tensors = TENSORS | FUSE_TENSORS if turbo else TENSORS
    checkpoint = write_checkpoint(folder / f"{name}.safetensors", values, tensors)
    for graph in TURBO_GRAPHS if turbo else GRAPHS:
        (folder / "onnx" / f"{graph}.onnx").write_bytes(graph.encode())
    write_export_record(folder / "onnx", checkpoint, values, tensors)
    write_voice(profile("ada"), folder / "voices" / "ada.safetensors")
    write_voice(profile("basia", language="pl"), folder / "voices" / "basia.safetensors")
    return folder
