"""Parameters of the flows: what a form in the Prefect UI asks for."""

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["PlanRequest", "RenderRequest", "parse_chapters"]

_Text = Annotated[str, Field(min_length=1, max_length=4096)]
_Chapter = Annotated[int, Field(ge=1, le=9_999)]
_RANGE = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?")


class PlanRequest(BaseModel):
    """One book to plan.

    Parameters
    ----------
    book : str
        Path of an EPUB, Markdown or text file.
    profile : str or None
        A TOML file or the name of a shipped profile.
    replan : bool
        Make the plan again even if it is there.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    book: str
    profile: str | None = None
    replan: bool = False


class RenderRequest(BaseModel):
    """One book to render."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    book: _Text = Field(description="Path or s3://bucket/key of an EPUB, Markdown or text file.")
    dest: _Text | None = Field(
        default=None,
        description="Folder or s3://bucket/prefix for the finished files; only loudr's store when "
        "empty.",
    )
    profile: _Text | None = Field(
        default=None,
        description="A shipped profile, such as audiobook or acx, or a TOML file of this machine.",
    )
    voice: _Text | None = Field(
        default=None, description="A voice of the engine; the profile's own when empty."
    )
    store: _Text | None = Field(
        default=None,
        description="Where plans, takes and results lie: a folder or s3://bucket/prefix; the "
        "default when empty.",
    )
    chapters: tuple[_Chapter, ...] | None = Field(
        default=None, max_length=9_999, description="Numbers of chapters; all when empty."
    )
    allow_gaps: bool = Field(
        default=False, description="Finish although a segment has no audio, and say so in the file."
    )
    replan: bool = Field(default=False, description="Make the plan again even if it is there.")
    report: bool = Field(
        default=True, description="Write the listening report into the store and link to it."
    )
    live: str = Field(
        default="",
        max_length=100,
        description="Name of a render that this process has opened already. Not for a person.",
    )


def parse_chapters(text: str) -> frozenset[int]:
    """Return the chapter numbers of a list such as `1-3,7`.

    Raises
    ------
    ValueError
        It is not such a list.
    """
    numbers: set[int] = set()
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip())
        if found is None:
            raise ValueError(f"{part.strip()[:40]!r} is not a list of chapters such as 1-3,7")
        low, high = int(found[1]), int(found[2] or found[1])
        if not 1 <= low <= high:
            raise ValueError(f"{part.strip()!r} is not a range of chapters such as 1-3")
        numbers.update(range(low, high + 1))
    return frozenset(numbers)
