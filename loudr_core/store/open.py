"""Open a store by its URL."""

from pathlib import Path

from loudr_core.errors import ConfigError
from loudr_core.store.local import LocalStore
from loudr_core.store.protocol import ObjectStore

__all__ = ["open_store"]


def open_store(url: str) -> ObjectStore:
    """Return the store at a folder's path or a `file://` URL.

    Raises
    ------
    ConfigError
        The URL names a kind of store that is not known.
    StoreError
        The folder cannot be made or written.
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        return LocalStore(Path(url).expanduser())
    if scheme == "file":
        return LocalStore(Path(rest))
    raise ConfigError(
        f"no store of kind {scheme!r} ({url}): give a folder, such as ~/loudr-store", store=url
    )
