"""Samples to findings: what can be told of a take without understanding it."""

from loudr_core.arrays import Mono
from loudr_core.audio.policy import DetectorPolicy
from loudr_core.findings import Finding

__all__ = ["DetectorPolicy", "inspect"]


def inspect(
    samples: Mono,
    *,
    sample_rate_hz: int,
    text: str,
    speed: float = 1.0,
    policy: DetectorPolicy | None = None,
) -> tuple[Finding, ...]:
    """Return what is wrong with a take; nothing when it is good.

    Parameters
    ----------
    samples : float32, shape (n,)
        The take as stored, edges trimmed.
    sample_rate_hz : int
    text : str
        The normalised words that the take should speak.
    speed : float
        The pace that was asked for.
    policy : DetectorPolicy, optional

    Returns
    -------
    tuple of Finding
        In order of time. `where` holds `start_s` and `end_s`.
    """
    return ()
