"""The numbers of a synthesis: steps, guidance, pace of languages, length in frames, and decoding.

References
----------
BlueTTS specification, sections 5 and 6; guidance after Ho and Salimans: Classifier-free diffusion
guidance (2022).
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from loudr_core.arrays import Mono
from loudr_core.errors import ConfigError
from loudr_core.speech.bluetts.tables import CHANNELS, FRAME, SAMPLE_RATE_HZ, Stats
from loudr_core.speech.limits import BLUETTS

__all__ = [
    "LANGUAGE_SPEEDS",
    "Recipe",
    "blend_outputs",
    "blend_velocities",
    "denormalize",
    "fold",
    "frame_count",
    "trim_frames",
]

LANGUAGE_SPEEDS: Final[Mapping[str, float]] = {"it": 0.7}
"""The duration predictor makes Italian about a third too short; other languages are at 1."""

_LEAST_FRAMES: Final = 3
_PACE_PER_TOKEN_S: Final = 0.0625
_RANGES: Final = {"cfg": (1.0, 7.0), "pace_blend": (0.0, 1.0)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Options of a synthesis that move its samples.

    Parameters
    ----------
    n_steps : int
        Euler steps, 1 to 64. 8 and 5 are quick settings in use.
    cfg : float
        Strength of guidance, 1 to 7; 1 is none, and half the work.
    pace_blend : float
        How far each length is drawn to 0.0625 s a token, 0 to 1; a little saves a swallowed word.
    language_speed : mapping of str to float
        Primary subtag to a factor on speed, 0.5 to 2, instead of that of `LANGUAGE_SPEEDS`.

    Raises
    ------
    ConfigError
        A value has the wrong type or range.
    """

    n_steps: int = 16
    cfg: float = 3.0
    pace_blend: float = 0.0
    language_speed: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.n_steps, bool) or not isinstance(self.n_steps, int):
            raise _refused("n_steps", self.n_steps, "must be a whole number")
        if not 1 <= self.n_steps <= 64:
            raise _refused("n_steps", self.n_steps, "is outside 1 to 64")
        for name, (low, high) in _RANGES.items():
            _check(name, getattr(self, name), low, high)
        if not isinstance(self.language_speed, Mapping):
            raise _refused("language_speed", self.language_speed, "must map languages to factors")
        for language, factor in self.language_speed.items():
            if language not in BLUETTS.languages:
                known = ", ".join(sorted(BLUETTS.languages))
                raise _refused(f"language_speed.{language}", factor, f"is of none of {known}")
            _check(f"language_speed.{language}", factor, 0.5, 2.0)

    def speed_of(self, language: str) -> float:
        """Return the factor on speed of a language, a primary subtag."""
        speeds = {**LANGUAGE_SPEEDS, **self.language_speed}
        return float(speeds.get(language, 1.0))

    def as_dict(self) -> dict[str, object]:
        """Return the values by name, for a fingerprint: 1 and 1.0 are the same."""
        values = asdict(self)
        speeds = {**LANGUAGE_SPEEDS, **values.pop("language_speed")}
        numbers: dict[str, object] = {name: float(value) for name, value in values.items()}
        return numbers | {"language_speed": {each: float(speeds[each]) for each in sorted(speeds)}}

    def seconds(self, predicted_s: float, tokens: int, speed: float) -> float:
        """Return how long a unit is to be.

        Parameters
        ----------
        predicted_s : float
            Of the duration predictor.
        tokens : int
            At least 1.
        speed : float
            That of the request times that of the language.
        """
        blend = float(self.pace_blend)
        if blend > 0:
            pace = (1.0 - blend) * predicted_s / tokens + blend * _PACE_PER_TOKEN_S
            predicted_s = pace * tokens
        return predicted_s / speed


def frame_count(seconds: float) -> int:
    """Return how many latent frames hold so many seconds; at least 3, so that the trim leaves one.

    Parameters
    ----------
    seconds : float
        Finite, at least 0.
    """
    return max(_LEAST_FRAMES, -(-math.floor(seconds * SAMPLE_RATE_HZ) // FRAME))


def blend_velocities(
    x: NDArray[np.float32],
    conditional: NDArray[np.float32],
    unconditional: NDArray[np.float32],
    *,
    cfg: float,
    n_steps: int,
) -> NDArray[np.float32]:
    """Return the next state of the flow, guided in velocity space.

    The graph makes a step, x + v/n, and not a velocity: the velocities are recovered, blended as
    u + cfg (c - u), and one step is made with the result.

    Parameters
    ----------
    x, conditional, unconditional : float32, shape (1, 144, frames)
        The state, and what the graph made of that same state with and without the condition.
    cfg : float
    n_steps : int
    """
    n = np.float32(n_steps)
    v_u = (unconditional - x) * n
    v_c = (conditional - x) * n
    return np.asarray(x + (v_u + np.float32(cfg) * (v_c - v_u)) / n, np.float32)


def blend_outputs(
    conditional: NDArray[np.float32], unconditional: NDArray[np.float32], *, cfg: float
) -> NDArray[np.float32]:
    """Return the same blended from the outputs: the weights cfg and 1 - cfg sum to 1."""
    return np.asarray(unconditional + np.float32(cfg) * (conditional - unconditional), np.float32)


def denormalize(x: NDArray[np.float32], stats: Stats) -> NDArray[np.float32]:
    """Return latents at the vocoder's scale; before folding, channel by channel.

    Parameters
    ----------
    x : float32, shape (1, 144, frames)
    stats : Stats
    """
    return np.asarray((x / np.float32(stats.scale)) * stats.std + stats.mean, np.float32)


def fold(z: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return latents as the vocoder takes them: channel c at time 6 t + p is 6 c + p at time t.

    Parameters
    ----------
    z : float32, shape (1, 144, frames)

    Returns
    -------
    float32, shape (1, 24, 6 frames)

    Raises
    ------
    ValueError
        There are not 144 channels.
    """
    if z.ndim != 3 or z.shape[:2] != (1, CHANNELS):
        raise ValueError(f"latents of shape {list(z.shape)}, expected [1, {CHANNELS}, frames]")
    frames = z.shape[2]
    folded = z.reshape(1, 24, 6, frames).transpose(0, 1, 3, 2).reshape(1, 24, 6 * frames)
    return np.ascontiguousarray(folded)


def trim_frames(samples: Mono) -> Mono:
    """Return samples without the first and the last latent frame, where there are more than two.

    The last one is often a click of 25 dB above speech.
    """
    return samples[FRAME:-FRAME] if len(samples) > 2 * FRAME else samples


def _check(name: str, value: object, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _refused(name, value, "must be a finite number")
    if not low <= value <= high:
        raise _refused(name, value, f"is outside {low:g} to {high:g}")


def _refused(name: str, value: object, problem: str) -> ConfigError:
    return ConfigError(f"option {name} = {value!r} {problem}", option=name)
