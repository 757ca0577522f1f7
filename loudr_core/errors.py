"""Every error loudr reports, its exit code, and whether trying again can help.

    LoudrError
    ├── ConfigError        3   a profile, argument or environment variable is wrong
    ├── BookError          4   the book cannot be read, or a word of it would be lost
    ├── BundleError        5   model files are missing, damaged or do not fit together
    ├── DeviceError        6   the asked-for provider, process or memory is not there
    ├── SynthesisError     7   an engine could not speak a segment
    ├── QualityError       8   speech was made and is not good enough; carries findings
    ├── StoreError         9   the store answered no
    │   └── StoreUnavailable   the store did not answer; worth another try
    └── PublishError      10   the finished file could not be written or delivered

A caller's mistake is a `ValueError`. These are facts of the world: one line, an exit code, no
traceback. Exit codes 0, 1, 2 and 130 are done, a bug in loudr, wrong usage and interrupted.
"""

from typing import ClassVar

from loudr_core.printable import printable

__all__ = [
    "BookError",
    "BundleError",
    "ConfigError",
    "DeviceError",
    "Interrupted",
    "LoudrError",
    "PublishError",
    "QualityError",
    "StoreError",
    "StoreUnavailable",
    "SynthesisError",
]


class Interrupted(Exception):
    """The render was asked to stop; what is finished stays finished. No error: exit code 130."""


class LoudrError(Exception):
    """One line for a person, and a context for programs.

    Parameters
    ----------
    message : str
        What is wrong, with what, and what to do; made one printable line.
    **context
        Facts such as `book`, `chapter`, `segment`, `path`, `found`, `expected`; values that
        JSON can hold. Kept in `context`; survives pickling between processes.
    """

    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, /, **context: object) -> None:
        # Names from outside stand in it, and a line's end or an escape in one is not ours to print.
        self.message = printable(message)
        super().__init__(self.message)
        self.context = context

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the context as state: keyword-only arguments would be lost otherwise."""
        return (_rebuild, (type(self), self.message, self.context))


def _rebuild(cls: type[LoudrError], message: str, context: dict[str, object]) -> LoudrError:
    return cls(message, **context)


class ConfigError(LoudrError):
    """A profile, an argument or an environment variable is wrong."""

    exit_code = 3


class BookError(LoudrError):
    """The book cannot be read or narrated, or its plan would lose a word."""

    exit_code = 4


class BundleError(LoudrError):
    """Model files are missing, damaged or do not fit together."""

    exit_code = 5


class DeviceError(LoudrError):
    """The provider, process or memory that was asked for is not there."""

    exit_code = 6


class SynthesisError(LoudrError):
    """An engine could not speak a segment."""

    exit_code = 7


class QualityError(LoudrError):
    """Speech was made and is not good enough; `context["findings"]` says why."""

    exit_code = 8


class StoreError(LoudrError):
    """The store refused, or holds something that cannot be."""

    exit_code = 9


class StoreUnavailable(StoreError):
    """The store did not answer; the same call may succeed later."""

    retryable = True


class PublishError(LoudrError):
    """A finished file could not be written, checked or delivered."""

    exit_code = 10
