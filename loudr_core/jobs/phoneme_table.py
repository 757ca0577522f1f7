"""A table of phonemes made beforehand: which words are said how, for engines that take phonemes.

JSON lines, or Parquet when the name ends in `.parquet`; a job table is one too. A row holds

    phonemes    what is said, or null where nobody has said it yet
    spoken      the segment's spoken words, exactly; or
    segment_id  the segment, where the words do not tell it: two of the same words said in two ways
    language    BCP 47 tag, of the language alone or with a region; any when it is left out

A row with `spoken` is found by the words, wherever an edit of the book has moved them.
"""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from loudr_core.canonical import digest
from loudr_core.errors import ConfigError

__all__ = ["PhonemeRow", "PhonemeTable", "read_phoneme_table", "write_phoneme_table"]

_KEYS: Final = ("segment_id", "language", "spoken", "phonemes")
_SCHEMA: Final = pa.schema([pa.field(key, pa.string()) for key in _KEYS])
_MOST_BYTES: Final = 1 << 30
_SHOWN: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class PhonemeRow:
    """One row; empty text where the row is silent, None where no phonemes are known."""

    segment_id: str = ""
    language: str = ""
    spoken: str = ""
    phonemes: str | None = None


class PhonemeTable:
    """Phonemes by the words that they are said for.

    Parameters
    ----------
    rows : iterable of PhonemeRow
    name : str
        What to call the table in messages.

    Raises
    ------
    ConfigError
        A row names neither words nor a segment, or two rows contradict one another.
    """

    def __init__(self, rows: Iterable[PhonemeRow], *, name: str = "the table") -> None:
        self.name = name
        self._rows = tuple(row for row in rows if row.phonemes is not None)
        self._exact: dict[tuple[str, str, str], str] = {}
        self._said: dict[tuple[str, str], list[str]] = {}
        self._used: set[str] = set()
        for row in self._rows:
            self._add(row, row.phonemes or "")

    def _add(self, row: PhonemeRow, phonemes: str) -> None:
        where = row.segment_id or _short(row.spoken)
        if not phonemes.strip():
            raise ConfigError(f"{self.name}: the phonemes of {where!r} are empty: remove the row")
        if not row.segment_id and not row.spoken:
            raise ConfigError(f"{self.name}: a row has neither spoken words nor a segment_id")
        if row.segment_id:
            key = (row.segment_id, row.language, row.spoken)
            if self._exact.setdefault(key, phonemes) != phonemes:
                raise ConfigError(f"{self.name}: two rows say {where!r} in two ways: remove one")
        if row.spoken:
            ways = self._said.setdefault((row.language, row.spoken), [])
            if phonemes not in ways:
                ways.append(phonemes)

    def __len__(self) -> int:
        return len(self._rows)

    def digest(self) -> str:
        """Return a digest of what the rows say, whatever their order."""
        return digest(["phonemes-1", sorted(list(asdict(row).values()) for row in self._rows)])

    def find(self, segment_id: str, language: str, spoken: str) -> str | None:
        """Return the phonemes of a segment, None when the table has none.

        Raises
        ------
        ConfigError
            Its words are said in two ways, and no row names the segment.
        """
        for tag in dict.fromkeys((language, language.partition("-")[0], "")):
            for words in (spoken, ""):
                found = self._exact.get((segment_id, tag, words))
                if found is not None:
                    self._used.add(words or segment_id)
                    return found
            ways = self._said.get((tag, spoken), [])
            if len(ways) > 1:
                raise ConfigError(
                    f"{self.name} says {_short(spoken)!r} in {len(ways)} ways, and {segment_id} "
                    "has these words: add a row with its segment_id",
                    segment=segment_id,
                )
            if ways:
                self._used.add(spoken)
                return ways[0]
        return None

    @property
    def used(self) -> bool:
        """Whether a `find` has found something."""
        return bool(self._used)

    @property
    def unused(self) -> list[str]:
        """What no `find` has asked for: the words of a row, or its segment."""
        names = dict.fromkeys(row.spoken or row.segment_id for row in self._rows)
        return [name for name in names if name not in self._used]


def read_phoneme_table(path: Path) -> PhonemeTable:
    """Read a table.

    Raises
    ------
    ConfigError
        The file is missing, is no such table, or its rows contradict one another.
    """
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= _MOST_BYTES else b""
    except OSError as error:
        raise ConfigError(
            f"cannot read the phonemes {path}: {error.strerror}; check the name", path=str(path)
        ) from None
    if size > _MOST_BYTES:
        raise ConfigError(f"{path}: {size} bytes are more than phonemes of a book", path=str(path))
    parquet = path.suffix.lower() == ".parquet"
    rows = _from_parquet(data, path) if parquet else list(_from_lines(data, path))
    if not rows:
        raise ConfigError(f"{path} holds no row: make one by `loudr phonemes`", path=str(path))
    return PhonemeTable(rows, name=str(path))


def write_phoneme_table(rows: Sequence[PhonemeRow], *, parquet: bool = False) -> bytes:
    """Return a table as a file: JSON lines, or Parquet."""
    if not parquet:
        lines = (json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)
        return "".join(lines).encode()
    sink = io.BytesIO()
    table = pa.Table.from_pylist([asdict(row) for row in rows], schema=_SCHEMA)
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def _from_lines(data: bytes, path: Path) -> Iterator[PhonemeRow]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path} is no table of phonemes: it is not UTF-8 at byte {error.start}",
            path=str(path),
        ) from None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ConfigError(
                f"{path}, line {number}: not JSON ({str(error)[:80]})", path=str(path), line=number
            ) from None
        yield _checked(row, f"{path}, line {number}")


def _checked(row: object, where: str) -> PhonemeRow:
    if not isinstance(row, Mapping):
        raise ConfigError(f"{where}: must be an object with {', '.join(_KEYS)}")
    if unknown := sorted(map(str, row.keys() - set(_KEYS))):
        raise ConfigError(f"{where}: no key {unknown[0][:40]!r}: there are {', '.join(_KEYS)}")
    if "phonemes" not in row:
        raise ConfigError(f"{where}: phonemes is missing; null where they are not known")
    values: dict[str, Any] = {}
    for key, value in row.items():
        if value is not None and not isinstance(value, str):
            raise ConfigError(f"{where}: {key} must be text, found {str(value)[:40]!r}")
        values[key] = value if key == "phonemes" else value or ""
    return PhonemeRow(**values)


def _from_parquet(data: bytes, path: Path) -> list[PhonemeRow]:
    # As `jobs.table` reads: Arrow's threads may outlive the interpreter.
    try:
        file = pq.ParquetFile(pa.BufferReader(data), pre_buffer=False)
        names = [name for name in _KEYS if name in file.schema_arrow.names]
        if "phonemes" not in names or not {"spoken", "segment_id"} & set(names):
            raise ConfigError(
                f"{path} is no table of phonemes: it needs the columns phonemes, and spoken or "
                "segment_id",
                path=str(path),
            )
        rows = file.read(columns=names, use_threads=False).to_pylist()
    except (pa.ArrowException, OSError) as error:
        reason = " ".join(str(error).split())[:120]
        raise ConfigError(f"{path} is no Parquet file ({reason})", path=str(path)) from None
    return [_checked(row, f"{path}, row {number}") for number, row in enumerate(rows, 1)]


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
