"""Arguments and options that several commands share, and what counts as a wrong use of them.

A value that cannot be meant, on the command line itself, is wrong usage: exit code 2, and the help
says what there is. The same value in a profile or the environment is a wrong setting.
"""

import difflib
from pathlib import Path
from typing import Annotated, Any

import typer

from loudr_core.speech.engines import ENGINES, OFFERED

__all__ = [
    "AllowGaps",
    "Book",
    "BookId",
    "Books",
    "Bundle",
    "Chapters",
    "Cover",
    "Dest",
    "Engine",
    "Executor",
    "Json",
    "Language",
    "Overwrite",
    "Phonemes",
    "PlanId",
    "Profile",
    "Replan",
    "Speed",
    "Store",
    "Voice",
    "Workers",
    "settings_of",
]

_MOST_WORKERS = 256


def settings_of(profile: str | None = None, *, bundle: Path | None = None, **given: Any) -> Any:
    """Return the settings of a command; `flows.configuration.load` is imported when it is run.

    Parameters
    ----------
    profile : str, optional
    bundle : Path, optional
    **given
        Other settings by name; None is one that was not given.

    Raises
    ------
    ConfigError
        As `load`.
    """
    from flows.configuration import load

    return load(profile, bundle=str(bundle) if bundle else None, **given)


def _chapters(text: str) -> frozenset[int]:
    from flows.request import parse_chapters

    try:
        return parse_chapters(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _engine(text: str) -> str:
    if text in ENGINES:
        return text
    close = difflib.get_close_matches(text, OFFERED, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(OFFERED)}"
    raise typer.BadParameter(f"no engine {text!r}: {hint}")


def _executor(text: str) -> str:
    from flows.configuration import EXECUTORS

    if text in EXECUTORS:
        return text
    raise typer.BadParameter(f"no executor {text!r}: there are {', '.join(EXECUTORS)}")


Book = Annotated[Path, typer.Argument(help="EPUB, Markdown or text file.", metavar="BOOK")]
Books = Annotated[
    list[Path],
    typer.Argument(
        help="EPUB, Markdown or text files, or folders of them: .epub, .md, .markdown, .mdown, "
        ".txt, .text.",
        metavar="BOOK...",
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile", "-p", help="A TOML file, or a shipped profile: audiobook, acx.", metavar="NAME"
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(
        help=f"Speech engine: {', '.join(OFFERED)}; the first is the default.",
        parser=_engine,
        metavar="NAME",
    ),
]
Bundle = Annotated[Path | None, typer.Option(help="Folder with the engine's model.")]
Voice = Annotated[
    str | None,
    typer.Option(
        help="A voice of the engine: embedded has heart; `loudr voices` lists those of a bundle.",
        metavar="NAME",
    ),
]
Speed = Annotated[float | None, typer.Option(help="1 is the voice's own pace.", min=0.5, max=2.0)]
Language = Annotated[
    str, typer.Option(help="The book's language, where the book is silent or wrong: en, de-AT, …")
]
Cover = Annotated[
    Path | None, typer.Option(help="A JPEG or PNG to use as the cover.", metavar="FILE")
]
Phonemes = Annotated[
    Path | None,
    typer.Option(
        help="A table of phonemes, as `loudr phonemes` makes it, for engines that take them.",
        metavar="FILE",
    ),
]
Chapters = Annotated[
    Any,
    typer.Option(
        help="Only these, such as 1-3,7.",
        parser=_chapters,
        metavar="LIST",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(help="Engine processes; default: cores.", min=1, max=_MOST_WORKERS),
]
Executor = Annotated[
    str | None,
    typer.Option(
        help="local (the default: a Prefect flow on this machine), inline (without Prefect) or "
        "pool (workers of the Prefect server at PREFECT_API_URL).",
        parser=_executor,
        metavar="NAME",
    ),
]
Store = Annotated[
    str | None,
    typer.Option(
        help="Where plans, takes and results lie: a folder or s3://bucket/prefix; "
        "default: loudr's home."
    ),
]
Dest = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        help="Folder, or s3://bucket/prefix, for the finished files.",
        metavar="DEST",
    ),
]
AllowGaps = Annotated[
    bool, typer.Option("--allow-gaps", help="Finish although a segment has no audio.")
]
Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace a file of the same name, even of another book."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
BookId = Annotated[str, typer.Argument(help="As `loudr status` lists it; a unique start will do.")]
PlanId = Annotated[
    str,
    typer.Option(
        "--plan",
        help="Which plan of the book, where there are several: the start of its id, or its "
        "profile's name.",
        metavar="PLAN",
    ),
]
Replan = Annotated[bool, typer.Option("--replan", help="Make the plan again.")]
