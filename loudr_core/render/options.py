"""How a book is rendered, apart from how it sounds: what a command or a flow was told."""

from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["AboutBook", "RenderOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutBook:
    """What a person says of a book that it does not say itself, or says wrongly.

    Parameters
    ----------
    language : str
        BCP 47 tag, or a word for a language that books use; empty for what the book says.
    cover : Path, optional
        A JPEG or PNG.
    phonemes : Path, optional
        A table of phonemes, as `loudr phonemes` makes it.
    """

    language: str = ""
    cover: Path | None = None
    phonemes: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderOptions:
    """How a book is rendered, apart from how it sounds.

    Parameters
    ----------
    chapters : frozenset of int, or None
        Numbers of the chapters wanted; all when None.
    allow_gaps : bool
        Finish the book although a segment has no audio, and say so in the file.
    replan : bool
        Make the plan again.
    workers : int
        Engine processes, and threads of the stages after them.
    profile_name : str
        What people call the profile; it tells files of one book apart.
    about : AboutBook
        What is said of the book from outside; counts when the plan is made from a file.
    overwrite : bool
        Replace another book's file of the same name.
    """

    chapters: frozenset[int] | None = None
    allow_gaps: bool = False
    replan: bool = False
    workers: int = 1
    profile_name: str = ""
    about: AboutBook = field(default_factory=AboutBook)
    overwrite: bool = False
