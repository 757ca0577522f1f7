"""Ordinals in figures of languages other than English: 3º, 1er, 3e, 3:e, 5-й, am 3. Mai.

An ending that was written tells the form; German, which writes a full stop, tells it by the word
before, and is left alone where that does not.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from loudr_core.text.draft import Draft
from loudr_core.text.foreign import ordinal

__all__ = ["expand_ordinals"]

_Reader = Callable[[re.Match[str]], str | None]

_START: Final = r"(?<![\w.,])"
# The raised a of Spanish is a plain one after the Unicode clean-up.
_ROMANCE: Final = re.compile(rf"{_START}(?P<n>[1-9]\d{{0,3}})\.?(?P<end>[ºoa]|er)(?!\w)")
_FRENCH: Final = re.compile(
    rf"{_START}(?P<n>[1-9]\d{{0,3}})(?P<end>er|re|ère|nde?|(?:i?[èe]m)?e)(?P<many>s?)(?!\w)"
)
_DUTCH: Final = re.compile(rf"{_START}(?P<n>[1-9]\d{{0,3}})(?:ste|de|e)(?!\w)")
_SWEDISH: Final = re.compile(rf"{_START}(?P<n>[1-9]\d{{0,3}}):[ea](?!\w)")
_RUSSIAN: Final = re.compile(rf"{_START}(?P<n>[1-9]\d{{0,3}})-(?P<end>[а-яё]{{1,3}})(?!\w)")
_RUSSIAN_FORMS: Final = {
    ("й", "ый", "ий"): {"gender": "m"},
    ("я", "ая", "ья"): {"gender": "f"},
    ("е", "ое", "ье"): {"gender": "n"},
    ("го", "ого", "его"): {"case": "g", "gender": "m"},
    ("му", "ому", "ему"): {"case": "d", "gender": "m"},
    ("ю", "ую"): {"case": "a", "gender": "f"},
}
"""Endings that tell one form; the others are of several."""
_NUMBER_AND_STOP: Final = re.compile(
    rf"{_START}(?P<n>[1-9]\d{{0,3}})\.(?=\s+(?P<next>[A-Za-zÄÖÜäöüÆØÅæøå]+))"
)
_MONTHS: Final = {
    "de": frozenset({
        "Januar", "Jänner", "Februar", "März", "April", "Mai", "Juni", "Juli", "August",
        "September", "Oktober", "November", "Dezember",
    }),
    "da": frozenset({
        "januar", "februar", "marts", "april", "maj", "juni", "juli", "august", "september",
        "oktober", "november", "december",
    }),
    "no": frozenset({
        "januar", "februar", "mars", "april", "mai", "juni", "juli", "august", "september",
        "oktober", "november", "desember",
    }),
}  # fmt: skip
_WEAK_BEFORE: Final = frozenset({
    "am", "vom", "zum", "beim", "im", "dem", "den", "des", "einem", "einen", "eines", "diesem",
    "diesen", "dieses", "jedem", "jeden", "jenem", "meinem", "meinen", "seinem", "seinen", "ihrem",
    "ihren", "unserem", "unseren",
})  # fmt: skip
"""German words before an ordinal that ends in -n, whatever follows."""
_ARTICLES: Final = frozenset({"der", "die", "das"})
_LAST_WORD: Final = re.compile(r"(\w+)\s+\Z")


def expand_ordinals(draft: Draft, language: str) -> None:
    """Rewrite ordinals of a language as words; `language` is a primary subtag."""
    found = _ORDINALS.get(language)
    if found is not None:
        pattern, read = found
        draft.rewrite("ordinal", pattern, read)


def _romance(language: str) -> _Reader:
    def read(match: re.Match[str]) -> str | None:
        words, end = ordinal(match["n"], language), match["end"]
        if words is None or (end == "er" and language != "es"):
            return None
        if end == "a":
            feminine = [re.sub(r"o\Z", "a", word) for word in words.split()]
            return " ".join(feminine)
        return re.sub(r"(primer|tercer)o\Z", r"\1", words) if end == "er" else words

    return read


def _french(match: re.Match[str]) -> str | None:
    end, number = match["end"], int(match["n"])
    if end in ("nd", "nde"):
        words = {2: "second" + end[2:]}.get(number)
    elif number == 1:
        words = {"er": "premier", "re": "première", "ère": "première"}.get(end)
    elif end in ("er", "re", "ère"):
        words = None
    else:
        words = ordinal(match["n"], "fr")
    return None if words is None else words + match["many"]


def _plain(language: str) -> _Reader:
    return lambda match: ordinal(match["n"], language)


def _russian(match: re.Match[str]) -> str | None:
    if match["end"] == "е" and match["n"][-1] == "0" and len(match["n"]) > 1:
        return ordinal(match["n"], "ru", plural=True)  # a decade
    forms = (form for endings, form in _RUSSIAN_FORMS.items() if match["end"] in endings)
    form = next(forms, None)
    return None if form is None else ordinal(match["n"], "ru", **form)


def _of_month(language: str) -> _Reader:
    months = _MONTHS[language]
    return lambda match: ordinal(match["n"], language) if match["next"] in months else None


def _german(match: re.Match[str]) -> str | None:
    words = ordinal(match["n"], "de")
    found = _LAST_WORD.search(match.string[: match.start()])
    before = found[1].lower() if found else ""
    month, noun = match["next"] in _MONTHS["de"], match["next"][0].isupper()
    if words is None or not (month or (noun and before in _WEAK_BEFORE | _ARTICLES)):
        return None
    if before in _WEAK_BEFORE:
        return words + "n"
    return words if before in _ARTICLES else words + "r"


_ORDINALS: Final[Mapping[str, tuple[re.Pattern[str], _Reader]]] = {
    "es": (_ROMANCE, _romance("es")),
    "it": (_ROMANCE, _romance("it")),
    "pt": (_ROMANCE, _romance("pt")),
    "fr": (_FRENCH, _french),
    "nl": (_DUTCH, _plain("nl")),
    "sv": (_SWEDISH, _plain("sv")),
    "ru": (_RUSSIAN, _russian),
    "de": (_NUMBER_AND_STOP, _german),
    "da": (_NUMBER_AND_STOP, _of_month("da")),
    "no": (_NUMBER_AND_STOP, _of_month("no")),
}
