"""The numbers of a synthesis: steps, temperature, guidance, pace, and the grid of flow times.

References
----------
Koko specification, section 4, after the release's own recipe; the sway of the grid is that of
F5-TTS (Chen et al., 2024).
"""

import math
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from loudr_core.errors import ConfigError

__all__ = ["Recipe", "flow_times", "token_frames"]

_LENGTH_SCALES = (0.25, 4.0)
_MOST_FRAMES = 1e9
"""Where a token's duration is cut off, so that it stays an integer; refused long before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Options of a synthesis that move its samples.

    Parameters
    ----------
    n_steps : int
        Euler steps, 1 to 128. 8 is the release's fast setting.
    temperature : float
        Scale of the noise that the flow starts from, 0 to 1.5.
    cfg : float
        Strength of classifier-free guidance, 0 to 10. The release does not say which value would
        turn it off.
    length_scale : float
        Factor on every duration, 0.25 to 4; above 1 is slower.
    sway : float
        Shape of the time grid; -1 has small steps first. Beyond -1 to 1 only where the grid still
        rises.

    Raises
    ------
    ConfigError
        A value has the wrong type or range, or the grid does not rise.
    """

    n_steps: int = 16
    temperature: float = 0.667
    cfg: float = 1.5
    length_scale: float = 1.0
    sway: float = -1.0

    def __post_init__(self) -> None:
        if isinstance(self.n_steps, bool) or not isinstance(self.n_steps, int):
            raise _refused("n_steps", self.n_steps, "must be a whole number")
        if not 1 <= self.n_steps <= 128:
            raise _refused("n_steps", self.n_steps, "is outside 1 to 128")
        for name, low, high in (
            ("temperature", 0.0, 1.5),
            ("cfg", 0.0, 10.0),
            ("length_scale", *_LENGTH_SCALES),
            ("sway", -math.inf, math.inf),
        ):
            _check(name, getattr(self, name), low, high)
        if not (np.diff(flow_times(self.n_steps, self.sway)) > 0).all():
            raise _refused("sway", self.sway, "makes times that do not rise: take -1 to 1")

    @property
    def speeds(self) -> tuple[float, float]:
        """The least and the greatest speed of a book at which `length_scale_at` has an answer."""
        scale = float(self.length_scale)
        least, greatest = _LENGTH_SCALES
        return max(0.5, scale / greatest), min(2.0, scale / least)

    def length_scale_at(self, speed: float) -> float:
        """Return the factor on durations at a speed.

        Raises
        ------
        ValueError
            It is outside 0.25 to 4.
        """
        low, high = _LENGTH_SCALES
        scale = float(self.length_scale) / speed
        if not low <= scale <= high:
            raise ValueError(
                f"length_scale {self.length_scale:g} at speed {speed:g} is {scale:g}, "
                f"outside {low:g} to {high:g}"
            )
        return scale

    def as_dict(self) -> dict[str, float]:
        """Return the values by name, for a fingerprint: 1 and 1.0 are the same."""
        return {name: float(value) for name, value in asdict(self).items()}


def flow_times(n_steps: int, sway: float = -1.0) -> NDArray[np.float64]:
    """Return the times between which the Euler steps go.

    Parameters
    ----------
    n_steps : int
        At least 1.
    sway : float

    Returns
    -------
    float64, shape (n_steps + 1,)
        t = u + sway (cos(pi u / 2) - 1 + u) for u = 0, 1/n, …, 1; exactly 0 first and 1 last.
        With sway -1 that is 1 - cos(pi u / 2).

    Raises
    ------
    ValueError
        There is no step.
    """
    if n_steps < 1:
        raise ValueError(f"{n_steps} steps: at least 1")
    u = np.linspace(0.0, 1.0, n_steps + 1)
    times: NDArray[np.float64] = u + sway * (np.cos(np.pi * u / 2.0) - 1.0 + u)
    times[0], times[-1] = 0.0, 1.0  # the cosine of pi/2 is not 0 in floating point
    return times


def token_frames(log_durations: NDArray[np.float32], length_scale: float) -> NDArray[np.int64]:
    """Return how many mel frames each token lasts.

    Parameters
    ----------
    log_durations : float32, shape (n,)
        Natural logarithms of frames.
    length_scale : float

    Returns
    -------
    int64, shape (n,)
        At least 1 each. Halves go to the even neighbour, as in the original's rounding.

    Raises
    ------
    ValueError
        A logarithm is not a number, or infinite.
    """
    if not np.isfinite(log_durations).all():
        raise ValueError("durations are not finite")
    with np.errstate(over="ignore"):
        frames = np.rint(np.exp(log_durations) * np.float32(length_scale))
    return np.clip(frames, 1.0, _MOST_FRAMES).astype(np.int64)


def _check(name: str, value: object, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _refused(name, value, "must be a finite number")
    if not low <= value <= high:
        raise _refused(name, value, f"is outside {low:g} to {high:g}")


def _refused(name: str, value: object, problem: str) -> ConfigError:
    return ConfigError(f"option {name} = {value!r} {problem}", option=name)
