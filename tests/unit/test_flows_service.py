"""`loudr serve`, `deploy`, `prune`: what cannot be done is one line, before anything is begun."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flows.commands import deploy, prune, serve
from flows.commands.serve import ServeOptions
from flows.configuration import Settings
from flows.named_server import asking_server
from flows.served import VARIABLE, watch
from loudr_core.errors import ConfigError, DeviceError, LoudrError, StoreError
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
    prune.run(Settings(), older_than_days=14, runs_older_than_days=30, dry_run=True, json_out=False)


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
    assert "0 objects would go, 0.0 MB" in said
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
