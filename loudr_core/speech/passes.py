"""Cut a long phoneme string where a listener expects a breath.

A model that speaks 1,000 phonemes in one pass slurs and needs memory for them; one that is fed
single words has no melody. A pass is at most `limit` symbols, and the cut is made at the strongest
mark near the middle: end of a sentence, clause, comma, word. Only a run without a single space is
cut inside.
"""

__all__ = ["cut_passes"]

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
