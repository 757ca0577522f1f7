"""Where finished files go: a folder, or a prefix in a store."""

import contextlib
import errno
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from loudr_core.errors import PublishError
from loudr_core.findings import Finding
from loudr_core.publish.naming import SOMEBODY, NameWish, Owner, choose_name, renamed
from loudr_core.publish.tags import read_owner
from loudr_core.refusals import explain
from loudr_core.store.address import object_url
from loudr_core.store.open import open_store
from loudr_core.store.protocol import ObjectStore

if TYPE_CHECKING:  # a library of codecs, and a destination is opened before anything else
    from loudr_core.publish.m4b import Written

__all__ = ["Delivered", "Destination", "Folder", "StorePrefix", "open_destination"]

Guard = Callable[[Path], None]
Write = Callable[[Path, Guard | None], "Written"]
"""Writes the file at a path, asking the guard once when nobody else can."""

_TRIES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """A file in its place.

    Parameters
    ----------
    written : Written
    where : str
        An absolute path or an `s3://` URL.
    findings : tuple of Finding
        That it could not have its plain name.
    """

    written: "Written"
    where: str
    findings: tuple[Finding, ...]


class Destination(Protocol):
    """A place for finished files, each there whole or not at all."""

    def deliver(self, wish: NameWish, write: Write, *, overwrite: bool = False) -> Delivered:
        """Have a file written and put it in its place, where it takes nobody else's.

        Parameters
        ----------
        wish : NameWish
            Whose the file is and what its name can be made of; `publish.naming` has the rule.
        overwrite : bool
            Replace a file of the plain name, whoever's it is.

        Raises
        ------
        PublishError, StoreError
            It cannot be written, or every name is taken.
        """
        ...


class _Taken(Exception):
    """Somebody took the name while the file was on its way."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder, made when missing."""

    path: Path

    def check(self) -> None:
        """Try whether files can be written there; nothing stays behind, not even the folder.

        Raises
        ------
        PublishError
            They cannot.
        """
        at = self.path.absolute()
        try:
            if at.exists() and not at.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, "a file")
            while not at.exists():
                at = at.parent
            with tempfile.TemporaryFile(dir=at) as probe:
                probe.write(b"loudr")
        except OSError as error:
            raise PublishError(
                f"{self.path} cannot hold the finished file: {explain(error)}", path=str(self.path)
            ) from error

    def deliver(self, wish: NameWish, write: Write, *, overwrite: bool = False) -> Delivered:
        """Have the file written in the folder itself."""
        folder = self.path.absolute()

        def owner_of(name: str) -> Owner | None:
            return read_owner(folder / name)

        def guard(path: Path) -> None:
            if not overwrite and read_owner(path) not in (None, wish.owner):
                raise _Taken

        for _ in range(_TRIES):
            plain_owner = owner_of(wish.plain())
            name = choose_name(wish, owner_of, overwrite=overwrite)
            with contextlib.suppress(_Taken):
                written = write(folder / name, guard)
                return Delivered(
                    written=written,
                    where=str(written.path),
                    findings=_said(wish, name, plain_owner),
                )
        raise PublishError(
            f"other programs keep taking the names in {folder}: run again", path=str(folder)
        )


@dataclass(frozen=True, slots=True)
class StorePrefix:
    """The objects of a store that start with a prefix; `prefix` has no slash at its end.

    A store that keeps labels is asked whose an object is; in one that does not, such as the folder
    of a plan, the names are the owner's.
    """

    store: ObjectStore
    prefix: str = ""

    def deliver(self, wish: NameWish, write: Write, *, overwrite: bool = False) -> Delivered:
        """Have the file written in a temporary folder, and put it into the store when whole."""
        with tempfile.TemporaryDirectory(prefix="loudr-") as aside:
            written = write(Path(aside) / wish.plain(), None)
            plain_owner = self._owner_of(wish.plain(), wish.owner)
            name = choose_name(
                wish, lambda each: self._owner_of(each, wish.owner), overwrite=overwrite
            )
            key = self._key(name)
            labelled: Any = self.store
            if _keeps_labels(self.store):
                labelled.put_file(key, written.path, labels=_labels(wish.owner))
            else:
                self.store.put_file(key, written.path)
        where = object_url(self.store.url, key)
        return Delivered(written=written, where=where, findings=_said(wish, name, plain_owner))

    def _key(self, name: str) -> str:
        return f"{self.prefix}/{name}" if self.prefix else name

    def _owner_of(self, name: str, own: Owner) -> Owner | None:
        store: Any = self.store
        if not _keeps_labels(self.store):
            return own if self.store.exists(self._key(name)) else None
        labels: Mapping[str, str] | None = store.labels(self._key(name))
        if labels is None:
            return None
        said = {field: labels.get(_label(field), "") for field in asdict(SOMEBODY)}
        return Owner(**said)


def open_destination(dest: str | Path) -> Destination:
    """Return the destination that a path or an `s3://bucket/prefix` URL names.

    Nothing is written yet, but a folder is tried and a bucket is asked whether it is there: better
    at the start than after a night of rendering.

    Raises
    ------
    ValueError
        A `Path` was made of a URL, which has lost a slash by that.
    ConfigError, StoreError
        The URL is of no known kind; the bucket is not there, refuses or does not answer.
    PublishError
        The folder cannot be written.
    """
    if isinstance(dest, Path):
        if dest.parts[:1] == ("s3:",):
            raise ValueError(f"{dest} was an s3:// URL: give it as text")
        folder = Folder(dest)
    elif "://" in dest and not dest.startswith("file://"):
        return StorePrefix(open_store(dest))
    else:
        folder = Folder(Path(dest.removeprefix("file://")).expanduser())
    folder.check()
    return folder


def _said(wish: NameWish, name: str, plain_owner: Owner | None) -> tuple[Finding, ...]:
    finding = renamed(wish, name, owner=plain_owner)
    return (finding,) if finding else ()


def _keeps_labels(store: ObjectStore) -> bool:
    return hasattr(store, "labels")


def _label(field: str) -> str:
    return "loudr-" + field.partition("_")[0]


def _labels(owner: Owner) -> dict[str, str]:
    return {_label(field): value for field, value in asdict(owner).items() if value}
