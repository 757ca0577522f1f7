"""`loudr check`."""

from pathlib import Path

from rich.table import Table

from flows.output import console, duration, print_json, show_findings
from loudr_core.publish.check import CheckReport, check_m4b

__all__ = ["run"]

_BAD_FILE = 10


def run(file: Path, *, json_out: bool) -> int:
    """Check one file and print what was found; returns 10 when it is not in order."""
    with console.status(f"checking {file.name}"):
        report = check_m4b(file)
    if json_out:
        print_json(report.as_dict())
    else:
        _show(file, report)
    return 0 if report.ok else _BAD_FILE


def _show(file: Path, report: CheckReport) -> None:
    data = report.as_dict()
    table = Table(box=None, pad_edge=False)
    for column in ("#", "chapter", "from"):
        table.add_column(column, justify="right" if column != "chapter" else "left")
    for number, chapter in enumerate(data["chapters"], 1):
        table.add_row(str(number), chapter["title"], duration(chapter["start_s"]))
    console.print(table)
    for name, value in data["tags"].items():
        console.print(f"{name}: {value}"[:200], markup=False, style="dim")
    level = data["loudness"]
    console.print(
        f"{file.name}: {data['format']}, {duration(data['duration_s'])}, "
        f"{level['integrated_lufs']} LUFS, true peak {level['true_peak_dbtp']} dBTP",
        markup=False,
    )
    show_findings(report.findings)
    console.print("[green]in order[/]" if report.ok else "[bold red]not in order[/]")
