"""The job table: one row per segment, to Parquet and back."""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from loudr_core.book.model import BlockKind, Role, Span
from loudr_core.errors import StoreError
from loudr_core.findings import Finding
from loudr_core.jobs.schema import JOBS, RESULTS, SCHEMA_KEY, SCHEMA_VERSION
from loudr_core.speech.orders import TakeResult

__all__ = ["Job", "read_jobs", "read_results", "read_row_keys", "write_jobs", "write_results"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One row of `jobs.parquet`: a segment, who speaks it, and with which seed."""

    segment_id: str
    chapter: int
    ordinal: int
    kind: BlockKind
    role: Role
    origin: Literal["source", "generated"]
    text: str
    spoken: str
    phonemes: str | None
    spans: tuple[Span, ...]
    inner: tuple[int, ...]
    language: str
    voice: str
    engine: str
    seed: int
    pause_after_ms: int
    est_audio_s: float
    job_key: str


def write_jobs(jobs: Sequence[Job]) -> bytes:
    """Return the jobs as a Parquet file."""
    columns: dict[str, list[Any]] = {
        name: [getattr(job, name) for job in jobs] for name in JOBS.names
    }
    columns["spans"] = [[_span_row(span) for span in job.spans] for job in jobs]
    columns["inner"] = [list(job.inner) for job in jobs]
    return _to_parquet(pa.table(columns, schema=JOBS))


def read_jobs(data: bytes) -> list[Job]:
    """Return the jobs of a Parquet file.

    Raises
    ------
    StoreError
        The file is damaged, or was written by a newer loudr.
    """
    return [
        Job(
            **{
                **row,
                "spans": tuple(Span(**span) for span in row["spans"]),
                "inner": tuple(row["inner"]),
            }
        )
        for row in _from_parquet(data, "jobs").to_pylist()
    ]


def write_results(results: Sequence[TakeResult]) -> bytes:
    """Return result rows as a Parquet file; findings as JSON in one column."""
    columns: dict[str, list[Any]] = {
        name: [getattr(result, name) for result in results] for name in RESULTS.names
    }
    columns["findings"] = [
        json.dumps([finding.as_dict() for finding in result.findings], ensure_ascii=False)
        for result in results
    ]
    return _to_parquet(pa.table(columns, schema=RESULTS))


def read_results(data: bytes) -> list[TakeResult]:
    """Return the result rows of a Parquet file.

    Raises
    ------
    StoreError
        The file is damaged, or was written by a newer loudr.
    """
    return [
        TakeResult(
            **{
                **row,
                "findings": tuple(Finding.from_dict(item) for item in json.loads(row["findings"])),
                "error": row["error"] or "",
                "take_key": row["take_key"] or "",
                "pcm_sha256": row["pcm_sha256"] or "",
            }
        )
        for row in _from_parquet(data, "results").to_pylist()
    ]


def read_row_keys(data: bytes) -> list[tuple[str, str, str]]:
    """Return job key, take key and status of each result row of a Parquet file.

    Raises
    ------
    StoreError
        The file is damaged, or was written by a newer loudr.
    """
    columns = ["job_key", "take_key", "status"]
    table = _from_parquet(data, "results", columns).to_pydict()
    return [
        (job, take or "", status)
        for job, take, status in zip(*(table[name] for name in columns), strict=True)
    ]


def _span_row(span: Span) -> dict[str, object]:
    return {
        "href": span.href,
        "start": span.start,
        "end": span.end,
        "element_id": span.element_id,
    }


def _to_parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def _from_parquet(data: bytes, name: str, columns: list[str] | None = None) -> pa.Table:
    # A table read through a Python file or by Arrow's threads leaves a thread behind. Still at work
    # when the interpreter ends, it makes that abort (Apache Arrow, issue 34314).
    try:
        file = pq.ParquetFile(pa.BufferReader(data), pre_buffer=False)
        table = file.read(columns=columns, use_threads=False)
    except (pa.ArrowInvalid, OSError) as exc:
        raise StoreError(f"the {name} table is damaged ({exc}); plan again with --replan") from exc
    label = (table.schema.metadata or {}).get(SCHEMA_KEY, b"").decode("utf-8", "replace")
    kind, _, version = label.partition("/")
    if kind != name or not version.isdigit():
        raise StoreError(f"not a {name} table: its schema is {label or 'unnamed'!r}")
    if int(version) > SCHEMA_VERSION:
        raise StoreError(
            f"the {name} table has schema {version}, this loudr reads up to {SCHEMA_VERSION}: "
            "update loudr, or plan again with --replan",
            found=int(version),
            expected=SCHEMA_VERSION,
        )
    return table
