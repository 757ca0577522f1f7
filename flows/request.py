"""Parameters of the flows: what a form in the Prefect UI asks for."""

import re

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["PlanRequest", "RenderRequest", "parse_chapters"]

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
    """One book to render.

    Parameters
    ----------
    book : str
        Path of an EPUB, Markdown or text file.
    dest : str or None
        Folder or `s3://bucket/prefix` that receives the finished files; only the store when None.
    profile : str or None
        A TOML file or the name of a shipped profile.
    chapters : list of int or None
        Chapter numbers; all when None.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    book: str
    dest: str | None = None
    profile: str | None = None
    chapters: tuple[int, ...] | None = Field(default=None)
    allow_gaps: bool = False
    replan: bool = False
    report: bool = Field(
        default=True, description="Write the listening report into the store and link to it."
    )
    live: str = ""
    """Name of a render that this process has opened already."""


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
