"""`loudr check`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from flows.output import console, counted, duration, print_json, results, show_findings
from loudr_core.publish.check import CheckReport, check_m4b

__all__ = ["run"]

_BAD_FILE = 10


def run(file: Path, *, json_out: bool) -> int:
    """Check one file and print what was found; returns 10 when it is not in order."""
    with console.status(f"checking {escape(file.name)}"):
        report = check_m4b(file)
    if json_out:
        print_json(report.as_dict())
    else:
        _show(file, report)
    return 0 if report.ok else _BAD_FILE


def _show(file: Path, report: CheckReport) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("#", justify="right")
    table.add_column("chapter", overflow="fold")
    table.add_column("from", justify="right")
    for number, chapter in enumerate(report.chapters, 1):
        table.add_row(str(number), escape(chapter.title), duration(chapter.start_s))
    results.print(table)
    for name, value in report.tags.items():
        results.print(f"{name}: {value}"[:200], markup=False, style="dim")
    parts = [str(report.format.get("brand", "")).strip(), duration(report.duration_s)]
    if report.loudness is not None:
        parts += [
            f"{_number(report.loudness['integrated_lufs'])} LUFS",
            f"true peak {_number(report.loudness['true_peak_dbtp'])} dBTP",
        ]
    results.print(f"{file.name}: {', '.join(part for part in parts if part)}", markup=False)
    if report.acx is not None:
        results.print(_acx_line(report.acx), markup=False)
    show_findings(report.findings)
    if not report.ok:
        results.print("[bold red]not in order[/]")
    elif gaps := sum(finding.code == "publish-gap" for finding in report.findings):
        missing = f"{counted(gaps, 'passage')} {'is' if gaps == 1 else 'are'} missing"
        results.print(f"[yellow]in order, but {missing}[/]")
    else:
        results.print("[green]in order[/]")


def _acx_line(acx: Mapping[str, Any]) -> str:
    """Return the numbers that ACX looks at, and what of them it would not take."""
    numbers = (
        f"RMS {_number(acx['rms_dbfs'])} dBFS, peak {_number(acx['peak_dbfs'])} dBFS, "
        f"noise floor {_number(acx['noise_floor_dbfs'])} dBFS"
    )
    outside = "; ".join(finding["message"].rstrip(".") for finding in acx["findings"])
    return f"ACX: {numbers}; {'not as ACX asks: ' + outside if outside else 'as ACX asks'}"


def _number(value: float | None) -> str:
    return "-inf" if value is None else f"{value:.2f}"
