"""Tensors of a component, read out of the one file of weights by the offsets of the manifest.

Every entry is checked before a byte of it is believed: size against shape, place against the file,
digest where one is given, finite values, and in the end names and shapes against what the student
must have (sanoTTS specification, section 1).
"""

import hashlib
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from loudr_core.errors import BundleError
from loudr_core.speech.files import file_sha256, is_file, unreadable
from loudr_core.speech.json_values import Section, shown
from loudr_core.speech.sanotts.configs import needed
from loudr_core.speech.sanotts.shapes import Shapes

__all__ = ["Blob", "map_weights", "read_tensors"]

Blob = NDArray[np.uint8]
"""The bytes of the file of weights, mapped, not read; uint8, shape (n,)."""

_DTYPES: Final = {"float16": "<f2", "float32": "<f4", "int32": "<i4", "int64": "<i8"}
_COPY: Final = "copy the package again"


def map_weights(path: Path, *, size_bytes: int, sha256: str) -> Blob:
    """Return the weights, once size and digest are what the manifest says.

    Raises
    ------
    BundleError
        The file is missing, cannot be read, or is another one.
    """
    if not is_file(path):
        raise BundleError(f"{path} is missing: {_COPY}", path=str(path))
    try:
        found_bytes = path.stat().st_size
        if found_bytes != size_bytes:
            raise BundleError(
                f"{path} has {found_bytes} bytes, the manifest says {size_bytes}: {_COPY}",
                path=str(path),
                key="weights_size_bytes",
            )
        found = file_sha256(path)
        if found != sha256:
            raise BundleError(
                f"{path} has SHA-256 {found}, the manifest says {sha256}: {_COPY}",
                path=str(path),
                key="weights_sha256",
            )
        return np.memmap(path, np.uint8, mode="r")
    except OSError as error:
        raise unreadable(path, error) from None


def read_tensors(
    components: Section, name: str, blob: Blob, expected: Shapes, *, manifest: Path
) -> dict[str, NDArray[np.float32]]:
    """Return the tensors of a component as float32, in the shapes that are expected.

    Parameters
    ----------
    components : Section
        Of the manifest; its object `name` has the list `tensors`, and maybe `parameters`.
    name : str
        `duration`, `acoustic` or `decoder`.
    blob : uint8, shape (n,)
        Of `map_weights`.
    expected : dict of str to tuple of int
        Every name and its shape. A scalar may be written as one number in a list.
    manifest : Path
        For errors.

    Raises
    ------
    BundleError
        An entry is wrong, twice there, missing or of no use; or a value is not finite.
    """
    component = components.section(name)
    tensors: dict[str, NDArray[np.float32]] = {}
    count = 0
    for entry in _entries(component, manifest, f"components.{name}.tensors"):
        tensor = entry.text("name", "")
        if tensor in tensors:
            raise entry.fault("name", f"{tensor!r} is there twice")
        if tensor not in expected:
            raise entry.fault("name", f"{tensor!r} belongs to no layer that the config names")
        array = _array(entry, tensor, blob)
        count += array.size
        tensors[tensor] = _shaped(entry, tensor, array, expected[tensor])
    for tensor, shape in expected.items():
        if tensor not in tensors:
            raise component.fault("tensors", f"has no {tensor!r} of shape {list(shape)}")
    if (told := component.whole_or_null("parameters")) not in (None, count):
        raise component.fault("parameters", f"is {told}, but the tensors have {count}")
    return tensors


def _entries(component: Section, manifest: Path, at: str) -> Iterator[Section]:
    needed(component, "tensors")
    entries = component.get("tensors")
    if not isinstance(entries, list):
        raise component.fault("tensors", f"must be a list, found {shown(entries)}")
    for place, value in enumerate(entries):
        if not isinstance(value, Mapping):
            raise component.fault(f"tensors[{place}]", f"must be an object, found {shown(value)}")
        entry = Section(value, path=manifest, at=f"{at}[{place}]")
        for key in ("name", "shape", "dtype", "offset_bytes", "nbytes"):
            needed(entry, key)
        yield entry


def _array(entry: Section, name: str, blob: Blob) -> NDArray[Any]:
    """Return one tensor in its own type."""
    shape = entry.wholes("shape")
    if not all(0 < axis <= len(blob) for axis in shape):
        raise entry.fault("shape", f"of {name!r} must hold sizes above 0, found {list(shape)}")
    dtype = np.dtype(_DTYPES[entry.choice("dtype", tuple(_DTYPES), "float16")])
    start, count = entry.whole("offset_bytes", 0), entry.whole("nbytes", 0)
    wanted = math.prod(shape) * dtype.itemsize
    if count != wanted:
        raise entry.fault(
            "nbytes",
            f"of {name!r} is {shown(count)}, but {list(shape)} of {dtype.name} are {wanted}",
        )
    if start < 0 or start + count > len(blob):
        raise entry.fault(
            "offset_bytes",
            f"of {name!r} is {shown(start)}: its {count} bytes lie outside the file of {len(blob)}",
        )
    # Copied before it is viewed in its type: an offset may be one that the type cannot stand at.
    raw = blob[start : start + count].tobytes()
    digest = entry.text("sha256", "")
    if digest and digest.lower() != (found := hashlib.sha256(raw).hexdigest()):
        raise entry.fault("sha256", f"of {name!r} is {digest}, the bytes have {found}: {_COPY}")
    return np.frombuffer(raw, dtype).reshape(shape)


def _shaped(
    entry: Section, name: str, array: NDArray[Any], shape: tuple[int, ...]
) -> NDArray[np.float32]:
    scalar = shape == () and array.shape == (1,)
    if array.shape != shape and not scalar:
        raise entry.fault(
            "shape", f"of {name!r} is {list(array.shape)}, the config asks for {list(shape)}"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        widened = array.reshape(shape).astype(np.float32)
    if not np.isfinite(widened).all():
        raise entry.fault("name", f"{name!r} holds values that are not finite")
    return widened
