"""One `loudr serve` at a time: in a home, and at a Prefect server.

Two in one home would share a database, and two at one server the deployments: the later one would
take over the schedules of the earlier, and pause them all when it stops.
"""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from loudr_core.errors import DeviceError

__all__ = ["Seat", "only_one", "refuse_taken"]

_LOCK = "serving"


class Seat:
    """The right to serve in a home.

    Parameters
    ----------
    descriptor : int
        Of the locked file, which names the process and the server that it serves at.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        said = os.pread(descriptor, 4096, 0).decode("utf-8", "replace").split()
        self.killed_at = said[1] if len(said) > 1 else ""
        """URL of the server at which an earlier one was killed; its deployments are free."""

    def take(self, url: str) -> None:
        """Note where this one serves."""
        self._write(f"{os.getpid()} {url}\n")

    def leave(self) -> None:
        """Note that this one has stopped by itself."""
        self._write("")

    def _write(self, text: str) -> None:
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text.encode(), 0)


@contextmanager
def only_one(folder: Path) -> Iterator[Seat]:
    """Hold the right to serve for the block; the system gives it back when the process is killed.

    Parameters
    ----------
    folder : Path
        Of `loudr serve` in loudr's home; it is there.

    Raises
    ------
    DeviceError
        Another process has it.
    """
    path = folder / _LOCK
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            process = os.pread(descriptor, 32, 0).decode("ascii", "replace").partition(" ")[0]
            raise DeviceError(
                f"another `loudr serve` (process {process or 'unknown'}) works in {folder.parent}: "
                "stop it, or give this one a home of its own by LOUDR_HOME",
                path=str(path),
            ) from None
        seat = Seat(descriptor)
        seat.take("")
        yield seat
        seat.leave()
    finally:
        os.close(descriptor)


def refuse_taken(names: Sequence[str], *, url: str, pools: bool) -> None:
    """Refuse to take over deployments that somebody else is running now.

    A server calls a deployment ready while its runs are asked for, and for a minute after.

    Parameters
    ----------
    names : sequence of str
        Of the deployments.
    pools : bool
        Whether workers of a pool are in the way, too, not only a `loudr serve`.

    Raises
    ------
    DeviceError
        A `loudr serve` or a worker asks the server for them.
    """
    for name, pool in _at_work(names):
        if pool is None or pools:
            who = f"workers of the pool {pool!r}" if pool else "another `loudr serve`"
            raise DeviceError(
                f"the deployment {name} at {url} belongs to {who}, whose schedules would be lost: "
                "stop that first, and try again a minute later",
                url=url,
            )


def _at_work(names: Sequence[str]) -> list[tuple[str, str | None]]:
    """Return the deployments whose runs are asked for, each with the pool whose workers do that.

    A deployment that was given to a pool keeps its name when it is served later, so the name alone
    does not tell.
    """
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterName
    from prefect.client.schemas.objects import DeploymentStatus, WorkerStatus

    wanted = DeploymentFilter(name=DeploymentFilterName(any_=list(names)))
    with get_client(sync_client=True) as client:
        ready = [
            each
            for each in client.read_deployments(deployment_filter=wanted)
            if each.status == DeploymentStatus.READY and not each.paused
        ]
        staffed = {
            pool
            for pool in {each.work_pool_name for each in ready if each.work_pool_name}
            if any(
                worker.status == WorkerStatus.ONLINE
                for worker in client.read_workers_for_work_pool(pool)
            )
        }
    return [
        (each.name, each.work_pool_name if each.work_pool_name in staffed else None)
        for each in ready
    ]
