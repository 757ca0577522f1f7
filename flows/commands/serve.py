"""`loudr serve`: every deployment on this machine, with a server and its UI unless there is one."""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from flows import contact, prefect_environment, served
from flows.api_server import ApiServer
from flows.catalogue import Cron, Every, Wishes
from flows.configuration import Settings
from flows.home import make_home
from flows.kept_server import kept
from flows.named_server import asking_server, reach_server
from flows.output import console, results
from flows.serving import Seat, only_one, refuse_taken
from loudr_core.errors import ConfigError, DeviceError
from loudr_core.queue.watch import refuse_overlap
from loudr_core.queue.window import open_window, parse_time
from loudr_core.refusals import reason

__all__ = ["ServeOptions", "absolute", "environment_of", "run", "when", "wishes_of"]

_EMPTY = "work"
_LOG = {
    # A service's log is read afterwards, and the UI shows it: more of it than a command needs.
    "PREFECT_LOGGING_LEVEL": "INFO",
    "PREFECT_LOGGING_EXTRA_LOGGERS": "loudr_core,flows,tasks",
}
SERVING = {
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
    "PREFECT_DEPLOYMENTS_CLEAR_SCHEDULES_ON_EMPTY": "true",
    "PREFECT_UI_API_URL": "/api",
}
_SQLITE = {
    # One writer at a time: whoever presses a button waits for it, rather than read "unavailable".
    "PREFECT_SERVER_DATABASE_TIMEOUT": "60",
    "PREFECT_SERVER_DATABASE_CONNECTION_TIMEOUT": "60",
    "PREFECT_SERVER_SERVICES_SCHEDULER_MAX_RUNS": "20",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """What an operator says about the schedules; None where nothing was said.

    Parameters
    ----------
    profile, store : str or None
        For every run.
    voice, dest : str or None
        For what is scheduled.
    drop : str or None
        The drop folder; without one nothing is looked into.
    drop_every_s, settle_s : float
    manifests : str or None
        Folder or prefix of declared books; without one there is no night.
    nightly_at, until : str
        Times of a clock of `timezone`.
    """

    profile: str | None = None
    voice: str | None = None
    store: str | None = None
    dest: str | None = None
    drop: str | None = None
    drop_every_s: float = 120.0
    settle_s: float = 60.0
    manifests: str | None = None
    nightly_at: str = "01:00"
    until: str = "06:00"
    timezone: str = "UTC"


def run(settings: Settings, options: ServeOptions, *, port: int) -> int:
    """Serve until told to stop by Ctrl-C or SIGTERM."""
    wishes = wishes_of(options, settings)
    home = make_home(settings.home).absolute()
    os.environ |= {"LOUDR_HOME": str(home), **environment_of(options)}
    os.environ[served.VARIABLE] = str(os.getpid())
    _ready_folders(options)
    place = make_home(home / "serve")
    with (
        _terminable(),
        only_one(place) as seat,
        _working_in(place / _EMPTY),
        _server(place, port) as ours,
    ):
        _serve(wishes, seat, ours=ours)
    return 0


def _ready_folders(options: ServeOptions) -> None:
    """Say now what would else be found out at night; make the drop folder when it is missing.

    Raises
    ------
    ConfigError
        A folder of this machine is none.
    """
    manifests, drop = options.manifests, options.drop
    if manifests is not None and "://" not in manifests and not Path(manifests).is_dir():
        raise ConfigError(f"no folder of manifests at {absolute(manifests)}", path=manifests)
    if drop is None or "://" in drop or (folder := Path(str(absolute(drop)))).is_dir():
        return
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise ConfigError(
            f"{folder} cannot be a drop folder: {reason(error)}", path=str(folder)
        ) from error
    console.print(f"made the drop folder {folder}", markup=False)


def wishes_of(options: ServeOptions, settings: Settings) -> Wishes:
    """Return the parameters and schedules that the options come to, every path made absolute.

    Raises
    ------
    ConfigError
        A time is none, or the drop folder has no destination, or one that lies in it.
    """
    said = {"voice": options.voice, "dest": absolute(options.dest)}
    shared = {name: value for name, value in said.items() if value is not None}
    parameters: dict[str, Mapping[str, Any]] = {}
    schedules: dict[str, Cron | Every | None] = {"nightly": None, "drop-folder": None}
    if options.manifests is not None:
        clock = parse_time(options.nightly_at)
        if clock == parse_time(options.until):
            raise ConfigError(
                f"the night begins and ends at {options.until}: let it end at another time"
            )
        open_window(datetime.now(UTC), until=options.until, timezone=options.timezone)
        schedules["nightly"] = Cron(f"{clock.minute} {clock.hour} * * *", options.timezone)
        parameters["nightly"] = {
            **shared,
            "manifests": absolute(options.manifests),
            "base": str(Path.cwd()),
            "until": options.until,
            "timezone": options.timezone,
        }
    if options.drop is not None:
        if options.dest is None:
            raise ConfigError("a drop folder needs a place for the finished files: add -o DEST")
        refuse_overlap(
            options.drop,
            destination=str(absolute(options.dest)),
            store=str(absolute(options.store) or settings.store_url),
        )
        schedules["drop-folder"] = Every(options.drop_every_s)
        parameters["drop-folder"] = {
            **shared,
            "watch": absolute(options.drop),
            "settle_s": options.settle_s,
        }
    return Wishes(parameters=parameters, schedules=schedules)


def environment_of(options: ServeOptions) -> dict[str, str]:
    """Return the variables by which every run finds the same store and profile."""
    said = {"LOUDR_STORE": absolute(options.store), "LOUDR_PROFILE": _profile(options.profile)}
    return {name: value for name, value in said.items() if value is not None}


def absolute(place: str | None) -> str | None:
    """Return a folder's absolute path; a URL as it is."""
    if place is None or "://" in place:
        return place
    return str(Path(place).expanduser().absolute())


def _profile(name: str | None) -> str | None:
    """Return a profile as another folder's process finds it."""
    if name is not None and Path(name).expanduser().is_file():
        return absolute(name)
    return name


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    """Work in an empty folder: Prefect imports what it finds in the one it starts in."""
    folder.mkdir(parents=True, exist_ok=True)
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        with suppress(OSError):
            os.chdir(before)


@contextmanager
def _server(home: Path, port: int) -> Iterator[bool]:
    """Have an API server for the block, the one that is named or our own; yield whether it is."""
    for name, value in {**_LOG, **SERVING}.items():
        os.environ.setdefault(name, value)
    named = os.environ.get("PREFECT_API_URL")
    if named:
        reach_server(named, otherwise="unset PREFECT_API_URL to have one started here")
    prefect_environment.apply(make_home(home))
    if named:
        console.print(f"Prefect server: {named}", markup=False)
        yield False
        return
    _refuse_taken(port)
    environment = prefect_environment.quiet(home)
    environment |= {"PREFECT_LOGGING_LEVEL": "WARNING", **_SQLITE}
    server = ApiServer(home, environment, port=port, lasting=True)
    server.start()
    os.environ["PREFECT_API_URL"] = server.url
    try:
        console.print("starting the Prefect server, which takes up to a minute", style="dim")
        server.wait()
        results.print(f"UI: http://127.0.0.1:{server.port}", highlight=False)
        with kept(server):
            yield True
    finally:
        server.stop()
        os.environ.pop("PREFECT_API_URL", None)


def _refuse_taken(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise DeviceError(
                f"port {port} is taken, perhaps by another `loudr serve`: choose another by "
                "--port, or set PREFECT_API_URL to use that server",
                port=port,
            ) from error


def _serve(wishes: Wishes, seat: Seat, *, ours: bool) -> None:
    """Register the deployments and run what is asked for, until a signal comes."""
    from prefect.runner import Runner

    from flows.deployments import chosen, to_prefect
    from flows.heartbeat import ensure_automation
    from flows.orphans import close_orphans

    entries = chosen(wishes, served=True)
    names = [entry.name for entry in entries]
    # Each deployment has its own limit here; one of the runner's would let renders hold up polls.
    runner = Runner(name="loudr", limit=None, pause_on_shutdown=True)
    with asking_server():
        url = os.environ["PREFECT_API_URL"]
        if ours:
            close_orphans(names)
        elif seat.killed_at != url:
            refuse_taken(names, url=url, pools=True)
        seat.take(url)
        ensure_automation(names)
        for entry in entries:
            runner.add_deployment(to_prefect(entry))
            results.print(f"  {entry.name:15} {when(entry.schedule)}", highlight=False)
    contact.quieten()
    try:
        with suppress(KeyboardInterrupt), _stopping(runner):
            console.print("serving; Ctrl-C or SIGTERM stops it")
            asyncio.run(runner.start())
    except Exception as error:
        if contact.answers() or not contact.comes_from_server(error):
            raise
        url = os.environ.get("PREFECT_API_URL", "")
        raise DeviceError(
            f"the Prefect server at {url} does not answer any more: start it, and `loudr serve` "
            "again; what is finished stays finished",
            url=url,
        ) from error
    console.print("stopped")


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, so that it is left in order; a runner has its own.

    It is raised where the block happens to be, which is safe here: what is begun is a server, and
    what it has registered is registered again.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _stopping(runner: Any) -> Iterator[None]:
    """Stop cleanly at the first Ctrl-C, as at SIGTERM; a second one ends at once."""
    seen = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        if seen.is_set() or not runner.started:
            raise KeyboardInterrupt
        seen.set()
        console.print("stopping; runs under way are stopped, what they finished stays")
        runner.handle_sigterm()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def when(schedule: Cron | Every | None) -> str:
    """Return a schedule in words."""
    if isinstance(schedule, Cron):
        minute, hour = schedule.cron.split()[:2]
        days = "Sundays" if schedule.cron.endswith("0") else "daily"
        return f"{days} at {int(hour):02d}:{int(minute):02d} {schedule.timezone}"
    if isinstance(schedule, Every):
        return f"every {schedule.seconds:.0f} s"
    return "when asked"
