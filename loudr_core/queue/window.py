"""The hours in which a schedule may render."""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from loudr_core.errors import ConfigError

__all__ = ["Window", "open_window", "parse_time"]


@dataclass(frozen=True, slots=True)
class Window:
    """The time that is left of a night; without an end when `closes` is None."""

    closes: datetime | None

    def left_s(self, now: datetime) -> float:
        """Return the seconds until it closes, never below 0; infinite without an end."""
        if self.closes is None:
            return float("inf")
        return max(0.0, (self.closes - now).total_seconds())


def open_window(now: datetime, *, until: str | None, timezone: str = "UTC") -> Window:
    """Return the window that a run opens by starting.

    Parameters
    ----------
    now : datetime
        With its time zone.
    until : str or None
        `06:30`: the next moment at which clocks show that. No end when None.
    timezone : str
        Whose clocks; a name of the IANA data base.

    Raises
    ------
    ConfigError
        One of the two makes no sense.
    """
    if until is None:
        return Window(None)
    clock = parse_time(until)
    zone = _zone(timezone)
    today = now.astimezone(zone)
    closes = datetime.combine(today.date(), clock, zone)
    if closes.astimezone(UTC) <= now.astimezone(UTC):
        closes = datetime.combine(today.date() + timedelta(days=1), clock, zone)
    return Window(closes.astimezone(UTC))


def parse_time(text: str) -> time:
    """Return the time of a clock, such as `06:30`.

    Raises
    ------
    ConfigError
        It is none.
    """
    hours, colon, minutes = text.partition(":")
    digits = colon and hours.isdecimal() and minutes.isdecimal() and len(minutes) == 2
    if digits and int(hours) < 24 and int(minutes) < 60:
        return time(int(hours), int(minutes))
    raise ConfigError(f"{text[:40]!r} is no time of a clock such as 06:30")


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigError(f"no time zone {name[:60]!r}: give one such as Europe/Berlin") from error
