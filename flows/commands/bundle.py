"""`loudr bundle verify` and `loudr bundle describe`."""

from dataclasses import asdict
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from flows.output import print_json, results, show_findings
from loudr_core.errors import BundleError
from loudr_core.speech.bundles import (
    BundleCheck,
    BundleDescription,
    describe_bundle,
    family_of,
    verify_bundle,
)

__all__ = ["run_describe", "run_verify"]


def run_verify(path: Path, *, official: bool, json_out: bool) -> int:
    """Check a bundle and print each check as it comes; returns 5 when one is not good."""
    checks: list[BundleCheck] = []
    family = family_of(path)
    for check in verify_bundle(path, official=official):
        checks.append(check)
        if not json_out:
            results.print(_line(check))
    bad = sum(not check.good for check in checks)
    if json_out:
        print_json(
            {
                "ok": not bad,
                "family": family,
                "bundle": str(path),
                "official": official,
                "checks": [asdict(check) for check in checks],
            }
        )
    elif bad:
        results.print(f"[bold red]{bad} of {len(checks)} checks failed[/]: {escape(str(path))}")
    else:
        results.print(f"[green]{len(checks)} checks passed[/]: {escape(str(path))}")
    return BundleError.exit_code if bad else 0


def run_describe(path: Path, *, json_out: bool) -> None:
    """Print what a bundle is."""
    found = describe_bundle(path)
    if json_out:
        print_json(
            {
                "family": found.family,
                "name": found.name,
                **found.facts,
                "files": found.files,
                "voices": [asdict(voice) for voice in found.voices],
                "findings": [finding.as_dict() for finding in found.findings],
            }
        )
        return
    _show(found)


def _line(check: BundleCheck) -> str:
    colour = "green" if check.state == "ok" else "yellow" if check.good else "bold red"
    word = "OK" if check.state == "ok" else check.state
    detail = f"  [dim]{escape(check.detail)}[/]" if check.detail else ""
    return f"[{colour}]{word:8}[/] {escape(check.what)}{detail}"


def _show(found: BundleDescription) -> None:
    results.print(f"[bold]{escape(found.name)}[/]  family {found.family}")
    facts = Table(box=None, show_header=False, pad_edge=False)
    for key, value in found.facts.items():
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        facts.add_row(key.replace("_", " "), escape(text or "none"))
    results.print(facts)
    files = Table(box=None, pad_edge=False)
    files.add_column("file", overflow="fold")
    files.add_column("bytes", justify="right")
    for name, size in found.files.items():
        files.add_row(escape(name), f"{size:,}")
    results.print(files)
    voices = Table(box=None, pad_edge=False)
    for column in ("voice", "language", "SHA-256"):
        voices.add_column(column)
    for voice in found.voices:
        voices.add_row(escape(voice.name), escape(voice.language), voice.sha256[:16])
    results.print(voices)
    show_findings(found.findings)
