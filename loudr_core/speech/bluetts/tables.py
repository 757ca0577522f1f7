"""The numbers beside the graphs: `tts.json`, `stats.npz` and `uncond.npz`, read and checked.

References
----------
BlueTTS specification, sections 1 and 7.
"""

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from loudr_core.errors import BundleError
from loudr_core.findings import Finding
from loudr_core.speech.files import read_whole
from loudr_core.speech.json_values import Section, parse_object

__all__ = [
    "CHANNELS",
    "FRAME",
    "SAMPLE_RATE_HZ",
    "STYLE_SHAPE",
    "TEXT_WIDTH",
    "Stats",
    "Unconditional",
    "read_dimensions",
    "read_stats",
    "read_unconditional",
]

SAMPLE_RATE_HZ: Final = 44_100
FRAME: Final = 3072
"""Samples a latent frame: 512 of the vocoder, six times."""
CHANNELS: Final = 144
"""Of a latent frame: 24 of the vocoder, six times."""
TEXT_WIDTH: Final = 256
STYLE_SHAPE: Final = (1, 50, 256)

_DIMENSIONS: Final = {
    ("ae", "sample_rate"): SAMPLE_RATE_HZ,
    ("ae", "base_chunk_size"): 512,
    ("ttl", "latent_dim"): 24,
    ("ttl", "chunk_compress_factor"): 6,
}
_SCALE: Final = 0.25
_MOST_BYTES: Final = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stats:
    """What the latents were normalised with; belongs to one checkpoint.

    Parameters
    ----------
    mean, std : float32, shape (1, 144, 1)
    scale : float
        `normalizer_scale`.
    findings : tuple of Finding
        What is unusual.
    """

    mean: NDArray[np.float32]
    std: NDArray[np.float32]
    scale: float
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unconditional:
    """What stands for no text and no voice in guidance.

    Parameters
    ----------
    text : float32, shape (1, 256, 1)
    style : float32, shape (1, 50, 256)
    """

    text: NDArray[np.float32]
    style: NDArray[np.float32]


def read_dimensions(path: Path) -> float:
    """Check that `tts.json` is of this model, and return its normaliser scale.

    Raises
    ------
    BundleError
        The file is missing or no JSON, or a dimension is another one.
    """
    text = read_whole(path, most_bytes=_MOST_BYTES, advice="fetch the bundle again")
    what = "model config"
    config = Section(parse_object(text, what=what, path=path), path=path, what=what)
    for (section, key), wanted in _DIMENSIONS.items():
        part = config.section(section)
        found = part.whole(key, -1)
        if key not in part:
            raise part.fault(key, f"is missing, expected {wanted}")
        if found != wanted:
            raise part.fault(key, f"must be {wanted}, found {found}: another model's bundle")
    return config.section("ttl").section("normalizer").number("scale", _SCALE)


def read_stats(path: Path, *, configured_scale: float = _SCALE) -> Stats:
    """Read `stats.npz`.

    Parameters
    ----------
    path : Path
    configured_scale : float
        Of `tts.json`; used where the file has none, and no more than compared where it has.

    Raises
    ------
    BundleError
        The file is missing, no npz, or an array is missing or wrong.
    """
    arrays = _read_npz(path)
    mean = _array(arrays, "mean", (1, CHANNELS, 1), path)
    std = _array(arrays, "std", (1, CHANNELS, 1), path)
    if not (std > 0).all():
        raise _fault(path, "std", "is not above 0 everywhere")
    if "normalizer_scale" not in arrays:
        message = f"It has no normalizer_scale; {configured_scale:g} is taken."
        scale, odd = configured_scale, message
    else:
        raw = arrays["normalizer_scale"]
        if raw.size != 1 or raw.dtype.kind not in "fiu":
            raise _fault(path, "normalizer_scale", f"is no number: shape {list(raw.shape)}")
        scale, odd = float(raw.reshape(())), ""
        if not math.isclose(scale, configured_scale, rel_tol=1e-6):
            odd = f"normalizer_scale is {scale:g}, tts.json has {configured_scale:g}: the former is"
            odd += " believed."
    if not (math.isfinite(scale) and scale > 0):
        raise _fault(path, "normalizer_scale", f"is {scale:g}, expected a number above 0")
    finding = Finding(
        code="bundle-normalizer-scale",
        severity="warning",
        message=odd,
        where={"path": str(path)},
    )
    return Stats(mean=mean, std=std, scale=scale, findings=(finding,) if odd else ())


def read_unconditional(path: Path) -> Unconditional:
    """Read `uncond.npz`.

    Raises
    ------
    BundleError
        The file is missing, no npz, or an array is missing or wrong.
    """
    arrays = _read_npz(path)
    return Unconditional(
        text=_array(arrays, "u_text", (1, TEXT_WIDTH, 1), path),
        style=_array(arrays, "u_ref", STYLE_SHAPE, path),
    )


def _read_npz(path: Path) -> dict[str, NDArray[np.generic]]:
    content = read_whole(path, most_bytes=_MOST_BYTES, advice="fetch the bundle again")
    try:
        # From memory: numpy leaves a file open that looks like an archive and is none.
        with np.load(io.BytesIO(content), allow_pickle=False) as found:
            if not isinstance(found, Mapping):
                raise ValueError("one array without a name")
            return {name: found[name] for name in found}
    except Exception as error:  # whatever zipfile, zlib and numpy's parser of headers raise
        reason = " ".join(str(error).split())[:100] or type(error).__name__
        raise BundleError(
            f"{path} is no npz file ({reason}): fetch the bundle again", path=str(path)
        ) from error


def _array(
    arrays: Mapping[str, NDArray[np.generic]], key: str, shape: tuple[int, ...], path: Path
) -> NDArray[np.float32]:
    if key not in arrays:
        raise _fault(path, key, f"is missing; there are {', '.join(arrays) or 'none'}")
    array = arrays[key]
    if array.shape != shape or array.dtype.kind != "f":
        raise _fault(
            path,
            key,
            f"is {array.dtype} {list(array.shape)}, expected float32 {list(shape)}: "
            "of another checkpoint?",
        )
    with np.errstate(over="ignore"):  # said below
        single = array.astype(np.float32)
    if not np.isfinite(single).all():
        raise _fault(path, key, "is not finite")
    return single


def _fault(path: Path, key: str, problem: str) -> BundleError:
    return BundleError(f"{path}: array {key!r} {problem}", path=str(path), key=key)
