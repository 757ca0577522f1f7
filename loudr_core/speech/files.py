"""Asking the file system about a bundle's files; an answer that is none is a `BundleError`."""

import errno
import hashlib
import stat
from io import BufferedReader
from pathlib import Path

from loudr_core.errors import BundleError

__all__ = [
    "entries",
    "file_sha256",
    "is_file",
    "is_folder",
    "is_there",
    "open_regular",
    "read_whole",
    "unreadable",
]

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def is_file(path: Path) -> bool:
    """Say whether a path is a regular file, links followed.

    Raises
    ------
    BundleError
        The path is too long, or lies in a folder that may not be searched.
    """
    try:
        return path.is_file()
    except OSError as error:
        raise unreadable(path, error) from None


def is_folder(path: Path) -> bool:
    """Say whether a path is a folder, links followed; raises as `is_file` does."""
    try:
        return path.is_dir()
    except OSError as error:
        raise unreadable(path, error) from None


def is_there(path: Path) -> bool:
    """Say whether a path is taken, by whatever it is, a link to nothing too.

    Raises
    ------
    BundleError
        As `is_file`.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise unreadable(path, error) from None
    return True


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading, links followed.

    A pipe is refused before it is opened: opening one waits for a writer, which may never come.

    Raises
    ------
    OSError
        It cannot be opened, or is no regular file.
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))
    return path.open("rb")


def entries(folder: Path) -> list[Path]:
    """Return what lies in a folder, names ascending.

    Raises
    ------
    BundleError
        The folder may not be listed.
    """
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise unreadable(folder, error) from None


def read_whole(path: Path, *, most_bytes: int, advice: str) -> bytes:
    """Return a small file's bytes.

    Raises
    ------
    BundleError
        The file is not there, is no regular file, cannot be read, or is larger than `most_bytes`;
        the message ends with the advice.
    """
    try:
        with open_regular(path) as file:
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise BundleError(
            f"{path} cannot be read ({_reason(error)}): {advice}", path=str(path)
        ) from None
    if len(content) > most_bytes:
        raise BundleError(f"{path} is above {most_bytes >> 20} MiB: {advice}", path=str(path))
    return content


def unreadable(path: Path, error: OSError) -> BundleError:
    """Return the error of a path that the system refuses."""
    return BundleError(
        f"{path} cannot be read ({_reason(error)}): check path and permissions", path=str(path)
    )


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a whole file, read in pieces.

    Raises
    ------
    BundleError
        The file cannot be read.
    """
    try:
        with open_regular(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from None
