"""Out of memory, told from what else may go wrong while an engine speaks.

A process that had no room for one unit may have none for the next: nobody knows what it holds. It
is ended and replaced, and the unit is tried once more in a process that has nothing else to do.
"""

from loudr_core.errors import LoudrError

__all__ = ["OUT_OF_MEMORY", "OutOfMemory", "is_out_of_memory"]

OUT_OF_MEMORY = 86
"""Exit code of an engine process that ended itself for this."""

_WORDS = (
    "bad_alloc",
    "bad allocation",
    "out of memory",
    "cannot allocate memory",
    "failed to allocate memory",
    "unable to allocate",
    "cuda_error_out_of_memory",
)
"""Of the C++ library, onnxruntime, CUDA, the C library and numpy."""
_QUOTING = (LoudrError, OSError, ValueError, LookupError)
"""May have words of a book in their message, and a book may say anything."""


class OutOfMemory(Exception):
    """An engine had no room for what it was asked."""


def is_out_of_memory(error: BaseException) -> bool:
    """Say whether an error, or what led to it, is that there was no memory."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (MemoryError, OutOfMemory)):
            return True
        if not isinstance(cause, _QUOTING) and any(word in str(cause).lower() for word in _WORDS):
            return True
        cause = cause.__cause__ or cause.__context__
    return False
