"""Segments to phonemes: words of the pronunciation lexicon as it has them, the rest by a front end.

A model that takes phonemes takes them for the whole of a unit. A segment with a word whose
pronunciation is given is therefore read whole: the stretches between such words by the engine's
front end, each by itself.
"""

import re
from typing import Final

from loudr_core.speech.front_ends import FrontEnd
from loudr_core.speech.sanotts.reading import plain_marks
from loudr_core.text.lexicon import Lexicon

__all__ = ["SENTENCE_END", "has_pronunciation", "phonemes_of"]

SENTENCE_END: Final = "\n"
"""Between two sentences of given phonemes, for engines that speak sentence by sentence."""

_MARKS_FIRST: Final = re.compile(r"([^\w\s]*)\s*(.*)", re.DOTALL)
_CLAUSE_MARKS: Final = frozenset(",.;:!?")
_SENTENCE_MARKS: Final = frozenset(".!?")


def has_pronunciation(spoken: str, pronunciations: Lexicon) -> bool:
    """Say whether a text has a word whose pronunciation is given."""
    return len(pronunciations.pieces(spoken)) > 1


def phonemes_of(spoken: str, language: str, front: FrontEnd, pronunciations: Lexicon) -> str:
    """Return the phonemes of a text, a `SENTENCE_END` between sentences.

    Parameters
    ----------
    spoken : str
        Normalised words and plain punctuation.
    language : str
        BCP 47 tag.
    front : FrontEnd
    pronunciations : Lexicon
        Word to phonemes.

    Raises
    ------
    SynthesisError
        The front end cannot read the text.
    DeviceError
        It is not installed for the language.
    """
    primary = language.partition("-")[0].lower()
    if not has_pronunciation(spoken, pronunciations):
        return SENTENCE_END.join(front.sentences(spoken, primary))
    said = ""
    for stretch, word in pronunciations.pieces(plain_marks(spoken)):
        said = _added(said, stretch, front, primary)
        if word:
            said += _gap(said) + word
    return said


def _added(said: str, stretch: str, front: FrontEnd, language: str) -> str:
    """Return phonemes with those of the text that follows them."""
    match = _MARKS_FIRST.fullmatch(stretch.strip())
    marks, rest = (match[1], match[2]) if match else ("", "")
    kept = "".join(mark for mark in marks if mark in _CLAUSE_MARKS)
    if said:
        said += kept
    if not any(map(str.isalnum, rest)):
        return said
    return said + _gap(said) + SENTENCE_END.join(front.sentences(rest, language))


def _gap(said: str) -> str:
    """Return what stands between phonemes and the next word."""
    if not said:
        return ""
    return SENTENCE_END if said[-1] in _SENTENCE_MARKS else " "
