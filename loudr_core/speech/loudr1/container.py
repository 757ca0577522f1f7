"""The safetensors container, read without loading it; loudr-1 specification, section 3.3.

A file is 8 bytes of header length, a JSON header and the tensors' bytes. Checkpoints have hundreds
of megabytes and a voice a few tensors of them, so headers are read alone and tensors one by one.
Everything that a header claims is compared with the file before a byte of a tensor is read.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from loudr_core.errors import BundleError
from loudr_core.speech.files import open_regular, unreadable
from loudr_core.speech.json_values import parse_object, shown

__all__ = [
    "Header",
    "TensorEntry",
    "encode_container",
    "payload_sha256",
    "read_header",
    "read_tensor",
]

_LENGTH_BYTES: Final = 8
_MOST_HEADER_BYTES: Final = 100 << 20
_MOST_AXES: Final = 32
_METADATA: Final = "__metadata__"
_AGAIN: Final = "copy the file again"
_CHUNK_BYTES: Final = 1 << 20

_NUMPY: Final[Mapping[str, str]] = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "I16": "<i2", "U16": "<u2", "F16": "<f2", "I32": "<i4",
    "U32": "<u4", "F32": "<f4", "F64": "<f8", "I64": "<i8", "U64": "<u8",
}  # fmt: skip
"""Types that numpy has, in the order of the safetensors library, which writes the last first."""
_TORCH: Final[Mapping[str, str]] = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "F16": "float16",
    "BF16": "bfloat16", "U32": "uint32", "I32": "int32", "F32": "float32", "U64": "uint64",
    "I64": "int64", "F64": "float64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
}  # fmt: skip
"""How the payload digest spells a type: `torch.` and this."""
_BITS: Final[Mapping[str, int]] = {
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8,
    "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "U16": 16, "I16": 16, "F16": 16, "BF16": 16,
    "U32": 32, "I32": 32, "F32": 32, "U64": 64, "I64": 64, "F64": 64, "C64": 64,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """Where a tensor lies: type as the container spells it, shape, and bytes in the payload."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Header:
    """What a container says about itself; `payload` is the offset of the first tensor byte."""

    metadata: Mapping[str, str]
    tensors: Mapping[str, TensorEntry]
    payload: int


def read_header(path: Path) -> Header:
    """Return a container's header after comparing all of it with the file.

    Raises
    ------
    BundleError
        The file cannot be read, is cut short, or its header is damaged.
    """
    try:
        with open_regular(path) as file:
            size = path.stat().st_size
            raw = file.read(_LENGTH_BYTES)
            if len(raw) < _LENGTH_BYTES:
                raise _damaged(path, f"has {len(raw)} bytes, too few for a safetensors file")
            length = int.from_bytes(raw, "little")
            if not 0 < length <= _MOST_HEADER_BYTES:
                raise _damaged(path, f"has a header of {length} bytes; 1 to 100 MiB are possible")
            if length > size - _LENGTH_BYTES:
                raise _damaged(path, f"has {size} bytes, fewer than its header of {length}")
            text = file.read(length)
    except OSError as error:
        raise unreadable(path, error) from None
    fields = parse_object(text, what="safetensors header", path=path)
    metadata = _metadata(path, fields.pop(_METADATA, {}))
    payload = _LENGTH_BYTES + length
    tensors = {name: _entry(path, name, fields[name]) for name in fields}
    _check_cover(path, tensors, size - payload)
    return Header(metadata, tensors, payload)


def read_tensor(path: Path, header: Header, name: str) -> NDArray[Any]:
    """Return one tensor in its stored type, reading only its bytes.

    Raises
    ------
    BundleError
        The file has no such tensor, numpy has no such type, or the bytes are not there.
    """
    entry = header.tensors.get(name)
    if entry is None:
        raise _damaged(path, f"has no tensor {name!r}", name)
    if entry.dtype not in _NUMPY:
        raise BundleError(
            f"{path}: tensor {name!r} has type {entry.dtype}, which is not read",
            path=str(path),
            key=name,
        )
    count = math.prod(entry.shape)
    offset = header.payload + entry.start
    try:
        values = np.fromfile(path, _NUMPY[entry.dtype], count=count, offset=offset)
    except OSError as error:
        raise unreadable(path, error) from None
    if values.size != count:
        raise _damaged(path, f"is cut short inside tensor {name!r}", name)
    try:
        return values.reshape(entry.shape)
    except ValueError:  # an empty tensor whose other axes are beyond any memory
        raise _damaged(path, f"gives tensor {name!r} a shape that is none", name) from None


def payload_sha256(path: Path) -> str:
    """Return the digest over all tensors that a manifest calls `tensor_payload_sha256`.

    Names in ascending order, each with its type as PyTorch spells it, its shape as Python spells
    it, and its bytes.

    Raises
    ------
    BundleError
        The file is damaged, or holds a type that the digest has no spelling for.
    """
    header = read_header(path)
    digest = hashlib.sha256()
    try:
        with open_regular(path) as file:
            for name in sorted(header.tensors):
                entry = header.tensors[name]
                if entry.dtype not in _TORCH:
                    raise BundleError(
                        f"{path}: tensor {shown(name)} has type {entry.dtype}, which has no digest",
                        path=str(path),
                        key=name,
                    )
                digest.update(name.encode("utf-8", "surrogatepass"))
                digest.update(f"torch.{_TORCH[entry.dtype]}{entry.shape}".encode())
                file.seek(header.payload + entry.start)
                left = entry.end - entry.start
                while left and (chunk := file.read(min(left, _CHUNK_BYTES))):
                    digest.update(chunk)
                    left -= len(chunk)
    except OSError as error:
        raise unreadable(path, error) from None
    return digest.hexdigest()


def encode_container(tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    """Return a container's bytes, as the safetensors library orders and pads them.

    Raises
    ------
    ValueError
        A tensor's type has no spelling in the container.
    """
    spelled = {np.dtype(code): name for name, code in _NUMPY.items()}
    ranks = {type_: rank for rank, type_ in enumerate(spelled)}
    for name, values in tensors.items():
        if values.dtype not in spelled:
            raise ValueError(f"tensor {name!r} has type {values.dtype}, which has no spelling")
    header: dict[str, object] = {_METADATA: dict(metadata)}
    payload = bytearray()
    for name in sorted(tensors, key=lambda name: (-ranks[tensors[name].dtype], name)):
        values = tensors[name]
        start = len(payload)
        payload += np.ascontiguousarray(values).tobytes()
        header[name] = {
            "dtype": spelled[values.dtype],
            "shape": list(values.shape),
            "data_offsets": [start, len(payload)],
        }
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    text += b" " * (-len(text) % _LENGTH_BYTES)
    return len(text).to_bytes(_LENGTH_BYTES, "little") + text + bytes(payload)


def _metadata(path: Path, value: object) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise _damaged(path, f"has metadata that is {shown(value)}, not an object")
    for key, each in value.items():
        if not isinstance(each, str):
            raise _damaged(path, f"has metadata {shown(key)} that is {shown(each)}, not a string")
    return value


def _entry(path: Path, name: str, value: object) -> TensorEntry:
    if not isinstance(value, dict):
        raise _damaged(path, f"describes tensor {shown(name)} by {shown(value)}", name)
    dtype, shape, offsets = (value.get(key) for key in ("dtype", "shape", "data_offsets"))
    if not isinstance(dtype, str) or dtype not in _BITS:
        raise _damaged(path, f"gives tensor {shown(name)} the type {shown(dtype)}", name)
    if not isinstance(shape, list) or not _sizes(shape) or len(shape) > _MOST_AXES:
        raise _damaged(path, f"gives tensor {shown(name)} a shape that is none", name)
    if not isinstance(offsets, list) or not _sizes(offsets) or len(offsets) != 2:
        raise _damaged(path, f"gives tensor {shown(name)} byte offsets that are none", name)
    start, end = offsets
    if (end - start) * 8 != math.prod(shape) * _BITS[dtype]:
        raise _damaged(path, f"gives tensor {shown(name)} other bytes than its shape needs", name)
    return TensorEntry(dtype, tuple(shape), start, end)


def _sizes(values: list[object]) -> bool:
    return all(
        isinstance(each, int) and not isinstance(each, bool) and 0 <= each < 1 << 63
        for each in values
    )


def _check_cover(path: Path, tensors: Mapping[str, TensorEntry], size: int) -> None:
    """Check that tensors lie one behind the other and fill the payload to its last byte."""
    at = 0
    for name, entry in sorted(tensors.items(), key=lambda item: (item[1].start, item[1].end)):
        if entry.start != at:
            raise _damaged(path, f"leaves a hole or an overlap before tensor {shown(name)}", name)
        at = entry.end
    if at > size:
        raise _damaged(path, f"is cut short: {at - size} bytes of its tensors are missing")
    if at < size:
        raise _damaged(path, f"has {size - at} bytes behind its last tensor")


def _damaged(path: Path, found: str, key: str = "") -> BundleError:
    context = {"key": key} if key else {}
    return BundleError(f"{path} {found}: {_AGAIN}", path=str(path), **context)
