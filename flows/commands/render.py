"""`loudr render`: engine processes first, the Prefect server beside them, then the flow.

The slow starts overlap: while the API server comes up, the book is planned and its first segments
are spoken already. The flow then finds them in the store. What reads, plans and masters a book is
imported while the engines load, too.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from flows.configuration import Settings
from flows.execution.protocol import Execution
from flows.opening import engine_pool, open_render, open_settings_store, pool_size
from flows.output import (
    command_line,
    console,
    counted,
    duration,
    error_json,
    print_json,
    results,
    show_findings,
    speed,
)
from flows.progress_bar import progress_bar
from loudr_core.book.read import SUFFIXES, there
from loudr_core.errors import BookError, ConfigError, Interrupted, LoudrError

if TYPE_CHECKING:
    from loudr_core.jobs.plan import Plan
    from loudr_core.render.book import BookRender, RenderOptions
    from loudr_core.render.planning import StoredPlan
    from loudr_core.render.result import RenderResult

__all__ = ["BOOK_KINDS", "book_files", "run", "run_sources"]

BOOK_KINDS = SUFFIXES
"""What in a folder is taken for a book."""

_TELLING_AUDIO_S = 30.0


def run(
    books: Sequence[Path],
    settings: Settings,
    *,
    dest: str | Path | None,
    options: RenderOptions,
    json_out: bool,
) -> int:
    """Render books one after the other; a bad one does not keep the others from being rendered.

    Returns
    -------
    int
        0, or the exit code of the first book that failed.
    """
    return run_sources(book_files(books), settings, dest=dest, options=options, json_out=json_out)


def run_sources(
    sources: Sequence[Path | StoredPlan],
    settings: Settings,
    *,
    dest: str | Path | None,
    options: RenderOptions,
    json_out: bool,
) -> int:
    """Render files, or plans that lie in the store, as `run` does."""
    if dest is not None:
        from loudr_core.render.destination import open_destination

        open_destination(dest)  # one that will not do is known now, and not after a night
    cancel = threading.Event()
    codes: list[int] = []
    documents: list[dict[str, Any]] = []
    with ExitStack() as stack:
        stack.enter_context(_interruptible(cancel))
        execution = stack.enter_context(_execution(settings))
        store = open_settings_store(settings)
        size = pool_size(settings)
        pool = stack.enter_context(engine_pool(settings, store, size=size))
        for number, source in enumerate(sources, 1):
            render = open_render(
                source,
                settings,
                store=store,
                pool=pool,
                options=replace(options, workers=size),
                cancel=cancel,
            )
            if len(sources) > 1:
                console.print(f"[bold]{number}/{len(sources)}[/] {escape(render.label)}")
            try:
                result = _render_one(render, dest, execution)
            except LoudrError as error:
                if len(sources) == 1:
                    raise
                codes.append(_report_failure(render.label, error))
                documents.append(json.loads(error_json(error)))
                continue
            documents.append(result.as_dict())
            if not json_out:
                _show(result, render.plan(), settings, dest)
    if json_out:
        print_json(documents[0] if len(sources) == 1 else {"books": documents})
    return codes[0] if codes else 0


def _render_one(render: BookRender, dest: str | Path | None, execution: Execution) -> RenderResult:
    started = time.monotonic()
    with progress_bar(render, quiet=not sys.stderr.isatty()) as bar:
        bar.stage("planning")
        plan = render.plan()
        bar.title(plan.metadata["title"])
        render.start_speaking()
        bar.stage("speaking")
        result = execution.run(render, dest, bar.stage)
    render.stage_s["command"] = time.monotonic() - started
    return result


@contextmanager
def _execution(settings: Settings) -> Iterator[Execution]:
    """Yield how a book's stages are run; what is started here starts before anything else."""
    if settings.executor == "inline":
        from flows.execution import inline

        yield inline.Inline()
        return
    if settings.executor == "pool" and not os.environ.get("PREFECT_API_URL"):
        raise ConfigError(
            "--executor pool gives the work to workers of a Prefect server: set PREFECT_API_URL, "
            "and see that a `prefect worker` runs"
        )
    from flows.execution.local import local_execution

    with local_execution(settings.home.expanduser()) as execution:
        yield execution


def book_files(books: Sequence[Path]) -> list[Path]:
    """Return the files named, folders replaced by the books in them.

    Raises
    ------
    BookError
        A path is not there, or a folder holds no book.
    """
    files: list[Path] = []
    for book in books:
        if book.is_dir():
            inside = sorted(path for path in book.iterdir() if path.suffix.lower() in BOOK_KINDS)
            if not inside:
                raise BookError(
                    f"no EPUB, Markdown or text file in {book}: none ends in "
                    f"{', '.join(BOOK_KINDS)}",
                    path=str(book),
                )
            files += inside
        else:
            files.append(there(book))
    return list(dict.fromkeys(files))


@contextmanager
def _interruptible(cancel: threading.Event) -> Iterator[None]:
    """Let the first Ctrl-C or SIGTERM stop the render cleanly, and a second one at once."""

    def stop(number: int, frame: FrameType | None) -> None:
        if cancel.is_set():
            raise KeyboardInterrupt
        cancel.set()
        console.print("\nstopping; press Ctrl-C again to stop at once", style="yellow")

    kinds = (signal.SIGINT, signal.SIGTERM)
    before = {kind: signal.signal(kind, stop) for kind in kinds}
    try:
        yield
        if cancel.is_set():
            raise Interrupted
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def _report_failure(label: str, error: LoudrError) -> int:
    console.print(f"[bold red]failed[/] {escape(label)}: ", end="")
    console.print(error.message, markup=False)
    return error.exit_code


def _show(result: RenderResult, plan: Plan, settings: Settings, dest: str | Path | None) -> None:
    show_findings((*(f for f in plan.findings if f.severity == "error"), *result.findings))
    counts, level = result.segments, result.loudness
    for file in result.files:
        results.print(f"[bold green]done[/]  {escape(file.path)}")
        results.print(
            f"      {duration(file.duration_s)} in {counted(file.chapters, 'chapter')}, "
            f"{file.bytes / 1e6:.1f} MB; before encoding {level['integrated_lufs']} LUFS, "
            f"true peak {level['true_peak_dbtp']} dBTP"
        )
    results.print(
        f"      {counted(counts.total, 'segment')}: {counts.rendered} rendered, "
        f"{counts.reused} reused, {counts.retried} retried, {counts.failed} failed; "
        f"{duration(result.wall_s)}{_pace(result)}"
    )
    heard = any("segment_id" in finding.where for finding in result.findings)
    word = "listen" if heard or counts.retried else "details"
    results.print(f"      {word}: ", style="dim", end="")
    results.print(_report_command(result, settings, dest), style="dim", markup=False)


def _pace(result: RenderResult) -> str:
    """Return how fast it was; nothing for a run that was over before that means anything."""
    if not result.rtf or result.wall_s / result.rtf < _TELLING_AUDIO_S:
        return ""
    return f", real-time factor {result.rtf:.2g} ({speed(result.rtf)})"


def _report_command(result: RenderResult, settings: Settings, dest: str | Path | None) -> str:
    words = ["report", result.book_id, "--plan", result.plan_id[:8]]
    if dest is not None and "://" not in str(dest):
        words += ["-o", str(dest)]
    if settings.store is not None:
        words += ["--store", settings.store]
    return command_line(*words)
