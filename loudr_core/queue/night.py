"""What a night is to do: the declared books, and the ledger of what earlier nights have done."""

import json
import stat
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from loudr_core.canonical import canonical_json, digest
from loudr_core.errors import ConfigError, LoudrError
from loudr_core.printable import printable
from loudr_core.queue.declaration import refuse_large
from loudr_core.queue.manifest import Listed, read_entry
from loudr_core.store.open import open_store
from loudr_core.store.protocol import ObjectStore

__all__ = ["Night", "NightBook", "NightState", "night_id", "read_manifests", "summary"]

NightState = Literal["done", "done before", "unfinished", "not begun", "refused", "failed"]

_FOLDER = "ledger/nightly"


@dataclass(frozen=True, slots=True, kw_only=True)
class NightBook:
    """What a night made of one book.

    Parameters
    ----------
    name : str
        Of its manifest.
    title : str
    reason : str
        One line, where it is not done.
    result : mapping
        The JSON of `RenderResult`, where it is.
    late : bool
        Its deadline has passed without it.
    """

    name: str
    title: str
    state: NightState
    reason: str = ""
    result: Mapping[str, Any] | None = None
    late: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form, without what is empty."""
        said = {
            "name": self.name,
            "title": self.title,
            "state": self.state,
            "reason": self.reason,
            "late": self.late,
        }
        if self.result is not None:
            said |= {
                "book_id": self.result["book_id"],
                "plan_id": self.result["plan_id"],
                "files": [file["path"] for file in self.result["files"]],
                "duration_s": sum(file["duration_s"] for file in self.result["files"]),
                "rtf": round(self.result["rtf"], 4),
                "findings": len(self.result["findings"]),
            }
        return {key: value for key, value in said.items() if value not in ("", False)}


class Night:
    """The ledger of what nights have finished, in the store of the takes."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def finished(self, identity: str) -> Mapping[str, Any] | None:
        """Return the result of a book that an earlier night finished exactly so, or None."""
        data = self._store.get(_key(identity))
        try:
            result: Mapping[str, Any] | None = json.loads(data) if data else None
        except ValueError:
            return None  # it is rendered again, which finds everything there
        return result

    def finish(self, identity: str, result: Mapping[str, Any]) -> None:
        """Note that a book is finished."""
        self._store.put(_key(identity), canonical_json(result))


def night_id(
    *,
    sha256: str,
    profile: Mapping[str, Any],
    dest: str | None,
    chapters: Sequence[int] | None,
    allow_gaps: bool,
) -> str:
    """Return the name of a book as it is declared: of its content, and of how and where it goes.

    Parameters
    ----------
    sha256 : str
        Of the book's file.
    profile : mapping
        Resolved, as JSON holds it.
    """
    said = ["nightly-1", sha256, dict(profile), dest, sorted(chapters or ()), allow_gaps]
    return digest(said)


def read_manifests(where: str) -> list[Listed]:
    """Return every manifest of a folder or below a prefix, in ascending order.

    One that cannot be read is listed with its fault, and keeps no other from being read.

    Parameters
    ----------
    where : str
        A folder, or `s3://bucket/prefix`.

    Raises
    ------
    ConfigError
        There is no such folder.
    StoreError
        The bucket refuses or does not answer.
    """
    if where.startswith("s3://"):
        store = open_store(where)
        found = [entry for entry in store.entries("") if _is_manifest(entry.key)]
        return [_listed(each.key, each.size, partial(store.get, each.key)) for each in found]
    folder = Path(where.removeprefix("file://")).expanduser()
    if not folder.is_dir():
        raise ConfigError(
            f"no folder of manifests at {folder.absolute()}: name one, or an s3:// prefix",
            path=str(folder),
        )
    try:
        paths = sorted(path for path in folder.iterdir() if _is_manifest(path.name))
    except OSError as error:
        raise ConfigError(f"cannot read {folder}: {error.strerror}", path=str(folder)) from error
    return [_in_folder(path) for path in paths]


def _in_folder(path: Path) -> Listed:
    """Return the manifest of a file; a pipe is not opened, since it may never answer."""
    name = printable(path.name)
    try:
        found = path.stat()
    except OSError as error:
        return Listed(name=name, entry=None, fault=f"cannot read it: {error.strerror or error}")
    if not stat.S_ISREG(found.st_mode):
        return Listed(name=name, entry=None, fault="cannot read it: it is no file")
    return _listed(name, found.st_size, path.read_bytes)


def summary(books: Sequence[NightBook]) -> str:
    """Return one line: how many books are done, and how many are not."""
    states = Counter(book.state for book in books)
    late = sum(book.late for book in books)
    said = [f"{states[state]} {state}" for state in get_args(NightState) if states[state]]
    return ", ".join([*said, *([f"{late} past the deadline"] if late else [])]) or "no books"


def _listed(name: str, n_bytes: int, read: Callable[[], bytes | None]) -> Listed:
    try:
        refuse_large(n_bytes, name=name, kind="manifest")
        data = read()
        if data is None:
            raise ConfigError(f"{name} is gone")
        return Listed(name=name, entry=read_entry(data, name=name))
    except LoudrError as error:
        return Listed(name=name, entry=None, fault=error.message)
    except OSError as error:
        return Listed(name=name, entry=None, fault=f"cannot read it: {error.strerror or error}")
    except ValueError:  # a bucket holds keys that are no paths
        return Listed(name=printable(name), entry=None, fault="cannot read it: rename it")


def _is_manifest(name: str) -> bool:
    return name.endswith(".toml") and not name.rpartition("/")[2].startswith(".")


def _key(identity: str) -> str:
    return f"{_FOLDER}/{identity[:2]}/{identity}.done"
