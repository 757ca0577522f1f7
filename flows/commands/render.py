"""`loudr render`: engine processes first, the Prefect server beside them, then the flow.

The slow starts overlap: while the API server comes up, the book is planned and its first segments
are spoken already. The flow then finds them in the store.
"""

import json
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from flows.configuration import Settings
from flows.execution.protocol import Execution
from flows.opening import engine_pool, open_render, open_settings_store, pool_size
from flows.output import console, duration, error_json, print_json, results, show_findings
from flows.progress_bar import progress_bar
from flows.request import parse_chapters
from loudr_core.errors import BookError, ConfigError, LoudrError
from loudr_core.render.book import BookRender, RenderOptions
from loudr_core.render.destination import open_destination
from loudr_core.render.result import RenderResult
from loudr_core.render.speak import Interrupted

__all__ = ["run"]

BOOK_KINDS = (".epub", ".md", ".markdown", ".txt")


def run(
    books: Sequence[Path],
    settings: Settings,
    *,
    dest: str | Path,
    chapters: str | None,
    allow_gaps: bool,
    replan: bool,
    json_out: bool,
) -> int:
    """Render books one after the other; a bad one does not keep the others from being rendered.

    Returns
    -------
    int
        0, or the exit code of the first book that failed.
    """
    files = _files(books)
    wanted = _chapters(chapters)
    open_destination(dest)  # a bucket that is not there is known now, and not after a night
    cancel = threading.Event()
    codes: list[int] = []
    documents: list[dict[str, Any]] = []
    with ExitStack() as stack:
        stack.enter_context(_interruptible(cancel))
        execution = stack.enter_context(_execution(settings))
        store = open_settings_store(settings)
        size = pool_size(settings)
        pool = stack.enter_context(engine_pool(settings, store, size=size))
        for number, file in enumerate(files, 1):
            if len(files) > 1:
                console.print(f"[bold]{number}/{len(files)}[/] {file.name}")
            options = RenderOptions(
                chapters=wanted, allow_gaps=allow_gaps, replan=replan, workers=size
            )
            render = open_render(
                file, settings, store=store, pool=pool, options=options, cancel=cancel
            )
            try:
                result = _render_one(render, dest, execution)
            except LoudrError as error:
                if len(files) == 1:
                    raise
                codes.append(_report_failure(file, error))
                documents.append(json.loads(error_json(error)))
                continue
            documents.append(result.as_dict())
            if not json_out:
                _show(result)
    if json_out:
        print_json(documents[0] if len(files) == 1 else {"books": documents})
    return codes[0] if codes else 0


def _render_one(render: BookRender, dest: str | Path, execution: Execution) -> RenderResult:
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
    from flows.execution.local import local_execution

    with local_execution(settings.home.expanduser()) as execution:
        yield execution


def _files(books: Sequence[Path]) -> list[Path]:
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
                raise BookError(f"no EPUB, Markdown or text file in {book}", path=str(book))
            files += inside
        elif book.is_file():
            files.append(book)
        else:
            raise BookError(f"no such file: {book}", path=str(book))
    return list(dict.fromkeys(files))


def _chapters(text: str | None) -> frozenset[int] | None:
    if text is None:
        return None
    try:
        return parse_chapters(text)
    except ValueError as error:
        raise ConfigError(f"--chapters: {error}") from error


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


def _report_failure(file: Path, error: LoudrError) -> int:
    console.print(f"[bold red]failed[/] {file.name}: ", end="")
    console.print(error.message, markup=False)
    return error.exit_code


def _show(result: RenderResult) -> None:
    show_findings(result.findings)
    counts, level = result.segments, result.loudness
    for file in result.files:
        results.print(f"[bold green]done[/]  {file.path}", highlight=False)
        results.print(
            f"      {duration(file.duration_s)} in {file.chapters} chapters, "
            f"{file.bytes / 1e6:.1f} MB, {level['integrated_lufs']} LUFS, true peak "
            f"{level['true_peak_dbtp']} dBTP"
        )
    faster = f"{1 / result.rtf:.0f} × real time" if result.rtf else "nothing to render"
    results.print(
        f"      {counts.total} segments: {counts.rendered} rendered, {counts.reused} reused, "
        f"{counts.retried} retried, {counts.failed} failed; {duration(result.wall_s)}, "
        f"real-time factor {result.rtf:.4f} ({faster})"
    )
    results.print(f"      listen: loudr report {result.book_id}", style="dim")
