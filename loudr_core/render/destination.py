"""Where finished files go: a folder, or a prefix in a store."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from loudr_core.publish.m4b import Written
from loudr_core.store.address import object_url
from loudr_core.store.open import open_store
from loudr_core.store.protocol import ObjectStore

__all__ = ["Destination", "Folder", "StorePrefix", "open_destination"]


class Destination(Protocol):
    """A place for finished files, each there whole or not at all."""

    def deliver(self, name: str, write: Callable[[Path], Written]) -> tuple[Written, str]:
        """Have a file written and put it in its place under `name`.

        Parameters
        ----------
        write : callable
            Writes the file at the path that it is given, and says what it wrote.

        Returns
        -------
        Written, str
            What `write` said, and the file's place: a path or an `s3://` URL.
        """
        ...


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder, made when missing."""

    path: Path

    def deliver(self, name: str, write: Callable[[Path], Written]) -> tuple[Written, str]:
        """Have the file written in the folder itself."""
        written = write(self.path / name)
        return written, str(written.path)


@dataclass(frozen=True, slots=True)
class StorePrefix:
    """The objects of a store that start with a prefix; `prefix` has no slash at its end."""

    store: ObjectStore
    prefix: str = ""

    def deliver(self, name: str, write: Callable[[Path], Written]) -> tuple[Written, str]:
        """Have the file written in a temporary folder, and put it into the store when whole."""
        key = f"{self.prefix}/{name}" if self.prefix else name
        with tempfile.TemporaryDirectory(prefix="loudr-") as aside:
            written = write(Path(aside) / name)
            self.store.put_file(key, written.path)
        return written, object_url(self.store.url, key)


def open_destination(dest: str | Path) -> Destination:
    """Return the destination that a path or an `s3://bucket/prefix` URL names.

    Nothing is written yet, but a bucket is asked whether it is there: better at the start than
    after a night of rendering.

    Raises
    ------
    ValueError
        A `Path` was made of a URL, which has lost a slash by that.
    ConfigError, StoreError
        The URL is of no known kind; the bucket is not there, refuses or does not answer.
    """
    if isinstance(dest, Path):
        if dest.parts[:1] == ("s3:",):
            raise ValueError(f"{dest} was an s3:// URL: give it as text")
        return Folder(dest)
    if "://" in dest and not dest.startswith("file://"):
        return StorePrefix(open_store(dest))
    return Folder(Path(dest.removeprefix("file://")).expanduser())
