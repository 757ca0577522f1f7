"""`loudr serve`, `deploy`, `prune`: what cannot be done is one line, before anything is begun."""

import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows import serving
from flows.cli import app
from flows.commands import deploy, prune, serve
from flows.commands.serve import ServeOptions
from flows.configuration import Settings
from flows.named_server import asking_server
from flows.plain_failure import plain_failure
from flows.served import VARIABLE, watch
from flows.serving import only_one, refuse_taken
from loudr_core.errors import BookError, ConfigError, DeviceError, LoudrError, StoreError
from loudr_core.store.local import LocalStore

NOBODY = "http://127.0.0.1:9/api"


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Give each test an environment and a working folder of its own."""
    kept = dict(os.environ)
    for name in [name for name in kept if name.startswith(("LOUDR_", "PREFECT_API"))]:
        del os.environ[name]
    os.environ["LOUDR_HOME"] = str(tmp_path / "home")
    monkeypatch.chdir(tmp_path)
    yield
    os.environ.clear()
    os.environ.update(kept)


def served() -> None:
    serve.run(Settings(), ServeOptions(), port=4200)


def deployed() -> None:
    deploy.run(Settings(), ServeOptions(), work_pool="loudr", json_out=False)


def pruned() -> None:
    prune.run(
        Settings(),
        older_than_days=14,
        plans_older_than_days=90,
        runs_older_than_days=30,
        dry_run=True,
        json_out=False,
    )


@pytest.mark.parametrize("command", [served, deployed, pruned])
def test_a_server_that_is_not_there(command: Callable[[], None], tmp_path: Path) -> None:
    os.environ["PREFECT_API_URL"] = NOBODY
    with pytest.raises(
        DeviceError, match=rf"no Prefect server at {NOBODY}.*: start it, or"
    ) as said:
        command()
    assert "\n" not in said.value.message
    assert Path.cwd() == tmp_path


def test_deploy_needs_a_server_that_is_named() -> None:
    with pytest.raises(ConfigError, match="set PREFECT_API_URL"):
        deployed()


def test_a_home_that_cannot_be_made() -> None:
    os.environ["LOUDR_HOME"] = "/proc/nowhere"
    with pytest.raises(StoreError, match="cannot be written"):
        served()


def test_a_wrong_option_is_said_before_the_server_is_asked() -> None:
    os.environ["PREFECT_API_URL"] = NOBODY
    with pytest.raises(LoudrError, match="add -o DEST"):
        deploy.run(Settings(), ServeOptions(drop="in"), work_pool="loudr", json_out=False)
    with pytest.raises(LoudrError, match="add -o DEST"):
        serve.run(Settings(), ServeOptions(drop="in"), port=4200)


def test_prune_without_a_server_prunes_the_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    LocalStore(tmp_path / "home" / "store").put(f"audio/ab/ab{'0' * 62}.flac", b"x")
    pruned()
    said = capsys.readouterr().out
    assert "0 objects and 0 left behind would go, 0.0 MB" in said
    assert "0 are named by plans, 1 are not and not old enough yet" in said
    assert "runs" not in said


def test_what_a_server_refuses_is_one_line() -> None:
    import httpx

    os.environ["PREFECT_API_URL"] = NOBODY
    with pytest.raises(DeviceError, match=rf"{NOBODY} refused: no\s*way"), asking_server():
        raise httpx.ConnectError("no\nway")


def test_only_runs_of_a_serve_look_after_their_parent() -> None:
    import threading

    before = threading.active_count()
    watch()
    os.environ[VARIABLE] = "1" if os.getppid() != 1 else "2"
    watch()
    os.environ[VARIABLE] = "nonsense"
    watch()
    assert threading.active_count() == before


def night(**options: str) -> None:
    serve.run(Settings(), ServeOptions(manifests="books", **options), port=4200)


def test_a_night_ends_at_another_time_than_it_begins() -> None:
    with pytest.raises(ConfigError, match="begins and ends at 1:00"):
        night(nightly_at="01:00", until="1:00")


def test_a_folder_that_is_none_is_said_at_the_start(tmp_path: Path) -> None:
    """Not at one in the morning."""
    with pytest.raises(ConfigError, match=f"no folder of manifests at {tmp_path}/books"):
        night()
    (tmp_path / "inbox").write_text("x")
    for drop in ("inbox", "inbox/below"):
        with pytest.raises(ConfigError, match=f"{tmp_path}/{drop} cannot be a drop folder"):
            serve.run(Settings(), ServeOptions(drop=drop, dest="out"), port=4200)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--drop-every", "inf"], "--drop-every"),
        (["--drop-every", "1e300"], "--drop-every"),
        (["--settle", "inf"], "--settle"),
        (["--nightly-at", "25:00"], "'25:00' is no time of a clock"),
        (["--until", "6"], "'6' is no time of a clock"),
        (["--timezone", "Mars/X"], "no time zone 'Mars/X'"),
        (["--timezone", "../../etc/passwd"], "no time zone"),
    ],
)
@pytest.mark.parametrize("command", ["serve", "deploy"])
def test_an_option_that_cannot_be_meant_is_wrong_usage(
    command: str, options: list[str], said: str
) -> None:
    done = CliRunner().invoke(app, [command, "--drop", "in", "-o", "out", *options])
    assert done.exit_code == 2
    assert said in done.output


@pytest.mark.parametrize("name", ["", "a/b", "50%", "<x>"])
def test_a_name_that_no_pool_can_have(name: str) -> None:
    done = CliRunner().invoke(app, ["deploy", "--pool", name])
    assert done.exit_code == 2
    assert "is no name of a pool" in done.output


def test_one_serve_in_a_home(tmp_path: Path) -> None:
    with only_one(tmp_path) as seat:
        assert seat.killed_at == ""
        seat.take("http://a/api")
        with (
            pytest.raises(DeviceError, match=rf"another `loudr serve` \(process {os.getpid()}\)"),
            only_one(tmp_path),
        ):
            pytest.fail("two at once")
    with only_one(tmp_path) as seat:
        assert seat.killed_at == "", "it stopped by itself"


def test_the_deployments_of_a_serve_that_was_killed_are_free(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), only_one(tmp_path) as seat:
        seat.take("http://a/api")
        raise KeyboardInterrupt
    with only_one(tmp_path) as seat:
        assert seat.killed_at == "http://a/api"


def test_deployments_that_others_run_are_not_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    at_work: list[tuple[str, str | None]] = []
    monkeypatch.setattr(serving, "_at_work", lambda names: at_work)
    refuse_taken(["prune"], url=NOBODY, pools=True)
    at_work.append(("prune", "gpu"))
    refuse_taken(["prune"], url=NOBODY, pools=False)  # `loudr deploy` again
    with pytest.raises(DeviceError, match="belongs to workers of the pool 'gpu'"):
        refuse_taken(["prune"], url=NOBODY, pools=True)
    at_work.append(("nightly", None))
    with pytest.raises(DeviceError, match="belongs to another `loudr serve`"):
        refuse_taken(["prune"], url=NOBODY, pools=False)


@pytest.mark.parametrize("name", ["prefect.flow_runs", "prefect.task_runs"])
def test_a_fact_of_the_world_is_logged_without_a_traceback(name: str) -> None:
    def body(request: object) -> None:
        raise NotImplementedError

    plain_failure(body)
    for error, shown in ((BookError("damaged"), False), (RuntimeError("a bug"), True)):
        record = logging.LogRecord(
            name, logging.ERROR, "", 0, "ended: %r", (error,), (type(error), error, None)
        )
        assert logging.getLogger(name).filter(record)
        assert bool(record.exc_info) is shown
        assert repr(error) in record.getMessage()


def test_sigterm_before_a_service_runs_is_an_interruption() -> None:
    """The process would else die where it is, and exit with 143."""
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), serve._terminable():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    "command", [["status"], ["prune"], ["report", "a", "-o", "x"], ["rerender", "a", "--findings"]]
)
def test_a_store_that_is_not_there_is_not_made(command: list[str], tmp_path: Path) -> None:
    """A mistyped name would else pass for a store without books."""
    done = CliRunner().invoke(app, [*command, "--store", "typo/store"])
    assert isinstance(done.exception, StoreError)
    assert done.exception.message == "no store at typo/store: no such folder"
    assert not (tmp_path / "typo").exists()
    assert CliRunner().invoke(app, ["status"]).exit_code == 0, "the home's is made when missing"
