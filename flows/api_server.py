"""A Prefect API server for one command: start, wait, drain, stop.

Prefect's own ephemeral mode starts one server per process and loses the records of runs that end
shortly before it stops. This one is a single child (`flows.api_server_child`) that every process
of the command shares. It is started before anything else, since it takes 13 to 45 seconds, and it
leaves when the command does.
"""

import contextlib
import logging
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil

from flows.home import full_disk, ready_home
from loudr_core.errors import DeviceError, StoreError

__all__ = ["ApiServer"]

START_TIMEOUT_S = 180.0
_STOP_TIMEOUT_S = 8.0
_LOG_TAIL = 4096
_FULL_WORDS = ("no space left on device", "disk is full", "disk quota exceeded")

logger = logging.getLogger(__name__)

# What a single command needs of a server: no schedules, no late runs, no other workers, no blocks.
_ONE_COMMAND = {
    "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
    "PREFECT_SERVER_SERVICES_SCHEDULER_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_LATE_RUNS_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_CANCELLATION_CLEANUP_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_PAUSE_EXPIRATIONS_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_FOREMAN_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_REPOSSESSOR_ENABLED": "false",
    "PREFECT_SERVER_SERVICES_TRIGGERS_ENABLED": "false",
}


class ApiServer:
    """The server of this command.

    Parameters
    ----------
    home : Path
        loudr's home; the server's database lies in `home/prefect`, its log in `home/logs`.
    environment : dict of str to str
        As `prefect_environment.quiet` makes it.
    port : int
        0 for any that is free.
    lasting : bool
        Whether schedules, automations and the rest of a server's services run too, which a single
        command has no use for.
    """

    def __init__(
        self, home: Path, environment: dict[str, str], *, port: int = 0, lasting: bool = False
    ) -> None:
        self._home = home
        self._log = home / "logs" / "prefect-server.log"
        self._pid_file = home / "prefect-server.pid"
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._wanted_port = port
        self._services = {} if lasting else _ONE_COMMAND
        self.port = 0
        self.answered = False
        """Whether it has answered, so that it can be told something."""

    @property
    def url(self) -> str:
        """The value of `PREFECT_API_URL`."""
        return f"http://127.0.0.1:{self.port}/api"

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the server and return at once; reap one that a crash left behind.

        Raises
        ------
        StoreError
            loudr's home cannot be written, or is full.
        """
        ready_home(self._home)
        self._reap()
        self.port = self._wanted_port or _free_port()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "flows.api_server_child", str(self.port)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**os.environ, **self._services, **self._environment},
                start_new_session=True,
            )
        started = psutil.Process(self._process.pid).create_time()
        self._pid_file.write_text(f"{self._process.pid} {started}")

    def wait(
        self, timeout_s: float = START_TIMEOUT_S, *, cancel: threading.Event | None = None
    ) -> None:
        """Return when the server answers, or when `cancel` is set.

        Raises
        ------
        DeviceError
            It ended, or did not answer in time.
        StoreError
            It ended since the disk is full.
        """
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                if full := self._full():
                    raise full
                raise DeviceError(
                    f"the Prefect API server did not start: see {self._log}, "
                    "or render with --executor inline",
                    log=str(self._log),
                )
            with (
                contextlib.suppress(urllib.error.URLError, OSError),
                urllib.request.urlopen(f"{self.url}/health", timeout=5) as answer,
            ):
                if answer.status == 200:
                    self.answered = True
                    return
            if cancel is not None and cancel.is_set():
                return
            time.sleep(0.1)
        raise DeviceError(
            f"the Prefect API server did not answer in {timeout_s:.0f} s: see {self._log}, "
            "or render with --executor inline",
            log=str(self._log),
        )

    def stop(self) -> None:
        """Stop the server; kill it when it does not leave."""
        if self._process is None:
            return
        _end(psutil.Process(self._process.pid) if self._process.poll() is None else None)
        if self._process.stdin:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        self._process.wait(timeout=_STOP_TIMEOUT_S)
        self._process = None
        self._pid_file.unlink(missing_ok=True)

    def _full(self) -> StoreError | None:
        """Return the error of a full disk, when that is what ended the server."""
        with contextlib.suppress(OSError), self._log.open("rb") as log:
            log.seek(max(0, self._log.stat().st_size - _LOG_TAIL))
            said = log.read().decode("utf-8", "replace").lower()
            if any(words in said for words in _FULL_WORDS):
                return StoreError(
                    f"the disk of loudr's home {self._home} is full: free some space, or let "
                    "LOUDR_HOME name another place",
                    path=str(self._home),
                )
        return full_disk(self._home)

    def _reap(self) -> None:
        """End the server that this home's pid file names, when it still is that process."""
        with contextlib.suppress(OSError, ValueError, psutil.Error):
            pid, started = self._pid_file.read_text().split()
            orphan = psutil.Process(int(pid))
            parent = orphan.parent()
            if abs(orphan.create_time() - float(started)) < 1 and (
                parent is None or parent.pid == 1
            ):
                logger.warning("ending the API server that an earlier run left (pid %s)", pid)
                _end(orphan)


def _end(process: psutil.Process | None) -> None:
    if process is None:
        return
    with contextlib.suppress(psutil.Error):
        process.terminate()
        try:
            process.wait(timeout=_STOP_TIMEOUT_S)
        except psutil.TimeoutExpired:
            process.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
