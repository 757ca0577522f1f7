"""Asking the file system about a bundle's files; an answer that is none is a `BundleError`."""

from pathlib import Path

from loudr_core.errors import BundleError

__all__ = ["entries", "is_file", "is_folder", "read_whole", "unreadable"]


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
        The file is not there, cannot be read, or is larger than `most_bytes`; the message ends
        with the advice.
    """
    try:
        with path.open("rb") as file:
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
