"""What an operating system's refusal of a file or folder means, and what to do about it."""

import errno

__all__ = ["explain", "reason"]

_CHOOSE = "choose another place"
_MEANINGS = {
    errno.EACCES: ("permission denied", "choose a place that you may write to"),
    errno.EPERM: ("not permitted", "choose a place that you may write to"),
    errno.EROFS: ("the file system is read-only", _CHOOSE),
    errno.EEXIST: ("there is a file of that name", "give a folder"),
    errno.ENOTDIR: ("it is a file, or lies below one", "give a folder"),
    errno.EISDIR: ("there is a folder of that name", "give another name"),
    errno.ENOENT: ("it is not there and cannot be made", _CHOOSE),
    errno.ENAMETOOLONG: ("the name is too long", "choose a shorter one"),
    errno.EMFILE: ("too many files are open", "raise the limit (ulimit -n)"),
    errno.ENOSPC: ("the disk is full", "free some space and run again"),
    errno.EDQUOT: ("the disk quota is used up", "free some space and run again"),
}


def explain(error: OSError) -> str:
    """Return why a path could not be written and what to do, in one clause each."""
    return "; ".join(_meaning(error))


def reason(error: OSError) -> str:
    """Return only why a path could not be written."""
    return _meaning(error)[0]


def _meaning(error: OSError) -> tuple[str, str]:
    return _MEANINGS.get(error.errno or 0, (error.strerror or str(error), _CHOOSE))
