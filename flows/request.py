"""Parameters of the flows: what a form in the Prefect UI asks for."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from loudr_core.jobs.casting import parse_chapters

__all__ = ["PlanRequest", "RenderRequest", "parse_chapters"]

_Text = Annotated[str, Field(min_length=1, max_length=4096)]
_Chapter = Annotated[int, Field(ge=1, le=9_999)]


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
