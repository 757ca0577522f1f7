"""What a segment says: its lines normalised one by one and joined.

A segment's text holds a newline wherever one block ends and the next begins. The plan and its audit
both come here, so that the audit can say again what the plan said.
"""

import re

from loudr_core.book.model import BlockKind
from loudr_core.text.draft import Draft, Mapping, Normalized, unspoken_words
from loudr_core.text.model import Normalizer
from loudr_core.text.normalize import normalize

__all__ = ["has_word", "line_starts", "speak", "unspoken"]

_HEADINGS = frozenset({"title", "heading"})
_CLOSERS = "\"')”’»“‘«"
_SPACES = re.compile(r"\s+")
_SUSPENDED = re.compile(r"\W*(?:and|or|to|nor)\b")
"""What follows the first part of "pre- and post-war"."""
_BROKEN_WORD = re.compile(r"[^\W\d_]-\Z")


def has_word(text: str) -> bool:
    """Return whether a text holds a letter or digit."""
    return any(character.isalnum() for character in text)


def speak(
    text: str, kind: BlockKind, language: str, normalizer: Normalizer = "loudr"
) -> Normalized:
    """Return the spoken form of a segment's text.

    Parameters
    ----------
    text : str
        Slices of blocks, a newline between two blocks.
    kind : BlockKind
        Of all of them; headings are read as titles.
    language : str
        BCP 47 tag.
    normalizer : {"loudr", "none"}
        With "none" words and marks stay as they are, and only white space is tidied.

    Returns
    -------
    Normalized
        Offsets are over the whole `text`.
    """
    if "\n" not in text:
        return _speak_line(text, kind, language, normalizer)
    spoken = ""
    offsets: list[Mapping] = []
    position = 0
    for line in text.split("\n"):
        part = _speak_line(line, kind, language, normalizer)
        if spoken and part.spoken:
            spoken += _joint(spoken, line, kind)
        base = len(spoken)
        offsets += (
            Mapping(
                item.start + position,
                item.end + position,
                item.spoken_start + base,
                item.spoken_end + base,
                item.rule,
            )
            for item in part.offsets
        )
        spoken += part.spoken
        position += len(line) + 1
    return Normalized(spoken, tuple(offsets))


def _speak_line(line: str, kind: BlockKind, language: str, normalizer: Normalizer) -> Normalized:
    if normalizer == "loudr":
        return normalize(line, language=language, heading=kind in _HEADINGS)
    draft = Draft(line)
    draft.rewrite("space", _SPACES, " ")
    draft.rewrite("space", re.compile(r"^ | $"), "")
    return draft.finish()


def _joint(before: str, line: str, kind: BlockKind) -> str:
    """Return what parts two lines: a mark where the first has none and does not run on.

    `before` is spoken already, `line` is source: the words of "2 eggs" would look like a line that
    runs on.
    """
    if before.rstrip(_CLOSERS)[-1:] in tuple(".!?,;:—…"):
        return " "
    runs_on = line.lstrip(_CLOSERS + " ")[:1].islower()
    if runs_on and _BROKEN_WORD.search(before) and not _SUSPENDED.match(line):
        return ""
    if kind in {"verse", "table"} or (kind == "list_item" and runs_on):
        return ", "
    return " " if runs_on else ". "


def line_starts(
    text: str, kind: BlockKind, language: str, normalizer: Normalizer = "loudr"
) -> tuple[int, ...]:
    """Return the offsets in the spoken form at which the second and later lines of a text start."""
    starts = []
    lines = text.split("\n")
    for count in range(1, len(lines)):
        before = speak("\n".join(lines[:count]), kind, language, normalizer).spoken
        after = _speak_line(lines[count], kind, language, normalizer).spoken
        if before and after:
            starts.append(len(before + _joint(before, lines[count], kind)))
    return tuple(starts)


def unspoken(
    text: str, kind: BlockKind, language: str, normalizer: Normalizer = "loudr"
) -> list[tuple[int, int]]:
    """Return the words of a segment's text that its spoken form does not account for."""
    return unspoken_words(text, speak(text, kind, language, normalizer))
