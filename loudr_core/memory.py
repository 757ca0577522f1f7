"""What the C library does with memory that is freed: keep it for the next arrays.

glibc gives it back to the kernel as soon as it is free at the top of a heap, and the arrays of the
next take or block are faulted in anew, page by page: up to 200 faults a segment, and a tenth of the
processor time of mastering.
"""

import contextlib
import ctypes

__all__ = ["keep_memory"]

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of malloc.h
_OPTIONS = {_M_MMAP_THRESHOLD: 8 << 20, _M_TRIM_THRESHOLD: 64 << 20}
"""Arrays of up to 8 MiB come from a heap, and 64 MiB at the top of each are kept."""


def keep_memory() -> None:
    """Keep freed memory in this process, where the C library can be told to; else do nothing."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # musl, macOS, Windows
        mallopt = ctypes.CDLL(None).mallopt
        for option, value in _OPTIONS.items():
            mallopt(option, value)
