"""Cut a long phoneme string where a listener expects a breath, and join what its passes came to.

A model that speaks 1,000 phonemes in one pass slurs and needs memory for them; one that is fed
single words has no melody. A pass is at most `limit` symbols, and the cut is made at the strongest
mark near the middle: end of a sentence, clause, comma, word. Only a run without a single space is
cut inside.
"""

from collections.abc import Sequence

import numpy as np

from loudr_core.arrays import Mono
from loudr_core.audio.trim import trim_edges

__all__ = ["cut_passes", "join_passes"]

_CLOSING = "\"'”’)]»"
_MARKS = (".!?…", ";:—", ",")


def cut_passes(phonemes: str, limit: int) -> list[str]:
    """Return the phonemes in pieces of at most `limit` symbols; joined, they are all still there.

    Parameters
    ----------
    phonemes : str
        Words separated by single spaces, with punctuation.
    limit : int
        At least 2.

    Returns
    -------
    list of str
        None is empty. A space at a cut is dropped, nothing else.
    """
    text = phonemes.strip()
    if not text:
        return []
    if len(text) <= limit:
        return [text]
    cut = _best_cut(text)
    return [*cut_passes(text[:cut], limit), *cut_passes(text[cut:], limit)]


def join_passes(parts: Sequence[Mono], sample_rate_hz: int, *, pauses_s: Sequence[float]) -> Mono:
    """Return passes as one take, each with its edges trimmed, with silence between two.

    Parameters
    ----------
    parts : sequence of float32, shape (n,)
        At least one. A single one is returned as it is, edges included.
    sample_rate_hz : int
    pauses_s : sequence of float
        Seconds after each part; the last is not used.
    """
    if len(parts) == 1:
        return parts[0]
    pieces: list[Mono] = []
    for part, pause_s in zip(parts, pauses_s, strict=True):
        pieces.append(trim_edges(part, sample_rate_hz))
        pieces.append(np.zeros(round(pause_s * sample_rate_hz), np.float32))
    return np.concatenate(pieces[:-1])


def _best_cut(text: str) -> int:
    """Return the index of the first symbol of the right half."""
    middle = len(text) // 2
    spaces = [place for place, symbol in enumerate(text) if symbol == " "]
    # Far from the middle a strong mark is worth less than an even cut: it leaves a scrap.
    central = [place for place in spaces if len(text) // 4 <= place <= len(text) - len(text) // 4]
    for marks in _MARKS:
        after = [p for p in central if text[:p].rstrip(_CLOSING)[-1:] in marks and p > 0]
        if after:
            return min(after, key=lambda place: abs(place - middle))
    if spaces:
        return min(spaces, key=lambda place: abs(place - middle))
    return middle
