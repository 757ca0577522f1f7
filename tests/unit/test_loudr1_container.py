"""The safetensors container: what is read is what was written, and what is damaged is named."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from loudr_core.errors import BundleError
from loudr_core.speech.files import file_sha256
from loudr_core.speech.loudr1.container import (
    encode_container,
    payload_sha256,
    read_header,
    read_tensor,
)

ONE = {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}


def container(path: Path, header: object, payload: bytes = b"") -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + payload)
    return path


def arrays() -> dict[str, Any]:
    random = np.random.default_rng(3)
    return {
        "half": random.standard_normal((3, 5)).astype(np.float16),
        "single": random.standard_normal((2, 3, 4)).astype(np.float32),
        "double": random.standard_normal(7),
        "ids": random.integers(-9, 9, 11),
        "bytes": np.frombuffer(b"tokenizer", np.uint8),
        "flags": np.array([True, False]),
        "empty": np.zeros((0, 4), np.float32),
        "scalar": np.array(2.5, np.float32),
    }


def test_tensors_come_back_bit_for_bit(tmp_path: Path) -> None:
    wanted = arrays()
    path = tmp_path / "x.safetensors"
    path.write_bytes(encode_container(wanted, {"note": "ś"}))
    header = read_header(path)
    assert header.metadata == {"note": "ś"}
    for name, values in wanted.items():
        found = read_tensor(path, header, name)
        assert (found.dtype, found.shape) == (values.dtype, values.shape)
        assert found.tobytes() == values.tobytes()


def test_the_safetensors_library_reads_what_is_written(tmp_path: Path) -> None:
    wanted = arrays()
    path = tmp_path / "x.safetensors"
    path.write_bytes(encode_container(wanted, {}))
    found = load_file(path)
    assert found.keys() == wanted.keys()
    assert all(np.array_equal(found[name], wanted[name]) for name in wanted)


def test_what_is_written_is_what_the_library_writes() -> None:
    wanted = {name: values for name, values in arrays().items() if name != "flags"}
    assert encode_container(wanted, {"voice": '{"a": 1}'}) == save(wanted, {"voice": '{"a": 1}'})


def test_only_the_bytes_of_the_named_tensor_are_read(tmp_path: Path) -> None:
    """A table behind terabytes that no disk holds is read at once."""
    far = 1 << 42
    path = container(
        tmp_path / "x.safetensors",
        {
            "all": {"dtype": "U8", "shape": [far], "data_offsets": [0, far]},
            "one": {"dtype": "F32", "shape": [1], "data_offsets": [far, far + 4]},
        },
    )
    with path.open("r+b") as file:
        try:
            file.truncate(path.stat().st_size + far + 4)
            file.seek(-4, 2)
            file.write(np.float32(1.5).tobytes())
        except OSError:
            pytest.skip("this file system has no files of terabytes")
    header = read_header(path)
    assert read_tensor(path, header, "one") == np.float32(1.5)


DAMAGED: list[tuple[str, bytes, str]] = [
    ("empty", b"", "too few"),
    ("seven bytes", b"1234567", "too few"),
    ("no header", bytes(8), "1 to 100 MiB"),
    ("header above 100 MiB", (101 << 20).to_bytes(8, "little") + b"{}", "1 to 100 MiB"),
    ("header of exabytes", b"\xff" * 8, "1 to 100 MiB"),
    ("header beyond the file", (100).to_bytes(8, "little") + b"{}", "fewer than its header"),
    ("not JSON", (1).to_bytes(8, "little") + b"{", "not JSON"),
    ("not UTF-8", (7).to_bytes(8, "little") + b'{"\xff":1}', "not JSON"),
    ("nested without end", (99999).to_bytes(8, "little") + b"[" * 99999, "nested too deep"),
    ("a list", (2).to_bytes(8, "little") + b"[]", "must be a JSON object"),
]


@pytest.mark.parametrize(("content", "problem"), [case[1:] for case in DAMAGED], ids=range(10))
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    with pytest.raises(BundleError, match=problem) as refused:
        read_header(path)
    assert refused.value.context["path"] == str(path)
    assert "\n" not in refused.value.message


HEADERS: list[tuple[object, bytes, str]] = [
    ({"__metadata__": [1], **ONE}, bytes(8), "metadata that is a list"),
    ({"__metadata__": {"manifest": 5}, **ONE}, bytes(8), "metadata 'manifest'"),
    (ONE, bytes(4), "cut short: 4 bytes"),
    (ONE, bytes(12), "4 bytes behind"),
    ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}}, bytes(12), "hole"),
    (
        {**ONE, "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}},
        bytes(12),
        "overlap before tensor 'b'",
    ),
    ({"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}, bytes(8), "shape needs"),
    ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}}, bytes(8), "shape needs"),
    ({"a": {"dtype": "X9", "shape": [8], "data_offsets": [0, 8]}}, bytes(8), "type 'X9'"),
    ({"a": {"dtype": 5, "shape": [8], "data_offsets": [0, 8]}}, bytes(8), "type 5"),
    ({"a": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}}, bytes(8), "a shape"),
    ({"a": {"dtype": "F32", "shape": 2, "data_offsets": [0, 8]}}, bytes(8), "a shape"),
    ({"a": {"dtype": "F32", "shape": [True], "data_offsets": [0, 4]}}, bytes(4), "a shape"),
    ({"a": {"dtype": "F32", "shape": [1] * 64, "data_offsets": [0, 4]}}, bytes(4), "a shape"),
    ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0.0, 8.0]}}, bytes(8), "offsets"),
    ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0]}}, bytes(8), "offsets"),
    ({"a": {"dtype": "F32", "shape": [2**62, 8], "data_offsets": [0, 8]}}, bytes(8), "shape needs"),
    ({"a": []}, b"", "by a list"),
    ({"a": {"shape": [], "data_offsets": [0, 0]}}, b"", "type null"),
]


@pytest.mark.parametrize(("header", "payload", "problem"), HEADERS, ids=range(len(HEADERS)))
def test_a_header_that_disagrees_with_the_file_is_refused(
    tmp_path: Path, header: object, payload: bytes, problem: str
) -> None:
    path = container(tmp_path / "x.safetensors", header, payload)
    with pytest.raises(BundleError, match=problem) as refused:
        read_header(path)
    assert str(path) in refused.value.message


def test_tensors_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = container(
        tmp_path / "x.safetensors",
        {
            "brain": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]},
            "void": {"dtype": "F32", "shape": [0, 2**62, 2**62], "data_offsets": [4, 4]},
        },
        bytes(4),
    )
    header = read_header(path)
    for name, problem in (("brain", "BF16"), ("void", "a shape"), ("other", "no tensor 'other'")):
        with pytest.raises(BundleError, match=problem) as refused:
            read_tensor(path, header, name)
        assert refused.value.context["key"] == name


def test_a_file_that_shrinks_after_its_header_was_read_is_refused(tmp_path: Path) -> None:
    path = container(tmp_path / "x.safetensors", ONE, bytes(8))
    header = read_header(path)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 4)
    with pytest.raises(BundleError, match="cut short inside tensor 'a'"):
        read_tensor(path, header, "a")
    path.unlink()
    with pytest.raises(BundleError, match="cannot be read"):
        read_tensor(path, header, "a")


@pytest.mark.parametrize("read", [read_header, payload_sha256, file_sha256])
def test_a_missing_file_and_a_folder_are_one_line(tmp_path: Path, read: Any) -> None:
    for path in (tmp_path / "nowhere", tmp_path, tmp_path / ("x" * 300)):
        with pytest.raises(BundleError, match="cannot be read"):
            read(path)


def test_the_payload_digest_is_over_names_types_shapes_and_bytes(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    half, single = np.arange(6, dtype=np.float16).reshape(2, 3), np.ones(1, np.float32)
    path.write_bytes(encode_container({"b": half, "a": single}, {"manifest": "not part of it"}))
    spelled = b"a" + b"torch.float32" + b"(1,)" + single.tobytes()
    spelled += b"b" + b"torch.float16" + b"(2, 3)" + half.tobytes()
    assert payload_sha256(path) == hashlib.sha256(spelled).hexdigest()


def test_a_type_that_the_digest_cannot_spell_is_refused(tmp_path: Path) -> None:
    header = {"a": {"dtype": "C64", "shape": [1], "data_offsets": [0, 8]}}
    path = container(tmp_path / "x.safetensors", header, bytes(8))
    with pytest.raises(BundleError, match="C64, which has no digest"):
        payload_sha256(path)


def test_a_type_that_the_container_has_not_is_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="complex128"):
        encode_container({"a": np.zeros(1, complex)}, {})
