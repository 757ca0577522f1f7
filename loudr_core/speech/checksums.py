"""SHA256SUMS: whether a folder holds the files of a release; loudr-1 specification, section 3.5.

The rules are those that the reference applies to a download. A local folder is compared only when
somebody asks, and by the stricter rules of an official release only when they say so. Unlike the
reference, linked folders are walked too: what can be opened through a link is compared.
"""

import os
import posixpath
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from loudr_core.errors import BundleError
from loudr_core.speech.files import entries, file_sha256, is_folder, is_there, read_whole
from loudr_core.speech.json_values import parse_object, shown

__all__ = ["CheckedFile", "FileState", "SUMS_NAME", "check_tree", "parse_sums"]

SUMS_NAME: Final = "SHA256SUMS"
_RELEASE_NAME: Final = "release.json"
_SKIPPED: Final = frozenset({SUMS_NAME, ".gitattributes", ".loudkit-release.json"})
"""Files at the top that belong to the transport, not to the release."""
_SKIPPED_FOLDER: Final = ".cache"
_PROFILES: Final = ("full-0.1", "turbo-0.1")
_WEIGHTS: Final = ".safetensors"
_MOST_BYTES: Final = 16 << 20
_MOST_ENTRIES: Final = 10_000
"""Of a tree; a release has some dozens, a folder with a link to the whole disk has millions."""
_LINE: Final = re.compile(r"([0-9a-f]{64})  (\S.*)")
_DRIVE: Final = re.compile(r"[A-Za-z]:/")
_AGAIN: Final = "get the release again"

FileState = Literal["ok", "mismatch", "absent", "unlisted", "refused"]
"""`absent` and `unlisted` are allowed, `mismatch` and `refused` are not."""


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """One file of a tree: its POSIX name, how it compares, and why where that is not plain."""

    name: str
    state: FileState
    detail: str = ""

    @property
    def ok(self) -> bool:
        """Whether the file may be used."""
        return self.state not in ("mismatch", "refused")


def parse_sums(path: Path) -> dict[str, str]:
    """Return file name to SHA-256 of a SHA256SUMS file.

    Raises
    ------
    BundleError
        The file cannot be read, a line is malformed, a name is listed twice or leads out of the
        folder, or nothing is listed.
    """
    sums: dict[str, str] = {}
    for number, line in enumerate(_read_text(path).splitlines(), start=1):
        text = line.rstrip("\r")
        if not text.strip():
            continue
        match = _LINE.fullmatch(text)
        if match is None:
            raise _fault(path, number, f"is malformed: {shown(text)}")
        digest, name = match.groups()
        if problem := _name_problem(name):
            raise _fault(path, number, f"names {shown(name)}, which {problem}")
        if name in sums:
            raise _fault(path, number, f"names {shown(name)} a second time")
        sums[name] = digest
    if not sums:
        raise BundleError(f"{path} lists no file: {_AGAIN}", path=str(path))
    return sums


def check_tree(folder: Path, *, official: bool = False) -> Iterator[CheckedFile]:
    """Compare every file of a folder with its SHA256SUMS, one by one.

    Parameters
    ----------
    folder : Path
        Where SHA256SUMS lies.
    official : bool
        Hold the folder to the rules of an official release: SHA256SUMS and a verified
        `release.json` must be there, and no other file than those listed.

    Yields
    ------
    CheckedFile
        A row for each listed and each present file, names ascending. Nothing when there is no
        SHA256SUMS and none is asked for.

    Raises
    ------
    BundleError
        SHA256SUMS or `release.json` is missing, no regular file, malformed, or lists none of the
        files; or the folder holds more than 10,000.
    """
    path = folder / SUMS_NAME
    if not is_there(path):
        if official:
            raise BundleError(
                f"{path} is missing, and every official release has one: {_AGAIN}", path=str(path)
            )
        return
    if official:
        _check_release(folder / _RELEASE_NAME)
    sums = parse_sums(path)
    present = _files(folder)
    if not sums.keys() & present.keys():
        raise BundleError(
            f"{path} lists {len(sums)} files, and none of them is there: {_AGAIN}", path=str(path)
        )
    for name in sorted(sums.keys() | present.keys()):
        yield _compare(name, sums.get(name), present.get(name), official=official)


def _compare(name: str, wanted: str | None, file: Path | None, *, official: bool) -> CheckedFile:
    if file is None:
        return CheckedFile(name, "absent", f"listed in {SUMS_NAME} and not here")
    if wanted is None:
        if name.endswith(_WEIGHTS) or official:
            return CheckedFile(name, "refused", f"not listed in {SUMS_NAME}")
        return CheckedFile(name, "unlisted", f"not listed in {SUMS_NAME}, so not compared")
    try:
        found = file_sha256(file)
    except BundleError as error:
        return CheckedFile(name, "refused", error.message)
    if found != wanted:
        return CheckedFile(name, "mismatch", f"SHA-256 is {found}, {SUMS_NAME} has {wanted}")
    return CheckedFile(name, "ok")


def _check_release(path: Path) -> None:
    """Refuse a release file that does not say that the release was verified by its builder."""
    release: Mapping[str, object] = parse_object(
        _read_text(path), what="release description", path=path
    )
    profile = release.get("profile")
    if not isinstance(profile, str) or profile not in _PROFILES:
        raise BundleError(
            f"{path}: key 'profile' must be {' or '.join(map(repr, _PROFILES))}, "
            f"found {shown(profile)}: it is no official release",
            path=str(path),
            key="profile",
        )
    if release.get("verified") is not True:
        raise BundleError(
            f"{path}: key 'verified' must be true, found {shown(release.get('verified'))}: "
            "its builder never heard it speak",
            path=str(path),
            key="verified",
        )


def _files(folder: Path) -> dict[str, Path]:
    """Return everything below a folder that is no folder by its POSIX name, links followed.

    Real folders come before linked ones, and none is walked twice, so circles end.
    """
    found: dict[str, Path] = {}
    seen: set[str] = set()
    looked_at = 0
    waiting = deque([folder])
    while waiting:
        at = waiting.popleft()
        real = os.path.realpath(at)
        if real in seen:
            continue
        seen.add(real)
        for entry in entries(at):
            looked_at += 1
            if looked_at > _MOST_ENTRIES:
                raise BundleError(
                    f"{folder} holds more than {_MOST_ENTRIES:,} files, the last of them in {at}: "
                    "remove what is no part of the release, such as a link to another folder",
                    path=str(folder),
                )
            name = _spelled(entry.relative_to(folder))
            if not is_folder(entry):
                # A pipe or the like is among them, and is refused when it is to be read.
                if name not in _SKIPPED and is_there(Path(os.path.realpath(entry))):
                    found[name] = entry
            elif name != _SKIPPED_FOLDER:
                if entry.is_symlink():
                    waiting.append(entry)
                else:
                    waiting.appendleft(entry)
    return found


def _spelled(path: Path) -> str:
    # SHA256SUMS is UTF-8, and lists no name with a backslash: one that is not stays unlisted.
    # Nor does it list one of several lines.
    name = path.as_posix().encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return name.replace("\n", "\\n").replace("\r", "\\r")


def _name_problem(name: str) -> str | None:
    if "\\" in name:
        return "has a backslash"
    if name.startswith("/") or _DRIVE.match(name):
        return "is absolute"
    if ".." in name.split("/"):
        return "leads out of the folder"
    if posixpath.normpath(name) != name or name == ".":
        return "is not normalised"
    return None


def _read_text(path: Path) -> str:
    try:
        return read_whole(path, most_bytes=_MOST_BYTES, advice=_AGAIN).decode("utf-8")
    except UnicodeDecodeError:
        raise BundleError(f"{path} is not UTF-8: {_AGAIN}", path=str(path)) from None


def _fault(path: Path, line: int, problem: str) -> BundleError:
    return BundleError(f"{path}: line {line} {problem}: {_AGAIN}", path=str(path), line=line)
