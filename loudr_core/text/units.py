"""Segments in the making: a block cut into units, and short whole blocks joined to one."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from loudr_core.book.model import Block, Span
from loudr_core.text.cut import cut_long, pack
from loudr_core.text.merge import SHORT_SHARE, group_short
from loudr_core.text.model import Normalizer, TextOptions
from loudr_core.text.passage import Passage
from loudr_core.text.sentences import split_sentences
from loudr_core.text.speak import has_word, speak

__all__ = ["Unit", "block_units", "merge_short"]

_MERGED_KINDS = frozenset({"paragraph", "quote", "verse", "list_item", "table"})


@dataclass(slots=True)
class Unit:
    """A segment in the making."""

    block: Block
    text: str
    spans: tuple[Span, ...]
    language: str
    normalizer: Normalizer
    place: int
    """Place of its block in the chapter's reading order."""
    whole: bool = False
    """It is all of its block that is read."""
    generated: bool = False
    moved: bool = False
    breaks_before: bool = False
    """A scene break stands before it."""

    @property
    def spoken(self) -> str:
        """What an engine is to say."""
        return speak(self.text, self.block.kind, self.language, self.normalizer).spoken


def block_units(
    passage: Passage, place: int, language: str, options: TextOptions
) -> Iterator[Unit]:
    """Yield the units of one block; none when it holds nothing to say."""
    kind, text = passage.block.kind, passage.text
    how = options.normalizer
    if not has_word(speak(text, kind, language, how).spoken):
        return
    limit = options.max_characters
    for start, end, own in _by_language(passage, language, how):

        def length(low: int, high: int, own: str = own) -> int:
            spoken = speak(text[low:high].strip(), kind, own, how).spoken
            return len(spoken) if has_word(spoken) else 0

        if kind in {"title", "heading"}:
            whole = pack(cut_long(text, start, end, length, limit), length, 0, limit)
        else:
            sentences = [
                part
                for low, high in split_sentences(text[start:end], own)
                for part in cut_long(text, start + low, start + high, length, limit)
            ]
            whole = pack(sentences, length, options.target_characters, limit)
        for low, high in whole:
            low, high = _strip(text, low, high)
            complete = not text[:low].strip() and not text[high:].strip()
            spans = passage.spans(low, high)
            yield Unit(passage.block, text[low:high], spans, own, how, place, whole=complete)


def _by_language(
    passage: Passage, language: str, how: Normalizer
) -> Iterator[tuple[int, int, str]]:
    """Yield stretches of sentences in one language that cover the passage."""
    start, current = 0, ""
    for low, high in split_sentences(passage.text, language):
        own = passage.language_of(low, high)
        spoken = speak(passage.text[low:high], passage.block.kind, language, how).spoken
        if not has_word(spoken):
            own = current  # nothing to say, such as a lone note mark: it stays with its neighbour
        if low and own != current and has_word(passage.text[start:low]):
            yield start, low, current or language
            start = low
        current = own
    yield start, len(passage.text), current or language


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def merge_short(units: list[Unit], options: TextOptions) -> list[Unit]:
    """Let runs of short whole blocks share segments."""
    if not options.merge_short:
        return units
    short = options.target_characters // SHORT_SHARE
    merged: list[Unit] = []
    run: list[Unit] = []
    for unit in units:
        fits = (
            unit.whole
            and not unit.generated
            and not unit.moved
            and unit.block.kind in _MERGED_KINDS
            and len(unit.spoken) <= short
        )
        if run and not (fits and _can_follow(run[-1], unit)):
            merged += _close_run(run, options.target_characters)
            run = []
        if fits:
            run.append(unit)
        else:
            merged.append(unit)
    return merged + _close_run(run, options.target_characters)


def _can_follow(left: Unit, right: Unit) -> bool:
    return (
        left.block.kind == right.block.kind
        and left.language == right.language
        and (left.block.kind != "table" or left.block.level == right.block.level)
        and not right.breaks_before
        and right.place == left.place + 1
    )


def _close_run(run: list[Unit], target: int) -> list[Unit]:
    if not run:
        return []
    groups = group_short([unit.text for unit in run], [len(unit.spoken) for unit in run], target)
    return [_join(run[start:end]) for start, end in groups]


def _join(units: list[Unit]) -> Unit:
    if len(units) == 1:
        return units[0]
    return replace(
        units[0],
        text="\n".join(unit.text for unit in units),
        spans=tuple(span for unit in units for span in unit.spans),
        place=units[-1].place,
    )
