"""Numbers that read well, errors as programs read them, and a line that says how far it is."""

import json

import pytest

from flows.output import duration, error_json, show_findings
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
    assert _words(counts) == "5/10 segments, 20× real time, 0 failed, 1 suspect, 10.0 s left"
    assert _words(Counts(total=4, reused=4)) == "4/4 segments"
