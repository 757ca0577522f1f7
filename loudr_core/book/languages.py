"""Language tags as books write them, and which language a text is in.

EPUB 2 books often name their language by its three-letter code or in words; tags with an underscore
come from locale names. All become BCP 47 tags. The guess counts the commonest little words of a
language, which no page of prose is without.
"""

import re
from typing import Final

__all__ = ["guess_language", "language_tag"]

_NAMES: Final = {
    "en": "eng english anglais englisch inglés",
    "de": "deu ger german deutsch allemand",
    "fr": "fra fre french français francais französisch",
    "es": "spa spanish español espanol castellano spanisch",
    "it": "ita italian italiano italienisch",
    "pt": "por portuguese português portugues",
    "nl": "nld dut dutch nederlands",
    "sv": "swe swedish svenska",
    "da": "dan danish dansk",
    "no": "nor norwegian norsk",
    "nb": "nob",
    "nn": "nno",
    "fi": "fin finnish suomi",
    "pl": "pol polish polski",
    "ru": "rus russian русский",
    "el": "ell gre greek",
    "la": "lat latin latina",
    "ja": "jpn japanese 日本語",
    "zh": "zho chi chinese 中文",
    "ko": "kor korean 한국어",
    "ar": "ara arabic",
    "he": "heb hebrew",
    "tr": "tur turkish türkçe",
    "cs": "ces cze czech čeština",
    "hu": "hun hungarian magyar",
    "cy": "cym wel welsh cymraeg",
    "hi": "hin hindi",
}
_BY_NAME: Final = {name: tag for tag, names in _NAMES.items() for name in names.split()}
_TAG: Final = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*|[xi](?:-[A-Za-z0-9]{1,8})+")
_NOTHING: Final = frozenset({"und", "zxx", "mul", "mis", "xx"})

_COMMON: Final = {
    "en": "the and of to was his that with her had for not it as at you is",
    "de": "der die und das nicht ein ich zu den mit sich es auf war dem von er sie",
    "fr": "le les et des que dans une pas est il qui elle vous avait du je ce pour",
    "es": "el los que y en una por con se las no del lo como su al más pero",
    "it": "il che di non un per sono gli era della con una si le del mi ma come",
    "pt": "o que não uma os com para se do da um por mais ele como em ao",
    "nl": "de het een van niet dat hij zijn ik met op maar er ze voor was te",
    "sv": "och att det som på är inte jag den hade med för till han var av",
    "da": "og det til på ikke jeg han var der med for som den af havde",
    "fi": "ja on ei että hän oli se kuin niin mutta minä ovat joka",
    "pl": "nie się na i do że jest to z jak po co ale tak był",
}
_SETS: Final = {tag: frozenset(words.split()) for tag, words in _COMMON.items()}
_ENOUGH: Final = 30
"""Words below which nothing is guessed."""
_SHARE: Final = 0.12
"""Of all words, at least this part must be common ones of the language."""
_DIFFERENT: Final = 6
"""And so many of them must occur: a line said over and over is no language."""
_LEAD: Final = 1.5
"""And so many times more than of the next likely language."""


def language_tag(text: str) -> str:
    """Return the BCP 47 tag that a book's word for a language means; empty for none.

    Parameters
    ----------
    text : str
        Such as `en-GB`, `en_US`, `eng`, `English (US)`, `und`.

    References
    ----------
    RFC 5646, section 2.1; ISO 639-2 for the three-letter codes.
    """
    tag = text.strip().replace("_", "-")
    head, dash, rest = tag.partition("-")
    word = re.split(r"[\s(,;/]", head.strip().lower(), maxsplit=1)[0]
    if word in _BY_NAME:
        whole = f"{_BY_NAME[word]}{dash}{rest}"
        return whole if _TAG.fullmatch(whole) else _BY_NAME[word]
    return tag if _TAG.fullmatch(tag) and word not in _NOTHING else ""


def guess_language(text: str) -> str:
    """Return the tag of the language that a text is plainly in; empty when it is not plain."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    if len(words) < _ENOUGH:
        return ""
    counts = sorted(
        ((sum(word in common for word in words), tag) for tag, common in _SETS.items()),
        reverse=True,
    )
    (best, tag), (second, _) = counts[:2]
    met = len(_SETS[tag].intersection(words))
    plain = best >= _SHARE * len(words) and best >= _LEAD * second and met >= _DIFFERENT
    return tag if plain else ""
