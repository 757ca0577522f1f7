"""What is no regular file is refused before it is opened: a pipe would wait for ever."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loudr_core.errors import BundleError
from loudr_core.speech.checksums import check_tree
from loudr_core.speech.files import file_sha256, is_there, open_regular, read_whole
from loudr_core.speech.loudr1.container import Header, payload_sha256, read_header
from loudr_core.speech.loudr1.export_record import check_export_record
from loudr_core.speech.loudr1.tokenizer_file import read_tokenizer_json
from loudr_core.speech.loudr1.voice import read_voice

Make = Callable[[Path], None]


def linked_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to(path.with_name("pipe"))


KINDS: list[tuple[Make, str]] = [
    (os.mkfifo, "it is a pipe, not a regular file"),
    (linked_pipe, "it is a pipe, not a regular file"),
    (Path.mkdir, "it is a folder, not a regular file"),
    (lambda path: path.symlink_to(os.devnull), "it is a device, not a regular file"),
]


def whole(path: Path) -> Any:
    return read_whole(path, most_bytes=9, advice="get it again")


def record(path: Path) -> Any:
    return check_export_record(path.parent, [], checkpoint_sha256="", fingerprint="", euler_steps=2)


def tokenizer(path: Path) -> Any:
    return read_tokenizer_json(path.with_name("c.safetensors"), Header({}, {}, 0), {})


def tree(path: Path) -> Any:
    return list(check_tree(path.parent))


READERS: list[tuple[str, Callable[[Path], Any]]] = [
    ("a.bin", whole),
    ("a.bin", file_sha256),
    ("a.safetensors", read_header),
    ("a.safetensors", payload_sha256),
    ("a.safetensors", read_voice),
    ("tokenizer.json", tokenizer),
    ("export.json", record),
    ("SHA256SUMS", tree),
]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(("make", "said"), KINDS)
@pytest.mark.parametrize(("name", "read"), READERS)
def test_what_is_no_regular_file_is_refused(
    name: str, read: Callable[[Path], Any], make: Make, said: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    make(path)
    with pytest.raises(BundleError) as caught:
        read(path)
    assert said in caught.value.message
    assert str(path) in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(("name", "read"), READERS[-2:])
def test_a_link_to_nothing_is_no_absence(
    name: str, read: Callable[[Path], Any], tmp_path: Path
) -> None:
    (tmp_path / name).symlink_to(tmp_path / "gone")
    with pytest.raises(BundleError, match=f"{name} cannot be read"):
        read(tmp_path / name)


@pytest.mark.timeout(20)
def test_a_listed_pipe_is_refused_when_files_are_compared(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "tokenizer.json")
    (tmp_path / "SHA256SUMS").write_text(f"{'a' * 64}  tokenizer.json\n")
    (row,) = check_tree(tmp_path)
    assert (row.name, row.state) == ("tokenizer.json", "refused")
    assert "it is a pipe" in row.detail


def test_a_regular_file_is_opened_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with open_regular(tmp_path / "b") as file:
        assert file.read() == b"1"
    assert is_there(tmp_path / "b")
    assert not is_there(tmp_path / "c")
    assert not is_there(tmp_path / "a" / "c")
    with pytest.raises(BundleError, match="cannot be read"):
        is_there(tmp_path / ("x" * 999))
