"""Being told to stop: asked at every decode step and between stages, answered by an exception."""

from collections.abc import Callable
from typing import TypeAlias

from loudr_core.errors import SynthesisError

__all__ = ["Poll", "SynthesisCancelled", "poll_of"]

Poll: TypeAlias = Callable[[], None]
"""Returns, or raises `SynthesisCancelled`."""


class SynthesisCancelled(SynthesisError):
    """The caller asked to stop; nothing is wrong with the text."""


def poll_of(should_cancel: Callable[[], bool] | None) -> Poll:
    """Return a function that raises `SynthesisCancelled` once `should_cancel` says so."""

    def poll() -> None:
        if should_cancel is not None and should_cancel():
            raise SynthesisCancelled("cancelled while speaking: the caller asked to stop")

    return poll
