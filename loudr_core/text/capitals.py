"""Words in capitals: openings in small capitals and emphasis become ordinary words, acronyms stay.

Engines spell short words in capitals letter by letter, so "STOP" must not reach them as it stands,
while "FBI" must.
"""

import re

from loudr_core.text.draft import Draft

__all__ = ["lower_capitals"]

_ACRONYMS = frozenset(
    (
        "FBI CIA BBC USA UK EU UN NASA NATO DNA RNA TV PC CD DVD GPS HIV AIDS UFO RAF RAC MP MPS HMS "
        "SS USS KGB MI GP PM AM BC AD BCE CE VIP SOS IOU DIY ATM CEO CFO CTO PHD MA BA MD JFK FDR IBM "
        "ABC NBC CBS CNN ITV IRA USSR GDR NHS NYPD LAPD DC LA NY OK ID IQ PR HQ GI POW MIA KO RIP RSVP "
        "ESP ICU ER OR UNESCO UNICEF OPEC SWAT LSD TNT XL URL HTML PDF AI IT TLC ETA GMT PS NB KKK YMCA "
        "YWCA SUV CCTV FM HR EEG MRI CT CPR PTSD OCD ADHD"
    ).split()
) - {"OR", "IT", "AM", "AD"}
_SHORT_WORDS = frozenset(
    (
        "A I AM AN AS AT BE BY DO GO HE IF IN IS IT ME MY NO OF OH ON OR SO TO UP US WE AND ARE BUT "
        "CAN DAY DID END EYE FOR GET GOD GOT HAD HAS HER HIM HIS HOW ITS LET MAN MAY MEN NEW NOT NOW "
        "OLD ONE OUR OUT OWN PUT RUN SAY SAW SEA SEE SHE SIR SON THE TOO TWO WAS WAY WHO WHY WIN YES YET "
        "YOU ALL ANY BAD BIG BOY CRY DIE EAT FAR FEW FUN HEY HOT JOY KEY LAW LIE LOT MAD MOM DAD ODD OFF "
        "PAY RED SAD SET SIX TEN TRY USE WAR WET HA AH AW HO LO MR MRS ST DR VOL BOX CAT DOG TOP STOP AGO "
        "AIR ART ASK BED CUT DEAD EVE GUN ICE INN LADY LOW NIGHT SKY SUN TIE TOW VAN VOW ELSE"
    ).split()
)
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
    return word in _ACRONYMS or (
        word.isalpha()
        and not re.search(r"[AEIOUY]", word)
        and len(word) > 1
        and word not in _SHORT_WORDS
    )


def _run(match: re.Match[str]) -> str | None:
    words = _PIECE.findall(match[0])
    ordinary = [word for word in words if len(word) > 1 and not _is_acronym(word)]
    if not any(len(word) > 2 or word in _SHORT_WORDS for word in ordinary):
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
    if len(word) < 4 and word not in _SHORT_WORDS and not _SYLLABLE.match(word):
        return None
    if len(plain) == 1 and "'" not in word:
        return None
    if re.match(r"[DLO]'[A-Z]{2}", word):
        return _capitalised(word)
    opens = bool(_OPENS.search(match.string[: match.start()]))
    if word == "I" or word.startswith("I'"):
        return "I" + word[1:].lower()
    return _capitalised(word) if opens else word.lower()
