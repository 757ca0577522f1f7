"""Renders that are under way in this process, by the name their flow's parameters carry.

A flow's parameters are plain JSON, and engine processes, store handles and progress are not. Whoever
starts a flow in this process registers the render first; a flow that finds none opens its own.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from loudr_core.render.book import BookRender

__all__ = ["find", "registered"]

_renders: dict[str, BookRender] = {}
_lock = threading.Lock()


@contextmanager
def registered(name: str, render: BookRender) -> Iterator[None]:
    """Make a render findable under a name for the length of the block."""
    with _lock:
        _renders[name] = render
    try:
        yield
    finally:
        with _lock:
            _renders.pop(name, None)


def find(name: str) -> BookRender | None:
    """Return the render under a name, or None."""
    with _lock:
        return _renders.get(name)
