"""What an execution is: a way to run the stages of a planned book."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from loudr_core.render.book import BookRender
    from loudr_core.render.result import RenderResult

__all__ = ["Execution", "OnStage"]

OnStage = Callable[[str], None]
"""Told the name of each stage as it starts, for people."""


class Execution(Protocol):
    """Runs every stage after planning; each finds what is finished."""

    def run(self, render: BookRender, dest: str | Path | None, on_stage: OnStage) -> RenderResult:
        """Return the result of the book.

        Raises
        ------
        LoudrError, Interrupted
            As the stages do.
        """
        ...
