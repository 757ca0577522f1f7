"""`loudr phonemes`: read a plan with the front ends of this machine, into a table."""

from pathlib import Path

from flows.commands.status import choose_plan
from flows.configuration import Settings
from flows.opening import open_settings_store
from flows.output import console, counted, print_json, results
from loudr_core.errors import ConfigError, SynthesisError
from loudr_core.jobs.phoneme_table import write_phoneme_table
from loudr_core.render.reading import ReadRow, read_phonemes

__all__ = ["run"]

_OTHER_TABLES = frozenset({".csv", ".tsv", ".xls", ".xlsx", ".ods"})


def run(
    book_id: str,
    settings: Settings,
    *,
    plan_start: str,
    dest: Path,
    overwrite: bool,
    json_out: bool,
) -> int:
    """Write the table of a plan; returns 7 when a segment could not be read."""
    path = dest.expanduser()
    if path.suffix.lower() in _OTHER_TABLES:
        raise ConfigError(
            f"{path}: a table of phonemes is JSON lines (.jsonl) or Parquet (.parquet)",
            path=str(path),
        )
    if path.exists() and not overwrite:
        raise ConfigError(
            f"{path} is there already: name another file, or say --overwrite", path=str(path)
        )
    store = open_settings_store(settings)
    known = choose_plan(store, book_id, plan_start)
    with console.status("reading the segments"):
        rows = list(read_phonemes(known.plan, known.jobs))
    _write(path, rows)
    unread = [each for each in rows if each.reason]
    if json_out:
        print_json(
            {
                "book_id": known.plan.book_id,
                "plan_id": known.plan.plan_id,
                "path": str(path.absolute()),
                "rows": len(rows),
                "unread": [
                    {"segment_id": each.row.segment_id, "reason": each.reason} for each in unread
                ],
            }
        )
    else:
        results.print(f"[bold green]done[/]  {counted(len(rows), 'row')}  ", end="")
        results.print(str(path), markup=False)
    if unread:
        first = unread[0]
        console.print(
            f"loudr: {counted(len(unread), 'row')} could not be read, {first.row.segment_id} first "
            f"({first.reason}): write their phonemes in place of null",
            markup=False,
        )
    return SynthesisError.exit_code if unread else 0


def _write(path: Path, rows: list[ReadRow]) -> None:
    data = write_phoneme_table(
        [each.row for each in rows], parquet=path.suffix.lower() == ".parquet"
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}", path=str(path)) from None
