"""The zip container of an EPUB, read with limits and found by forgiving names.

Nothing is ever unpacked to disk, so a name such as `../../x` can only miss. An entry is read at
most once, in pieces, and never beyond its limit, whatever size its header claims.
"""

import io
import posixpath
import unicodedata
import zipfile
import zlib
from typing import Final
from urllib.parse import unquote

from loudr_core.errors import BookError
from loudr_core.findings import Finding

__all__ = [
    "MAX_ENTRIES",
    "MAX_ENTRY_BYTES",
    "MAX_RATIO",
    "MAX_TOTAL_BYTES",
    "Archive",
    "is_remote",
    "resolve",
    "split_fragment",
]

MAX_ENTRIES: Final = 20_000
MAX_ENTRY_BYTES: Final = 256 * 1024 * 1024
MAX_TOTAL_BYTES: Final = 2 * 1024**3
MAX_RATIO: Final = 500
"""Expanded size over packed size of one entry, above `_RATIO_FREE_BYTES`."""

_RATIO_FREE_BYTES: Final = 8 * 1024 * 1024
_PIECE: Final = 1024 * 1024
_SYMLINK_MODE: Final = 0o120000
_MODE_MASK: Final = 0o170000
_READ_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError)


class Archive:
    """An opened zip file whose entries are found by exact, decoded, composed or caseless name.

    Parameters
    ----------
    data : bytes
        The whole file.
    name : str
        What to call the file in messages.

    Raises
    ------
    BookError
        Not a zip file, cut short, or beyond a limit of this module.
    """

    def __init__(self, data: bytes, *, name: str) -> None:
        self.name = name
        self.findings: list[Finding] = []
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            infos = self._zip.infolist()
        except (*_READ_ERRORS, NotImplementedError, IndexError) as error:
            raise BookError(
                f"{name} is not a whole zip file ({error}); download or export the book again",
                path=name,
            ) from None
        if len(infos) > MAX_ENTRIES:
            raise BookError(
                f"{name} holds {len(infos)} entries, more than {MAX_ENTRIES}; it is not a book",
                path=name,
            )
        self._spent = 0
        self._cache: dict[str, bytes] = {}
        self._exact: dict[str, zipfile.ZipInfo] = {}
        self._loose: dict[str, str] = {}
        for info in infos:
            self._add(info)

    def _add(self, info: zipfile.ZipInfo) -> None:
        if info.is_dir():
            return
        if (info.external_attr >> 16) & _MODE_MASK == _SYMLINK_MODE:
            self._find(
                "book-symlink", "warning", f"{info.filename} is a link and is left out", info
            )
            return
        name = info.filename.replace("\\", "/")
        if _escapes(name):
            self._find(
                "book-outside-path",
                "warning",
                f"entry {name} points outside of the archive and is left out",
                info,
            )
            return
        name = posixpath.normpath(name)
        if name in self._exact:
            self._find(
                "book-duplicate-entry",
                "warning",
                f"{name} is in the archive more than once; the last one counts",
                info,
            )
        self._exact[name] = info
        self._loose.setdefault(_loose_key(name), name)

    def _find(self, code: str, severity: str, message: str, info: zipfile.ZipInfo) -> None:
        self.findings.append(
            Finding(code=code, severity=severity, message=message, where={"path": info.filename})  # type: ignore[arg-type]  # literals above
        )

    def names(self) -> list[str]:
        """Return the names of all entries that can be read, in archive order."""
        return list(self._exact)

    def locate(self, path: str) -> str | None:
        """Return the name of the entry that `path` means, or None.

        Tried in turn: the path, percent-decoded, and both compared without case and Unicode
        composition, since archives made on other systems differ in these.
        """
        for candidate in (path, unquote(path)):
            clean = posixpath.normpath(candidate.replace("\\", "/"))
            if clean in self._exact:
                return clean
        for candidate in (path, unquote(path)):
            clean = posixpath.normpath(candidate.replace("\\", "/"))
            found = self._loose.get(_loose_key(clean))
            if found is not None:
                return found
        return None

    def read(self, name: str) -> bytes:
        """Return the bytes of an entry that `locate` has named.

        Raises
        ------
        KeyError
            There is no such entry.
        BookError
            The entry is damaged, protected by a password, or beyond a limit.
        """
        if name not in self._cache:
            self._cache[name] = self._read(self._exact[name])
        return self._cache[name]

    def _read(self, info: zipfile.ZipInfo) -> bytes:
        if info.flag_bits & 0x1:
            raise BookError(
                f"{info.filename} in {self.name} needs a password; loudr reads open books only",
                path=info.filename,
            )
        pieces: list[bytes] = []
        size = 0
        try:
            with self._zip.open(info) as stream:
                while piece := stream.read(_PIECE):
                    size += len(piece)
                    self._check_size(info, size)
                    pieces.append(piece)
        except (*_READ_ERRORS, NotImplementedError) as error:
            raise BookError(
                f"{info.filename} in {self.name} is damaged ({error}); export the book again",
                path=info.filename,
            ) from None
        self._spent += size
        return b"".join(pieces)

    def _check_size(self, info: zipfile.ZipInfo, size: int) -> None:
        packed = max(info.compress_size, 1)
        if size > MAX_ENTRY_BYTES or self._spent + size > MAX_TOTAL_BYTES:
            what = f"is larger than {MAX_ENTRY_BYTES // 1024**2} MiB"
        elif size > _RATIO_FREE_BYTES and size / packed > MAX_RATIO:
            what = f"expands more than {MAX_RATIO} times"
        else:
            return
        raise BookError(
            f"{info.filename} in {self.name} {what}; the file was not made as a book",
            path=info.filename,
        )


def _escapes(name: str) -> bool:
    clean = posixpath.normpath(name)
    return clean.startswith(("/", "../")) or clean in {"..", "."} or "\0" in name


def _loose_key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def is_remote(href: str) -> bool:
    """Return whether a reference leads to another place than the archive."""
    head = href.strip().split("/", 1)[0].split("?", 1)[0].split("#", 1)[0]
    scheme, colon, _ = head.partition(":")
    if colon and len(scheme) > 1 and scheme.replace("+", "").replace("-", "").isalnum():
        return True
    return href.strip().startswith("//")


def split_fragment(href: str) -> tuple[str, str]:
    """Return the path and the decoded fragment of a reference; query parts are dropped."""
    path, _, fragment = href.strip().partition("#")
    return path.partition("?")[0], unquote(fragment)


def resolve(base: str, href: str) -> str:
    """Return the archive path that `href`, met in the file `base`, means; still percent-encoded.

    A leading slash means the root of the archive, and climbing above the root stays there, as
    EPUB 3.3 section 4.2.3 has it for container-root-relative URLs.
    """
    path = split_fragment(href)[0]
    if not path:
        return base
    joined = posixpath.normpath(posixpath.join("/", posixpath.dirname(base), path))
    return joined.lstrip("/")
