"""A book as a file on this machine: where it lies already, or fetched from a bucket."""

import hashlib
from pathlib import Path

from loudr_core.book.read import MAX_FILE_BYTES
from loudr_core.errors import BookError, ConfigError
from loudr_core.queue.declaration import refuse_large
from loudr_core.queue.sidecar import Sidecar, read_sidecar
from loudr_core.queue.watch import Ticket, sidecar_key, ticket_of
from loudr_core.store.address import S3Address, parse_s3_url
from loudr_core.store.open import open_store
from loudr_core.store.protocol import ObjectStore

__all__ = ["Superseded", "check_source", "fetch_ticket", "local_file"]


class Superseded(Exception):
    """The file is another one by now; the poller sees the new version by itself."""


def local_file(source: str, folder: Path, *, base: Path | None = None) -> Path:
    """Return a path to a book, fetched into `folder` when it lies in a bucket.

    Parameters
    ----------
    source : str
        A path, or an `s3://bucket/key` URL, with the query of a store's URL where it needs one.
    base : Path, optional
        Where a relative path starts; the working folder when None.

    Raises
    ------
    BookError
        There is no such file, or it is too large to be a book.
    ConfigError, StoreError
        The URL makes no sense; the bucket refuses or does not answer.
    """
    if not source.startswith("s3://"):
        scheme, separator, _ = source.partition("://")
        if separator and scheme != "file":
            raise ConfigError(
                f"{source}: loudr fetches books from s3:// only; put the file into a folder"
            )
        path = (base or Path()) / Path(source.removeprefix("file://")).expanduser()
        if not path.is_file():
            raise BookError(f"no such file: {path.absolute()}", path=str(path))
        return path
    address = parse_s3_url(source)
    prefix, _, name = address.prefix.rpartition("/")
    if not name:
        raise BookError(f"{source} is a bucket, not a book", path=source)
    if "\\" in name or "\0" in name:
        raise BookError(f"{source}: a book's name holds no backslash: rename it", path=source)
    parent = S3Address(
        bucket=address.bucket,
        prefix=prefix,
        endpoint_url=address.endpoint_url,
        region=address.region,
    )
    store = open_store(parent.url, ask=False)
    return _fetch(store, name, folder, place=address.place)


def check_source(path: Path, *, n_bytes: int | None, sha256: str | None, name: str) -> str:
    """Return the SHA-256 of a book's file, which must be the one that was declared.

    Raises
    ------
    BookError
        It is another one, or cannot be read.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BookError(f"cannot read {path}: {error.strerror or error}", path=str(path)) from error
    if n_bytes is not None and size != n_bytes:
        raise BookError(
            f"{name}: {path.name} has {size} bytes, declared are {n_bytes}: it is another file",
            path=str(path),
        )
    if sha256 is not None and found != sha256:
        raise BookError(
            f"{name}: {path.name} has SHA-256 {found[:12]}…, declared is {sha256[:12]}…: it is "
            "another file",
            path=str(path),
        )
    return found


def fetch_ticket(store: ObjectStore, ticket: Ticket, folder: Path) -> tuple[Path, Sidecar]:
    """Return a dropped book and what its sidecar says, both as they were when it was taken.

    Raises
    ------
    Superseded
        One of them is another one by now, or gone.
    BookError
        The book is too large.
    ConfigError
        The sidecar makes no sense.
    """
    path = _fetch(store, ticket.key, folder, place=ticket.place, gone=Superseded)
    beside = sidecar_key(ticket.key)
    data = None
    if ticket.sidecar:
        refuse_large(_size(store, beside), name=beside, kind="sidecar")
        data = store.get(beside)
    if ticket_of(store, ticket.key) != ticket:
        raise Superseded
    return path, read_sidecar(data, name=beside)


def _fetch(
    store: ObjectStore,
    key: str,
    folder: Path,
    *,
    place: str,
    gone: type[Exception] = BookError,
) -> Path:
    size = _size(store, key)
    if size > MAX_FILE_BYTES:
        raise BookError(
            f"{place} has {size} bytes, more than {MAX_FILE_BYTES}; it is not a book", path=place
        )
    data = store.get(key)
    if data is None:
        raise gone(f"no such book: {place}")
    path = folder / key.rpartition("/")[2]
    path.write_bytes(data)
    return path


def _size(store: ObjectStore, key: str) -> int:
    return next((entry.size for entry in store.entries(key) if entry.key == key), 0)
