"""English sums of money as words: decimal currencies, and pounds, shillings and pence."""

import re

from loudr_core.text.draft import Draft
from loudr_core.text.numbers import WHOLE, amount, cardinal, spell_number

__all__ = ["SCALES", "expand_money"]

_CURRENCY = {
    "$": ("dollar", "dollars", "cent", "cents"),
    "£": ("pound", "pounds", "penny", "pence"),
    "€": ("euro", "euros", "cent", "cents"),
    "¥": ("yen", "yen", "sen", "sen"),
    "₹": ("rupee", "rupees", "paisa", "paise"),
    "₽": ("ruble", "rubles", "kopeck", "kopecks"),
}
SCALES = {
    "k": "thousand",
    "m": "million",
    "mn": "million",
    "bn": "billion",
    "b": "billion",
    "tn": "trillion",
    "t": "trillion",
}
_MONEY = re.compile(
    rf"(?:\b(?P<land>US|AU?|CA?|NZ|HK)(?=\$))?"
    rf"(?P<sign>[$£€¥₹₽])\s?(?P<whole>{WHOLE})(?:\.(?P<fraction>\d+))?(?![\d¼½¾])"
    r"(?:\s?(?P<scale>k|m|mn|bn|b|tn|[KMBT](?<=\d[KMBT]))\b(?!\.?\w)|\s(?P<count>hundred|thousand|million|billion|trillion)s?\b)?"
    r"(?:[-\s](?P<noun>bill|note|coin|ticket|fine|reward|check|cheque|piece|deal|loan|tip|bet|stamp)\b)?"
)
_LANDS = {
    "": "", "US": "U S ", "A": "Australian ", "AU": "Australian ", "C": "Canadian ",
    "CA": "Canadian ", "NZ": "New Zealand ", "HK": "Hong Kong ",
}  # fmt: skip
_BARE_CENTS = re.compile(r"([$£€])\s?\.(\d\d)(?!\d)")
_RUPEES = re.compile(r"\bRs\.?\s?(?=\d)")
_SLASHED = re.compile(r"£(\d+)/(\d{1,2})/(\d{1,2}|-)(?![\w/])")
_SHILLINGS = re.compile(r"(?<![\w./])(\d{1,2})/-(?!\w)")
_BETWEEN = re.compile(r"(?<=[\dKMBkmbn])\s?[–-]\s?(?=[£$€]\d)")
_MONEY_RANGE = re.compile(rf"([$£€])({WHOLE})\s?[–-]\s?\1?({WHOLE})(?![\d.])")
_OLD_MONEY = re.compile(
    r"(?:£\s?((?:\d{1,3},)*\d+)\s?)?(?<![\w.])\b(\d{1,2})s\.?,?(?:\s?(\d{1,2})(½)?d\b\.?)?(?!\w)"
)
_POUNDS = re.compile(
    rf"(?<![\w.,£])({WHOLE})l\.(?=,|;|\s+(?:a|per|an|in|for|to|and|was|is|each|\d{{1,2}}s)\b|\W*\Z)"
)
"""The sign that was printed behind the figure: "500l. a year"."""
_PENCE = re.compile(r"(?<![\w.])(\d{1,2})(½)?d\.(?=\W|$)")
_CENTS = re.compile(rf"(?<![\w.])({WHOLE})\s?¢")
_AFTER_MONEY = re.compile(rf"(?<![\w.,])({WHOLE})(?:\.(\d+))?\s?([€£¥₹₽])(?!\d)")


def expand_money(draft: Draft) -> None:
    """Rewrite sums of money as words; the draft holds a figure."""
    draft.rewrite("currency", _RUPEES, "₹")
    draft.rewrite("money", _SLASHED, _slashed)
    draft.rewrite("money", _SHILLINGS, lambda m: _counted(m[1], "shilling"))
    draft.rewrite("money", _MONEY_RANGE, _range)
    draft.rewrite("range", _BETWEEN, " to ")
    draft.rewrite("money", _BARE_CENTS, lambda m: _coins("0", m[2], m[1]))
    draft.rewrite("money", _POUNDS, _pounds)
    draft.rewrite("money", _OLD_MONEY, _old_money)
    draft.rewrite("money", _PENCE, _pence)
    draft.rewrite("money", _MONEY, _money)
    draft.rewrite("money", _AFTER_MONEY, lambda m: _coins(m[1], m[2] or "", m[3]))
    draft.rewrite("money", _CENTS, lambda m: f"{amount(m[1])} {'cent' if m[1] == '1' else 'cents'}")


def _range(match: re.Match[str]) -> str:
    return f"{amount(match[2])} to {amount(match[3])} {_CURRENCY[match[1]][1]}"


def _pounds(match: re.Match[str]) -> str:
    ends = not match.string[match.end() :].strip("'\") ")
    return (
        f"{spell_number(match[1])} {'pound' if match[1] == '1' else 'pounds'}{'.' if ends else ''}"
    )


def _coins(whole: str, fraction: str, sign: str, land: str = "") -> str:
    one, many, small, smalls = _CURRENCY[sign]
    count = spell_number(whole)
    name = land + (one if count == "one" else many)
    if not fraction or fraction == "00":
        return f"{count} {name}"
    if len(fraction) != 2:
        return f"{amount(f'{whole}.{fraction}')} {land}{many}"
    rest = f"{cardinal(int(fraction))} {small if int(fraction) == 1 else smalls}"
    return rest if count == "zero" else f"{count} {name} and {rest}"


def _money(match: re.Match[str]) -> str:
    sign, whole, fraction = match["sign"], match["whole"], match["fraction"] or ""
    land = _LANDS[match["land"] or ""]
    scale = SCALES.get((match["scale"] or "").lower(), match["count"] or "")
    noun = match["noun"]
    if scale:
        count = amount(f"{whole}.{fraction}" if fraction else whole)
        name = _CURRENCY[sign][0 if noun else 1]
        return f"{count} {scale} {land}{name}" + (f" {noun}" if noun else "")
    if noun and not fraction:
        return f"{spell_number(whole)} {land}{_CURRENCY[sign][0]} {noun}"
    after = match.string[match.end() : match.end() + 2]
    if re.match(r"-[a-z]", after) and not fraction:
        return f"{spell_number(whole)} {land}{_CURRENCY[sign][0]}"
    return _coins(whole, fraction, sign, land) + (f" {noun}" if noun else "")


def _old_money(match: re.Match[str]) -> str | None:
    pounds, shillings, pence, half = match[1], match[2], match[3], match[4]
    if not pounds and not pence and not match[0].endswith("s."):
        return None
    parts = []
    if pounds:
        parts.append(f"{spell_number(pounds)} {'pound' if pounds == '1' else 'pounds'}")
    parts.append(f"{cardinal(int(shillings))} {'shilling' if shillings == '1' else 'shillings'}")
    words = " ".join(parts)
    if pence:
        words += f" and {_pence_words(pence, half)}"
    ends = match[0].endswith(".") and not match.string[match.end() :].strip("'\") ")
    return words + ("." if ends else "")


def _slashed(match: re.Match[str]) -> str:
    words = f"{_counted(match[1], 'pound')} {_counted(match[2], 'shilling')}"
    return words if match[3] in {"-", "0"} else f"{words} and {_pence_words(match[3], None)}"


def _counted(figures: str, name: str) -> str:
    return f"{spell_number(figures)} {name}{'' if figures == '1' else 's'}"


def _pence_words(pence: str, half: str | None) -> str:
    number = cardinal(int(pence))
    if pence == "0":
        return "no pence"
    if half and pence == "1":
        return "a penny halfpenny"
    if half:
        return f"{number} pence halfpenny"
    return (
        "one penny" if pence == "1" else f"{number}pence" if int(pence) < 13 else f"{number} pence"
    )


def _pence(match: re.Match[str]) -> str:
    ends = not match.string[match.end() :].strip("'\") ")
    return _pence_words(match[1], match[2]) + ("." if ends else "")
