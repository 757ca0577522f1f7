"""Numbers that read well, errors as programs read them, and a line that says how far it is."""

import json
import sys
from pathlib import Path

import pytest

from flows.output import command_line, counted, duration, error_json, show_findings, speed
from flows.progress_bar import _words
from loudr_core.errors import BookError, LoudrError, QualityError, StoreUnavailable
from loudr_core.findings import Finding
from loudr_core.render.progress import Counts


@pytest.mark.parametrize(
    ("seconds", "want"),
    [
        (0.0, "0.0 s"),
        (12.34, "12.3 s"),
        (60.0, "1 min 00 s"),
        (249.6, "4 min 10 s"),
        (3599.4, "59 min 59 s"),
        (3600.0, "1 h 00 min"),
        (12_071.0, "3 h 21 min"),
        (360_000.0, "100 h 00 min"),
    ],
)
def test_durations(seconds: float, want: str) -> None:
    assert duration(seconds) == want


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BookError("no spine", path="b.epub"), "book"),
        (QualityError("silent"), "quality"),
        (StoreUnavailable("no answer"), "store-unavailable"),
    ],
)
def test_an_error_as_json(error: LoudrError, code: str) -> None:
    body = json.loads(error_json(error))["error"]
    assert body == {
        "code": code,
        "message": error.message,
        "exit_code": error.exit_code,
        "where": error.context,
    }


def test_findings_are_shown_worst_first_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    findings = [
        Finding(code=f"book-{severity}", severity=severity, message="[bold]as it is[/]")
        for severity in ("info", "error", "warning")
        for _ in range(5)
    ]
    show_findings(findings)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:11]] == ["error"] * 5 + ["warning"] * 5 + ["info"]
    assert "[bold]as it is[/]" in lines[0], "what a book says is no markup"
    assert "3 more findings" in lines[-1]


def test_the_line_of_a_render() -> None:
    assert _words(Counts()) == ""
    counts = Counts(
        total=10, reused=2, rendered=3, suspect=1, audio_s=100.0, wall_s=5.0, audio_left_s=200.0
    )
    assert _words(counts) == "5/10 segments, 20 × real time, 0 failed, 1 suspect, 10.0 s left"
    assert _words(Counts(total=4, reused=4)) == "4/4 segments"
    assert _words(Counts(total=1)) == "0/1 segment"


@pytest.mark.parametrize(
    ("rtf", "want"),
    [
        (0.0066667, "150 × real time"),
        (0.1, "10 × real time"),
        (0.3, "3.3 × real time"),
        (1.0, "1 × real time"),
        (20.9165, "0.048 × real time"),
    ],
)
def test_speeds_are_never_nothing(rtf: float, want: str) -> None:
    assert speed(rtf) == want


def test_one_thing_is_one_thing() -> None:
    assert (counted(1, "place"), counted(0, "place"), counted(2, "place")) == (
        "1 place", "0 places", "2 places",
    )  # fmt: skip


def test_a_command_can_be_typed_as_it_is_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "my bin" / "loudr"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(program), "render"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert command_line("report", "my book") == f"'{program}' report 'my book'"
    monkeypatch.setenv("PATH", str(program.parent))
    assert command_line("report", "b") == "loudr report b"
