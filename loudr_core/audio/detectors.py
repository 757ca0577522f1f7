"""Samples to findings: what can be told of a take without understanding it.

Every detector reads the take, its text and the policy, and nothing else: neither the order of the
book nor its other takes can change what is said of one. Together they cost less than a hundredth of
the time that speaking the take did.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loudr_core.arrays import Mono
from loudr_core.audio.levels import SILENCE_DBFS, frame_levels_db, loud_level_db
from loudr_core.audio.policy import DetectorPolicy
from loudr_core.audio.repeats import find_repeat
from loudr_core.findings import Finding, Severity

__all__ = ["CODES", "DetectorPolicy", "inspect"]

CODES = (
    "audio-clipping",
    "audio-dc",
    "audio-dropout",
    "audio-level-jump",
    "audio-non-finite",
    "audio-repeat",
    "audio-silent",
    "audio-too-fast",
    "audio-too-slow",
    "audio-truncated",
)
"""Every code that `inspect` may give."""

_FRAME_S = 0.005
_ZERO = np.float32(2.0**-22)
_ZERO_DBFS = -132.0
_TAIL_S = (0.060, 0.015)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Take:
    """A take with the measures that several detectors read."""

    samples: Mono
    magnitude: Mono
    rate: int
    levels: NDArray[np.float32]
    loud: float
    text: str
    speed: float

    @property
    def duration_s(self) -> float:
        return len(self.samples) / self.rate


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
        In order of time; `where` holds `start_s` and `end_s`. Severity `error` condemns the take.
    """
    policy = policy or DetectorPolicy()
    samples = np.asarray(samples, np.float32)
    if len(samples) == 0:
        return (_finding("audio-silent", "The take holds no samples.", 0.0, 0.0),)
    magnitude = np.abs(samples)
    if not np.isfinite(magnitude.max()):
        return (_non_finite(samples, sample_rate_hz),)
    mean = float(samples.mean(dtype=np.float64))
    off_zero = abs(mean) > policy.dc_offset
    if off_zero:  # told once; the other detectors read the sound, not the offset
        samples = samples - np.float32(mean)
        magnitude = np.abs(samples)
    levels = frame_levels_db(samples, round(_FRAME_S * sample_rate_hz))
    take = _Take(
        samples=samples,
        magnitude=magnitude,
        rate=sample_rate_hz,
        levels=levels,
        loud=loud_level_db(levels),
        text=text,
        speed=speed,
    )
    findings = [*_silent(take, policy), *_pace(take, policy)]
    if off_zero:
        message = f"The samples stand {mean:+.3f} of full scale off zero."
        findings.append(_finding("audio-dc", message, 0.0, take.duration_s, "warning"))
    if take.loud >= policy.silent_dbfs:
        findings += [
            *_clipping(take, policy),
            *_dropouts(take, policy),
            *_level_jump(take, policy),
            *_truncated(take, policy),
            *_repeat(take, policy),
        ]
    return tuple(sorted(findings, key=lambda each: (each.where["start_s"], each.code)))


def _finding(
    code: str, message: str, start_s: float, end_s: float, severity: Severity = "error"
) -> Finding:
    where: dict[str, str | int | float] = {"start_s": round(start_s, 3), "end_s": round(end_s, 3)}
    return Finding(code=code, severity=severity, message=message, where=where)


def _non_finite(samples: Mono, rate: int) -> Finding:
    bad = np.flatnonzero(~np.isfinite(samples))
    message = f"{len(bad)} of {len(samples)} samples are NaN or infinite."
    return _finding("audio-non-finite", message, bad[0] / rate, (bad[-1] + 1) / rate)


def _silent(take: _Take, policy: DetectorPolicy) -> Iterator[Finding]:
    """Tell of a take that cannot be heard, or of a long silence inside one that can."""
    if take.loud < policy.silent_dbfs:
        message = f"The take's loud parts reach {take.loud:.0f} dBFS only."
        yield _finding("audio-silent", message, 0.0, take.duration_s)
        return
    quiet = take.levels < take.loud - policy.pause_below_loud_db
    for begin, end in _runs(quiet, round(policy.max_pause_s / take.speed / _FRAME_S) + 1):
        length = (end - begin) * _FRAME_S
        message = f"Silence of {length:.1f} s inside the take."
        yield _finding("audio-silent", message, begin * _FRAME_S, end * _FRAME_S)


def _pace(take: _Take, policy: DetectorPolicy) -> Iterator[Finding]:
    """Tell of a take whose length does not fit its text."""
    n_characters = len(take.text.strip())
    if not any(character.isalnum() for character in take.text):
        return
    low, high = (each * n_characters / take.speed for each in policy.seconds_per_character)
    slack = policy.pace_slack_s / take.speed
    if take.duration_s < low - slack:
        code, limit = "audio-too-fast", f"at least {low - slack:.1f}"
    elif take.duration_s > high + slack:
        code, limit = "audio-too-slow", f"at most {high + slack:.1f}"
    else:
        return
    message = f"{n_characters} characters in {take.duration_s:.1f} s; {limit} s was expected."
    yield _finding(code, message, 0.0, take.duration_s)


def _clipping(take: _Take, policy: DetectorPolicy) -> Iterator[Finding]:
    """Tell of peaks with flat tops, at full scale or under it."""
    peak = take.magnitude.max()
    top = np.flatnonzero(take.magnitude >= peak * np.float32(policy.clip_share_of_peak))
    heights = take.magnitude[top]
    level = (np.diff(top) == 1) & (np.abs(np.diff(heights)) <= _ZERO)
    flat = _runs(level, policy.clip_run - 1)
    # One flat top may be a slow wave's; at full scale it cannot.
    if len(flat) < (1 if peak >= policy.clip_level else policy.clip_runs):
        return
    start, end = int(top[flat[0][0]]), int(top[flat[-1][1]]) + 1
    message = f"{len(flat)} peaks are cut flat at {peak:.3f} of full scale."
    yield _finding("audio-clipping", message, start / take.rate, end / take.rate)


def _dropouts(take: _Take, policy: DetectorPolicy) -> Iterator[Finding]:
    """Tell of digital silence that speech falls into or starts from without a fade."""
    if take.levels.min() > _ZERO_DBFS:  # a run holds at least one whole frame
        return
    zero = take.magnitude <= _ZERO
    near = max(1, round(_FRAME_S * take.rate))
    inside, at_edge = (
        10 ** ((take.loud - below) / 20)
        for below in (policy.dropout_below_loud_db, policy.dropout_edge_below_loud_db)
    )
    for begin, end in _runs(zero, round(policy.dropout_s * take.rate)):
        before, after = take.samples[max(0, begin - near) : begin], take.samples[end : end + near]
        limit = inside if len(before) and len(after) else at_edge
        if max(_rms(before), _rms(after)) > limit:
            message = f"The sound breaks off for {1000 * (end - begin) / take.rate:.0f} ms."
            yield _finding("audio-dropout", message, begin / take.rate, end / take.rate)


def _level_jump(take: _Take, policy: DetectorPolicy) -> Iterator[Finding]:
    """Tell of neighbouring windows whose speech differs in level more than a voice does."""
    width = round(policy.level_window_s / _FRAME_S)
    hop = width // 10
    if len(take.levels) < 2 * width:
        return
    windows = np.lib.stride_tricks.sliding_window_view(take.levels, width)[::hop]
    speech = (windows > take.loud - policy.pause_below_loud_db).sum(axis=1)
    # The level that a tenth of a window's speech exceeds; its pauses do not count.
    places = np.clip(width - 1 - speech // 10, 0, width - 1)
    ordered = np.sort(windows, axis=1)
    level = ordered[np.arange(len(ordered)), places]
    enough = speech * _FRAME_S >= policy.level_speech_s
    change = np.abs(level[10:] - level[:-10]) * (enough[10:] & enough[:-10])
    if len(change) == 0 or change.max() <= policy.level_jump_db:
        return
    place = int(change.argmax())
    at = (place * hop + width) * _FRAME_S
    half = policy.level_window_s
    message = f"The level changes by {change[place]:.0f} dB near {at:.1f} s."
    yield _finding("audio-level-jump", message, at - half, min(at + half, take.duration_s))


def _truncated(take: _Take, policy: DetectorPolicy) -> Iterator[Finding]:
    """Tell of a take that ends while it sounds; its last 15 ms may have been faded by trimming."""
    begin, end = (max(0, len(take.samples) - round(each * take.rate)) for each in _TAIL_S)
    power = _rms(take.samples[begin:end]) ** 2
    level = 10 * np.log10(max(power, 10 ** (SILENCE_DBFS / 10)))
    if level > take.loud - policy.truncated_below_loud_db:
        message = f"The take ends {take.loud - level:.0f} dB under its loud level, in mid-sound."
        yield _finding("audio-truncated", message, begin / take.rate, take.duration_s)


def _repeat(take: _Take, policy: DetectorPolicy) -> Iterator[Finding]:
    repeat = find_repeat(take.samples, take.rate, take.text, policy)
    if repeat is None:
        return
    message = (
        f"{repeat.length_s:.1f} s from {repeat.first_s:.1f} s come again at {repeat.again_s:.1f} s"
        ", more than the text repeats."
    )
    end = min(repeat.again_s + repeat.length_s, take.duration_s)
    yield _finding("audio-repeat", message, repeat.again_s, end)


def _runs(mask: NDArray[np.bool_], least: int) -> list[tuple[int, int]]:
    """Return the [begin, end) of runs of True that are at least so long."""
    padded = np.zeros(len(mask) + 2, np.int8)
    padded[1:-1] = mask
    edges = np.flatnonzero(np.diff(padded))
    begins, ends = edges[::2], edges[1::2]
    long = ends - begins >= max(least, 1)
    return list(zip(begins[long].tolist(), ends[long].tolist(), strict=True))


def _rms(samples: Mono) -> float:
    return float(np.sqrt(np.dot(samples, samples) / len(samples))) if len(samples) else 0.0
