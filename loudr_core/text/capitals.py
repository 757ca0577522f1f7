"""Words in capitals: openings in small capitals and emphasis become ordinary words, acronyms stay.

Engines spell short words in capitals letter by letter, so "STOP" must not reach them as it stands,
while "FBI" must.
"""

import re

from loudr_core.text.draft import Draft
from loudr_core.text.vocabulary import ACRONYMS, SHORT_WORDS

__all__ = ["lower_capitals"]

_WORD = r"[A-Z]+(?:'[A-Z]+)*"
_RUN = re.compile(rf"(?<![\w'.])(?:{_WORD})(?:[ ,;:-]+(?:{_WORD}))+(?![\w])(?!'\w)")
_LONE = re.compile(
    r"(?<![\w'.-])((?:[A-Z]{2,}|[A-Z]'[A-Z]{2,})(?:'[A-Z]+)*)(?![\w-])(?!'[A-Z])(?!\.\w)"
)
_OPENS = re.compile(r"(?:\A|[.!?:])\W*\Z")
_SYLLABLE = re.compile(r"[BCDFGHJKLMNPRSTVWXYZ][AEIOU][BCDFGHJKLMNPRSTVWXYZ]\Z")
"""Three letters that can be said as a word, as "RUN" and "HOT" in emphasis."""
_PIECE = re.compile(_WORD)


def lower_capitals(draft: Draft) -> None:
    """Bring words in capitals to small letters unless they are acronyms."""
    if not re.search(r"[A-Z]{2}", draft.text):
        return
    draft.rewrite("capitals", _RUN, _run)
    draft.rewrite("capitals", _LONE, _lone)


def _is_acronym(word: str) -> bool:
    return word in ACRONYMS or (
        word.isalpha()
        and not re.search(r"[AEIOUY]", word)
        and len(word) > 1
        and word not in SHORT_WORDS
    )


def _run(match: re.Match[str]) -> str | None:
    words = _PIECE.findall(match[0])
    ordinary = [word for word in words if len(word) > 1 and not _is_acronym(word)]
    if not any(len(word) > 2 or word in SHORT_WORDS for word in ordinary):
        return None
    opens = bool(_OPENS.search(match.string[: match.start()]))
    state = {"first": opens}

    def lower(piece: re.Match[str]) -> str:
        word = piece[0]
        first, state["first"] = state["first"], False
        if word == "I" or word.startswith("I'"):
            return "I" + word[1:].lower()
        if _is_acronym(word):
            return word
        return _capitalised(word) if first or re.match(r"[A-Z]'[A-Z]{2}", word) else word.lower()

    return _PIECE.sub(lower, match[0])


def _capitalised(word: str) -> str:
    if re.match(r"[DLO]'[A-Z]{2}", word):
        return word[:2] + word[2] + word[3:].lower()
    return word[0] + word[1:].lower()


def _lone(match: re.Match[str]) -> str | None:
    word = match[1]
    if _is_acronym(word):
        return None
    plain = word.split("'")[0]
    if len(word) < 4 and word not in SHORT_WORDS and not _SYLLABLE.match(word):
        return None
    if len(plain) == 1 and "'" not in word:
        return None
    if re.match(r"[DLO]'[A-Z]{2}", word):
        return _capitalised(word)
    opens = bool(_OPENS.search(match.string[: match.start()]))
    if word == "I" or word.startswith("I'"):
        return "I" + word[1:].lower()
    return _capitalised(word) if opens else word.lower()
