"""The command line: help that helps, one line for an error, the exit code of its kind."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flows import cli
from loudr_core.testing import FakeEngine

TEXT = """# The Harbour

## One

The lamp was lit at dusk, and nobody came down to the water for a long while after that.

## Two

It was the tide. It was only ever the tide, she said to the dog, who knew it well enough.
"""
COMMANDS = sorted(command.callback.__name__ for command in cli.app.registered_commands)  # type: ignore[union-attr]


@dataclass(frozen=True)
class Said:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Loudr = Callable[..., Said]


@pytest.fixture
def loudr(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Loudr:
    """Return a caller of the command line, in a home of its own, with the engine of tones."""
    for name in [name for name in os.environ if name.startswith("LOUDR_")]:
        monkeypatch.delenv(name)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("LOUDR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LOUDR_ENGINE", "fake")
    monkeypatch.setenv("LOUDR_EXECUTOR", "inline")
    monkeypatch.setenv("LOUDR_WORKERS", "1")
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> Said:
        monkeypatch.setattr(sys, "argv", ["loudr", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Said(left.value.code, out, err)

    return call


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "harbour.md"
    path.write_text(TEXT, encoding="utf-8")
    return path


def one_line(said: Said, *parts: str) -> None:
    """Check that an error is one line that holds these parts."""
    lines = [line for line in said.err.splitlines() if line.startswith("loudr: ")]
    assert len(lines) == 1, said.err
    assert "Traceback" not in said.err
    for part in parts:
        assert part in lines[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_an_example(loudr: Loudr, command: str) -> None:
    said = loudr(command, "--help")
    assert said.code == 0
    assert "Example" in said.out
    assert f"loudr {command}" in said.out


def test_help_lists_every_command(loudr: Loudr) -> None:
    said = loudr("--help")
    assert said.code == 0
    assert COMMANDS
    assert all(command in said.out for command in COMMANDS)


def test_version(loudr: Loudr) -> None:
    from importlib.metadata import version

    said = loudr("--version")
    assert (said.code, said.out) == (0, f"loudr {version('loudr')}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["render", "b.md", "--nonsense"],
        ["render"],
        ["plan"],
        ["sing"],
        ["render", "b.md", "--workers", "two"],
        ["rerender", "b", "--seed", "-1"],
    ],
)
def test_wrong_usage_is_2(loudr: Loudr, arguments: list[str]) -> None:
    said = loudr(*arguments)
    assert said.code == 2
    assert "Traceback" not in said.err
    assert said.err.strip()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--executor", "cloud"], "executor"),
        (["--workers", "0"], "workers"),
        (["--speed", "7"], "speed"),
        (["--chapters", "3-1"], "--chapters"),
        (["--chapters", "9"], "no chapter 9"),
        (["--profile", "nothing"], "no profile 'nothing'"),
        (["--engine", "trumpet"], "trumpet"),
        (["--voice", "bass"], "no voice 'bass'"),
        (["--store", "gopher://hole"], "gopher"),
    ],
)
def test_a_wrong_setting_is_3(loudr: Loudr, book: Path, arguments: list[str], part: str) -> None:
    said = loudr("render", book, "-o", "out", *arguments)
    assert said.code == 3
    one_line(said, part)
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("name", "data", "part"),
    [
        ("broken.epub", b"PK\x03\x04 and then nothing", "broken.epub"),
        ("page.epub", b"<html>not a book</html>", "page.epub"),
        ("empty.md", b"", "empty.md"),
        ("silent.md", b"\n\n", "silent.md"),
        ("picture.png", b"\x89PNG", "picture.png"),
    ],
)
@pytest.mark.parametrize("command", ["plan", "render"])
def test_a_bad_book_is_4_in_one_line(
    loudr: Loudr, tmp_path: Path, command: str, name: str, data: bytes, part: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    said = loudr(command, path)
    assert said.code == 4
    one_line(said, part)
    assert said.out == ""


def test_a_book_that_is_not_there_is_4(loudr: Loudr) -> None:
    for command in ("plan", "render"):
        said = loudr(command, "gone.epub")
        assert said.code == 4
        one_line(said, "gone.epub")


def test_an_error_with_json_is_an_object_on_stdout(loudr: Loudr) -> None:
    said = loudr("render", "gone.epub", "--json")
    assert said.code == 4
    error = said.json["error"]
    assert error["code"] == "book"
    assert error["exit_code"] == 4
    assert "gone.epub" in error["message"]
    assert "path" in error["where"]
    one_line(said, "gone.epub")


def test_plan_tells_chapters_and_speaks_nothing(loudr: Loudr, book: Path, tmp_path: Path) -> None:
    said = loudr("plan", book, "--json")
    assert said.code == 0
    plan = said.json
    assert [chapter["title"] for chapter in plan["chapters"]] == ["The Harbour", "One", "Two"]
    assert plan["audit"]["lossless"] is True
    assert plan["segments"] == sum(chapter["segments"] for chapter in plan["chapters"])
    assert {"book_id", "plan_id", "left_out", "generated", "findings", "est_audio_s"} <= set(plan)
    assert (tmp_path / "home" / "store" / plan["jobs"]).is_file()
    assert not list((tmp_path / "home" / "store").glob("audio/**/*.flac"))
    people = loudr("plan", book)
    assert people.code == 0
    assert "One" in people.out
    assert "every one of" in people.out


def test_a_book_from_plan_to_report(loudr: Loudr, book: Path, tmp_path: Path) -> None:
    said = loudr("render", book, "-o", "out", "--json")
    assert said.code == 0
    result = said.json
    (file,) = result["files"]
    assert Path(file["path"]).is_file()
    assert file["chapters"] == 3
    assert len(result["pcm_sha256"]) == 64
    assert set(result["loudness"]) >= {"integrated_lufs", "true_peak_dbtp"}

    status = loudr("status", "--json").json["books"]
    assert [row["state"] for row in status] == ["finished"]
    assert status[0]["book_id"] == result["book_id"]
    assert "finished" in loudr("status", "the-harbour").out

    check = loudr("check", file["path"], "--json")
    assert (check.code, check.json["ok"]) == (0, True)

    report = loudr("report", "the-harbour", "-o", "out")
    assert report.code == 0
    (page,) = Path("out").glob("*.html")
    assert "The Harbour" in page.read_text(encoding="utf-8")

    again = loudr("render", book, "-o", "out")
    assert again.code == 0
    assert "0 rendered" in again.out
    assert "The Harbour.m4b" in again.out


def test_another_seed_for_one_segment(loudr: Loudr, book: Path) -> None:
    first = loudr("render", book, "-o", "out", "--json").json
    said = loudr("rerender", "the-harbour", "--segment", "c002-s0002", "-o", "out", "--json")
    assert said.code == 0
    second = said.json
    assert second["segments"]["rendered"] == 1
    assert second["pcm_sha256"] != first["pcm_sha256"]
    assert second["plan_id"] == first["plan_id"]
    third = loudr("render", book, "-o", "out", "--json").json
    assert third["pcm_sha256"] == second["pcm_sha256"], "the seed is kept"


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (["rerender", "the-harbour"], 3, "nothing to render again"),
        (["rerender", "the-harbour", "--findings"], 3, "nothing to render again"),
        (["rerender", "the-harbour", "--segment", "c9"], 3, "no segment 'c9'"),
        (["rerender", "moby"], 4, "no book 'moby'"),
        (["status", "moby"], 4, "no book 'moby'"),
        (["report", "moby"], 4, "no book 'moby'"),
        (["check", "gone.m4b"], 10, "gone.m4b"),
        (["check", "harbour.md"], 10, ""),
    ],
)
def test_later_commands_name_what_is_not_there(
    loudr: Loudr, book: Path, arguments: list[str], code: int, part: str
) -> None:
    assert loudr("render", book, "-o", "out").code == 0
    said = loudr(*arguments)
    assert said.code == code
    assert part in said.err
    assert "Traceback" not in said.err + said.out


def test_a_planned_book_has_no_report_yet(loudr: Loudr, book: Path) -> None:
    loudr("plan", book)
    assert "planned" in loudr("status").out
    said = loudr("report", "the-harbour")
    assert said.code == 4
    one_line(said, "loudr render")


def test_a_folder_renders_the_good_and_reports_the_bad(loudr: Loudr, tmp_path: Path) -> None:
    folder = tmp_path / "books"
    folder.mkdir()
    (folder / "a-broken.epub").write_bytes(b"PK\x03\x04 and then nothing")
    (folder / "good.md").write_text(TEXT, encoding="utf-8")
    (folder / "notes.pdf").write_bytes(b"%PDF")
    said = loudr("render", folder, "-o", "out")
    assert said.code == 4
    assert [path.name for path in Path("out").glob("*.m4b")] == ["The Harbour.m4b"]
    assert "a-broken.epub" in said.err
    assert "Traceback" not in said.err


def test_several_books_are_one_json_object(loudr: Loudr, book: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.epub"
    broken.write_bytes(b"PK\x03\x04 and then nothing")
    said = loudr("render", broken, book, "-o", "out", "--json")
    assert said.code == 4
    failed, done = said.json["books"]
    assert failed["error"]["exit_code"] == 4
    assert "broken.epub" in failed["error"]["message"]
    assert done["files"][0]["format"] == "m4b"


def test_an_empty_folder_is_4(loudr: Loudr, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    said = loudr("render", tmp_path / "empty")
    assert said.code == 4
    one_line(said, "no EPUB, Markdown or text file")


def test_a_destination_that_cannot_be_is_10(loudr: Loudr, book: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    said = loudr("render", book, "-o", tmp_path / "taken" / "out")
    assert said.code == 10
    one_line(said, "taken")


def test_voices_are_listed(loudr: Loudr) -> None:
    said = loudr("voices", "--json")
    assert said.code == 0
    names = [voice["name"] for voice in said.json["voices"]]
    assert names == [voice.name for voice in FakeEngine().voices()]
    assert "high" in loudr("voices").out


def test_doctor_says_what_works(loudr: Loudr) -> None:
    said = loudr("doctor", "--json")
    checks = {check["what"]: check["state"] for check in said.json["checks"]}
    assert checks["engine fake"] == "ok"
    assert checks["store"] == "ok"
    assert said.code == (0 if said.json["ok"] else 6)


def test_no_books_yet(loudr: Loudr) -> None:
    said = loudr("status")
    assert said.code == 0
    assert "loudr render" in said.out


def test_a_variable_spelt_wrongly_is_3(loudr: Loudr, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOUDR_WROKERS", "2")
    said = loudr("status")
    assert said.code == 3
    one_line(said, "LOUDR_WROKERS", "LOUDR_WORKERS")


def test_a_bug_keeps_its_traceback(loudr: Loudr, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no fact of the world must not be dressed as one."""
    monkeypatch.setattr(cli, "_settings", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        loudr("status")


def test_a_reader_that_left_is_no_error(loudr: Loudr, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(cli, "_settings", broken)
    said = loudr("status")
    assert (said.code, said.err) == (141, "")


def test_an_interrupt_is_130_and_says_how_to_go_on(
    loudr: Loudr, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_settings", interrupted)
    said = loudr("status")
    assert said.code == 130
    one_line(said, "the same command goes on")
