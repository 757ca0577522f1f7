"""What lies in a drop folder: books, their sidecars, and whether they are whole yet.

    novel.epub              a book
    novel.epub.toml         how it is to be read: its sidecar, optional
    novel.epub.status.json  what became of it, written by us

A file counts when nothing about it has changed for the settle time, by the clock of the server that
holds it. An upload that stops for longer than that is taken half, refused, and taken again when its
rest has come, since it is another version then.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from loudr_core.book.read import SUFFIXES
from loudr_core.canonical import digest
from loudr_core.errors import ConfigError, StoreError
from loudr_core.printable import printable
from loudr_core.store.address import object_url, parse_s3_url
from loudr_core.store.local import check_key
from loudr_core.store.protocol import ObjectStore, StoredObject

__all__ = [
    "Scan",
    "Ticket",
    "place_of",
    "refuse_overlap",
    "scan",
    "sidecar_key",
    "status_key",
    "ticket_of",
]

_SIDECAR = ".toml"
_STATUS = ".status.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """One version of one book in a drop folder, with one version of its sidecar.

    Parameters
    ----------
    key : str
        Of the file, in the store that is watched.
    place : str
        The file's path or URL, the same for everybody who watches.
    size : int
        Bytes.
    version : str
        The server's word for the file's content; empty in a folder, where size and time say it.
    modified_s : float
        When the file was written, by the server's clock.
    sidecar : str
        The same words about the sidecar; empty when there is none.
    touched_s : float
        When the later of the two was written.
    """

    key: str
    place: str
    size: int
    version: str
    modified_s: float
    sidecar: str
    touched_s: float

    @property
    def id(self) -> str:
        """The name of this version in the ledger."""
        said = [self.place, self.size, self.version, round(self.modified_s, 3), self.sidecar]
        return digest(["drop-1", *said])

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What lies in a drop folder.

    Parameters
    ----------
    tickets : list of Ticket
        The books, in ascending order.
    strange : list of str
        Files that are no books.
    unusable : list of str
        One line for each book that cannot be taken as it lies there, and each folder that cannot be
        looked into.
    told_s : dict of str to float
        Key of a book to when its status object was written; without those that have none.
    """

    tickets: list[Ticket]
    strange: list[str]
    unusable: list[str]
    told_s: dict[str, float]


def scan(store: ObjectStore) -> Scan:
    """Return what lies in a drop folder.

    Hidden files, sidecars of books that are there, and our own status objects are passed over.

    Raises
    ------
    StoreError
        The folder or bucket cannot be listed.
    """
    entries, unusable = _entries(store)
    books = {key: entry for key, entry in entries.items() if _is_book(key)}
    known = {key + ending for key in books for ending in (_SIDECAR, _STATUS)}
    strange = [
        printable(key)
        for key in entries
        if key not in books and key not in known and not key.endswith(_STATUS)
    ]
    tickets = []
    for key, entry in books.items():
        fault = _fault(store, key)
        if fault:
            unusable.append(f"{printable(object_url(store.url, key))}: {fault}")
        else:
            tickets.append(_ticket(store, entry, entries.get(key + _SIDECAR)))
    told_s = {
        key: entries[status].modified_s for key in books if (status := key + _STATUS) in entries
    }
    return Scan(tickets=tickets, strange=strange, unusable=unusable, told_s=told_s)


def ticket_of(store: ObjectStore, key: str) -> Ticket | None:
    """Return one book as it lies there now, or None when it is gone."""
    found = {entry.key: entry for entry in store.entries(key)}
    if key not in found or _fault(store, key):
        return None
    return _ticket(store, found[key], found.get(key + _SIDECAR))


def status_key(key: str) -> str:
    """Return the key of the status object beside a book."""
    return key + _STATUS


def sidecar_key(key: str) -> str:
    """Return the key of the sidecar of a book."""
    return key + _SIDECAR


def place_of(url: str) -> str:
    """Return what a folder or bucket prefix is called, however it was written.

    Raises
    ------
    ConfigError
        It is an `s3://` URL that makes no sense.
    """
    if url.startswith("s3://"):
        return parse_s3_url(url).place
    return str(Path(url.removeprefix("file://")).expanduser().resolve())


def refuse_overlap(watched: str, **others: str) -> None:
    """Refuse to write where new books are looked for, since what is written would be taken for one.

    Parameters
    ----------
    watched : str
        The drop folder's path or URL.
    **others
        What is written to, under the name that an operator knows.

    Raises
    ------
    ConfigError
        One lies in the drop folder.
    """
    outer = place_of(watched)
    for name, url in others.items():
        if f"{place_of(url)}/".startswith(f"{outer}/"):
            raise ConfigError(
                f"the {name} {url} lies in the drop folder {watched}, where every file is taken "
                "for a book: choose a place outside it",
                path=url,
            )


def _entries(store: ObjectStore) -> tuple[dict[str, StoredObject], list[str]]:
    """Return what can be listed by key, and why the rest cannot.

    A folder that somebody has put there closed must not hold up the books of the others. A bucket
    is listed in pieces, so what came before an error may lack the sidecar of its last book.
    """
    found: dict[str, StoredObject] = {}
    try:
        for entry in store.entries(""):
            if not _hidden(entry.key):
                found[entry.key] = entry
    except StoreError as error:
        if not _in_folder(store):
            raise
        return found, [printable(error.message)]
    return found, []


def _fault(store: ObjectStore, key: str) -> str:
    """Return why a book cannot be taken as it lies there; empty when it can."""
    try:
        check_key(key.encode().decode())
    except ValueError:
        return "its name cannot be used: give it one in UTF-8 without backslashes and empty parts"
    if _in_folder(store):
        root = Path(store.url)
        for each in (key, key + _SIDECAR):  # whoever may drop a book may not read this machine
            if not (root / each).resolve().is_relative_to(root):
                return f"{each} is a link that leads out of the drop folder: put the file there"
    return ""


def _in_folder(store: ObjectStore) -> bool:
    return "://" not in store.url


def _ticket(store: ObjectStore, entry: StoredObject, sidecar: StoredObject | None) -> Ticket:
    times = [each.modified_s for each in (entry, sidecar) if each is not None]
    return Ticket(
        key=entry.key,
        place=object_url(store.url, entry.key),
        size=entry.size,
        version=_version(store, entry),
        modified_s=entry.modified_s,
        sidecar="" if sidecar is None else _words(store, sidecar),
        touched_s=max(times),
    )


def _words(store: ObjectStore, entry: StoredObject) -> str:
    return f"{_version(store, entry)}/{entry.size}/{entry.modified_s:.3f}"


def _version(store: ObjectStore, entry: StoredObject) -> str:
    """Return the ETag in a bucket; a folder's version names an inode, which a mount changes."""
    return "" if _in_folder(store) else entry.version


def _is_book(key: str) -> bool:
    return key.lower().endswith(SUFFIXES)


def _hidden(key: str) -> bool:
    return any(part.startswith(".") and part.strip(".") for part in key.split("/"))
