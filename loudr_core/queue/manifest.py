"""Books that a schedule renders, each declared by a TOML file of its own.

title = "The Lamp at Skerry Head"
source = "examples/the-lamp-at-skerry-head.epub"
profile = "audiobook"
priority = 80                # 0 to 100, the highest first; 50 when not said
deadline = 2026-12-24        # of two with one priority, the earlier first
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from loudr_core.errors import ConfigError
from loudr_core.printable import printable
from loudr_core.queue.declaration import read_declaration

__all__ = ["BookEntry", "Listed", "in_order", "read_entry"]

_Name = Annotated[str, Field(min_length=1, max_length=1024)]


class BookEntry(BaseModel):
    """A declared book.

    Parameters
    ----------
    source : str
        A path, or an `s3://bucket/key` URL; a relative path starts at the folder loudr runs in.
    bytes, sha256 : int, str or None
        Of the file; another file under this name is refused.
    profile, voice : str or None
        What the schedule itself says when None.
    priority : int
        0 to 100; the highest first.
    deadline : date, datetime or None
        A date means the end of that day in UTC.
    chapters : str or None
        Such as `1-3,7`; all when None.
    enabled : bool
        False to leave the book out for now.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: _Name
    title: str = Field(default="", max_length=1024)
    bytes: Annotated[int, Field(ge=1)] | None = None
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    profile: _Name | None = None
    voice: _Name | None = None
    priority: Annotated[int, Field(ge=0, le=100)] = 50
    deadline: datetime | date | None = None
    chapters: Annotated[str, Field(pattern=r"^[0-9][0-9, -]{0,400}$")] | None = None
    allow_gaps: bool = False
    enabled: bool = True
    licence: str = Field(default="", max_length=1024)

    @property
    def due(self) -> datetime | None:
        """The deadline as a moment."""
        if self.deadline is None:
            return None
        if isinstance(self.deadline, datetime):
            return self.deadline.replace(tzinfo=self.deadline.tzinfo or UTC)
        return datetime.combine(self.deadline, time.max, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A manifest file: its name, and the book in it or the reason why there is none."""

    name: str
    entry: BookEntry | None
    fault: str = ""

    @property
    def title(self) -> str:
        """What a person calls the book."""
        said = self.entry.title or self.entry.source.rpartition("/")[2] if self.entry else ""
        return printable(said or self.name)


def read_entry(data: bytes, *, name: str) -> BookEntry:
    """Return the book that a manifest file declares.

    Raises
    ------
    ConfigError
        It is not TOML, or a key is unknown, missing or out of its range.
    """
    try:
        return BookEntry.model_validate(read_declaration(data, name=name, kind="manifest"))
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(part) for part in fault["loc"] if part not in ("datetime", "date"))
        raise ConfigError(f"{name}: {where}: {fault['msg'].lower()}", path=name) from error


def in_order(books: Iterable[Listed]) -> list[Listed]:
    """Return the books that can be rendered, in the order in which they are.

    The highest priority first; of equal ones the earliest deadline, then the name.
    """
    ready = [book for book in books if book.entry is not None and book.entry.enabled]
    return sorted(ready, key=_rank)


def _rank(book: Listed) -> tuple[int, float, str]:
    entry = book.entry
    if entry is None:  # `in_order` has left these out
        return (0, 0.0, book.name)
    due = entry.due.timestamp() if entry.due else float("inf")
    return (-entry.priority, due, book.name)
