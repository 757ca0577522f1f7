"""Words to the characters that a Koko vocabulary has, with an account of what was changed.

The encoder has an id for "unknown" and would speak it as noise. So each character outside the
vocabulary is replaced by its plain form where it has one, and otherwise refused or counted, as the
operator chose (Koko specification, section 5).
"""

import re
import unicodedata
from dataclasses import dataclass

from loudr_core.errors import SynthesisError
from loudr_core.speech.koko.vocabulary import Vocabulary
from loudr_core.speech.legible import unreadable

__all__ = [
    "POLICIES",
    "Reading",
    "UnsupportedCharacters",
    "close_sentence",
    "read_text",
    "unsupported_characters",
]

POLICIES = ("strict", "lenient")
"""What happens to a character that the vocabulary lacks in every form: refused, or left out."""

_MOST_UNSUPPORTED = 0.2
"""Share of a unit's letters; beyond it the text is of another language, whatever the policy."""
_SHOWN = 12

_ASCII = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛ʼ′´`", "'"),
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("‐‑‒–−", "-"),
        **dict.fromkeys("—―", " - "),  # a break in the sentence, no hyphen
        "…": "...",
    }
)
# Letters with a plain form that Unicode does not decompose.
_PLAIN = {
    "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ø": "o", "Ø": "O", "ß": "ss", "ẞ": "SS",
    "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "ı": "i",
}  # fmt: skip
_CLOSED = re.compile(r"[.?!;:,\-][\"')\]]*\Z")
_SPACELIKE = frozenset({"Zs", "Zl", "Zp", "Cf", "Cc"})
_UNSPOKEN = frozenset({"Mn", "Ps", "Pe", "Pi", "Pf"})
"""Accents, brackets and quotation marks."""


class UnsupportedCharacters(SynthesisError):
    """A text has characters that the vocabulary lacks in every form.

    Parameters
    ----------
    message : str
    **context
        `characters`, each once, and `positions` in the text after NFC.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is sent to the encoder, and how it differs from what was asked for.

    Parameters
    ----------
    text : str
        Characters of the vocabulary only; empty when nothing is left.
    replaced : dict of str to str
        Characters that are not in the vocabulary to what took their place.
    dropped : dict of str to int
        Characters that were left out to how often; only by the policy `lenient`.
    """

    text: str
    replaced: dict[str, str]
    dropped: dict[str, int]


def read_text(text: str, vocabulary: Vocabulary, *, policy: str = "strict") -> Reading:
    """Return a text in characters of the vocabulary.

    NFC; curly quotes, dashes and the ellipsis to ASCII; runs of white space to one space. Then, for
    a character that is not in the vocabulary: its base letters, else its small form, else nothing
    if it is a space or an invisible mark, else the policy.

    Parameters
    ----------
    text : str
    vocabulary : Vocabulary
    policy : str
        One of `POLICIES`.

    Raises
    ------
    UnsupportedCharacters
        A character has no form in the vocabulary and the policy is strict, or that is so for more
        than a fifth of the letters.
    SynthesisError
        More than a fifth of the letters are of another script, which the model was not trained on
        even where the vocabulary has it.
    ValueError
        There is no such policy.
    """
    if policy not in POLICIES:
        raise ValueError(f"policy {policy!r} is not one of {', '.join(POLICIES)}")
    if reason := unreadable("koko", text):
        raise SynthesisError(f"{reason}: {_shown(text)}")
    replaced: dict[str, str] = {}
    unsupported: list[tuple[int, str]] = []
    pieces: list[str] = []
    composed = unicodedata.normalize("NFC", text)
    for position, symbol in enumerate(composed):
        piece = _piece(symbol, vocabulary)
        if piece is None:
            unsupported.append((position, symbol))
            continue
        if symbol not in vocabulary and piece != symbol.translate(_ASCII) and not _blank(symbol):
            replaced[symbol] = piece
        pieces.append(piece)
    _judge(composed, unsupported, policy)
    dropped: dict[str, int] = {}
    for _, symbol in unsupported:
        dropped[symbol] = dropped.get(symbol, 0) + 1
    return Reading(text=" ".join("".join(pieces).split()), replaced=replaced, dropped=dropped)


def unsupported_characters(text: str, vocabulary: Vocabulary | frozenset[str]) -> str:
    """Return the characters that the policy `strict` refuses a text for, each once."""
    composed = unicodedata.normalize("NFC", text)
    return "".join(
        symbol for symbol in dict.fromkeys(composed) if _piece(symbol, vocabulary) is None
    )


def close_sentence(text: str, vocabulary: Vocabulary) -> str:
    """Return a text that ends with a mark: models of characters drift at an unfinished end.

    Parameters
    ----------
    text : str
        As `Reading` has it, not empty.
    vocabulary : Vocabulary
    """
    if _CLOSED.search(text) or "." not in vocabulary:
        return text
    return text + "."


def _piece(symbol: str, vocabulary: Vocabulary | frozenset[str]) -> str | None:
    """Return what is sent for a character, None when the vocabulary has no form of it."""
    if symbol.isspace():
        return " "
    plain = symbol.translate(_ASCII)
    if plain != symbol and all(each in vocabulary for each in plain):
        return plain
    if symbol in vocabulary:
        return symbol
    for form in (_base(symbol), symbol.lower(), _base(symbol).lower()):
        if form and all(each in vocabulary for each in form):
            return form
    # Nothing is said for these, nor for an accent that NFC left alone: its letter is read plain.
    return "" if _blank(symbol) or unicodedata.category(symbol) in _UNSPOKEN else None


def _blank(symbol: str) -> bool:
    """Say whether nothing is seen of a character: a space, or a mark for layout."""
    return symbol.isspace() or unicodedata.category(symbol) in _SPACELIKE


def _base(symbol: str) -> str:
    """Return a letter without its accents, a ligature or wide form as plain letters."""
    if symbol in _PLAIN:
        return _PLAIN[symbol]
    parts = unicodedata.normalize("NFKD", symbol)
    return "".join(part for part in parts if unicodedata.category(part) != "Mn")


def _judge(text: str, unsupported: list[tuple[int, str]], policy: str) -> None:
    """Refuse a text by the policy, or because too much of it would be missing."""
    if not unsupported:
        return
    letters = sum(map(str.isalpha, text))
    missing = sum(symbol.isalpha() for _, symbol in unsupported)
    foreign = missing > _MOST_UNSUPPORTED * letters
    if policy == "lenient" and not foreign:
        return
    symbols = "".join(dict.fromkeys(symbol for _, symbol in unsupported))
    positions = [position for position, _ in unsupported]
    advice = (
        "it looks like another language"
        if foreign
        else "respell the word in the lexicon, or set the option unsupported = lenient"
    )
    shown = " ".join(symbols[:_SHOWN]) + (" …" if len(symbols) > _SHOWN else "")
    at = ", ".join(map(str, positions[:_SHOWN])) + (", …" if len(positions) > _SHOWN else "")
    raise UnsupportedCharacters(
        f"the voice has no character for {shown} (at {at}): {advice}",
        characters=symbols,
        positions=positions,
    )


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")
