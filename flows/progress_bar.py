"""The live line of a render: segments done, speed, time left. Plain lines where nobody watches."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from flows.output import console, counted, duration, speed

if TYPE_CHECKING:
    from loudr_core.render.book import BookRender
    from loudr_core.render.progress import Counts

__all__ = ["Bar", "progress_bar"]

_LIVE_S = 0.25
_PLAIN_S = 30.0


class Bar(Protocol):
    """What a command tells the person who waits."""

    def stage(self, name: str) -> None:
        """Say which stage runs now."""
        ...

    def title(self, title: str) -> None:
        """Say which book it is."""
        ...


@contextmanager
def progress_bar(render: BookRender, *, quiet: bool) -> Iterator[Bar]:
    """Show the render's counts while the block runs."""
    bar: _Live | _Plain = _Plain(render) if quiet else _Live(render)
    thread = threading.Thread(target=bar.loop, name="progress", daemon=True)
    thread.start()
    try:
        yield bar
    finally:
        bar.done.set()
        thread.join()
        bar.close()


class _Live:
    def __init__(self, render: BookRender) -> None:
        self.done = threading.Event()
        self._render = render
        self._title = render.label
        self._stage = ""
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[counts]}"),
            TimeElapsedColumn(),
            console=console,
            expand=True,
            transient=True,
        )
        self._task: TaskID = self._bar.add_task("", total=None, counts="")
        self._bar.start()

    def stage(self, name: str) -> None:
        self._stage = name

    def title(self, title: str) -> None:
        self._title = title if len(title) <= 40 else title[:39] + "…"

    def loop(self) -> None:
        while not self.done.wait(_LIVE_S):
            counts = self._render.progress.now()
            self._bar.update(
                self._task,
                description=f"{self._stage} [bold]{escape(self._title)}[/]",
                total=counts.total or None,
                completed=counts.done,
                counts=_words(counts),
            )

    def close(self) -> None:
        self._bar.stop()


class _Plain:
    def __init__(self, render: BookRender) -> None:
        self.done = threading.Event()
        self._render = render
        self._title = render.label
        self._stage = ""

    def stage(self, name: str) -> None:
        if name != self._stage:
            self._stage = name
            console.print(f"{name} {self._title}", markup=False)

    def title(self, title: str) -> None:
        self._title = title

    def loop(self) -> None:
        since = time.monotonic()
        while not self.done.wait(1.0):
            counts = self._render.progress.now()
            if time.monotonic() - since >= _PLAIN_S and counts.done < counts.total:
                since = time.monotonic()
                console.print(_words(counts), markup=False)

    def close(self) -> None:
        """Nothing is open."""


def _words(counts: Counts) -> str:
    if not counts.total:
        return ""
    parts = [f"{counts.done}/{counted(counts.total, 'segment')}"]
    if counts.rtf:
        parts.append(speed(counts.rtf))
    if counts.failed or counts.suspect:
        parts.append(f"{counts.failed} failed, {counts.suspect} suspect")
    if counts.eta_s:
        parts.append(f"{duration(counts.eta_s)} left")
    if counts.engine and counts.done < counts.total:
        parts.append(counts.engine)
    return ", ".join(parts)
