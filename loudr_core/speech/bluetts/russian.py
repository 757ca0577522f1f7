"""Russian as the model was taught it: string work around RUAccent and RUPhon, free of both.

References
----------
The release's card, section Russian front end; BlueTTS specification, section 3.
"""

import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from loudr_core.errors import SynthesisError

__all__ = ["WORD_OVERRIDES", "apply_word_overrides", "mark_yo_stress", "remap_ruphon_ipa"]

WORD_OVERRIDES: Final[Mapping[str, str]] = {"всё": "fsʲˈɵ"}
"""Source word to IPA. RUPhon reads всё as fsʲe, which is все, and no respelling can mend it."""

_TIES: Final = {
    "t~s": "ʦ", "t~ɕ": "ʧ", "t~ʂ": "ʧ", "t~ʃ": "ʧ", "d~z": "ʣ", "d~ʐ": "ʤ", "d~ʑ": "ʤ", "d~ʒ": "ʤ",
}  # fmt: skip
_TIE: Final = re.compile("|".join(map(re.escape, _TIES)))
_WORD: Final = re.compile(r"\+*[^\W\d_]+(?:[+\-]+[^\W\d_]+)*")
_EDGES: Final = re.compile(r"^(\W*)(.*?)([^\w]*)$", re.DOTALL)


def remap_ruphon_ipa(ipa: str) -> str:
    """Return RUPhon's IPA in the symbols of the vocabulary.

    Ties written with a tilde become ligatures (ч and тш are both ʧ), and the ASCII stress mark
    becomes ˈ: as it stands, stress would be an apostrophe, which has an id and never shows. The
    marks `+` and `_`, by which RUPhon joins sounds to one label, are none and go. Its colon, which
    is length, stays: the card does not name it among what was changed for training.

    Parameters
    ----------
    ipa : str

    Raises
    ------
    SynthesisError
        A tie is left that has no ligature.
    """
    text = ipa.replace("'", "ˈ").replace("+", "").replace("_", "")
    text = _TIE.sub(lambda match: _TIES[match[0]], text)
    if "~" in text:
        place = text.index("~")
        raise SynthesisError(
            f"no symbol of the voice stands for the tie {text[max(0, place - 1) : place + 2]!r}"
        )
    return text


def mark_yo_stress(text: str) -> str:
    """Put a `+` before ё in each word that has no stress mark yet: ё is always stressed.

    Parameters
    ----------
    text : str
        Cyrillic with `+` before stressed vowels, as RUAccent leaves it. Where a word has several ё,
        the last is stressed, as in compounds.
    """

    def marked(match: re.Match[str]) -> str:
        word = match[0]
        place = max(word.rfind("ё"), word.rfind("Ё"))
        if "+" in word or place < 0:
            return word
        return f"{word[:place]}+{word[place:]}"

    return _WORD.sub(marked, unicodedata.normalize("NFC", text))


def apply_word_overrides(
    source: str, ipa: str, overrides: Mapping[str, str] = WORD_OVERRIDES
) -> str:
    """Put fixed IPA in the place of words that the front end cannot say.

    Parameters
    ----------
    source : str
        What was phonemised; `+` marks do not count.
    ipa : str
        Its IPA, a word for each word of the source between spaces.
    overrides : mapping of str to str
        Lower-case source word to IPA.

    Returns
    -------
    str
        The marks around a replaced word stay.

    Raises
    ------
    SynthesisError
        A word is to be replaced, and source and IPA have different numbers of words.
    """
    words = source.split()
    fixed = [overrides.get(_bare(word)) for word in words]
    if not any(fixed):
        return ipa
    sounds = ipa.split()
    if len(sounds) != len(words):
        raise SynthesisError(
            f"{len(words)} words became {len(sounds)}, so that it cannot be told which is "
            f"{next(word for word, each in zip(words, fixed, strict=True) if each)!r}: give "
            "phonemes with the segment"
        )
    return " ".join(
        sound if own is None else _replaced(sound, own)
        for sound, own in zip(sounds, fixed, strict=True)
    )


def _bare(word: str) -> str:
    return "".join(
        symbol for symbol in unicodedata.normalize("NFC", word).lower() if symbol.isalpha()
    )


def _replaced(sound: str, own: str) -> str:
    match = _EDGES.match(sound.replace("'", ""))
    return f"{match[1]}{own}{match[3]}" if match else own
