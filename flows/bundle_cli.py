"""`loudr bundle`: what a model folder holds, and whether it is whole."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(
    help="Check and describe model folders.", no_args_is_help=True, rich_markup_mode="rich"
)

Folder = Annotated[
    Path, typer.Argument(help="A bundle's folder, or the checkpoint in it.", metavar="DIR")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]


@app.command(
    epilog="Examples: [bold]loudr bundle verify models/loudr-1[/bold]  ·  "
    "[bold]loudr bundle verify models/loudr-1 --official[/bold]"
)
def verify(
    bundle: Folder,
    official: Annotated[
        bool,
        typer.Option(
            "--official",
            help="Hold it to the rules of an official release: every file listed, none added.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Compare a bundle with its checksums, and its parts with one another."""
    from flows.commands import bundle as command

    raise typer.Exit(command.run_verify(bundle, official=official, json_out=json))


@app.command(epilog="Example: [bold]loudr bundle describe models/loudr-1[/bold]")
def describe(bundle: Folder, json: Json = False) -> None:
    """Say what a bundle is: family, fingerprint, sampler, graphs, voices."""
    from flows.commands import bundle as command

    command.run_describe(bundle, json_out=json)
