"""English dates, years, decades and times of day, as words."""

import re

from loudr_core.text.draft import Draft
from loudr_core.text.numbers import cardinal, ordinal, plural, year
from loudr_core.text.short_forms import MONTHS
from loudr_core.text.vocabulary import COUNTABLES

__all__ = ["expand_calendar"]

_MONTH = "|".join(MONTHS)
_YEAR = r"[12]\d{3}"
_ISO = re.compile(r"(?<![\d-])([12]\d{3})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?![\d-])")
_SLASHED = re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})(?![\d/])")
_DOTTED_DATE = re.compile(r"(?<![\w.])(\d{1,2})\.(\d{1,2})\.([12]\d{3})(?!\w|\.\d)")
_DURATION = re.compile(
    r"(?<![\w.,])(?:(\d+)\s?h(?:rs?)?\.?\s)?(\d{1,2})\s?m(?:ins?)?\.?(?:\s(\d{1,2})\s?s(?:ecs?)?)?(?!\w)"
)
_AFTER_COLON = re.compile(r"(?:(?<=\d:\d)|(?<=\d:\d\d))\s?[–-]\s?(?=\d)")
"""Between times, and between verses."""
_SHORT_YEARS = re.compile(r"(?<![\w.,£$€/-])(1\d{3}|20\d\d)([–/])(\d)(?![\w/:-]|[.,]\d)")
_HYPHEN_YEAR = re.compile(
    r"\b((?:pre|post|mid|early|late)-)(1[1-9]\d\d|20\d\d)(?![\w:/%-]|[.,]\d)", re.IGNORECASE
)
_SLASHED_YEARS = re.compile(r"(?<![\w.,£$€/-])(1\d{3}|20\d\d)/(\d\d)(?![\w/]|[.,]\d)")
_HOURS = re.compile(
    r"(?:\b(at|by|until|till|from|before|between|and)\s|(?<![\w.,$£€-])(?=0))"
    r"([01]\d|2[0-4])([0-5]\d)\s?(?:hours|hrs)\b(?!\s+of\b)",
    re.IGNORECASE,
)
_DAY_MONTH = re.compile(
    rf"(?<![\d.,:/$-])(\b[Tt]he\s+)?(\d{{1,2}})(?:st|nd|rd|th)?(\s+of)?\s+({_MONTH})\b(?:(,?\s+)({_YEAR})\b(?![\d-]))?"
)
_MONTH_DAY = re.compile(
    rf"\b({_MONTH})\s+(the\s+)?(\d{{1,2}})(?:st|nd|rd|th)?(?![\d:.]\d|\d|\s?[ap]\.?m)(?:(,?\s+)({_YEAR})\b(?![\d-]))?"
)
_CENTURY = re.compile(r"(?<![\w.])(\d{1,2})(?:st|nd|rd|th)([-\s])(?=[Cc]entur)")
_DECADE = re.compile(r"(?<![\w.,])(\d{2})(\d)0'?s\b")
_SHORT_DECADE = re.compile(r"(?<![\w.,])'?([2-9])0'?s\b(?!\.? ?\d)")
_SHORT_YEAR = re.compile(r"(?<!\w)'(\d\d)(?![\w'])")
_YEARS = re.compile(r"(?<![\w.,£$€-])(1\d{3}|20\d\d)\s?[–—-]\s?(\d{4}|\d{2})(?![\d-]|[.,]\d)")
_CLOCK = re.compile(
    r"(?<![\d:.])([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d))?(?![\d:])(?P<half>\s?[AP] M\b)?"
)
_DOT_CLOCK = re.compile(r"(?<![\d:.])(1[0-2]|0?[1-9])\.([0-5]\d)(\s?[AP] M\b|\s+o'clock)")
_OCLOCK = re.compile(r"(?<![\d:.])(\d{1,2}) ?o'clock")
_ERA = r"(?:A ?D|B ?C|B C E|C E|BCE|CE)\b"
_ERA_YEAR = re.compile(rf"(?:\b(A ?D)\s+(\d{{1,4}})\b)|(?<![\d,.])(\d{{3,4}})(?=\s+{_ERA})")
_BEFORE_YEAR = (
    "in|since|by|from|until|till|to|circa|about|around|during|before|after|years?|of|and|between|for|"
    "spring|summer|autumn|fall|winter|early|late|mid|Christmas|Easter|anno|class|ca"
)
_BARE_YEAR = re.compile(
    r"(?<![\w.,£$€:/#+-])(1[1-9]\d\d|20\d\d)(?![\w:/%]|[.,]\d|-\d|\s?°)(?=('s)?)(?=(?:\s+(\w+))?)"
)
_SURE_YEAR = re.compile(
    rf"\b((?:{_BEFORE_YEAR}|{_MONTH}),?\s+)(10\d\d)(?![\w:/%]|[.,]\d|-\d)(?!\s+\w+s\b)",
    re.IGNORECASE,
)
_BEFORE_QUANTITY = re.compile(
    r"(?:\b(?:[Nn]umber|[Rr]oom|[Pp]ages?|[Ll]ines?|some|nearly|almost|another|these|those)|[×+=<>÷])\s*$"
)
_STRONG_BEFORE = re.compile(r"\b(?:[Ii]n|[Ss]ince|[Uu]ntil|[Tt]ill|[Dd]uring|[Yy]ear|[Ff]rom)\s*$")


def expand_calendar(draft: Draft) -> None:
    """Rewrite dates, times, decades and years as words; the draft holds a figure."""
    draft.rewrite("date", _ISO, lambda m: _date(int(m[3]), int(m[2]), year(int(m[1]))))
    draft.rewrite("date", _SLASHED, _slashed)
    draft.rewrite("date", _DOTTED_DATE, _dotted_date)
    draft.rewrite("date", _DAY_MONTH, _day_month)
    draft.rewrite("date", _MONTH_DAY, _month_day)
    draft.rewrite("range", _AFTER_COLON, " to ")
    draft.rewrite("time", _CLOCK, _clock)
    draft.rewrite("time", _DURATION, _duration)
    draft.rewrite("time", _HOURS, _hours)
    draft.rewrite("time", _DOT_CLOCK, _dot_clock)
    draft.rewrite("time", _OCLOCK, lambda m: f"{cardinal(int(m[1]))} o'clock")
    draft.rewrite("ordinal", _CENTURY, lambda m: ordinal(int(m[1])) + m[2])
    draft.rewrite("decade", _DECADE, _decade)
    draft.rewrite("decade", _SHORT_DECADE, lambda m: plural(cardinal(int(m[1]) * 10)))
    draft.rewrite("year", _YEARS, _years)
    draft.rewrite("year", _SLASHED_YEARS, _slashed_years)
    draft.rewrite("year", _SHORT_YEARS, _short_years)
    draft.rewrite("year", _HYPHEN_YEAR, lambda m: m[1] + year(int(m[2])))
    draft.rewrite("year", _ERA_YEAR, _era_year)
    draft.rewrite("year", _BARE_YEAR, _bare_year)
    draft.rewrite("year", _SURE_YEAR, lambda m: m[1] + year(int(m[2])))
    draft.rewrite("year", _SHORT_YEAR, lambda m: _short_year(int(m[1])))


def _short_year(number: int) -> str:
    if number == 0:
        return "oh oh"
    return f"oh {cardinal(number)}" if number < 10 else cardinal(number)


def _date(day: int, month: int, year_words: str) -> str:
    return f"{MONTHS[month - 1]} {ordinal(day)}, {year_words}"


def _slashed(match: re.Match[str]) -> str | None:
    first, second = int(match[1]), int(match[2])
    spoken = year(int(match[3])) if len(match[3]) == 4 else _short_year(int(match[3]))
    if 1 <= first <= 12 and 12 < second <= 31:
        return _date(second, first, spoken)
    if 12 < first <= 31 and 1 <= second <= 12:
        return _date(first, second, spoken)
    # Day or month first cannot be told: the figures are read in their order.
    return f"{cardinal(first)}, {cardinal(second)}, {spoken}"


def _dotted_date(match: re.Match[str]) -> str | None:
    first, second = sorted((int(match[1]), int(match[2])))
    return _slashed(match) if 1 <= first <= 12 and second <= 31 else None


def _duration(match: re.Match[str]) -> str | None:
    counts = zip(match.groups(), ("hour", "minute", "second"), strict=True)
    parts = [
        f"{cardinal(int(count))} {name}{'' if int(count) == 1 else 's'}"
        for count, name in counts
        if count
    ]
    return " ".join(parts) if len(parts) > 1 else None


def _hours(match: re.Match[str]) -> str:
    hour = cardinal(int(match[2]))
    words = f"oh {hour}" if match[2][0] == "0" and match[2] != "00" else hour
    minutes = "hundred" if match[3] == "00" else _minutes(match[3])
    return f"{match[1] + ' ' if match[1] else ''}{words} {minutes} hours"


def _slashed_years(match: re.Match[str]) -> str | None:
    first, last = int(match[1]), int(match[2])
    return f"{year(first)} to {_short_year(last)}" if last == (first + 1) % 100 else None


def _short_years(match: re.Match[str]) -> str | None:
    first, last = int(match[1]), int(match[3])
    if match[2] == "/":
        follows = last == (first + 1) % 10 > 0
        return f"{year(first)} to {cardinal(last)}" if follows else None
    return f"{year(first)} to {year(first - first % 10 + last)}" if last > first % 10 else None


def _day_month(match: re.Match[str]) -> str | None:
    day = int(match[2])
    if not 1 <= day <= 31:
        return None
    before = re.search(r"\bthe\s*$", match.string[: match.start()], re.IGNORECASE)
    article = match[1] or ("" if before else "the ")
    tail = f"{match[5]}{year(int(match[6]))}" if match[6] else ""
    return f"{article}{ordinal(day)} of {match[4]}{tail}"


def _month_day(match: re.Match[str]) -> str | None:
    day = int(match[3])
    if not 1 <= day <= 31:
        return None
    tail = f"{match[4]}{year(int(match[5]))}" if match[5] else ""
    return f"{match[1]} {match[2] or ''}{ordinal(day)}{tail}"


def _minutes(minutes: str) -> str:
    return f"oh {cardinal(int(minutes))}" if minutes[0] == "0" else cardinal(int(minutes))


def _clock(match: re.Match[str]) -> str:
    half = f" {match['half'].strip()}" if match["half"] else ""
    hour = cardinal(int(match[1]))
    if match[3]:
        return f"{hour} {_minutes(match[2])} and {cardinal(int(match[3]))} seconds{half}"
    if match[2] == "00":
        after = re.match(r"\s*(?:o'clock|hours)", match.string[match.end() :])
        if half or after:
            return hour + half
        return f"{hour} o'clock" if 1 <= int(match[1]) <= 12 else f"{hour} hundred hours"
    return f"{hour} {_minutes(match[2])}{half}"


def _dot_clock(match: re.Match[str]) -> str:
    minutes = "" if match[2] == "00" else f" {_minutes(match[2])}"
    return f"{cardinal(int(match[1]))}{minutes} {match[3].strip()}"


def _decade(match: re.Match[str]) -> str | None:
    century, tens = int(match[1]), int(match[2])
    if century < 10:
        return None
    if tens == 0:
        if century == 10:
            return "thousands"
        return f"{cardinal(century)} hundreds" if century % 10 else f"{cardinal(century * 100)}s"
    return f"{cardinal(century)} {plural(cardinal(tens * 10))}"


def _years(match: re.Match[str]) -> str | None:
    first = int(match[1])
    if len(match[2]) == 2:
        last = _short_year(int(match[2])) if int(match[2]) > first % 100 else None
        return last and f"{year(first)} to {last}"
    if not first < int(match[2]) < 2100:
        return None
    return f"{year(first)} to {year(int(match[2]))}"


def _era_year(match: re.Match[str]) -> str:
    if match[2]:
        return f"{match[1]} {year(int(match[2]))}"
    return year(int(match[3])) if int(match[3]) >= 1000 else cardinal(int(match[3]))


def _bare_year(match: re.Match[str]) -> str | None:
    following = (match[3] or "").lower()
    before = match.string[: match.start()]
    if not _STRONG_BEFORE.search(before) and (
        following in COUNTABLES or _BEFORE_QUANTITY.search(before)
    ):
        return None
    return year(int(match[1]))
