"""Geometry of the loudness plot: a book's short-term loudness as lines in a box of fixed size."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["HEIGHT", "Plot", "Tick", "WIDTH", "clock", "plot_loudness"]

WIDTH, HEIGHT = 960.0, 240.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 8.0, 20.0, 28.0
_BELOW_TARGET, _ABOVE_TARGET = 25.0, 10.0
_NICE_SECONDS = (5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 4 * 3600)
_LABEL_WIDTH = 22.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A place on an axis and what is written there; an empty label draws the line alone."""

    at: float
    label: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Everything a template needs to draw; all places in the units of the box."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    lines: tuple[str, ...]
    """Point lists of polylines; silence breaks the line."""
    target_at: float
    levels: tuple[Tick, ...]
    times: tuple[Tick, ...]
    chapters: tuple[Tick, ...]


def plot_loudness(
    curve: Sequence[Sequence[float]],
    *,
    duration_s: float,
    target_lufs: float,
    chapters: Sequence[tuple[float, str, str]],
) -> Plot | None:
    """Lay out a plot; None when there is nothing to draw.

    Parameters
    ----------
    curve : sequence of (seconds, LUFS)
        Ascending in time. Values outside of 25 LU below to 10 LU above the target stand on the
        edge.
    chapters : sequence of (start in seconds, label, title)
    """
    if len(curve) < 2 or duration_s <= 0:
        return None
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    low, high = target_lufs - _BELOW_TARGET, target_lufs + _ABOVE_TARGET

    def across(seconds: float) -> float:
        part = min(1.0, max(0.0, seconds / duration_s))
        return round(_LEFT + part * (right - _LEFT), 1)

    def down(lufs: float) -> float:
        part = (high - min(high, max(low, lufs))) / (high - low)
        return round(_TOP + part * (bottom - _TOP), 1)

    first = int(-(-low // 5)) * 5
    step = _time_step(duration_s)
    return Plot(
        width=WIDTH,
        height=HEIGHT,
        left=_LEFT,
        right=right,
        top=_TOP,
        bottom=bottom,
        lines=tuple(
            " ".join(f"{across(at)},{down(lufs)}" for at, lufs in run) for run in _runs(curve)
        ),
        target_at=down(target_lufs),
        levels=tuple(Tick(at=down(v), label=str(v)) for v in range(first, int(high) + 1, 5)),
        times=tuple(
            Tick(at=across(at), label=clock(at)) for at in range(0, int(duration_s) + 1, step)
        ),
        chapters=tuple(_spaced([(across(at), label, title) for at, label, title in chapters])),
    )


def clock(seconds: float) -> str:
    """Return seconds as `1:02:03` or `2:03`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _runs(curve: Sequence[Sequence[float]]) -> list[list[Sequence[float]]]:
    """Cut a curve where a measurement is missing: there was silence."""
    hops = sorted(b[0] - a[0] for a, b in pairwise(curve))
    usual = hops[len(hops) // 2]
    runs = [[curve[0]]]
    for before, point in pairwise(curve):
        if point[0] - before[0] > 1.5 * usual:
            runs.append([])
        runs[-1].append(point)
    return [run for run in runs if len(run) > 1]


def _time_step(duration_s: float) -> int:
    return next((s for s in _NICE_SECONDS if duration_s / s <= 8), 8 * 3600)


def _spaced(places: Sequence[tuple[float, str, str]]) -> list[Tick]:
    """Return the chapter lines; a label that would run into the one before is left out."""
    ticks = []
    free = 0.0
    for at, label, title in places:
        shown = label if at >= free else ""
        if shown:
            free = at + _LABEL_WIDTH
        ticks.append(Tick(at=at, label=shown, title=title))
    return ticks
