"""The rule that chooses among the takes of an order, and the choice on its way into the store."""

from collections.abc import Sequence
from dataclasses import replace

from loudr_core.canonical import canonical_json
from loudr_core.speech.orders import Choice, Order, TakeResult
from loudr_core.store.protocol import ObjectStore

__all__ = ["choose", "failed_choice", "store_choice"]

_SEVERITIES = ("error", "warning")


def choose(order: Order, results: Sequence[TakeResult]) -> Choice:
    """Return the choice among the takes made of an order.

    The first take without an error finding counts. Without one it is the take with the fewest error
    findings, then the fewest warnings, then the lowest attempt, and the choice is suspect. Without
    any take the choice is failed, with the last attempt's error.
    """
    made = [result for result in results if result.status != "failed"]
    if not made:
        error = next((result.error for result in reversed(results) if result.error), "no attempt")
        findings = tuple(finding for result in results[-1:] for finding in result.findings)
        return replace(failed_choice(order, error), findings=findings)
    best = min(made, key=_badness)
    return Choice(
        job_key=order.job_key,
        status="suspect" if _count(best, "error") else "ok",
        take_key=best.take_key,
        attempt=best.attempt,
        seed=best.seed,
        n_samples=best.n_samples,
        sample_rate_hz=best.sample_rate_hz,
        pcm_sha256=best.pcm_sha256,
        findings=best.findings,
    )


def failed_choice(order: Order, error: str) -> Choice:
    """Return the choice of an order that came to nothing."""
    return Choice(
        job_key=order.job_key,
        status="failed",
        take_key="",
        attempt=-1,
        seed=0,
        n_samples=0,
        sample_rate_hz=0,
        pcm_sha256="",
        findings=(),
        error=error,
    )


def store_choice(store: ObjectStore, order: Order, choice: Choice) -> None:
    """Write a choice; from then on the segment is finished, unless the choice is failed."""
    store.put(order.choice_key, canonical_json(choice.as_dict()))


def _badness(result: TakeResult) -> tuple[int, int, int]:
    errors, warnings = (_count(result, severity) for severity in _SEVERITIES)
    return (errors, warnings, result.attempt)


def _count(result: TakeResult, severity: str) -> int:
    return sum(finding.severity == severity for finding in result.findings)
