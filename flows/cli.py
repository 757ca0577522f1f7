"""`loudr`: arguments in, exit code out.

Every command prints one line for an error that is not a bug, with what to do, and ends with the
exit code of its kind (`loudr_core.errors`). With `--json` one JSON object goes to the standard
output and everything else to the standard error.
"""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from flows.bundle_cli import app as bundle_app
from flows.cli_options import (
    AllowGaps,
    Book,
    BookId,
    Books,
    Bundle,
    Chapters,
    Cover,
    Dest,
    Engine,
    Executor,
    Json,
    Language,
    Overwrite,
    Phonemes,
    PlanId,
    Profile,
    Replan,
    Speed,
    Store,
    Voice,
    Workers,
    settings_of,
)
from flows.service_cli import add_commands as add_service_commands
from flows.voices_cli import app as voices_app

__all__ = ["app", "main"]

_INTERRUPTED = 130

app = typer.Typer(
    name="loudr",
    help="Books in, mastered audiobooks out: nothing lost, every segment repeatable.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=True,
    cls=TyperGroup,
)
app.add_typer(bundle_app, name="bundle")
app.add_typer(voices_app, name="voices")


@app.command(
    epilog="Example: [bold]loudr plan moby-dick.epub[/bold]  ·  "
    "[bold]loudr plan notes.md --json > plan.json[/bold]"
)
def plan(
    book: Book,
    profile: Profile = None,
    engine: Engine = None,
    bundle: Bundle = None,
    voice: Voice = None,
    speed: Speed = None,
    language: Language = "",
    cover: Cover = None,
    phonemes: Phonemes = None,
    store: Store = None,
    replan: Replan = False,
    json: Json = False,
) -> None:
    """Read and check a book: chapters, hours, what is left out, what is wrong. Speaks nothing."""
    from flows.commands import plan as command

    settings = settings_of(
        profile, engine=engine, bundle=bundle, voice=voice, speed=speed, store=store
    )
    options = _options(language, cover, phonemes, replan=replan)
    command.run(book, settings, options=options, json_out=json)


@app.command(
    epilog="Examples: [bold]loudr render moby-dick.epub -o audiobooks[/bold]  ·  "
    "[bold]loudr render books/ -o audiobooks[/bold]  ·  "
    "[bold]loudr render novel.epub --chapters 1-2[/bold]  ·  "
    "[bold]loudr render novel.epub --store s3://books/loudr -o s3://books/out[/bold]"
)
def render(
    books: Books,
    dest: Dest = ".",
    profile: Profile = None,
    engine: Engine = None,
    bundle: Bundle = None,
    voice: Voice = None,
    speed: Speed = None,
    language: Language = "",
    cover: Cover = None,
    phonemes: Phonemes = None,
    chapters: Chapters = None,
    workers: Workers = None,
    executor: Executor = None,
    store: Store = None,
    allow_gaps: AllowGaps = False,
    overwrite: Overwrite = False,
    replan: Replan = False,
    json: Json = False,
) -> None:
    """Render books to M4B. Stopped or killed, the same command goes on where it was."""
    from flows.commands import render as command

    settings = settings_of(
        profile,
        engine=engine,
        bundle=bundle,
        voice=voice,
        speed=speed,
        store=store,
        workers=workers,
        executor=executor,
    )
    raise typer.Exit(
        command.run(
            books,
            settings,
            dest=dest,
            options=_options(
                language,
                cover,
                phonemes,
                replan=replan,
                chapters=chapters,
                allow_gaps=allow_gaps,
                overwrite=overwrite,
            ),
            json_out=json,
        )
    )


@app.command(
    epilog="Examples: [bold]loudr rerender moby-dick --segment c003-s0042[/bold]  ·  "
    "[bold]loudr rerender moby-dick --findings -o audiobooks[/bold]"
)
def rerender(
    book_id: BookId,
    plan: PlanId = "",
    segment: Annotated[
        list[str] | None, typer.Option(help="A segment's id; may be given several times.")
    ] = None,
    findings: Annotated[
        bool, typer.Option("--findings", help="Every segment that the detectors condemned.")
    ] = False,
    chapter: Annotated[int | None, typer.Option(help="Every segment of a chapter.")] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**64 - 1, help="This seed; a fresh one otherwise.")
    ] = None,
    chapters: Chapters = None,
    dest: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder, or s3://bucket/prefix; default: where the file went the last time.",
            metavar="DEST",
        ),
    ] = None,
    store: Store = None,
    executor: Executor = None,
    workers: Workers = None,
    allow_gaps: AllowGaps = False,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Speak segments again with another seed, and put the file of the last render together anew."""
    from flows.commands import rerender as command

    if not segment and not findings and chapter is None:
        raise typer.BadParameter(
            "none is given: say what to speak again",
            param_hint="--segment ID, --findings or --chapter N",
        )
    raise typer.Exit(
        command.run(
            book_id,
            settings_of(store=store, workers=workers, executor=executor),
            plan_start=plan,
            segments=segment or [],
            findings=findings,
            chapter=chapter,
            chapters=chapters,
            seed=seed,
            dest=dest,
            allow_gaps=allow_gaps,
            overwrite=overwrite,
            json_out=json,
        )
    )


@app.command(epilog="Examples: [bold]loudr status[/bold]  ·  [bold]loudr status moby-dick[/bold]")
def status(
    book_id: Annotated[str | None, typer.Argument(help="One book; all when left out.")] = None,
    plan: PlanId = "",
    store: Store = None,
    json: Json = False,
) -> None:
    """Say where books stand: planned, under way, finished, and where the files are."""
    from flows.commands import status as command

    if plan and book_id is None:
        raise typer.BadParameter("say of which book: loudr status BOOK_ID", param_hint="--plan")
    settings = settings_of(store=store)
    command.run(book_id, settings, plan_start=plan, json_out=json)


@app.command(epilog="Example: [bold]loudr report moby-dick[/bold]")
def report(
    book_id: BookId,
    plan: PlanId = "",
    dest: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the page.", metavar="DEST")
    ] = Path(),
    store: Store = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Write the listening page of a book: chapters, flagged segments with players, loudness."""
    from flows.commands import report as command

    settings = settings_of(store=store)
    command.run(book_id, settings, plan_start=plan, dest=dest, overwrite=overwrite, json_out=json)


@app.command(
    epilog="Example: [bold]loudr phonemes moby-dick -o moby-dick.phonemes.jsonl[/bold]  ·  "
    "[bold]loudr render moby-dick.epub --phonemes moby-dick.phonemes.jsonl[/bold]"
)
def phonemes(
    book_id: BookId,
    dest: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="JSON lines, or Parquet when it ends in .parquet.",
            metavar="FILE",
        ),
    ],
    plan: PlanId = "",
    store: Store = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
    json: Json = False,
) -> None:
    """Read a planned book with the front ends here: a table of phonemes, to look at and to speak.

    A machine that renders with the table needs no front end.
    """
    from flows.commands import phonemes as command

    settings = settings_of(store=store)
    code = command.run(
        book_id, settings, plan_start=plan, dest=dest, overwrite=overwrite, json_out=json
    )
    raise typer.Exit(code)


@app.command(epilog="Example: [bold]loudr check audiobooks/Moby\\ Dick.m4b[/bold]")
def check(
    file: Annotated[Path, typer.Argument(help="An M4B file.", metavar="FILE")],
    json: Json = False,
) -> None:
    """Check a finished file: container, chapters, tags, cover, loudness, ACX numbers."""
    from flows.commands import check as command

    raise typer.Exit(command.run(file, json_out=json))


@app.command(
    epilog="Examples: [bold]loudr doctor[/bold]  ·  "
    "[bold]loudr doctor --bundles models --verify[/bold]"
)
def doctor(
    bundles: Annotated[
        list[Path] | None,
        typer.Option(
            help="Look for models here, too: a bundle, or a folder of them.", metavar="DIR"
        ),
    ] = None,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Read the models that are found, and try them."),
    ] = False,
    json: Json = False,
) -> None:
    """Say what works on this machine, what is missing, and how to get it."""
    from flows.commands import doctor as command

    settings = settings_of()
    code = command.run(settings, bundles=bundles or [], verify=verify, json_out=json)
    raise typer.Exit(code)


def _options(language: str, cover: Path | None, phonemes: Path | None = None, **more: Any) -> Any:
    from loudr_core.render.options import AboutBook, RenderOptions

    about = AboutBook(language=language, cover=cover, phonemes=phonemes)
    return RenderOptions(about=about, **more)


add_service_commands(app)


@app.callback(invoke_without_command=True)
def _global(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True)
    ] = False,
) -> None:
    if version:
        from importlib.metadata import version as version_of

        typer.echo(f"loudr {version_of('loudr')}")
        raise typer.Exit


def main() -> None:
    """Run the command line and leave with its exit code."""
    # Our threads share the cores already; a numerical library's own would only fight them.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    from loudr_core.errors import Interrupted, LoudrError
    from loudr_core.memory import keep_memory

    keep_memory()
    try:
        code = app(standalone_mode=False)
        if code == _INTERRUPTED:  # Typer makes this of a KeyboardInterrupt, and says nothing
            raise KeyboardInterrupt
    except LoudrError as error:
        code = _say(error)
    except (KeyboardInterrupt, Interrupted):
        typer.echo("loudr: interrupted; the same command goes on where it stopped", err=True)
        code = _INTERRUPTED
    except BrokenPipeError:
        code = 141
    except Exception as error:  # noqa: BLE001 - a bug is raised again below
        code = _usage(error)
    sys.exit(code if isinstance(code, int) else 0)


def _say(error: Any) -> int:
    from flows.output import error_json

    message = " ".join(str(error.message).split())
    if "--json" in sys.argv:
        typer.echo(error_json(error))
    typer.echo(f"loudr: {message}", err=True)
    return int(error.exit_code)


def _usage(error: Exception) -> int:
    """Return 2 after a wrong use of the command line, as Typer shows it; re-raise a bug."""
    if isinstance(error, typer.Abort):
        typer.echo("loudr: interrupted", err=True)
        return _INTERRUPTED
    show = getattr(error, "show", None)
    if not callable(show):
        raise error
    if "--json" in sys.argv:
        from flows.output import usage_json

        typer.echo(usage_json(str(error.format_message())))  # type: ignore[attr-defined]
    show()
    return int(getattr(error, "exit_code", 2))
