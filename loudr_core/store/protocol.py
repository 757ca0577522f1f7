"""What a store is: named byte objects, each written whole or not at all."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

__all__ = ["ObjectStore", "StoredObject"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """What a listing says of an object.

    Parameters
    ----------
    key : str
    size : int
        Bytes.
    version : str
        Changes when the object is written anew; says nothing else.
    modified_s : float
        When it was written, in seconds since 1970 by the store's own clock.
    """

    key: str
    size: int
    version: str
    modified_s: float


@runtime_checkable
class ObjectStore(Protocol):
    """Objects under keys such as `audio/3f/3fa0….flac`; `/` separates, no leading slash.

    A key that is empty or absolute or has empty or dotted parts is a `ValueError`. A store that
    cannot be reached raises `StoreUnavailable`, one that refuses raises `StoreError`.
    """

    url: str
    """What `open_store` was given: a folder's absolute path or `s3://bucket/prefix`."""

    def get(self, key: str) -> bytes | None:
        """Return the object, or None when there is none."""
        ...

    def put(self, key: str, data: bytes) -> None:
        """Write the object whole, in place of what was there."""
        ...

    def put_if_absent(self, key: str, data: bytes) -> bool:
        """Write the object unless one is there; say whether it was written."""
        ...

    def put_file(self, key: str, path: Path) -> None:
        """Write a file's bytes as the object, without holding them in memory."""
        ...

    def exists(self, key: str) -> bool:
        """Say whether there is an object."""
        ...

    def delete(self, key: str) -> None:
        """Remove the object; nothing happens when there is none."""
        ...

    def list(self, prefix: str) -> Iterator[str]:
        """Yield every key that starts with `prefix`, in ascending order."""
        ...

    def entries(self, prefix: str) -> Iterator[StoredObject]:
        """Yield what `list` does, with size, version and time of each object."""
        ...

    def now_s(self) -> float:
        """Return the time by the clock that `StoredObject.modified_s` is of, to a second."""
        ...
