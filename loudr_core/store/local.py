"""A store in a folder. Each object is a file, made aside and renamed into place.

A process killed in the middle of a write leaves a file in `.tmp`, never half an object. The file is
flushed to the disk before it gets its name, so a power cut leaves no empty object either.
"""

import builtins
import contextlib
import errno
import itertools
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from loudr_core.errors import StoreError
from loudr_core.store.protocol import StoredObject

__all__ = ["LocalStore", "check_key"]

_STALE_S = 86_400.0
_FULL = {errno.ENOSPC, errno.EDQUOT}
_GONE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
"""A file that was deleted since, and a link that leads nowhere."""
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
        # Names of files aside: no two stores, processes or threads on any machine give the same.
        self._mine, self._written = secrets.token_hex(8), itertools.count()
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
        self._replace(self._path(key), data)

    def put_if_absent(self, key: str, data: bytes) -> bool:
        """Write the object unless one is there; say whether it was written."""
        path = self._path(key)
        if path.exists():
            return False
        with self._mapped("write", path):
            aside = self._written_aside(data)
            try:
                _into_place(os.link, aside, path)
            except FileExistsError:
                return False
            finally:
                aside.unlink()
        return True

    def put_file(self, key: str, path: Path) -> None:
        """Write a file's bytes as the object, without holding them in memory."""
        self._replace(self._path(key), path)

    def exists(self, key: str) -> bool:
        """Say whether there is an object."""
        return self._path(key).is_file()

    def delete(self, key: str) -> None:
        """Remove the object; nothing happens when there is none."""
        path = self._path(key)
        with self._mapped("delete", path):
            path.unlink(missing_ok=True)

    def list(self, prefix: str) -> Iterator[str]:
        """Yield every key that starts with `prefix`, in ascending order.

        Raises
        ------
        StoreError
            A folder cannot be looked into; after every key of the others.
        """
        folder = prefix.rpartition("/")[0]
        base = self._root / check_key(folder) if folder else self._root
        keys = []
        closed: builtins.list[OSError] = []
        for where, folders, names in os.walk(base, onerror=closed.append):
            if where == str(self._root):
                folders[:] = [name for name in folders if name != self._aside.name]
            relative = Path(where).relative_to(self._root).as_posix()
            start = "" if relative == "." else f"{relative}/"
            keys += [key for name in names if (key := start + name).startswith(prefix)]
        yield from sorted(keys)
        for error in closed:
            if error.errno not in _GONE:
                with self._mapped("list", Path(error.filename)):
                    raise error

    def entries(self, prefix: str) -> Iterator[StoredObject]:
        """Yield what `list` does, with size, version and time of each object.

        What somebody else put there and is no file is none: a pipe would be waited for without end.
        """
        for key in self.list(prefix):
            path = self._root / key
            with self._mapped("look at", path):
                try:
                    found = path.stat()
                except OSError as error:
                    if error.errno in _GONE:
                        continue
                    raise
            if stat.S_ISREG(found.st_mode):
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

    def _replace(self, path: Path, source: bytes | Path) -> None:
        with self._mapped("write", path):
            aside = self._written_aside(source)
            try:
                _into_place(os.replace, aside, path)
            except BaseException:
                aside.unlink()
                raise

    def _written_aside(self, source: bytes | Path) -> Path:
        """Return the path of a new file with these bytes, on the disk; the caller removes it."""
        aside = self._aside / f"{self._mine}-{os.getpid()}-{next(self._written)}"
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as out:
                if isinstance(source, bytes):
                    out.write(source)
                else:
                    with source.open("rb") as incoming:
                        shutil.copyfileobj(incoming, out, 1 << 20)
                out.flush()
                os.fsync(descriptor)
        except BaseException:
            aside.unlink()
            raise
        return aside

    def _drop_stale(self) -> None:
        left = list(self._aside.iterdir())
        # By the clock that dates them: a machine that is a day ahead would take what others are
        # writing for leavings.
        before = self.now_s() - _STALE_S if left else 0.0
        for path in left:
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


def _into_place(move: Callable[[Path, Path], None], aside: Path, path: Path) -> None:
    """Give a file its name; its folder is made for the first object there."""
    try:
        move(aside, path)
    except FileNotFoundError:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except FileExistsError as error:  # not the object that is there: something in its way
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from error
        move(aside, path)
