"""Text under edit that remembers where each character came from.

A normaliser is a row of small rewrites. `Draft` applies them and keeps, for every character of the
text as it now stands, the stretch of the original it stands for and the rule that wrote it; what a
rule removed is kept as a deletion under the rule's name. So the finished text can be laid beside
the source, word by word.
"""

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["DELETING_RULES", "Draft", "Mapping", "Normalized", "unspoken_words"]

DELETING_RULES = frozenset(
    {"note-number", "note-sign", "url-scheme", "emoji-modifier", "ornament", "trademark"}
)
"""Rules that may leave a word of the source unsaid."""

Rewrite = Callable[[re.Match[str]], str | None]


@dataclass(frozen=True, slots=True)
class Mapping:
    """What one stretch of source became.

    Parameters
    ----------
    start, end : int
        Half-open interval of the source; empty for what a rule added.
    spoken_start, spoken_end : int
        Half-open interval of the spoken text; empty for what a rule deleted.
    rule : str
        Name of the rule; empty when the characters were taken over as they are, in which case both
        intervals have one length.
    """

    start: int
    end: int
    spoken_start: int
    spoken_end: int
    rule: str


@dataclass(frozen=True, slots=True)
class Normalized:
    """Spoken text and how it lies over its source; `offsets` ascend in the spoken text."""

    spoken: str
    offsets: tuple[Mapping, ...]


class Draft:
    """A text being rewritten, with the origin of each of its characters.

    Parameters
    ----------
    text : str
        The source.
    """

    __slots__ = ("_deleted", "_ends", "_rules", "_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = list(range(len(text)))
        self._ends = list(range(1, len(text) + 1))
        self._rules = [""] * len(text)
        self._deleted: list[tuple[int, int, str]] = []

    def rewrite(self, rule: str, pattern: re.Pattern[str], replacement: Rewrite | str) -> bool:
        """Replace every match of a pattern.

        Parameters
        ----------
        rule : str
            Name under which the change is recorded.
        pattern : compiled pattern
        replacement : str or callable
            The new text, or a function of the match; None leaves the match as it is.

        Returns
        -------
        bool
            Whether anything changed.
        """
        changes: list[tuple[int, int, str]] = []
        for match in pattern.finditer(self.text):
            new = replacement if isinstance(replacement, str) else replacement(match)
            if new is not None and new != match[0]:
                changes.append((match.start(), match.end(), new))
        if changes:
            self._apply(rule, changes)
        return bool(changes)

    def insert(self, rule: str, position: int, text: str) -> None:
        """Add text that stands for nothing in the source."""
        self._apply(rule, [(position, position, text)])

    def is_one_rewrite(self, start: int, end: int) -> bool:
        """Return whether one change of one rule wrote all characters of a stretch."""
        return bool(self._rules[start]) and all(
            len(set(column[start:end])) == 1 for column in (self._rules, self._starts, self._ends)
        )

    def _apply(self, rule: str, changes: list[tuple[int, int, str]]) -> None:
        pieces: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        rules: list[str] = []
        done = 0
        for left, right, new in changes:
            start, end, middle = _shrink(self.text, left, right, new)
            pieces += (self.text[done:start], middle)
            starts += self._starts[done:start]
            ends += self._ends[done:start]
            rules += self._rules[done:start]
            if start < end:
                source = (min(self._starts[start:end]), max(self._ends[start:end]))
            else:
                at = self._starts[start] if start < len(self._starts) else self._end()
                source = (at, at)
            if middle:
                starts += [source[0]] * len(middle)
                ends += [source[1]] * len(middle)
                rules += [rule] * len(middle)
            elif source[0] < source[1]:
                self._deleted.append((*source, rule))
            done = end
        pieces.append(self.text[done:])
        self._starts = starts + self._starts[done:]
        self._ends = ends + self._ends[done:]
        self._rules = rules + self._rules[done:]
        self.text = "".join(pieces)

    def _end(self) -> int:
        return max(self._ends, default=0)

    def finish(self) -> Normalized:
        """Return the text as it stands, with its offset map."""
        offsets = list(self._runs())
        for start, end, rule in self._deleted:
            at = bisect_left(self._starts, start)
            offsets.append(Mapping(start, end, at, at, rule))
        offsets.sort(key=lambda item: (item.spoken_start, item.start, item.end))
        return Normalized(self.text, tuple(offsets))

    def _runs(self) -> list[Mapping]:
        runs: list[Mapping] = []
        total = len(self.text)
        first = 0
        while first < total:
            start, end, rule = self._starts[first], self._ends[first], self._rules[first]
            last = first + 1
            while last < total and self._rules[last] == rule:
                if rule:
                    if self._starts[last] != start or self._ends[last] != end:
                        break
                elif self._starts[last] != self._ends[last - 1]:
                    break
                last += 1
            runs.append(Mapping(start, end if rule else self._ends[last - 1], first, last, rule))
            first = last
        return runs


def _shrink(text: str, left: int, right: int, new: str) -> tuple[int, int, str]:
    """Leave what both sides share at their ends out of a change, so that the map stays fine."""
    low = 0
    limit = min(right - left, len(new))
    while low < limit and text[left + low] == new[low]:
        low += 1
    high = 0
    limit -= low
    while high < limit and text[right - 1 - high] == new[-1 - high]:
        high += 1
    return left + low, right - high, new[low : len(new) - high]


_WORD = re.compile(r"[^\W_]+")


def unspoken_words(text: str, normalized: Normalized) -> list[tuple[int, int]]:
    """Return the words of a text that no spoken word and no deleting rule accounts for.

    A word is accounted for when some character of it went into spoken letters or digits, or when
    every one of its characters was deleted by a rule of `DELETING_RULES`.

    Parameters
    ----------
    text : str
        The source that was normalised.
    normalized : Normalized

    Returns
    -------
    list of (start, end)
        Half-open intervals of `text`; empty when every word is accounted for.
    """
    spoken = bytearray(len(text))
    for item in normalized.offsets:
        piece = normalized.spoken[item.spoken_start : item.spoken_end]
        if item.rule in DELETING_RULES:
            spoken[item.start : item.end] = b"\1" * (item.end - item.start)
        elif item.rule:
            if any(character.isalnum() for character in piece):
                spoken[item.start : item.end] = b"\1" * (item.end - item.start)
        else:
            for offset, character in enumerate(piece):
                if character.isalnum():
                    spoken[item.start + offset] = 1
    return [
        match.span()
        for match in _WORD.finditer(text)
        if not any(spoken[match.start() : match.end()])
    ]
