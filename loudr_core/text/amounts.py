"""English figures in context: money, measures, fractions, ranges, telephone numbers, labels.

The order of the rules is the order of how sure they are: what carries a sign or a unit goes first, the
bare number last.
"""

import re

from loudr_core.text.draft import Draft
from loudr_core.text.numbers import (
    cardinal,
    decimal,
    denominator,
    digits,
    ordinal,
    spell_number,
)

__all__ = ["expand_amounts", "expand_fractions", "expand_spelled_units"]

_N = r"\d{1,3}(?:,\d{3})+|\d+"
_NUMBER = rf"(?:(?:{_N})(?:\.\d+)?|\.\d+)"
_VULGAR = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5),
    "⅗": (3, 5), "⅘": (4, 5), "⅙": (1, 6), "⅚": (5, 6), "⅐": (1, 7), "⅛": (1, 8), "⅜": (3, 8),
    "⅝": (5, 8), "⅞": (7, 8), "⅑": (1, 9), "⅒": (1, 10),
}  # fmt: skip
_DENOMINATORS = frozenset({2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 32, 50, 64, 100, 1000})
_CURRENCY = {
    "$": ("dollar", "dollars", "cent", "cents"),
    "£": ("pound", "pounds", "penny", "pence"),
    "€": ("euro", "euros", "cent", "cents"),
    "¥": ("yen", "yen", "sen", "sen"),
    "₹": ("rupee", "rupees", "paisa", "paise"),
    "₽": ("ruble", "rubles", "kopeck", "kopecks"),
}
_SCALE = {
    "k": "thousand",
    "m": "million",
    "mn": "million",
    "bn": "billion",
    "b": "billion",
    "tn": "trillion",
}
_UNITS = {
    "km": ("kilometer", "kilometers"), "cm": ("centimeter", "centimeters"),
    "mm": ("millimeter", "millimeters"), "m": ("meter", "meters"), "kg": ("kilogram", "kilograms"),
    "kgs": ("kilogram", "kilograms"), "mg": ("milligram", "milligrams"), "g": ("gram", "grams"),
    "lb": ("pound", "pounds"), "lbs": ("pound", "pounds"), "oz": ("ounce", "ounces"),
    "ft": ("foot", "feet"), "in": ("inch", "inches"), "yd": ("yard", "yards"),
    "yds": ("yard", "yards"), "mi": ("mile", "miles"), "mph": ("mile per hour", "miles per hour"),
    "kph": ("kilometer per hour", "kilometers per hour"),
    "km/h": ("kilometer per hour", "kilometers per hour"), "hr": ("hour", "hours"),
    "hrs": ("hour", "hours"), "min": ("minute", "minutes"), "mins": ("minute", "minutes"),
    "sec": ("second", "seconds"), "secs": ("second", "seconds"), "ms": ("millisecond", "milliseconds"),
    "ml": ("milliliter", "milliliters"), "cl": ("centiliter", "centiliters"),
    "l": ("liter", "liters"), "L": ("liter", "liters"), "gal": ("gallon", "gallons"),
    "qt": ("quart", "quarts"), "pt": ("pint", "pints"), "cwt": ("hundredweight", "hundredweight"),
    "kW": ("kilowatt", "kilowatts"), "W": ("watt", "watts"), "kHz": ("kilohertz", "kilohertz"),
    "MHz": ("megahertz", "megahertz"), "GHz": ("gigahertz", "gigahertz"), "Hz": ("hertz", "hertz"),
    "GB": ("gigabyte", "gigabytes"), "MB": ("megabyte", "megabytes"), "kB": ("kilobyte", "kilobytes"),
    "KB": ("kilobyte", "kilobytes"), "TB": ("terabyte", "terabytes"), "hp": ("horsepower", "horsepower"),
    "rpm": ("R P M", "R P M"), "ha": ("hectare", "hectares"), "V": ("volt", "volts"), "kV": ("kilovolt", "kilovolts"),
    "dB": ("decibel", "decibels"), "sq. mi": ("square mile", "square miles"), "sq. ft": ("square foot", "square feet"), "sq. km": ("square kilometer", "square kilometers"), "cc": ("C C", "C C"), "mL": ("milliliter", "milliliters"),
}  # fmt: skip
_NEED_STOP = frozenset(
    {"in", "min", "sec", "pt", "mi", "hp", "ha", "m", "g", "l", "L", "V", "W", "ms", "gal", "qt"}
)
"""Units that are words or letters as well: read with a stop, or where no word follows."""

_UNIT = re.compile(
    rf"(?<![\w.,])({_NUMBER})(\s?-?)({'|'.join(re.escape(unit) for unit in sorted(_UNITS, key=len, reverse=True))})([²³])?(?![\w²³])(\.)?"
)
_SPELLED_UNIT = re.compile(
    rf"\b(and a half|[a-z]+(?:ths?|thirds?|halves|half|quarters?)) ({'|'.join(unit for unit in _UNITS if len(unit) > 1 and unit not in {'in', 'min', 'sec', 'pt', 'ha'} and unit.isalpha())})\b(\.?)"
)
_MONEY = re.compile(
    rf"(?:\b(?:US|A|C|NZ|HK))?([$£€¥₹₽])\s?({_N})(?:\.(\d+))?(?:(\s?)(k|m|mn|bn|b|tn)\b(?!\.?\w)|\s(hundred|thousand|million|billion|trillion)s?\b)?"
    rf"(?:[-\s](bill|note|coin|ticket|fine|reward|check|cheque|piece|deal|loan|tip|bet|stamp)\b)?"
)
_MONEY_RANGE = re.compile(rf"([$£€])({_N})\s?[–-]\s?\1?({_N})(?![\d.])")
_OLD_MONEY = re.compile(
    r"(?:£\s?((?:\d{1,3},)*\d+)\s?)?(?<![\w.])(?:\b(\d{1,2})s\.?,?(?:\s?(\d{1,2})(½)?d\b\.?)?)(?!\w)"
)
_PENCE = re.compile(r"(?<![\w.])(\d{1,2})(½)?d\.(?=\W|$)")
_CENTS = re.compile(rf"(?<![\w.])({_N})\s?¢")
_AFTER_MONEY = re.compile(rf"(?<![\w.,])({_N})(?:\.(\d+))?\s?([€£¥₹₽])(?!\d)")
_PERCENT = re.compile(rf"(?<![\w.,])({_NUMBER})(?:\s?[–-]\s?({_NUMBER}))?\s?(%|‰)")
_TEMPERATURE = re.compile(
    rf"(?<![\w.,])([−-]\s?)?({_NUMBER})\s?°\s?([CFK])\b(?:\.(?=\s+[a-z]|[,;:]))?"
)
_ANGLE = re.compile(
    rf"(?<![\w.,])([−-]\s?)?({_NUMBER})\s?°(?:\s?(\d{{1,2}})['′](?:\s?(\d{{1,2}}(?:\.\d+)?)(?:\"|″|''))?)?(?:\s?([NSEW])\b(?:\.(?=\s+[a-z]|[,;:]))?)?"
)
_HEIGHT = re.compile(r"(?<![\w.,])(\d{1,2})'\s?(\d{1,2})(?:\"|'')(?!\w)")
_PHONE = re.compile(
    r"(?<![\w.])(?:\+\d{1,3}[\s.-]?(?:\(?\d{1,4}\)?[\s.-]?){2,5}\d{2,4}|\(\d{3}\)\s?\d{3}[-.\s]\d{4}|\d{3}[-.]\d{3}[-.]\d{4}|\d{3}-\d{4})(?![\w-])"
)
_ISBN = re.compile(r"(?<![\w-])(?:97[89][-\s]?)(?:\d[-\s]?){9}[\dXx](?![\w-])")
_DIMENSION = re.compile(rf"(?<=\d)\s?[×xX]\s?(?=\d)")
_ORDINAL = re.compile(rf"(?<![\w.])({_N})(st|nd|rd|th|d)\b(?!\.\w)")
_NUMBER_SIGN = re.compile(r"(?:№\s?|(?<!\w)#\s?|(?<![\w])[Nn]o\.?\s?)(?=\d)")
_RATIO = re.compile(r"(?<![\w:.])(\d+):(\d+)(?![\d:])")
_MIXED = re.compile(r"(?<![\w./,])(\d+)[\s-](\d{1,2})/(\d{1,3})(?![\w/]|\.\d)")
_SIMPLE = re.compile(r"(?<![\w./,])(\d{1,4})/(\d{1,4})(?:(ths?|nds?|rds?|sts?)\b)?(?![\w/]|\.\d)")
_RANGE = re.compile(rf"(?<![\w.,-])({_NUMBER})\s?[–-]\s?({_NUMBER})(?![\w-])")
_MINUS = re.compile(rf"(?<![\w.)])[−-](?=(?:{_NUMBER})(?![\d-]))")
_RAISED = re.compile(r"(?<=\w)([²³])|(?<=[\w.,;:!?'\")])([¹⁰⁴⁵⁶⁷⁸⁹²³]+)|([₀-₉]+)|([⁰¹²³⁴-⁹]+)")
_NOTE = re.compile(r"(?<=[A-Za-z.,;:!?'\")])(?:\[|\()?\[[\d\s,;–-]{1,20}\]|\[\d{1,3}\]")
_DECIMAL = re.compile(rf"(?<![\w.])({_N})?\.(\d+)(?![\d]*\.\d|\w)")
_VERSION = re.compile(r"\b[vV](?:ersion|\.)?\s?(\d+(?:\.\d+)+)\b")
_DOTTED = re.compile(r"(?<![\w.])\d+(?:\.\d+){2,}(?!\w)")
_DOUBLE_OH = re.compile(r"(?<![\w.,])007(?![\w,.]\d|\w)")
_LABEL = re.compile(r"(?<![^\W_])(?=\w*\d)(?=\w*[^\W\d_])[^\W_]+")
_INTEGER = re.compile(rf"(?<![\d])(?:{_N})")
_POWER = re.compile(r"(?<=\d)\s?\^\s?(?=\d)")
_TRAILING_SCALE = re.compile(rf"(?<![\w.,$£€])({_NUMBER})\s?(bn|mn|k)\b")


def _amount(figures: str) -> str:
    whole, point, fraction = figures.partition(".")
    return decimal(whole.replace(",", ""), fraction) if point else spell_number(whole)


def _value(figures: str) -> float:
    return float(figures.replace(",", ""))


def _fraction(numerator: int, below: int) -> str:
    return f"{cardinal(numerator)} {denominator(below, numerator)}"


def expand_fractions(draft: Draft) -> None:
    """Rewrite ½ and its like, "2 1/2" and "3/4" as words."""
    draft.rewrite("fraction", re.compile(rf"(?:(\d+)\s?)?([{''.join(_VULGAR)}])(?=(\w?))"), _vulgar)
    if "/" in draft.text:
        draft.rewrite("fraction", _MIXED, _mixed)
        draft.rewrite("fraction", _SIMPLE, _simple)


def _vulgar(match: re.Match[str]) -> str:
    part = _fraction(*_VULGAR[match[2]])
    if part.startswith("one ") and match[1]:
        part = "a" + part[3:]
    gap = " " if match[3] else ""
    if not match[1]:
        before = match.string[: match.start()][-1:]
        return (" " if before.isalnum() else "") + part + gap
    return f"{spell_number(match[1])} and {part}{gap}"


def _mixed(match: re.Match[str]) -> str | None:
    above, below = int(match[2]), int(match[3])
    if not 0 < above < below or below not in _DENOMINATORS:
        return None
    part = _fraction(above, below)
    return f"{spell_number(match[1])} and {'a' + part[3:] if above == 1 else part}"


def _simple(match: re.Match[str]) -> str:
    above, below = int(match[1]), int(match[2])
    if match[3] and below > 0 or 0 < above < below and below in _DENOMINATORS:
        return _fraction(above, below)
    if (above, below) in {(24, 7), (9, 11), (20, 20)}:
        return f"{cardinal(above)} {'eleven' if below == 11 else cardinal(below)}"
    return f"{spell_number(match[1])} over {spell_number(match[2])}"


def expand_amounts(draft: Draft) -> None:
    """Rewrite every figure that is left as words; the draft holds one."""
    draft.rewrite("note-number", _NOTE, "")
    draft.rewrite("digits", _ISBN, lambda m: _grouped(m[0]))
    draft.rewrite("digits", _PHONE, lambda m: _grouped(m[0]))
    draft.rewrite(
        "version",
        _VERSION,
        lambda m: "version " + " point ".join(spell_number(x) for x in m[1].split(".")),
    )
    draft.rewrite(
        "money", _MONEY_RANGE, lambda m: f"{_amount(m[2])} to {_amount(m[3])} {_CURRENCY[m[1]][1]}"
    )
    draft.rewrite("money", _OLD_MONEY, _old_money)
    draft.rewrite("money", _PENCE, _pence)
    draft.rewrite("money", _MONEY, _money)
    draft.rewrite("money", _AFTER_MONEY, lambda m: _coins(m[1], m[2] or "", m[3]))
    draft.rewrite(
        "money", _CENTS, lambda m: f"{_amount(m[1])} {'cent' if m[1] == '1' else 'cents'}"
    )
    draft.rewrite("percent", _PERCENT, _percent)
    draft.rewrite("degrees", _TEMPERATURE, _temperature)
    draft.rewrite("degrees", _ANGLE, _angle)
    draft.rewrite("height", _HEIGHT, lambda m: f"{cardinal(int(m[1]))} foot {cardinal(int(m[2]))}")
    draft.rewrite("unit", _UNIT, _unit)
    draft.rewrite("number-sign", _NUMBER_SIGN, lambda m: "Number " if m[0][0] == "N" else "number ")
    draft.rewrite("times", _DIMENSION, " by ")
    draft.rewrite("power", _POWER, " to the ")
    draft.rewrite("scale", _TRAILING_SCALE, lambda m: f"{_amount(m[1])} {_SCALE[m[2]]}")
    draft.rewrite("note-number", _RAISED, lambda m: None if _raised(m) else "")
    draft.rewrite("raised", _RAISED, _raised)
    draft.rewrite("ordinal", _ORDINAL, _ordinal)
    draft.rewrite(
        "ratio",
        _RATIO,
        lambda m: (
            f"{spell_number(m[1])} to {spell_number(m[2])}"
            if len(m[2]) == 1 and not re.search(r"\b[A-Z]\w*\.? ?$", m.string[: m.start()])
            else f"{spell_number(m[1])}, {spell_number(m[2])}"
        ),
    )
    draft.rewrite("range", _RANGE, lambda m: f"{_amount(m[1])} to {_amount(m[2])}")
    draft.rewrite("minus", _MINUS, "minus ")
    draft.rewrite("digits", _DOUBLE_OH, "double oh seven")
    draft.rewrite(
        "dotted", _DOTTED, lambda m: " point ".join(spell_number(x) for x in m[0].split("."))
    )
    draft.rewrite("decimal", _DECIMAL, lambda m: decimal((m[1] or "0").replace(",", ""), m[2]))
    draft.rewrite("label", _LABEL, _label)
    draft.rewrite("number", _INTEGER, _integer)


def expand_spelled_units(draft: Draft) -> None:
    """Rewrite a unit behind a fraction that is in words already: "three quarters lb"."""
    draft.rewrite(
        "unit", _SPELLED_UNIT, lambda m: f"{m[1]} {_UNITS[m[2]][1 if 'and' in m[1] else 0]}"
    )


def _grouped(figures: str) -> str:
    groups = [digits(group) or group for group in re.findall(r"\d+", figures)]
    if figures[-1] in "Xx":
        groups.append("X")
    return ("plus " if figures[0] == "+" else "") + ", ".join(groups)


def _coins(whole: str, fraction: str, sign: str) -> str:
    one, many, small, smalls = _CURRENCY[sign]
    amount = spell_number(whole)
    name = one if amount == "one" else many
    if not fraction or not int(fraction) and len(fraction) == 2:
        return f"{amount} {name}"
    if len(fraction) != 2:
        return f"{_amount(f'{whole}.{fraction}')} {many}"
    rest = f"{cardinal(int(fraction))} {small if int(fraction) == 1 else smalls}"
    return rest if amount == "zero" else f"{amount} {name} and {rest}"


def _money(match: re.Match[str]) -> str:
    sign, whole, fraction = match[1], match[2], match[3] or ""
    scale = _SCALE.get(match[5] or "", match[6] or "")
    noun = match[7]
    if scale:
        amount = _amount(f"{whole}.{fraction}" if fraction else whole)
        name = _CURRENCY[sign][0 if noun else 1]
        return f"{amount} {scale} {name}" + (f" {noun}" if noun else "")
    if noun and not fraction:
        return f"{spell_number(whole)} {_CURRENCY[sign][0]} {noun}"
    after = match.string[match.end() : match.end() + 2]
    if re.match(r"-[a-z]", after) and not fraction:
        return f"{spell_number(whole)} {_CURRENCY[sign][0]}"
    return _coins(whole, fraction, sign) + (f" {noun}" if noun else "")


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


def _pence_words(pence: str, half: str | None) -> str:
    number = cardinal(int(pence))
    if half:
        return f"{number} pence halfpenny"
    return (
        "one penny" if pence == "1" else f"{number}pence" if int(pence) < 13 else f"{number} pence"
    )


def _pence(match: re.Match[str]) -> str:
    ends = not match.string[match.end() :].strip("'\") ")
    return _pence_words(match[1], match[2]) + ("." if ends else "")


def _percent(match: re.Match[str]) -> str:
    name = "percent" if match[3] == "%" else "per mille"
    to = f" to {_amount(match[2])}" if match[2] else ""
    return f"{_amount(match[1])}{to} {name}"


def _temperature(match: re.Match[str]) -> str:
    scale = {"C": "Celsius", "F": "Fahrenheit", "K": "Kelvin"}[match[3]]
    return f"{'minus ' if match[1] else ''}{_degrees(match[2])} {scale}"


def _degrees(figures: str) -> str:
    return f"{_amount(figures)} {'degree' if figures == '1' else 'degrees'}"


def _angle(match: re.Match[str]) -> str:
    words = ("minus " if match[1] else "") + _degrees(match[2])
    for figures, name in ((match[3], "minute"), (match[4], "second")):
        if figures:
            words += f" {_amount(figures)} {name}{'' if figures == '1' else 's'}"
    if match[5]:
        words += " " + {"N": "north", "S": "south", "E": "east", "W": "west"}[match[5]]
    return words


def _unit(match: re.Match[str]) -> str | None:
    figures, gap, unit, power, stop = match[1], match[2], match[3], match[4], match[5] or ""
    rest = match.string[match.end() :]
    if (
        unit in _NEED_STOP
        and not stop
        and not power
        and re.match(r"\s*[A-Za-z]", rest)
        and gap != ""
    ):
        return None
    if unit == "in" and (not stop or re.match(r"\s*['\"]?[A-Z]|\s*$", rest)):
        return None
    one, many = _UNITS[unit]
    name = one if figures == "1" or gap.endswith("-") else many
    if power:
        name = f"{'square' if power == '²' else 'cubic'} {name}"
    ends = stop and (not rest.strip("'\") ") or re.match(r"\s+['\"(]?[A-Z]", rest))
    return f"{_amount(figures)} {name}{'.' if ends else ''}"


def _raised(match: re.Match[str]) -> str:
    if match[1]:
        before = re.search(r"\w+$", match.string[: match.start()])
        word = before[0] if before else ""
        if word.isdigit() or len(word) <= 2:
            return " squared" if match[1] == "²" else " cubed"
        return f" {match[1].translate(_TO_FIGURES)} " if word.isdigit() else ""
    if match[2]:
        before = match.string[match.start() - 1]
        if before.isdigit():
            return f" to the {digits(match[2].translate(_TO_FIGURES))}"
        return ""
    return f" {digits((match[3] or match[4]).translate(_TO_FIGURES))} "


_TO_FIGURES = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", "01234567890123456789")


def _ordinal(match: re.Match[str]) -> str | None:
    figures = match[1].replace(",", "")
    if match[2] == "d" and figures[-1] not in "23":
        return None
    return ordinal(int(figures)) if len(figures) < 16 else None


def _label(match: re.Match[str]) -> str:
    """Read "MI5", "A4", "B2B" as their parts; a run of many figures goes one by one."""
    parts = re.findall(r"\d+|[^\W\d_]+", match[0])
    return " ".join(
        (digits(part) if len(part) > 4 else spell_number(part)) if part.isdigit() else part
        for part in parts
    )


def _integer(match: re.Match[str]) -> str:
    words = spell_number(match[0])
    before = match.string[: match.start()][-1:]
    after = match.string[match.end() :][:1]
    return (" " if before.isalnum() else "") + words + (" " if after.isalnum() else "")
