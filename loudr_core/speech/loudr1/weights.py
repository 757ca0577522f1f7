"""The tensors of a checkpoint that are used outside the graphs; loudr-1 specification, 3.3."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from loudr_core.errors import BundleError
from loudr_core.speech.loudr1.algorithm import DecodeMode
from loudr_core.speech.loudr1.container import Header, read_tensor

__all__ = ["Weights", "check_weights", "read_weights"]

_FIELDS: Final[dict[str, tuple[str, tuple[int, ...]]]] = {
    "text_emb": ("t3.text_emb.weight", (2454, 1024)),
    "speech_emb": ("t3.speech_emb.weight", (8194, 1024)),
    "text_pos": ("t3.text_pos_emb.emb.weight", (2050, 1024)),
    "speech_pos": ("t3.speech_pos_emb.emb.weight", (4100, 1024)),
    "spk_weight": ("s3gen.flow.spk_embed_affine_layer.weight", (80, 192)),
    "spk_bias": ("s3gen.flow.spk_embed_affine_layer.bias", (80,)),
}
_FUSED_FIELDS: Final[dict[str, tuple[str, tuple[int, ...]]]] = {
    "fuse0_weight": ("t3.fuse.0.weight", (1024, 2048)),
    "fuse0_bias": ("t3.fuse.0.bias", (1024,)),
    "fuse2_weight": ("t3.fuse.2.weight", (1024, 1024)),
    "fuse2_bias": ("t3.fuse.2.bias", (1024,)),
}
_DTYPES: Final = ("F16", "F32")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weights:
    """Embedding tables and the speaker layer, float32 and read-only.

    Parameters
    ----------
    text_emb, speech_emb : ndarray
        Shapes (2454, 1024) and (8194, 1024).
    text_pos, speech_pos : ndarray
        Learned positions, shapes (2050, 1024) and (4100, 1024).
    spk_weight, spk_bias : ndarray
        The flow's speaker layer, shapes (80, 192) and (80,).
    fuse0_weight, fuse0_bias, fuse2_weight, fuse2_bias : ndarray or None
        The pair fusion of loudr-1-turbo, shapes (1024, 2048), (1024,), (1024, 1024), (1024,).
    """

    text_emb: NDArray[np.float32]
    speech_emb: NDArray[np.float32]
    text_pos: NDArray[np.float32]
    speech_pos: NDArray[np.float32]
    spk_weight: NDArray[np.float32]
    spk_bias: NDArray[np.float32]
    fuse0_weight: NDArray[np.float32] | None = None
    fuse0_bias: NDArray[np.float32] | None = None
    fuse2_weight: NDArray[np.float32] | None = None
    fuse2_bias: NDArray[np.float32] | None = None


def check_weights(path: Path, header: Header, mode: DecodeMode) -> None:
    """Compare names, shapes and types with what the decode mode needs; reads no tensor.

    Raises
    ------
    BundleError
        A tensor is missing or has another shape or type; `context["key"]` names it.
    """
    for name, shape in _needed(mode).values():
        entry = header.tensors.get(name)
        if entry is None:
            raise BundleError(
                f"{path} has no tensor {name!r}, which decode mode {mode!r} needs: "
                "it is not a whole synthesis checkpoint, copy the file again",
                path=str(path),
                key=name,
            )
        if entry.shape != shape or entry.dtype not in _DTYPES:
            raise BundleError(
                f"{path}: tensor {name!r} is {entry.dtype} of shape {entry.shape}, expected "
                f"{' or '.join(_DTYPES)} of shape {shape}",
                path=str(path),
                key=name,
            )


def read_weights(path: Path, header: Header, mode: DecodeMode) -> Weights:
    """Return the tensors that the decode mode needs; float16 becomes float32 exactly.

    Raises
    ------
    BundleError
        A tensor is missing, has another shape or type, or holds NaN or infinity.
    """
    check_weights(path, header, mode)
    return Weights(
        **{field: _float32(path, header, name) for field, (name, _shape) in _needed(mode).items()}
    )


def _needed(mode: DecodeMode) -> dict[str, tuple[str, tuple[int, ...]]]:
    return _FIELDS | _FUSED_FIELDS if mode == "fusion_mtp2" else _FIELDS


def _float32(path: Path, header: Header, name: str) -> NDArray[np.float32]:
    values = read_tensor(path, header, name).astype(np.float32)
    # min and max are NaN when any value is, and need no array of booleans as large as the table.
    if not (np.isfinite(values.min()) and np.isfinite(values.max())):
        raise BundleError(
            f"{path}: tensor {name!r} holds NaN or infinity: copy the file again",
            path=str(path),
            key=name,
        )
    values.setflags(write=False)
    return values
