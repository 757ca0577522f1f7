"""`loudr voices`: what an engine can sound like, and a new voice from a recording."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli_options import Engine, settings_of

__all__ = ["app"]

app = typer.Typer(rich_markup_mode="rich")

Profile = Annotated[
    str | None,
    typer.Option("--profile", "-p", help="A TOML profile, or the name of a shipped one."),
]
Bundle = Annotated[Path | None, typer.Option(help="Folder with the engine's model.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]


@app.callback(
    invoke_without_command=True,
    epilog="Examples: [bold]loudr voices --engine embedded[/bold]  ·  "
    "[bold]loudr voices --engine loudr1 --bundle models/loudr-1[/bold]",
)
def voices(
    context: typer.Context,
    profile: Profile = None,
    engine: Engine = None,
    bundle: Bundle = None,
    json: Json = False,
) -> None:
    """List the voices of an engine, or enroll a new one."""
    if context.invoked_subcommand is not None:
        return
    from flows.commands import voices as command

    command.run(settings_of(profile, engine=engine, bundle=bundle), json_out=json)


@app.command(
    epilog="Example: [bold]loudr voices enroll me.wav --bundle models/loudr-1 "
    "-o models/loudr-1/voices/me.safetensors[/bold]"
)
def enroll(
    context: typer.Context,
    recording: Annotated[
        Path,
        typer.Argument(
            help="5 to 10 seconds of one person speaking: WAV, FLAC, OGG or MP3.",
            metavar="RECORDING",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The voice's file.", metavar="NAME.safetensors"),
    ],
    name: Annotated[str | None, typer.Option(help="The voice's name; default: the file's.")] = None,
    language: Annotated[str, typer.Option(help="What the person speaks: en, de, pl, …")] = "en",
    end_in_silence: Annotated[
        bool, typer.Option("--end-in-silence", help="Cut at the last pause within 10 seconds.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the voice's file.")] = (
        False
    ),
    profile: Profile = None,
    bundle: Bundle = None,
    json: Json = False,
) -> None:
    """Make a voice from a recording. Use only voices that you may use."""
    from flows.commands import enroll as command

    before = context.parent.params if context.parent else {}
    command.run(
        recording,
        output,
        settings_of(profile or before.get("profile"), bundle=bundle or before.get("bundle")),
        name=name,
        language=language,
        pause=end_in_silence,
        overwrite=overwrite,
        json_out=json or bool(before.get("json")),
    )
