"""SHA256SUMS of a bundle's folder: which files count, and what is refused."""

import hashlib
import json
from pathlib import Path

import pytest

from loudr_core.errors import BundleError
from loudr_core.speech.checksums import CheckedFile, check_tree, parse_sums

A = "a" * 64
FILES = {"a.bin": b"1", "voices/v.safetensors": b"2"}
RELEASE = '{"profile": "full-0.1", "verified": true}'


def line(name: str, content: bytes) -> str:
    return f"{hashlib.sha256(content).hexdigest()}  {name}\n"


def tree(folder: Path, files: dict[str, bytes], sums: str | None = None) -> Path:
    """Write files, and SHA256SUMS over them or with the given text."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    text = "".join(line(*item) for item in files.items()) if sums is None else sums
    (folder / "SHA256SUMS").write_text(text, encoding="utf-8", newline="")
    return folder


def states(folder: Path, *, official: bool = False) -> dict[str, str]:
    return {file.name: file.state for file in check_tree(folder, official=official)}


def test_vectors_of_lines(test_data: Path, tmp_path: Path) -> None:
    vectors = json.loads((test_data / "specs/loudr1/vectors/sha256sums.json").read_text("utf-8"))
    path = tmp_path / "SHA256SUMS"
    for case in vectors["parse"]:
        path.write_text(case["text"], encoding="utf-8", newline="")
        if case["ok"]:
            assert parse_sums(path) == case["entries"], case["name"]
        else:
            with pytest.raises(BundleError):
                parse_sums(path)
    assert len(vectors["parse"]) >= 19


LINES: list[tuple[str, str]] = [
    ("", "lists no file"),
    ("\n \n", "lists no file"),
    (f"{A} a.txt\n", "line 1 is malformed"),
    (f"{A} *a.txt\n", "malformed"),
    (f"{A.upper()}  a.txt\n", "malformed"),
    (f"{A[1:]}  a.txt\n", "malformed"),
    (f"{A}   a.txt\n", "malformed"),
    ("# hi\n", "malformed"),
    (f"{A}  a.txt\n{A}  a.txt\n", "line 2 names 'a.txt' a second time"),
    (f"{A}  /a.txt\n", "absolute"),
    (f"{A}  C:/a.txt\n", "absolute"),
    (f"{A}  a\\b\n", "backslash"),
    (f"{A}  ../a\n", "leads out"),
    (f"{A}  a/../b\n", "leads out"),
    (f"{A}  ./a\n", "not normalised"),
    (f"{A}  .\n", "not normalised"),
    (f"{A}  a//b\n", "not normalised"),
    (f"{A}  a/\n", "not normalised"),
]


@pytest.mark.parametrize(("text", "problem"), LINES, ids=range(len(LINES)))
def test_a_line_that_is_none_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "SHA256SUMS"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BundleError, match=problem):
        parse_sums(path)


def test_blank_lines_line_ends_and_colons_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "SHA256SUMS"
    path.write_bytes(f"\r\n{A}  voices/a:b c.safetensors\r\n\n{A}  C:x\n".encode())
    assert parse_sums(path) == {"voices/a:b c.safetensors": A, "C:x": A}


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "SHA256SUMS"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(BundleError, match="not UTF-8"):
        parse_sums(path)


def test_a_whole_tree_is_ok(tmp_path: Path) -> None:
    assert states(tree(tmp_path, FILES)) == dict.fromkeys(FILES, "ok")


def test_without_sums_nothing_is_compared_unless_it_is_official(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"1")
    assert states(tmp_path) == {}
    with pytest.raises(BundleError, match="every official release has one"):
        states(tmp_path, official=True)


def test_each_kind_of_file(tmp_path: Path) -> None:
    folder = tree(tmp_path, {**FILES, "gone.bin": b"3", "bad.bin": b"4"})
    (folder / "gone.bin").unlink()
    (folder / "bad.bin").write_bytes(b"5")
    (folder / "notes.txt").write_text("mine")
    (folder / "voices" / "mine.safetensors").write_bytes(b"6")
    found = {file.name: file for file in check_tree(folder)}
    assert list(found) == sorted(found)
    assert {name: file.state for name, file in found.items()} == {
        "a.bin": "ok",
        "bad.bin": "mismatch",
        "gone.bin": "absent",
        "notes.txt": "unlisted",
        "voices/mine.safetensors": "refused",
        "voices/v.safetensors": "ok",
    }
    assert [name for name, file in found.items() if not file.ok] == [
        "bad.bin",
        "voices/mine.safetensors",
    ]
    assert hashlib.sha256(b"5").hexdigest() in found["bad.bin"].detail
    assert found["a.bin"] == CheckedFile("a.bin", "ok")


def test_an_official_release_lists_every_file(tmp_path: Path) -> None:
    folder = tree(tmp_path, {**FILES, "release.json": RELEASE.encode()})
    (folder / ".gitattributes").write_text("x")
    (folder / ".loudkit-release.json").write_text("x")
    (folder / ".cache").mkdir()
    (folder / ".cache" / "x.safetensors").write_text("x")
    assert set(states(folder, official=True).values()) == {"ok"}
    (folder / "notes.txt").write_text("mine")
    assert states(folder, official=True)["notes.txt"] == "refused"


def test_bookkeeping_counts_below_the_top(tmp_path: Path) -> None:
    folder = tree(tmp_path, FILES)
    (folder / "sub" / ".cache").mkdir(parents=True)
    for name in ("SHA256SUMS", ".gitattributes", ".cache/y"):
        (folder / "sub" / name).write_text("x")
    found = states(folder)
    assert [name for name, state in found.items() if state == "unlisted"] == [
        "sub/.cache/y",
        "sub/.gitattributes",
        "sub/SHA256SUMS",
    ]


def test_sums_of_other_files_are_refused(tmp_path: Path) -> None:
    folder = tree(tmp_path, {"a.bin": b"1"}, sums=f"{A}  other.bin\n")
    with pytest.raises(BundleError, match="none of them is there"):
        states(folder)
    skipped = tree(tmp_path / "2", {".gitattributes": b"x"})
    with pytest.raises(BundleError, match="none of them is there"):
        states(skipped)


@pytest.mark.parametrize(
    ("release", "problem"),
    [
        (None, "cannot be read"),
        ("{", "not JSON"),
        ("[]", "must be a JSON object"),
        ("{}", "'profile'"),
        ('{"profile": "lenient", "verified": true}', "'profile'"),
        ('{"profile": ["full-0.1"], "verified": true}', "'profile'"),
        ('{"profile": "full-0.1"}', "'verified'"),
        ('{"profile": "turbo-0.1", "verified": 1}', "'verified'"),
    ],
)
def test_an_official_release_was_verified(
    tmp_path: Path, release: str | None, problem: str
) -> None:
    files = FILES if release is None else {**FILES, "release.json": release.encode()}
    folder = tree(tmp_path, files)
    with pytest.raises(BundleError, match=problem):
        states(folder, official=True)
    states(folder)


def test_links_are_followed_and_circles_end(tmp_path: Path) -> None:
    folder = tree(tmp_path / "bundle", FILES)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine.safetensors").write_bytes(b"x")
    (folder / "linked").symlink_to(outside)
    (folder / "circle").symlink_to(folder)
    (outside / "back").symlink_to(outside)
    (folder / "nowhere.safetensors").symlink_to(tmp_path / "gone")
    found = states(folder)
    assert found["linked/mine.safetensors"] == "refused"
    assert set(found) == {*FILES, "linked/mine.safetensors"}


def test_a_tree_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loudr_core.speech.checksums._MOST_ENTRIES", 20)
    outside = tmp_path / "outside"
    outside.mkdir()
    for number in range(20):
        (outside / str(number)).touch()
    folder = tree(tmp_path / "bundle", FILES)
    assert set(states(folder).values()) == {"ok"}
    (folder / "disk").symlink_to(outside)
    with pytest.raises(BundleError, match=r"holds more than 20 files, the last of them in .*disk"):
        states(folder)


def test_a_name_that_is_no_text_is_shown_escaped(tmp_path: Path) -> None:
    folder = tree(tmp_path, FILES)
    try:
        (folder / "\udcff.txt").write_text("x")
    except OSError:
        pytest.skip("this file system has only names that are text")
    assert states(folder)["\\xff.txt"] == "unlisted"


def test_names_of_several_lines_and_files_that_go_are_one_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tree(tmp_path, FILES)
    (folder / "two\nlines.txt").write_text("x")
    assert states(folder)["two\\nlines.txt"] == "unlisted"

    def gone(path: Path) -> str:
        raise BundleError(f"{path} cannot be read (gone)", path=str(path))

    monkeypatch.setattr("loudr_core.speech.checksums.file_sha256", gone)
    assert states(folder)["a.bin"] == "refused"
