"""loudr's home: made before anything is put there, and one line when that cannot be."""

import shutil
import tempfile
from pathlib import Path

from loudr_core.errors import StoreError
from loudr_core.refusals import reason

__all__ = ["MIN_FREE_BYTES", "full_disk", "make_home", "ready_home"]

MIN_FREE_BYTES = 24 << 20
"""What Prefect's tables and the logs of one render take at least."""


def make_home(home: Path) -> Path:
    """Return loudr's home, made when missing.

    Raises
    ------
    StoreError
        It cannot be made.
    """
    home = home.expanduser()
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(home, error) from error
    return home


def ready_home(home: Path) -> Path:
    """Return loudr's home after trying whether the records of a render can be written there.

    Raises
    ------
    StoreError
        It cannot be made or written, or its disk is full.
    """
    home = make_home(home)
    try:
        (home / "logs").mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=home) as probe:
            probe.write(b"loudr")
    except OSError as error:
        raise _unwritable(home, error) from error
    if full := full_disk(home):
        raise full
    return home


def _unwritable(home: Path, error: OSError) -> StoreError:
    return StoreError(
        f"loudr's home {home} cannot be written: {reason(error)}; set LOUDR_HOME to another place",
        path=str(home),
    )


def full_disk(home: Path) -> StoreError | None:
    """Return the error of a home without room for a render's records; None when there is room."""
    try:
        free = shutil.disk_usage(home).free
    except OSError:
        return None
    if free >= MIN_FREE_BYTES:
        return None
    return StoreError(
        f"the disk of loudr's home {home} is full ({free / 2**20:.1f} MiB free, a render's records "
        f"take {MIN_FREE_BYTES >> 20}): free some space, or LOUDR_HOME may name another place",
        path=str(home),
    )
