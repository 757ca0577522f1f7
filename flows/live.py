"""Renders that are under way in this process, by the name their flow's parameters carry.

A flow's parameters are plain JSON; engine processes, store handles and progress are not. Whoever
starts a flow in this process registers the render first; a flow that finds none opens its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loudr_core.render.book import BookRender
    from loudr_core.render.result import RenderResult

__all__ = ["LiveRender", "find", "note_run", "recorded", "registered", "result_of"]


@dataclass(slots=True)
class LiveRender:
    """A render, who is told of its stages and that its flow has begun, and what came of it."""

    render: BookRender
    on_stage: Callable[[str], None]
    on_begin: Callable[[], None] | None = None
    result: RenderResult | None = None


_renders: dict[str, LiveRender] = {}
_runs: dict[str, int] = {}
_lock = threading.Lock()


@contextmanager
def registered(
    name: str,
    render: BookRender,
    on_stage: Callable[[str], None],
    on_begin: Callable[[], None] | None = None,
) -> Iterator[None]:
    """Make a render findable under a name for the length of the block."""
    with _lock:
        _renders[name] = LiveRender(render, on_stage, on_begin)
    try:
        yield
    finally:
        with _lock:
            _renders.pop(name, None)


def find(name: str) -> LiveRender | None:
    """Return the render under a name, or None."""
    with _lock:
        return _renders.get(name)


def result_of(name: str) -> RenderResult:
    """Return what the flow left under a name.

    Raises
    ------
    ValueError
        The flow has not finished.
    """
    found = find(name)
    if found is None or found.result is None:
        raise ValueError(f"no finished render {name!r}")
    return found.result


def note_run(flow_run_id: str, task_runs: int) -> None:
    """Remember how many task runs a flow run made."""
    with _lock:
        _runs[flow_run_id] = task_runs


def recorded(count: Callable[[list[str]], int]) -> bool:
    """Say whether the server has recorded every task run of the flow runs noted.

    Parameters
    ----------
    count : callable
        Flow run ids to the number of their finished task runs on the server.
    """
    with _lock:
        runs = dict(_runs)
    with suppress(OSError):
        return not runs or count(list(runs)) >= sum(runs.values())
    return False
