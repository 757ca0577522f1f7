"""English number words: cardinals, ordinals, years, decimals, roman numerals.

American reading without "and" ("one hundred five"), which `british` adds; hyphens between tens and
units. Pure functions from figures to words; which figures a text means is decided in `amounts`.
"""

import re

__all__ = [
    "NUMBER",
    "WHOLE",
    "amount",
    "cardinal",
    "decimal",
    "denominator",
    "digits",
    "ordinal",
    "plural",
    "roman",
    "spell_number",
    "year",
]

WHOLE = r"\d{1,3}(?:,\d{3})+|\d+"
"""Pattern of a whole number, with or without thousands commas."""
NUMBER = rf"(?:(?:{WHOLE})(?:\.\d+)?|\.\d+)"
"""Pattern of a number that may have decimals."""

_ONES = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
_TENS = [
    "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
]  # fmt: skip
_SCALES = [
    "", "thousand", "million", "billion", "trillion", "quadrillion", "quintillion", "sextillion",
    "septillion", "octillion",
]  # fmt: skip
_IRREGULAR = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
_LARGEST_DIGITS = 3 * len(_SCALES)


def _below_thousand(number: int) -> str:
    words = []
    if number >= 100:
        words.append(f"{_ONES[number // 100]} hundred")
        number %= 100
    if number >= 20:
        tail = f"-{_ONES[number % 10]}" if number % 10 else ""
        words.append(_TENS[number // 10] + tail)
    elif number:
        words.append(_ONES[number])
    return " ".join(words)


def cardinal(number: int) -> str:
    """Return the words of a whole number from 0; past the named scales its digits one by one."""
    if number == 0:
        return "zero"
    if len(str(number)) > _LARGEST_DIGITS:
        return digits(str(number))
    groups = []
    scale = 0
    while number:
        number, group = divmod(number, 1000)
        if group:
            groups.append(f"{_below_thousand(group)} {_SCALES[scale]}".strip())
        scale += 1
    return " ".join(reversed(groups))


def ordinal(number: int) -> str:
    """Return the ordinal words of a whole number: "twenty-second", "one hundred third"."""
    words = cardinal(number)
    cut = 1 + max(words.rfind("-"), words.rfind(" "))
    head, last = words[:cut], words[cut:]
    if last in _IRREGULAR:
        last = _IRREGULAR[last]
    elif last.endswith("y"):
        last = f"{last[:-1]}ieth"
    else:
        last += "th"
    return head + last


def denominator(number: int, count: int) -> str:
    """Return the name of a fraction's parts: 2 → "half" or "halves", 5 → "fifths"."""
    if number == 2:
        return "half" if count == 1 else "halves"
    word = "quarter" if number == 4 else ordinal(number)
    return word if count == 1 else f"{word}s"


def plural(word: str) -> str:
    """Return the plural of a number word: "nineties", "hundreds", "sixes"."""
    if word.endswith("y"):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith("x") else f"{word}s"


def digits(figures: str, zero: str = "zero") -> str:
    """Return figures one by one; what is no figure is skipped."""
    return " ".join(
        zero if figure == "0" else _ONES[int(figure)]
        for figure in figures
        if figure in "0123456789"
    )


def decimal(whole: str, fraction: str) -> str:
    """Return "three point one four" for "3" and "14"; an empty whole is zero."""
    return f"{spell_number(whole or '0')} point {digits(fraction)}"


def spell_number(figures: str) -> str:
    """Return a whole number given with or without thousands commas.

    A leading zero is read figure by figure: "007" is "zero zero seven".
    """
    plain = figures.replace(",", "")
    if len(plain) > 1 and plain[0] == "0":
        return digits(plain)
    if len(plain) > _LARGEST_DIGITS:
        return digits(plain)
    return cardinal(int(plain))


def amount(figures: str) -> str:
    """Return a number that matches `NUMBER` in words."""
    whole, point, fraction = figures.partition(".")
    return decimal(whole, fraction) if point else spell_number(whole)


def year(number: int) -> str:
    """Return a year as it is said: 1907 "nineteen oh seven", 2005 "two thousand five"."""
    century, rest = divmod(number, 100)
    if not 1000 <= number < 10000 or (century % 10 == 0 and rest < 10):
        return cardinal(number)
    if rest == 0:
        return f"{cardinal(century)} hundred"
    if rest < 10:
        return f"{cardinal(century)} oh {cardinal(rest)}"
    return f"{cardinal(century)} {cardinal(rest)}"


_ROMAN = re.compile(r"(?=[MDCLXVI])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})\Z")
_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def roman(numeral: str) -> int | None:
    """Return the value of a roman numeral in its one right spelling, in capitals, else None."""
    if not _ROMAN.match(numeral):
        return None
    total = 0
    for this, following in zip(numeral, [*numeral[1:], "I"], strict=True):
        value = _VALUES[this]
        total += -value if value < _VALUES[following] else value
    return total
