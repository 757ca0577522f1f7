"""What several unit tests make up: a plan, its jobs, choices, a result. No book is read."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from loudr_core.findings import Finding
from loudr_core.jobs.plan import Plan, PlanChapter
from loudr_core.jobs.table import Job
from loudr_core.render.result import RenderedFile, RenderResult, SegmentCounts
from loudr_core.speech.orders import Choice


@pytest.fixture
def made_up_plan() -> Plan:
    """Return a plan of two chapters with three segments each."""
    return Plan(
        book_id="the-harbour-0badcafe",
        plan_id="0123456789abcdef",
        source_sha256="0" * 64,
        format="markdown",
        metadata={"title": "The *Harbour*", "authors": ["A. Writer"]},
        cover_key="",
        cover_media_type="",
        profile={},
        engine="fake",
        voice="tone",
        voice_sha256="1" * 64,
        fingerprint="f",
        sample_rate_hz=24_000,
        speed=1.0,
        chapters=tuple(
            PlanChapter(
                number=number,
                title=title,
                level=0,
                role="body",
                segments=3,
                est_audio_s=90.0,
            )
            for number, title in ((1, "Ebb"), (2, "Flood"))
        ),
        segments=6,
        generated=(),
        left_out=(),
        findings=(
            Finding(
                code="book-no-cover",
                severity="warning",
                message="the book has no cover",
                where={"href": "book.md"},
            ),
        ),
        audit={},
        est_audio_s=180.0,
    )


@pytest.fixture
def made_up_jobs() -> list[Job]:
    """Return the jobs of that plan; the last two have the same words and so one key."""
    keys = ["k1", "k2", "k3", "k4", "k5", "k5"]
    return [
        Job(
            segment_id=f"c{1 + place // 3:03d}-s{1 + place % 3:04d}",
            chapter=1 + place // 3,
            ordinal=place,
            kind="paragraph",
            role="body",
            origin="source",
            text=f"Sentence {place}: the tide | was high,\n and the <boats> lay still.",
            spoken="the tide was high",
            phonemes=None,
            spans=(),
            inner=(),
            language="en",
            voice="tone",
            engine="fake",
            seed=2**63 + place,
            pause_after_ms=300,
            est_audio_s=30.0,
            job_key=key,
        )
        for place, key in enumerate(keys)
    ]


@pytest.fixture
def made_up_choice() -> Callable[..., Choice]:
    """Return a writer of choices: `made_up_choice("k1", status="suspect", findings=(…))`."""

    def write(job_key: str, **other: Any) -> Choice:
        choice = Choice(
            job_key=job_key,
            status="ok",
            take_key=f"take-{job_key}",
            attempt=0,
            seed=2**63,
            n_samples=48_000,
            sample_rate_hz=24_000,
            pcm_sha256="2" * 64,
            findings=(),
        )
        return replace(choice, **other)

    return write


@pytest.fixture
def made_up_result(made_up_plan: Plan) -> RenderResult:
    """Return the result of a render of that plan."""
    return RenderResult(
        book_id=made_up_plan.book_id,
        plan_id=made_up_plan.plan_id,
        files=(
            RenderedFile(
                path="/books/The Harbour.m4b",
                format="m4b",
                bytes=1_500_000,
                sha256="3" * 64,
                duration_s=180.0,
                chapters=2,
            ),
        ),
        segments=SegmentCounts(total=6, rendered=4, reused=1, retried=3, failed=1),
        pcm_sha256="4" * 64,
        loudness={"integrated_lufs": -19.0, "true_peak_dbtp": -3.1},
        rtf=0.051,
        wall_s=9.2,
        findings=(
            Finding(
                code="audio-clipping",
                severity="error",
                message="it clips",
                where={"segment_id": "c001-s0002"},
            ),
            Finding(
                code="publish-no-cover",
                severity="info",
                message="a file without a cover",
            ),
        ),
        stage_s={},
    )
