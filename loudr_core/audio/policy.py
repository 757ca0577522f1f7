"""Thresholds of the detectors: a frozen value whose digest names what a choice rests on.

Times in seconds, levels in dB re full scale unless a name says otherwise. The defaults come from
takes of the embedded voice over a novel, where none of them fires, and from damage made by hand,
which all of them find; a voice with another calibration replaces single fields.
"""

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from loudr_core.canonical import digest
from loudr_core.errors import ConfigError

__all__ = ["DETECTOR_VERSION", "DetectorPolicy"]

DETECTOR_VERSION = 1
"""Raised when a detector decides differently at the same thresholds; part of the digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorPolicy:
    """What a take may be like before a detector speaks."""

    seconds_per_character: tuple[float, float] = (0.040, 0.090)
    """Band of the voice at speed 1; `EngineLimits.seconds_per_character` of the engine."""
    pace_slack_s: float = 0.8
    """Added to the band's upper end and taken from its lower: short texts vary more."""

    silent_dbfs: float = -50.0
    """A take whose loud level lies under this is silent."""
    max_pause_s: float = 1.6
    """Longest silence inside a take."""
    pause_below_loud_db: float = 45.0
    """What counts as silence inside a take."""

    clip_share_of_peak: float = 0.98
    """Share of the take's peak above which flat tops are looked for."""
    clip_run: int = 3
    """So many samples of one value make a flat top."""
    clip_runs: int = 2
    """So many flat tops condemn a take …"""
    clip_level: float = 0.999
    """… and one is enough at this share of full scale."""

    dc_offset: float = 0.01
    """Largest mean of a take, as a share of full scale."""

    dropout_s: float = 0.010
    """Shortest run of digital silence that counts when speech breaks off into it …"""
    dropout_below_loud_db: float = 30.0
    """… or out of it at this level under the loud one."""
    dropout_edge_below_loud_db: float = 15.0
    """The same where the silence is the take's edge: an engine may fade there quickly."""

    level_jump_db: float = 14.5
    """Largest change of level between neighbouring windows …"""
    level_window_s: float = 1.0
    """… of this length …"""
    level_speech_s: float = 0.35
    """… that hold at least so much speech."""

    truncated_below_loud_db: float = 30.0
    """A take whose end is louder than this was cut."""

    repeat_correlation: float = 0.88
    """Likeness of two stretches from which they count as one, repeated."""
    repeat_window_s: float = 0.8
    """Shortest stretch that is compared."""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        data = asdict(self)
        data["seconds_per_character"] = list(self.seconds_per_character)
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "DetectorPolicy":
        """Return the policy whose `as_dict` is `data`; fields that are left out keep their default.

        Raises
        ------
        ConfigError
            A name is not a field of the policy, or a value is not a number of its kind.
        """
        known = {field.name for field in fields(cls)}
        for name in data:
            if name not in known:
                raise ConfigError(
                    f"detector policy has no threshold {name!r}; it has {', '.join(sorted(known))}",
                    found=name,
                )
            if not _fits(name, data[name]):
                raise ConfigError(
                    f"detector threshold {name} is {data[name]!r}; {_WANTED[name in _BANDS]}",
                    found=str(data[name]),
                )
        values = dict(data)
        for name in _BANDS & data.keys():
            low, high = values[name]
            values[name] = (float(low), float(high))
        return cls(**values)

    def digest(self) -> str:
        """Return 64 hexadecimal digits over the thresholds and the detectors' version."""
        return digest(["detectors", DETECTOR_VERSION, self.as_dict()])


_BANDS = frozenset({"seconds_per_character"})
_COUNTS = frozenset({"clip_run", "clip_runs"})
_WANTED = ("give a number", "give two numbers, the lower first")


def _fits(name: str, value: object) -> bool:
    if name in _BANDS:
        if not isinstance(value, list | tuple) or len(value) != 2:
            return False
        return all(_is_number(each) for each in value) and 0 <= value[0] < value[1]
    return isinstance(value, int) if name in _COUNTS else _is_number(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
