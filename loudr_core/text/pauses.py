"""How long it is quiet after a segment, by what it is and what follows."""

from loudr_core.book.model import BlockKind
from loudr_core.text.model import Pauses

__all__ = ["pause_after"]

_HEADINGS = frozenset({"title", "heading"})


def pause_after(
    kind: BlockKind,
    following: BlockKind | None,
    *,
    same_block: bool,
    scene_break: bool,
    pauses: Pauses,
) -> int:
    """Return the silence after a segment, in milliseconds.

    Parameters
    ----------
    kind : BlockKind
        Of the segment.
    following : BlockKind or None
        Of the next segment of the chapter; None for the chapter's last.
    same_block : bool
        Both were cut out of one block.
    scene_break : bool
        A scene break stands between them.
    pauses : Pauses
    """
    if following is None:
        return pauses.chapter
    if same_block:
        return pauses.sentence
    if scene_break:
        return pauses.scene_break
    if kind in _HEADINGS:
        return pauses.heading
    if following in _HEADINGS:
        return pauses.before_heading
    if kind == following == "verse":
        return pauses.verse_line
    if kind == following == "list_item":
        return pauses.list_item
    return pauses.paragraph
