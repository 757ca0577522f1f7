"""Sentences of one paragraph; the only importer of sentencex.

The library is right about most abbreviations; a repair pass joins what it cuts too often: list
numbers, initials, references such as "vol. II", and a lower-case word after a mark inside quotes.
"""

import re

import sentencex

__all__ = ["ends_in_abbreviation", "goes_on_in_figures", "split_sentences"]

_LIST_NUMBER = re.compile(r"\A\W*(?:\d{1,3}|[A-Za-z]|[ivxlcdmIVXLCDM]{1,6})[.)]\s*\Z")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|Capt|Lieut|Lt|Col|Gen|Maj|Sgt|Rev|Hon|St|Messrs|Mme|Mlle|Gov|Sen|Supt|Insp|"
    r"No|Nos|vol|Vol|vols|ch|chap|Chap|p|pp|fig|Fig|cf|viz|i\.e|e\.g|vs|ed|approx|ca|op|ibid)|\b[A-HJ-Z])\.\s*\Z"
)
_BEFORE_FIGURES = re.compile(
    r"(?:(?<![\w.])(?:c|ca|l|ll)|\d[ls]|\d\s?(?:ft|lbs?|oz|yds?|cwt|st|hrs?|mins?))\.\s*\Z"
)
"""A date's "circa", and pounds, shillings and measures, before more figures."""
_LOWER = re.compile(r"\A[\"'“”‘’»)\]]*\s*[^\W\d_A-Z]")
_DANGLING = re.compile(r"\A[\s\"'“”‘’»)\].,;:!?…—–-]*\Z")


def split_sentences(text: str, language: str) -> list[tuple[int, int]]:
    """Return the sentences of a paragraph as intervals that cover it.

    Parameters
    ----------
    text : str
        One paragraph.
    language : str
        BCP 47 tag.

    Returns
    -------
    list of (start, end)
        Half-open, adjacent, from 0 to len(text); each holds a letter or digit unless no part of the
        text does.
    """
    if not text:
        return []
    ends = _library_ends(text, language.partition("-")[0].lower() or "en")
    sentences: list[tuple[int, int]] = []
    start = 0
    for end in ends:
        piece = text[start:end]
        if sentences and _belongs_before(text[slice(*sentences[-1])], piece):
            sentences[-1] = (sentences[-1][0], end)
        else:
            sentences.append((start, end))
        start = end
    if len(sentences) > 1 and not _has_word(text[slice(*sentences[0])]):
        sentences[:2] = [(0, sentences[1][1])]
    return sentences


def ends_in_abbreviation(text: str) -> bool:
    """Return whether a text ends in an abbreviation that goes with what follows: "than Mr. "."""
    return bool(_ABBREVIATION.search(text))


def goes_on_in_figures(text: str, following: str) -> bool:
    """Return whether a text and what follows it are one amount: "6 ft. " and "2 in."."""
    return following[:1].isdigit() and bool(_BEFORE_FIGURES.search(text))


def _library_ends(text: str, language: str) -> list[int]:
    pieces = sentencex.segment(language, text)
    ends = []
    position = 0
    for piece in pieces:
        if not text.startswith(piece, position):
            return [len(text)]
        position += len(piece)
        ends.append(position)
    if position < len(text):
        ends.append(len(text))
    return ends


def _has_word(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _belongs_before(previous: str, piece: str) -> bool:
    if _DANGLING.match(piece) or not _has_word(piece):
        return True
    if goes_on_in_figures(previous, piece):
        return True
    if _LIST_NUMBER.match(previous) or _ABBREVIATION.search(previous):
        return True
    return bool(_LOWER.match(piece)) and piece.lstrip("\"'“”‘’»)] ")[:1].islower()
