"""Parameters of the flows: what a form in the Prefect UI asks for."""

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["PlanRequest", "RenderRequest", "parse_chapters"]


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
        Folder that receives the finished files; only the store when None.
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
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ValueError(f"{text!r} is not a list of chapters such as 1-3,7")
        low, high = int(first), int(last) if dash else int(first)
        if not 1 <= low <= high <= 9999:
            raise ValueError(f"{part.strip()!r} is not a range of chapters such as 1-3")
        numbers.update(range(low, high + 1))
    return frozenset(numbers)
