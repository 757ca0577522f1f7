"""`loudr serve`, `loudr deploy`, `loudr prune`: what runs by itself, and what cleans up."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated

import typer

from flows.cli_options import Json, Profile, Store, Voice, settings_of
from loudr_core.errors import ConfigError

__all__ = ["add_commands", "deploy", "prune", "serve"]

_SECONDS_MIN = 10.0
_DAY_S = 86_400.0


def _clock(text: str) -> str:
    from loudr_core.queue.window import parse_time

    with _as_usage():
        parse_time(text)
    return text


def _zone(name: str) -> str:
    from loudr_core.queue.window import open_window

    with _as_usage():
        open_window(datetime.now(UTC), until="00:00", timezone=name)
    return name


def _pool(name: str) -> str:
    if not name or set(name) & set("/%&<>"):
        raise typer.BadParameter(
            f"{name!r} is no name of a pool: it is empty or has one of / % & < >"
        )
    return name


@contextmanager
def _as_usage() -> Iterator[None]:
    try:
        yield
    except ConfigError as error:  # the same in a file would be a wrong setting
        raise typer.BadParameter(error.message) from error


_Drop = Annotated[
    str | None,
    typer.Option(
        "--drop",
        help="Folder or s3://bucket/prefix where books arrive; each is rendered once.",
        metavar="PREFIX",
    ),
]
_DropEvery = Annotated[
    float,
    typer.Option("--drop-every", min=_SECONDS_MIN, max=_DAY_S, help="Seconds between two looks."),
]
_Settle = Annotated[
    float,
    typer.Option(min=0, max=_DAY_S, help="A file is taken when unchanged for so many seconds."),
]
_Manifests = Annotated[
    str | None,
    typer.Option(help="Folder or s3:// prefix of declared books, rendered nightly."),
]
_NightlyAt = Annotated[
    str, typer.Option("--nightly-at", callback=_clock, help="When the night begins.")
]
_Until = Annotated[str, typer.Option("--until", callback=_clock, help="When it ends.")]
_Zone = Annotated[
    str, typer.Option("--timezone", callback=_zone, help="Whose clocks, such as Europe/Berlin.")
]
_Out = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        help="Folder or s3://bucket/prefix for the finished files; the store when left out.",
        metavar="DEST",
    ),
]


def add_commands(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command(
        epilog="Examples: [bold]loudr serve --drop inbox -o audiobooks[/bold]  ·  "
        "[bold]loudr serve --manifests manifests/books --nightly-at 01:00 --until 06:00 "
        "--timezone Europe/Berlin -o audiobooks[/bold]",
    )(serve)
    app.command(
        epilog="Example: [bold]PREFECT_API_URL=http://head:4200/api loudr deploy "
        "--store s3://books/loudr --drop s3://books/inbox -o s3://books/finished[/bold]",
    )(deploy)
    app.command(epilog="Example: [bold]loudr prune --dry-run[/bold]")(prune)


def serve(
    drop: _Drop = None,
    drop_every: _DropEvery = 120.0,
    settle: _Settle = 60.0,
    manifests: _Manifests = None,
    nightly_at: _NightlyAt = "01:00",
    until: _Until = "06:00",
    timezone: _Zone = "UTC",
    dest: _Out = None,
    profile: Profile = None,
    voice: Voice = None,
    store: Store = None,
    port: Annotated[
        int, typer.Option(min=1, max=65_535, help="Of the UI, on this machine only.")
    ] = 4200,
) -> None:
    """Run schedules, the drop folder and the forms of the UI on this machine, until stopped."""
    from flows.commands import serve as command

    options = command.ServeOptions(
        profile=profile,
        voice=voice,
        store=store,
        dest=dest,
        drop=drop,
        drop_every_s=drop_every,
        settle_s=settle,
        manifests=manifests,
        nightly_at=nightly_at,
        until=until,
        timezone=timezone,
    )
    raise typer.Exit(
        command.run(settings_of(profile, voice=voice, store=store), options, port=port)
    )


def deploy(
    drop: _Drop = None,
    drop_every: _DropEvery = 120.0,
    settle: _Settle = 60.0,
    manifests: _Manifests = None,
    nightly_at: _NightlyAt = "01:00",
    until: _Until = "06:00",
    timezone: _Zone = "UTC",
    dest: _Out = None,
    profile: Profile = None,
    voice: Voice = None,
    store: Store = None,
    pool: Annotated[
        str,
        typer.Option("--pool", callback=_pool, help="Process work pool, made when missing."),
    ] = "loudr",
    json: Json = False,
) -> None:
    """Register everything for workers at PREFECT_API_URL; run it again after each upgrade."""
    from flows.commands import deploy as command
    from flows.commands.serve import ServeOptions

    options = ServeOptions(
        profile=profile,
        voice=voice,
        store=store,
        dest=dest,
        drop=drop,
        drop_every_s=drop_every,
        settle_s=settle,
        manifests=manifests,
        nightly_at=nightly_at,
        until=until,
        timezone=timezone,
    )
    command.run(
        settings_of(profile, voice=voice, store=store), options, work_pool=pool, json_out=json
    )


def prune(
    older_than_days: Annotated[
        float,
        typer.Option(min=1, max=3650, help="Audio that no plan names goes when older than this."),
    ] = 14.0,
    plans_older_than_days: Annotated[
        float,
        typer.Option(
            min=1,
            max=3650,
            help="Plans that were never rendered to the end, and left for so long.",
        ),
    ] = 90.0,
    runs_older_than_days: Annotated[
        float,
        typer.Option(
            min=1, max=3650, help="Records of runs at PREFECT_API_URL that ended before that."
        ),
    ] = 30.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    store: Store = None,
    json: Json = False,
) -> None:
    """Remove what no plan needs any more; never what a finished book needs."""
    from flows.commands import prune as command

    command.run(
        settings_of(store=store),
        older_than_days=older_than_days,
        plans_older_than_days=plans_older_than_days,
        runs_older_than_days=runs_older_than_days,
        dry_run=dry_run,
        json_out=json,
    )
