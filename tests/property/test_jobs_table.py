"""Whatever a job or result holds, Parquet gives back."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.book.model import Span
from loudr_core.errors import StoreError
from loudr_core.findings import Finding
from loudr_core.jobs.schema import JOBS, RESULTS, SCHEMA_KEY
from loudr_core.jobs.table import Job, read_jobs, read_results, write_jobs, write_results
from loudr_core.speech.orders import TakeResult

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
SMALL = st.integers(0, 2**31 - 1)
SPANS = st.builds(Span, href=TEXT, start=SMALL, end=SMALL, element_id=st.one_of(st.none(), TEXT))
U64 = st.integers(0, 2**64 - 1)
FLOAT32 = st.floats(0, 1e6, width=32)
JOB = st.builds(
    Job,
    segment_id=TEXT,
    chapter=SMALL,
    ordinal=SMALL,
    kind=st.sampled_from(["paragraph", "heading"]),
    role=st.sampled_from(["front", "body"]),
    origin=st.sampled_from(["source", "generated"]),
    text=TEXT,
    spoken=TEXT,
    phonemes=st.one_of(st.none(), TEXT),
    spans=st.lists(SPANS, max_size=3).map(tuple),
    inner=st.lists(SMALL, max_size=3).map(tuple),
    language=TEXT,
    voice=TEXT,
    engine=TEXT,
    seed=U64,
    pause_after_ms=SMALL,
    est_audio_s=FLOAT32,
    job_key=TEXT,
)
RESULT = st.builds(
    TakeResult,
    segment_id=TEXT,
    job_key=TEXT,
    take_key=TEXT,
    attempt=SMALL,
    seed=U64,
    status=st.sampled_from(["ok", "suspect", "failed"]),
    n_samples=SMALL,
    sample_rate_hz=SMALL,
    pcm_sha256=TEXT,
    tokens=SMALL,
    windows=SMALL,
    findings=st.lists(
        st.builds(
            Finding,
            code=TEXT,
            severity=st.just("error"),
            message=TEXT,
            where=st.dictionaries(TEXT, st.one_of(TEXT, st.integers(-9, 9)), max_size=2),
        ),
        max_size=2,
    ).map(tuple),
    compute_s=FLOAT32,
    worker=TEXT,
    fingerprint=TEXT,
    error=TEXT,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(JOB, max_size=4))
def test_jobs_round_trip(jobs: list[Job]) -> None:
    """Reading what was written gives the same jobs, 64-bit seeds included."""
    assert read_jobs(write_jobs(jobs)) == jobs


@settings(max_examples=60, deadline=None)
@given(st.lists(RESULT, max_size=4))
def test_results_round_trip(results: list[TakeResult]) -> None:
    """Reading what was written gives the same result rows."""
    assert read_results(write_results(results)) == results


def test_a_newer_schema_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of a later loudr is refused in one line that says what to do."""
    newer = JOBS.with_metadata({SCHEMA_KEY: b"jobs/99"})
    monkeypatch.setattr("loudr_core.jobs.table.JOBS", newer)
    with pytest.raises(StoreError, match=r"schema 99.*--replan"):
        read_jobs(write_jobs([]))


@pytest.mark.parametrize("data", [b"", b"PAR1", b"not parquet at all", write_results([])])
def test_a_damaged_table_is_an_error(data: bytes) -> None:
    """Damage and mistaken files are StoreError, never a traceback of the reader."""
    with pytest.raises(StoreError, match="table"):
        read_jobs(data)


def test_both_schemas_carry_a_version() -> None:
    """Every table says which schema wrote it."""
    assert JOBS.metadata[SCHEMA_KEY] == b"jobs/1"
    assert RESULTS.metadata[SCHEMA_KEY] == b"results/1"


def test_reading_a_table_leaves_no_thread_behind() -> None:
    """One that is still at work when the interpreter ends makes it abort, once in a while."""
    script = (
        "import os, sys\n"
        "from loudr_core.jobs.table import read_jobs, write_jobs\n"
        "data = write_jobs([])\n"
        "before = os.listdir('/proc/self/task')\n"
        "read_jobs(data)\n"
        "sys.exit(len(os.listdir('/proc/self/task')) - len(before))\n"
    )
    if not Path("/proc/self/task").is_dir():
        pytest.skip("threads are counted in /proc")
    done = subprocess.run([sys.executable, "-c", script], check=False, timeout=120)
    assert done.returncode == 0
