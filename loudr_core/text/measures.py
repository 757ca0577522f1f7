"""English measures as words: fractions, percent, degrees, heights, units."""

import re

from loudr_core.text.draft import Draft
from loudr_core.text.numbers import NUMBER, amount, cardinal, denominator, spell_number

__all__ = ["expand_fractions", "expand_measures"]

_VULGAR = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5),
    "⅗": (3, 5), "⅘": (4, 5), "⅙": (1, 6), "⅚": (5, 6), "⅐": (1, 7), "⅛": (1, 8), "⅜": (3, 8),
    "⅝": (5, 8), "⅞": (7, 8), "⅑": (1, 9), "⅒": (1, 10),
}  # fmt: skip
_DENOMINATORS = frozenset({2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 32, 50, 64, 100, 1000})
_UNITS = {
    "km": ("kilometer", "kilometers"), "cm": ("centimeter", "centimeters"),
    "mm": ("millimeter", "millimeters"), "m": ("meter", "meters"),
    "kg": ("kilogram", "kilograms"), "kgs": ("kilogram", "kilograms"),
    "mg": ("milligram", "milligrams"), "g": ("gram", "grams"),
    "lb": ("pound", "pounds"), "lbs": ("pound", "pounds"), "oz": ("ounce", "ounces"),
    "ft": ("foot", "feet"), "in": ("inch", "inches"), "yd": ("yard", "yards"),
    "yds": ("yard", "yards"), "mi": ("mile", "miles"), "mph": ("mile per hour", "miles per hour"),
    "kph": ("kilometer per hour", "kilometers per hour"),
    "km/h": ("kilometer per hour", "kilometers per hour"), "hr": ("hour", "hours"),
    "hrs": ("hour", "hours"), "min": ("minute", "minutes"), "mins": ("minute", "minutes"),
    "sec": ("second", "seconds"), "secs": ("second", "seconds"),
    "ms": ("millisecond", "milliseconds"), "ml": ("milliliter", "milliliters"),
    "mL": ("milliliter", "milliliters"), "cl": ("centiliter", "centiliters"),
    "l": ("liter", "liters"), "L": ("liter", "liters"), "gal": ("gallon", "gallons"),
    "qt": ("quart", "quarts"), "pt": ("pint", "pints"),
    "cwt": ("hundredweight", "hundredweight"), "W": ("watt", "watts"),
    "kW": ("kilowatt", "kilowatts"), "kWh": ("kilowatt-hour", "kilowatt-hours"),
    "MW": ("megawatt", "megawatts"), "m/s": ("meter per second", "meters per second"),
    "μm": ("micrometer", "micrometers"), "µm": ("micrometer", "micrometers"),
    "μg": ("microgram", "micrograms"), "µg": ("microgram", "micrograms"),
    "Ω": ("ohm", "ohms"), "kΩ": ("kilohm", "kilohms"), "Å": ("ångström", "ångströms"),
    "mpg": ("mile per gallon", "miles per gallon"),
    "V": ("volt", "volts"), "kV": ("kilovolt", "kilovolts"),
    "Hz": ("hertz", "hertz"), "kHz": ("kilohertz", "kilohertz"),
    "MHz": ("megahertz", "megahertz"), "GHz": ("gigahertz", "gigahertz"),
    "kB": ("kilobyte", "kilobytes"), "KB": ("kilobyte", "kilobytes"),
    "MB": ("megabyte", "megabytes"), "GB": ("gigabyte", "gigabytes"),
    "TB": ("terabyte", "terabytes"), "hp": ("horsepower", "horsepower"),
    "rpm": ("R P M", "R P M"), "ha": ("hectare", "hectares"), "dB": ("decibel", "decibels"),
    "cc": ("C C", "C C"), "sq. mi": ("square mile", "square miles"),
    "sq. ft": ("square foot", "square feet"), "sq. km": ("square kilometer", "square kilometers"),
}  # fmt: skip
_NEED_STOP = frozenset(
    {"in", "min", "sec", "pt", "mi", "hp", "ha", "m", "g", "l", "L", "V", "W", "ms", "gal", "qt"}
)
"""Units that are words or letters as well: read with a stop, or where no word follows."""
_ANY_UNIT = "|".join(re.escape(unit) for unit in sorted(_UNITS, key=len, reverse=True))
_CLEAR_UNIT = "|".join(
    unit for unit in _UNITS if unit.isalpha() and len(unit) > 1 and unit not in _NEED_STOP
)
_UNIT = re.compile(rf"(?<![\w.,])({NUMBER})(\s?-?)({_ANY_UNIT})([²³])?(?![\w²³])(\.)?")
_SPELLED_UNIT = re.compile(
    rf"\b(and a half|[a-z]+(?:ths?|thirds?|halves|half|quarters?)) ({_CLEAR_UNIT})\b(\.?)"
)
_BETWEEN_DEGREES = re.compile(r"(?:(?<=\d°)|(?<=\d°[CF]))\s?[–-]\s?(?=\d)")
_FLAT_POWER = re.compile(r"(?<=\d)(\s?(?:km|cm|mm|m|ft))([23])\b")
"""Raised in the book; its markup is gone by now."""
_STONE = re.compile(r"(?<![\w.,])(\d{1,3})\s?st\b\.?,?\s(?=\d{1,2}\s?lbs?\b)")
_PERCENT = re.compile(rf"(?<![\w.,])({NUMBER})(?:\s?[–-]\s?({NUMBER}))?\s?(%|‰)")
_TEMPERATURE = re.compile(
    rf"(?<![\w.,])([−-]\s?)?({NUMBER})\s?°\s?([CFK])\b(?:\.(?=\s+[a-z]|[,;:]))?"
)
_ANGLE = re.compile(
    rf"(?<![\w.,])([−-]\s?)?({NUMBER})\s?°"
    r"(?:\s?(\d{1,2})['′](?:\s?(\d{1,2}(?:\.\d+)?)(?:\"|″|''))?)?"
    r"(?:\s?([NSEW])\b(?:\.(?=\s+[a-z]|[,;:]))?)?"
)
_HEIGHT = re.compile(r"(?<![\w.,])(\d{1,2})'\s?(\d{1,2})(?:\"|'')(?!\w)")
_MIXED = re.compile(r"(?<![\w./,])(\d+)[\s-](\d{1,2})/(\d{1,3})(?![\w/]|\.\d)")
_SIMPLE = re.compile(r"(?<![\w./,])(\d{1,4})/(\d{1,4})(?:(ths?|nds?|rds?|sts?)\b)?(?![\w/]|\.\d)")


def expand_fractions(draft: Draft) -> None:
    """Rewrite ½ and its like, "2 1/2" and "3/4" as words."""
    draft.rewrite("fraction", re.compile(rf"(?:(\d+)\s?)?([{''.join(_VULGAR)}])(?=(\w?))"), _vulgar)
    if "/" in draft.text:
        draft.rewrite("fraction", _MIXED, _mixed)
        draft.rewrite("fraction", _SIMPLE, _simple)
    draft.rewrite("unit", _SPELLED_UNIT, lambda m: f"{m[1]} {_UNITS[m[2]][m[1] == 'and a half']}")


def expand_measures(draft: Draft) -> None:
    """Rewrite figures with a unit or a sign of measure as words; the draft holds one."""
    draft.rewrite("range", _BETWEEN_DEGREES, " to ")
    draft.rewrite("power", _FLAT_POWER, lambda m: m[1] + ("²" if m[2] == "2" else "³"))
    draft.rewrite("unit", _STONE, lambda m: f"{cardinal(int(m[1]))} stone ")
    draft.rewrite("percent", _PERCENT, _percent)
    draft.rewrite("degrees", _TEMPERATURE, _temperature)
    draft.rewrite("degrees", _ANGLE, _angle)
    draft.rewrite("height", _HEIGHT, lambda m: f"{cardinal(int(m[1]))} foot {cardinal(int(m[2]))}")
    draft.rewrite("unit", _UNIT, _unit)


def _fraction(numerator: int, below: int) -> str:
    return f"{cardinal(numerator)} {denominator(below, numerator)}"


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
    usual = 0 < above < below and below in _DENOMINATORS
    if usual or (match[3] and below > 0):
        return _fraction(above, below)
    if above == below == 50:
        return "fifty-fifty"
    if (above, below) in {(24, 7), (9, 11), (20, 20)}:
        return f"{cardinal(above)} {'eleven' if below == 11 else cardinal(below)}"
    return f"{spell_number(match[1])} over {spell_number(match[2])}"


def _percent(match: re.Match[str]) -> str:
    name = "percent" if match[3] == "%" else "per mille"
    to = f" to {amount(match[2])}" if match[2] else ""
    return f"{amount(match[1])}{to} {name}"


def _temperature(match: re.Match[str]) -> str:
    scale = {"C": "Celsius", "F": "Fahrenheit", "K": "Kelvin"}[match[3]]
    return f"{'minus ' if match[1] else ''}{_degrees(match[2])} {scale}"


def _degrees(figures: str) -> str:
    return f"{amount(figures)} {'degree' if figures == '1' else 'degrees'}"


def _angle(match: re.Match[str]) -> str:
    words = ("minus " if match[1] else "") + _degrees(match[2])
    for figures, name in ((match[3], "minute"), (match[4], "second")):
        if figures:
            words += f" {amount(figures)} {name}{'' if figures == '1' else 's'}"
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
    return f"{amount(figures)} {name}{'.' if ends else ''}"
