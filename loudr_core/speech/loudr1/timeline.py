"""When each chunk and each word of a passage is heard.

Chunks are exact to the sample; words are shares of their chunk by place in its text.
"""

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["ChunkSpan", "ChunkTiming", "WordTiming", "timeline"]


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """One window of a passage: its text as spoken, its samples, its speech tokens."""

    text: str
    samples: int
    tokens: int


@dataclass(frozen=True, slots=True)
class WordTiming:
    """A word with its start and end in seconds."""

    word: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class ChunkTiming:
    """A window's text with its start and end in seconds, and its words."""

    text: str
    start: float
    end: float
    tokens: int
    words: tuple[WordTiming, ...]


def timeline(spans: Iterable[ChunkSpan], *, sample_rate_hz: int) -> tuple[ChunkTiming, ...]:
    """Return the times of windows that are played one after the other.

    Parameters
    ----------
    spans : iterable of ChunkSpan
        Samples counted after the change of speed.
    sample_rate_hz : int

    Returns
    -------
    tuple of ChunkTiming
        Each starts exactly where the one before ends.

    Raises
    ------
    ValueError
        The rate is not above 0, or a span has a negative length.

    References
    ----------
    The loudr-1 specification, section 17.
    """
    if sample_rate_hz <= 0:
        raise ValueError(f"a sample rate is above 0 Hz, not {sample_rate_hz}")
    chunks = []
    offset = 0
    for span in spans:
        if span.samples < 0:
            raise ValueError(f"a span of {span.samples} samples: none is shorter than 0")
        start = offset / sample_rate_hz
        offset += span.samples
        end = offset / sample_rate_hz
        words = _words(span.text, start, end)
        chunks.append(ChunkTiming(span.text, start, end, span.tokens, words))
    return tuple(chunks)


def _words(text: str, start: float, end: float) -> tuple[WordTiming, ...]:
    words = text.split()
    total = sum(map(len, words))
    timings = []
    before = 0
    for word in words:
        begin = start + (end - start) * (before / total)
        before += len(word)
        timings.append(WordTiming(word, begin, start + (end - start) * (before / total)))
    return tuple(timings)
