"""English titles, abbreviations, initials and single letters with stops, as words.

An abbreviation that can end a sentence keeps a stop when it stands at the end of the text or before
a capital; a title never does, since a name follows it.
"""

import re

from loudr_core.text.draft import Draft
from loudr_core.text.numbers import roman
from loudr_core.text.short_forms import (
    BEFORE_FIGURE,
    BEFORE_ROMAN,
    ENDINGS,
    LETTER_WORDS,
    MONTHS,
    NAMES,
    NEEDS_NAME_BEFORE,
    PHRASES,
    SCRIPTURE,
    SHORT_DAYS,
    SHORT_MONTHS,
    TITLES,
)
from loudr_core.text.vocabulary import ANSWERED, BEFORE_SAINT, SAINTS

__all__ = ["expand_abbreviations", "expand_initials"]

_CAPITAL = r"(?=\s+['\"(]?[A-Z])"
_TITLE = re.compile(
    rf"\b({'|'.join(TITLES)})\.(?=\s+['\"(]?[A-Z]|-)(?:-(?=[A-Z]))?|\b(Mrs?|Ms|Dr|Mme|Mlle|Messrs)\b\.?(?=\s+[A-Z])"
)
_LONE_TITLE = re.compile(r"\b(Mrs?|Ms|Dr|Prof|Capt|Lieut|Lt|Col|Maj|Messrs|Mme|Mlle|Sgt|Rev)\.")
_DRIVE = re.compile(r"\b([A-Z][a-z]+|\d+(?:st|nd|rd|th))( )Dr\.(?=\s*(?:[,;:]|[a-z]|$))")
_ENDINGS = re.compile(
    rf"(?<![\w.])({'|'.join(re.escape(word) for word in sorted(ENDINGS, key=len, reverse=True))})\."
)
_PLAINS = re.compile(
    r"(?<![\w.])(?:"
    + "|".join(re.escape(word) for word in sorted(PHRASES, key=len, reverse=True))
    + r")(?!\w)",
    re.IGNORECASE,
)
_OPENER = (
    "A|An|And|As|At|But|For|He|Her|His|How|I|If|In|It|No|Not|Now|On|She|So|That|The|Then|There|"
    "They|This|We|What|When|Who|Why|Yes|You"
)
_NAME = re.compile(rf"\b({'|'.join(NAMES)})\.(?=\s+(?!(?:{_OPENER})\b)[A-Z])")
_BOOK_AND_VERSE = re.compile(
    rf"\b({'|'.join(SCRIPTURE)})\.(?=\s\d{{1,3}}:\d)|\b(Ps|Rev)\.(?=\s\d{{1,3}}\b)"
)
_LETTER_WORD = re.compile(
    r"(?<=\d(?:st|nd|rd|th) )(inst|ult|prox)\.|\b(obd?t|servt)\.(?=[\s,;]|\Z)"
)
_CENTURY = re.compile(r"(?<=\d(?:st|nd|rd|th))(\s)c\.(?=\W|\Z)")
_FOLLOWING = re.compile(r"(?<=\d)\s?ff\b\.?")
_SPEED = re.compile(r"(?<=\d)(\s?)(m\.p\.h|k\.p\.h|r\.p\.m)\.")
_HALF_DAYS = re.compile(r"(?<=\b[AP] M)\s?[–—-]\s?(?=\d)")
_BARE_SAINT = re.compile(rf"\bSt(?= (?:{'|'.join(sorted(SAINTS))})\b)")
_BARE_ETC = re.compile(r"(?<![\w.])etc\b(?!\.)")
_V = re.compile(r"(?<=[a-z]) v\.(?= [A-Z])")
_FIGURE = re.compile(
    rf"(?<![\w.'])({'|'.join(sorted(BEFORE_FIGURE, key=len, reverse=True))})\.\s?"
    r"(?=\d|(?-i:[IVXLC]+\b|[ivxlc]+\b))",
    re.IGNORECASE,
)
_ANY_MONTH = "|".join(SHORT_MONTHS)
_MONTH = re.compile(rf"\b({_ANY_MONTH})\.(?=,?\s+\d)|(?<=\d )({_ANY_MONTH})\b\.?(?=[ ,.]|$)")
_DAY = re.compile(rf"\b({'|'.join(SHORT_DAYS)})\.(?=[,;:)\s]|\Z)")
_STREET = re.compile(r"(?:(\b[A-Z][\w']*|\d(?:st|nd|rd|th))(\s+))?\bSt\.(\s+(?=([A-Z][\w']*)))?")
_ERA = re.compile(r"(?<![\w.])(A\.\s?D|B\.\s?C(?:\.\s?E)?|C\.\s?E)\.")
_HALF_DAY = re.compile(r"(?<![\w.])([AaPp])\.\s?[Mm]\.(?!\w)|(?<=\d)\s?([AaPp])[Mm]\b\.?(?!\w)")
_DAY_NEXT = re.compile(rf"\s+(?:{'|'.join([*MONTHS, *SHORT_DAYS])})")
_DOTTED = re.compile(r"(?<![\w.'])(?:[A-Z]\.){2,}(?:('?s)\b|(?!\w))")
_SMALL_DOTTED = re.compile(r"(?<![\w.'])(?:[a-z]\.){2,}(?!\w)")
_INITIALS = re.compile(r"(?<![\w.'])(?:[A-Z]\.\s?)+(?=\s?[A-Z][\w'])")
_OF = re.compile(r"(?<!\w)M\.(?=\s(?:de|du|le|la|des|d')\b)")
_TABLES = (
    TITLES, ENDINGS, BEFORE_FIGURE, SHORT_MONTHS, SHORT_DAYS, NAMES, LETTER_WORDS, SCRIPTURE,
)  # fmt: skip
_SHORT = frozenset(
    part.lower() for table in _TABLES for word in table for part in word.split(".")
) | frozenset(["no", "nos", "st", "al", "cit", "viz", "cf", "vs", "ibid", "approx"])
_WITHOUT_STOP = re.compile(
    r"&c|\b(?:Mrs?|Ms|Dr|Mme|Mlle|Messrs|etc|St)\b|\d\s?(?:[AaPp][Mm]|ff)\b|\d (?:"
    + _ANY_MONTH
    + r")\b",
    re.IGNORECASE,
)
_BEFORE_STOP = re.compile(r"[A-Za-z]+(?=\.)")


def expand_abbreviations(draft: Draft) -> None:
    """Rewrite abbreviations as words."""
    if not _may_abbreviate(draft.text):
        return
    draft.rewrite("half-day", _HALF_DAY, _half_day)
    draft.rewrite("range", _HALF_DAYS, " to ")
    draft.rewrite("abbreviation", _PLAINS, lambda m: _plain(m, _ends_at(m)))
    draft.rewrite("abbreviation", _BOOK_AND_VERSE, lambda m: SCRIPTURE[m[1] or m[2]])
    draft.rewrite("saint-street", _STREET, _street)
    draft.rewrite("saint-street", _BARE_SAINT, "Saint")
    draft.rewrite("street", _DRIVE, _drive)
    draft.rewrite(
        "title", _TITLE, lambda m: TITLES[m[1] or m[2]] + (" " if m[0].endswith("-") else "")
    )
    draft.rewrite("title", _OF, "Monsieur")
    draft.rewrite("title", _LONE_TITLE, lambda m: TITLES[m[1]] + ("." if _ends_at(m) else ""))
    draft.rewrite("abbreviation", _ENDINGS, _ending)
    draft.rewrite("abbreviation", _BARE_ETC, "et cetera")
    draft.rewrite("abbreviation", _V, " versus")
    draft.rewrite("abbreviation", _NAME, lambda m: NAMES[m[1]])
    draft.rewrite("abbreviation", _LETTER_WORD, lambda m: LETTER_WORDS[m[1] or m[2]] + _stop(m))
    draft.rewrite("abbreviation", _CENTURY, lambda m: f"{m[1]}century{_stop(m)}")
    draft.rewrite("abbreviation", _FOLLOWING, lambda m: " and following" + _stop(m))
    draft.rewrite("unit", _SPEED, lambda m: m[1] + m[2].replace(".", "") + _stop(m))
    draft.rewrite("abbreviation", _FIGURE, _figure)
    draft.rewrite(
        "month",
        _MONTH,
        lambda m: SHORT_MONTHS[m[1] or m[2]] + ("." if _ends_at(m) and m[0][-1] == "." else ""),
    )
    draft.rewrite(
        "weekday",
        _DAY,
        lambda m: (
            SHORT_DAYS[m[1]]
            if m[1] not in {"Sun", "Sat"} or m.string[m.end() : m.end() + 1] == ","
            else None
        ),
    )
    draft.rewrite("era", _ERA, _era)
    draft.rewrite("letters", _DOTTED, _dotted)
    draft.rewrite("letters", _SMALL_DOTTED, lambda m: _letters(m[0]).upper() + _stop(m))


def _may_abbreviate(text: str) -> bool:
    """Return whether there may be something to do; in nearly every sentence there is nothing."""
    words = _BEFORE_STOP.findall(text) if "." in text else ()
    return any(len(word) == 1 or word.lower() in _SHORT for word in words) or bool(
        _WITHOUT_STOP.search(text)
    )


def expand_initials(draft: Draft) -> None:
    """Take the stops off initials; after the roman numerals, for "V. The storm" is no initial."""
    if "." in draft.text:
        draft.rewrite("initials", _INITIALS, _initials)


def _ends_at(match: re.Match[str]) -> bool:
    """Whether the text ends here, but for closing marks."""
    rest = match.string[match.end() :]
    return not rest.strip("'\")] ")


def _stop(match: re.Match[str]) -> str:
    """Return the stop an abbreviation keeps: at the end, or before a capital."""
    follows = re.match(r"['\")]*\s+['\"(]?[A-Z]", match.string[match.end() :])
    return "." if _ends_at(match) or follows else ""


def _era(match: re.Match[str]) -> str | None:
    before, after = match.string[: match.start()], match.string[match.end() :]
    spaced = " " in match[1] and not re.search(r"\d\s*$", before)
    if spaced and (re.match(r"\s+[A-Z][\w']", after) or re.search(r"\b[A-Z]\.\s?$", before)):
        return None  # the initials of "A. D. Smith"
    return _letters(match[1]) + _stop(match)


def _figure(match: re.Match[str]) -> str | None:
    word = match[1].lower()
    if word == "no" and ANSWERED.search(match.string[: match.start()]):
        return None
    following = re.match(r"\w+", match.string[match.end() :])
    numeral = following[0] if following else ""
    if not numeral[:1].isdigit() and (
        word not in BEFORE_ROMAN or (word in {"p", "pp"} and not numeral.islower())
    ):
        return None
    if (
        numeral.isalpha()
        and numeral.islower()
        and (numeral in {"c", "l"} or roman(numeral.upper()) is None)
    ):
        return None
    return _like(match[1], BEFORE_FIGURE[word]) + " "


def _like(model: str, word: str) -> str:
    return word[0].upper() + word[1:] if model[0].isupper() else word


def _letters(text: str) -> str:
    return " ".join(character for character in text if character.isalpha())


_COMPASS = {"N": "north", "S": "south", "E": "east", "W": "west"}


def _dotted(match: re.Match[str]) -> str:
    if match[1]:
        return f"{_letters(match[0][:-1].rstrip(chr(39)))}'s"
    letters = _letters(match[0])
    plain = letters.replace(" ", "")
    surname = re.match(r"\s+[A-Z][a-z]", match.string[match.end() :])
    if not surname and re.fullmatch(r"[NS][EW]|N?N[EW]|S?S[EW]|E[NS]E|W[NS]W", plain):
        # "S.S.E." is south-southeast: the last two letters are one word.
        head = "".join(f"{_COMPASS[letter]}-" for letter in plain[:-2])
        return head + "".join(_COMPASS[letter] for letter in plain[-2:]) + _stop(match)
    return letters + ("." if _ends_at(match) else "")


def _half_day(match: re.Match[str]) -> str:
    letter = (match[1] or match[2]).upper()
    before = "" if match.start() == 0 or match.string[match.start() - 1].isspace() else " "
    # "at 8 p.m. Monday" goes on, "at 8 p.m. The lens" does not.
    day = _DAY_NEXT.match(match.string, match.end())
    return f"{before}{letter} M{_stop(match) if match[0].endswith('.') and not day else ''}"


def _plain(match: re.Match[str], end: bool) -> str | None:
    found = match[0]
    words = PHRASES.get(found) or PHRASES.get(found.lower())
    if words is None or (found.islower() is False and found[:1].islower()):
        return None
    stop = "." if end and found.endswith(".") else ""
    return (_like(found, words) if found[0].isalpha() else words) + stop


def _street(match: re.Match[str]) -> str:
    before, gap, space, after = match[1] or "", match[2] or "", match[3] or "", match[4] or ""
    proper = before not in BEFORE_SAINT and bool(before)
    saint = bool(after) and (not proper or re.sub(r"'?s?$", "", after) in SAINTS or after in SAINTS)
    if saint:
        return f"{before}{gap}Saint{space}"
    stop = "." if _ends_at(match) else ""
    return f"{before}{gap}Street{stop}{space}"


def _drive(match: re.Match[str]) -> str | None:
    if match[1] in BEFORE_SAINT:
        return None  # "The Dr. is in"
    return f"{match[1]}{match[2]}Drive{'.' if _ends_at(match) else ''}"


def _ending(match: re.Match[str]) -> str | None:
    word = match[1]
    if word in NEEDS_NAME_BEFORE and not re.search(
        r"(?:[A-Z][\w']*|\d(?:st|nd|rd|th))\.?,? (?:& |and )?$", match.string[: match.start()]
    ):
        return None
    if word in {"Jr", "Sr", "Esq", "Ave", "Rd", "Blvd", "Co", "Bros", "Sq"}:
        return ENDINGS[word] + ("." if _ends_at(match) else "")
    return ENDINGS[word] + _stop(match)


def _initials(match: re.Match[str]) -> str | None:
    found = match[0]
    single = found.strip()
    if len(single) == 2:
        before = match.string[: match.start()].rstrip()
        # "at nine P M. The lens": letters that were spelled already, and a sentence's end.
        if re.search(r"(?:^|\s)[A-Z]$", before):
            return None
        # "It was I. He went": the pronoun ends a sentence.
        if single == "I." and not re.search(r"(?:^|[^\w'.,;:] ?)[A-Z][a-z]+$", before):
            return None
        if re.search(
            r"\b(?:[Vv]itamin|[Pp]lan|[Tt]ype|[Gg]roup|[Cc]lass|[Pp]oint|[Gg]rade)$", before
        ):
            return None
    follows_space = match.string[match.end() : match.end() + 1].isspace()
    return _letters(found) + ("" if follows_space else " ")
