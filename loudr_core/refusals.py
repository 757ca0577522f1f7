"""What an operating system's refusal of a file or folder means, and what to do about it."""

import errno

__all__ = ["DISK_FULL", "explain"]

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Error numbers of a file system without room."""

_MEANINGS = {
    errno.EACCES: "permission denied; choose a place that you may write to",
    errno.EPERM: "not permitted; choose a place that you may write to",
    errno.EROFS: "the file system is read-only; choose another place",
    errno.EEXIST: "there is a file of that name; give a folder",
    errno.ENOTDIR: "a part of it is a file; give a folder",
    errno.EISDIR: "there is a folder of that name; give another name",
    errno.ENOENT: "it is not there and cannot be made; choose another place",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
    errno.EMFILE: "too many files are open; raise the limit (ulimit -n)",
    errno.ENOSPC: "the disk is full; free some space and run again",
    errno.EDQUOT: "the disk quota is used up; free some space and run again",
}


def explain(error: OSError) -> str:
    """Return why a path could not be written and what to do, in one clause each."""
    meaning = _MEANINGS.get(error.errno or 0)
    return meaning or f"{error.strerror or error}; choose another place"
