"""A store in a folder. Each object is a file, made aside and renamed into place.

A process killed in the middle of a write leaves a file in `.tmp`, never half an object. The file is
flushed to the disk before it gets its name, so a power cut leaves no empty object either.
"""

import contextlib
import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from loudr_core.errors import StoreError
from loudr_core.store.protocol import StoredObject

__all__ = ["LocalStore", "check_key"]

_STALE_S = 86_400.0
_FULL = {errno.ENOSPC, errno.EDQUOT}
_NO_PARTS = {"", ".", ".."}


def check_key(key: str) -> str:
    """Return the key, or raise ValueError when it is empty, absolute, climbs out or is ambiguous.

    `a//b`, `a/./b` and `a/` would be other names of `a/b` and `a` in a folder, and keys of their
    own in a bucket.

    Parameters
    ----------
    key : str
        Parts joined by `/`.
    """
    if "\\" in key or "\0" in key or any(part in _NO_PARTS for part in key.split("/")):
        raise ValueError(f"not a store key: {key!r}")
    return key


class LocalStore:
    """Objects as files below one folder, which is made when missing.

    Raises
    ------
    StoreError
        The folder cannot be made or written.
    """

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._aside = self._root / ".tmp"
        self.url = str(self._root)
        with self._mapped("open", self._root):
            self._aside.mkdir(parents=True, exist_ok=True)
            self._drop_stale()

    def get(self, key: str) -> bytes | None:
        """Return the object, or None when there is none."""
        path = self._path(key)
        with self._mapped("read", path):
            try:
                return path.read_bytes()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                return None

    def put(self, key: str, data: bytes) -> None:
        """Write the object whole, in place of what was there."""
        path = self._path(key)
        with self._mapped("write", path), self._written_aside(data) as aside:
            self._rename(aside, path)

    def put_if_absent(self, key: str, data: bytes) -> bool:
        """Write the object unless one is there; say whether it was written."""
        path = self._path(key)
        if path.exists():
            return False
        with self._mapped("write", path), self._written_aside(data) as aside:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(aside, path)
            except FileExistsError:
                return False
        return True

    def put_file(self, key: str, path: Path) -> None:
        """Write a file's bytes as the object, without holding them in memory."""
        target = self._path(key)
        with self._mapped("write", target), self._written_aside(path) as aside:
            self._rename(aside, target)

    def exists(self, key: str) -> bool:
        """Say whether there is an object."""
        return self._path(key).is_file()

    def delete(self, key: str) -> None:
        """Remove the object; nothing happens when there is none."""
        path = self._path(key)
        with self._mapped("delete", path):
            path.unlink(missing_ok=True)

    def list(self, prefix: str) -> Iterator[str]:
        """Yield every key that starts with `prefix`, in ascending order."""
        folder = prefix.rpartition("/")[0]
        base = self._root / check_key(folder) if folder else self._root
        keys = []
        for where, folders, names in os.walk(base):
            if where == str(self._root):
                folders[:] = [name for name in folders if name != self._aside.name]
            relative = Path(where).relative_to(self._root).as_posix()
            start = "" if relative == "." else f"{relative}/"
            keys += [key for name in names if (key := start + name).startswith(prefix)]
        yield from sorted(keys)

    def entries(self, prefix: str) -> Iterator[StoredObject]:
        """Yield what `list` does, with size, version and time of each object."""
        for key in self.list(prefix):
            with contextlib.suppress(FileNotFoundError):  # deleted since
                found = (self._root / key).stat()
                yield StoredObject(
                    key=key,
                    size=found.st_size,
                    version=f"{found.st_mtime_ns:x}-{found.st_ino:x}",
                    modified_s=found.st_mtime,
                )

    def now_s(self) -> float:
        """Return the time by the clock of the file system, which may be another machine's."""
        with self._mapped("write", self._aside):
            descriptor, name = tempfile.mkstemp(dir=self._aside)
            try:
                os.write(descriptor, b"\n")  # some file systems take the time at the first byte
                return os.fstat(descriptor).st_mtime
            finally:
                os.close(descriptor)
                Path(name).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._root / check_key(key)

    @contextlib.contextmanager
    def _written_aside(self, source: bytes | Path) -> Iterator[Path]:
        descriptor, name = tempfile.mkstemp(dir=self._aside)
        aside = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as out:
                if isinstance(source, bytes):
                    out.write(source)
                else:
                    with source.open("rb") as incoming:
                        shutil.copyfileobj(incoming, out, 1 << 20)
                out.flush()
                os.fsync(out.fileno())
            yield aside
        finally:
            aside.unlink(missing_ok=True)

    @staticmethod
    def _rename(aside: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        aside.replace(target)

    def _drop_stale(self) -> None:
        before = time.time() - _STALE_S
        for path in self._aside.iterdir():
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < before:
                    path.unlink()

    @staticmethod
    @contextlib.contextmanager
    def _mapped(action: str, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            hint = "; free some space and run again" if exc.errno in _FULL else ""
            raise StoreError(
                f"cannot {action} {path}: {exc.strerror or exc}{hint}", path=str(path)
            ) from exc
