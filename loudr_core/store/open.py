"""Open a store by its URL."""

from pathlib import Path

from loudr_core.errors import ConfigError
from loudr_core.store.address import parse_s3_url
from loudr_core.store.local import LocalStore
from loudr_core.store.protocol import ObjectStore

__all__ = ["open_store"]


def open_store(url: str, *, ask: bool = True) -> ObjectStore:
    """Return the store at a folder's path, a `file://` or an `s3://` URL.

    Parameters
    ----------
    ask : bool
        Ask a bucket whether it is there, so that a wrong one is refused here and within seconds;
        a process that was given the URL of an open store need not.

    Raises
    ------
    ConfigError
        The URL is of no known kind, or holds credentials.
    StoreError
        The folder cannot be made or written; the bucket is not there, refuses or does not answer.
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        return LocalStore(Path(url).expanduser())
    if scheme == "file":
        return LocalStore(Path(rest))
    if scheme == "s3":
        # Loaded late: a folder needs nothing of it, and it takes a third of a second.
        from loudr_core.store.s3 import S3Store

        address = parse_s3_url(url)
        store = S3Store(
            address.bucket,
            address.prefix,
            endpoint_url=address.endpoint_url,
            region=address.region,
        )
        if ask:
            store.check()
        return store
    raise ConfigError(
        f"no store of kind {scheme!r}: give a folder, such as ~/loudr-store, or s3://bucket/prefix",
        scheme=scheme,
    )
