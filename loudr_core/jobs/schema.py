"""Columns of the Parquet tables; the only place where they are spelled.

Both tables carry the version in the schema metadata under `loudr.schema`. A reader takes the
current version and the one before, and refuses a newer one.
"""

import pyarrow as pa

__all__ = ["JOBS", "RESULTS", "SCHEMA_KEY", "SCHEMA_VERSION"]

SCHEMA_VERSION = 1
SCHEMA_KEY = b"loudr.schema"

_label = pa.dictionary(pa.int32(), pa.string())
_span = pa.struct(
    [
        pa.field("href", pa.string(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("end", pa.int64(), nullable=False),
        pa.field("element_id", pa.string()),
    ]
)


def _table(name: str, columns: list[tuple[str, pa.DataType, bool]]) -> pa.Schema:
    fields = [pa.field(column, kind, nullable=nullable) for column, kind, nullable in columns]
    return pa.schema(fields, metadata={SCHEMA_KEY: f"{name}/{SCHEMA_VERSION}".encode()})


JOBS = _table(
    "jobs",
    [
        ("segment_id", pa.string(), False),
        ("chapter", pa.int32(), False),
        ("ordinal", pa.int32(), False),
        ("kind", _label, False),
        ("role", _label, False),
        ("origin", _label, False),
        ("text", pa.string(), False),
        ("spoken", pa.string(), False),
        ("phonemes", pa.string(), True),
        ("spans", pa.list_(_span), False),
        ("inner", pa.list_(pa.int32()), False),
        ("language", pa.string(), False),
        ("voice", pa.string(), False),
        ("engine", pa.string(), False),
        ("seed", pa.uint64(), False),
        ("pause_after_ms", pa.int32(), False),
        ("est_audio_s", pa.float32(), False),
        ("job_key", pa.string(), False),
    ],
)
"""One row per segment, in the order of the book."""

RESULTS = _table(
    "results",
    [
        ("segment_id", pa.string(), False),
        ("job_key", pa.string(), False),
        ("take_key", pa.string(), True),
        ("attempt", pa.int32(), False),
        ("seed", pa.uint64(), False),
        ("status", pa.string(), False),
        ("n_samples", pa.int64(), False),
        ("sample_rate_hz", pa.int32(), False),
        ("pcm_sha256", pa.string(), True),
        ("tokens", pa.int32(), False),
        ("windows", pa.int32(), False),
        ("findings", pa.string(), False),
        ("compute_s", pa.float32(), False),
        ("worker", pa.string(), False),
        ("fingerprint", pa.string(), False),
        ("error", pa.string(), True),
    ],
)
"""One row per take that was tried, in the order in which they came."""
