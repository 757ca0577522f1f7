"""What loudr has to say about a book, a take or a file: a code, a severity, a sentence, a place."""

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Finding", "Severity"]

Severity = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One observation.

    Parameters
    ----------
    code : str
        Stable, lower-case words joined by dashes, with the area first: `book-missing-resource`,
        `audio-clipping`. Tests and profiles name it.
    severity : {"info", "warning", "error"}
        `error` on a take condemns it; `error` on a book flags the book.
    message : str
        One sentence for a person.
    where : dict of str to str, int or float
        `href`, `chapter`, `segment_id`, `start_s`, `end_s`, `path`, …
    """

    code: str
    severity: Severity
    message: str
    where: dict[str, str | int | float] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        """Return the JSON form: code, severity, message, where."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "where": dict(self.where),
        }

    @classmethod
    def from_dict(cls, data: dict[str, object]) -> "Finding":
        """Return the finding whose `as_dict` is `data`."""
        return cls(**data)  # type: ignore[arg-type]  # the JSON we wrote ourselves
