"""Takes on their way to the store and back.

A take is inspected as the 24-bit samples that are stored, so a take just made and a take read back
get the same findings. Its result row travels in the FLAC's tags; what the engine itself found is
kept apart there, since the detectors' findings are made anew under every policy.
"""

import json
import logging
from dataclasses import asdict, dataclass, replace
from typing import Literal

import numpy as np

from loudr_core.arrays import Mono, Pcm24
from loudr_core.audio.detectors import DetectorPolicy, inspect
from loudr_core.audio.takefile import (
    decode_take,
    encode_pcm,
    from_pcm24,
    pcm_sha256,
    to_pcm24,
)
from loudr_core.audio.trim import TrimRule
from loudr_core.canonical import canonical_json, digest
from loudr_core.errors import StoreError
from loudr_core.findings import Finding
from loudr_core.speech.orders import Attempt, Order, TakeResult, audio_key
from loudr_core.speech.take_tags import ENGINE_FINDINGS_TAG, RESULT_TAG
from loudr_core.speech.wire import result_from_json, result_to_json
from loudr_core.store.protocol import ObjectStore

__all__ = [
    "NewTake",
    "load_take",
    "new_take",
    "store_take",
    "take_fingerprint",
]


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NewTake:
    """Samples that are not stored yet, int32 of 24 bits, shape (n,), with their result row."""

    result: TakeResult
    pcm: Pcm24
    engine_findings: tuple[Finding, ...]


def take_fingerprint(engine_fingerprint: str) -> str:
    """Return what a stored take depends on: the engine, and the rule that trims its edges."""
    return digest(["take-fingerprint-1", engine_fingerprint, asdict(TrimRule())])


def new_take(
    result: TakeResult,
    samples: Mono,
    engine_findings: tuple[Finding, ...],
    *,
    order: Order,
    policy: DetectorPolicy,
) -> NewTake:
    """Inspect trimmed samples and complete their result row.

    Parameters
    ----------
    result : TakeResult
        With what is known before the samples are looked at.
    samples : float32, shape (n,)
        Trimmed.
    engine_findings : tuple of Finding
        Of the engine's own detectors.
    order, policy
        What was asked for, and what makes a take good.
    """
    finite = bool(np.isfinite(samples).all())
    if not finite or len(samples) == 0:
        findings = _inspected(samples, result.sample_rate_hz, order, policy)
        reason = "samples that are not finite" if not finite else "no samples"
        error = f"the engine gave {reason}"
        row = replace(result, status="failed", findings=engine_findings + findings, error=error)
        return NewTake(result=row, pcm=to_pcm24(samples[:0]), engine_findings=engine_findings)
    pcm = to_pcm24(samples)
    findings = engine_findings + _inspected(from_pcm24(pcm), result.sample_rate_hz, order, policy)
    row = replace(
        result,
        status=_status(findings),
        n_samples=len(pcm),
        pcm_sha256=pcm_sha256(pcm),
        findings=findings,
    )
    return NewTake(result=row, pcm=pcm, engine_findings=engine_findings)


def load_take(
    store: ObjectStore, order: Order, attempt: Attempt, policy: DetectorPolicy
) -> TakeResult | None:
    """Return the row of a stored take, inspected anew, or None when there is none that can be read.

    A take of equal words may have been made for another segment; the row names the one asked for.
    """
    data = store.get(audio_key(attempt.take_key))
    if data is None:
        return None
    try:
        take = decode_take(data)
        row = result_from_json(json.loads(take.tags[RESULT_TAG]))
        found = json.loads(take.tags[ENGINE_FINDINGS_TAG])
        engine_findings = tuple(Finding.from_dict(each) for each in found)
    except (StoreError, KeyError, ValueError, TypeError) as error:
        _log.warning("take %s is unreadable and is made again: %s", attempt.take_key, error)
        return None
    samples = from_pcm24(take.pcm)
    findings = engine_findings + _inspected(samples, take.sample_rate_hz, order, policy)
    return replace(
        row,
        segment_id=order.id,
        job_key=order.job_key,
        attempt=attempt.number,
        seed=attempt.seed,
        status=_status(findings),
        n_samples=len(take.pcm),
        sample_rate_hz=take.sample_rate_hz,
        pcm_sha256=pcm_sha256(take.pcm),
        findings=findings,
    )


def store_take(store: ObjectStore, take: NewTake) -> TakeResult:
    """Put a take into the store in one atomic step, and return the row that counts.

    A take that is there already stays. When its samples differ, which the determinism promise rules
    out, its row carries the finding `nondeterministic`.
    """
    key = audio_key(take.result.take_key)
    tags = {
        RESULT_TAG: canonical_json(result_to_json(take.result)).decode(),
        ENGINE_FINDINGS_TAG: canonical_json([f.as_dict() for f in take.engine_findings]).decode(),
    }
    data = encode_pcm(take.pcm, take.result.sample_rate_hz, tags)
    if store.put_if_absent(key, data):
        return take.result
    there = store.get(key)
    try:
        stored = None if there is None else decode_take(there).pcm
    except StoreError:
        stored = None
    if stored is None:  # damaged, or deleted in between: ours takes its place
        store.put(key, data)
        return take.result
    other = pcm_sha256(stored)
    if other == take.result.pcm_sha256:
        return take.result
    finding = Finding(
        code="nondeterministic",
        severity="error",
        message=(
            f"Two renderings of take {take.result.take_key[:12]} differ "
            f"({other[:12]} is stored, {take.result.pcm_sha256[:12]} was made now)."
        ),
    )
    _log.error("%s", finding.message)
    return replace(
        take.result,
        status="suspect",
        n_samples=len(stored),
        pcm_sha256=other,
        findings=(*take.result.findings, finding),
    )


def _inspected(
    samples: Mono, sample_rate_hz: int, order: Order, policy: DetectorPolicy
) -> tuple[Finding, ...]:
    return inspect(
        samples,
        sample_rate_hz=sample_rate_hz,
        text=order.text,
        speed=order.speed,
        policy=policy,
    )


def _status(findings: tuple[Finding, ...]) -> Literal["ok", "suspect"]:
    return "suspect" if any(finding.severity == "error" for finding in findings) else "ok"
