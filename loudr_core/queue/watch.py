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
from loudr_core.errors import ConfigError
from loudr_core.store.address import object_url, parse_s3_url
from loudr_core.store.protocol import ObjectStore, StoredObject

__all__ = [
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


def scan(store: ObjectStore) -> tuple[list[Ticket], list[str]]:
    """Return the books of a drop folder in ascending order, and the files that are none.

    Hidden files, sidecars of books that are there, and our own status objects are neither.
    """
    entries = {entry.key: entry for entry in store.entries("") if not _hidden(entry.key)}
    books = {key: entry for key, entry in entries.items() if _is_book(key)}
    known = {key + ending for key in books for ending in (_SIDECAR, _STATUS)}
    strange = [
        key
        for key in entries
        if key not in books and key not in known and not key.endswith(_STATUS)
    ]
    tickets = [_ticket(store, entry, entries.get(key + _SIDECAR)) for key, entry in books.items()]
    return tickets, strange


def ticket_of(store: ObjectStore, key: str) -> Ticket | None:
    """Return one book as it lies there now, or None when it is gone."""
    found = {entry.key: entry for entry in store.entries(key)}
    if key not in found:
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
    return entry.version if store.url.startswith("s3://") else ""


def _is_book(key: str) -> bool:
    return key.lower().endswith(SUFFIXES)


def _hidden(key: str) -> bool:
    return any(part.startswith(".") for part in key.split("/"))
