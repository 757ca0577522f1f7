"""The sampler LR-SAMPLER-v1: logits of one decode step in, one token id out.

Repetition penalty, temperature, a min-p gate, and an argmax over logits with Gumbel noise, which
draws from the softmax of what the gate keeps. All arithmetic is float64; the noise is addressed by
step and id, so it is computed only for the ids that the gate keeps.

References
----------
The loudr-1 specification, sections 9 and 10.4; Nguyen et al.: Turning up the heat, min-p sampling
(2024) for the gate; Gumbel: Statistical theory of extreme values (1954) for the draw.
"""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from loudr_core.speech.loudr1.algorithm import Sampling
from loudr_core.speech.loudr1.noise import gumbel_at

__all__ = ["Sampler"]

Scores: TypeAlias = NDArray[np.float64]
"""Logits after penalty and temperature, float64, shape (V,)."""

_NO_PEAK = (-1, 0.0)


class Sampler:
    """Draws the tokens of one attempt at one window.

    Parameters
    ----------
    sampling : Sampling
    seed : int
        Of the attempt; only its low 64 bits matter.
    stop_token : int
        Id that ends speech; its probability is observed.
    eos_floor : int
        Steps up to this one are not observed.
    observe : bool
        Whether `eos_peak` is kept; the draws are the same either way.

    Raises
    ------
    ValueError
        A token id is negative, or the temperature is not above 0.
    """

    def __init__(
        self,
        sampling: Sampling,
        *,
        seed: int,
        stop_token: int,
        eos_floor: int,
        observe: bool = True,
    ) -> None:
        if not sampling.temperature > 0:
            raise ValueError(f"a temperature is above 0, not {sampling.temperature}")
        self._silence = np.array(sampling.silence_token_ids, np.intp)
        self._ids = sorted({*sampling.silence_token_ids, stop_token})
        if self._ids[0] < 0:
            raise ValueError(f"token {self._ids[0]}: ids are counted from 0")
        self._temperature = sampling.temperature
        self._penalty = sampling.repetition_penalty
        self._log_min_p = np.log(sampling.min_p) if sampling.min_p > 0 else -math.inf
        self._seed = seed
        self._stop_token = stop_token
        self._eos_floor = eos_floor
        self._observe = observe
        self._peak = _NO_PEAK

    @property
    def eos_peak(self) -> tuple[int, float]:
        """Step at which the stop token was most probable, and that probability.

        (-1, 0.0) until a step has been observed at which it was possible at all.
        """
        return self._peak

    def draw(self, logits: NDArray[np.float32], *, step: int, seen: NDArray[np.bool_]) -> int:
        """Return the token of a step.

        Logits that are not finite are taken as they come: with nothing left to choose from the
        answer is 0.

        Parameters
        ----------
        logits : float32, shape (V,)
            With the stop token masked to -inf where it may not be drawn. Not changed.
        step : int
            Draws made before in this attempt; carried tokens do not count.
        seen : bool, shape (V,)
            Ids that were carried in or drawn before.

        Raises
        ------
        ValueError
            Shapes that differ, or a stop or silence id that the logits do not reach.
        """
        self._check(logits, seen)
        with np.errstate(all="ignore"):  # infinities meet, by intent
            scores = self._scores(logits, seen)
            top = np.max(scores)
            kept = self._kept(scores, top)
            if self._observe and step > self._eos_floor:
                self._observe_stop(scores, top, kept, step)
            if not kept.size:
                return 0
            noisy = scores[kept] + gumbel_at(self._seed, step, kept)
        best = int(np.argmax(noisy))
        # Ids outside the gate stand at -inf too, so that the first id of all wins among equals.
        return 0 if noisy[best] == -math.inf else int(kept[best])

    def _check(self, logits: NDArray[np.float32], seen: NDArray[np.bool_]) -> None:
        if logits.ndim != 1 or seen.shape != logits.shape:
            raise ValueError(
                f"logits of shape {logits.shape} and seen of shape {seen.shape}: both are (V,)"
            )
        if self._ids[-1] >= len(logits):
            raise ValueError(f"token {self._ids[-1]} is beyond the {len(logits)} logits")

    def _scores(self, logits: NDArray[np.float32], seen: NDArray[np.bool_]) -> Scores:
        scores = logits.astype(np.float64)
        if self._penalty != 1.0:
            again = scores[seen]
            scores[seen] = np.where(again > 0, again / self._penalty, again * self._penalty)
        scores /= self._temperature
        return scores

    def _kept(self, scores: Scores, top: np.float64) -> NDArray[np.intp]:
        """Return the ids that the gate keeps, in ascending order."""
        if self._log_min_p == -math.inf:
            return np.arange(len(scores))
        keep = scores >= top + self._log_min_p
        keep[self._silence] = True
        return np.flatnonzero(keep)

    def _observe_stop(
        self, scores: Scores, top: np.float64, kept: NDArray[np.intp], step: int
    ) -> None:
        # A running sum adds from left to right, as the specification has it; np.sum adds in pairs.
        running = np.cumsum(np.exp(scores[kept] - top))
        total = float(running[-1]) if kept.size else 0.0
        if total > 0:
            probability = float(np.exp(scores[self._stop_token] - top)) / total
            if probability > self._peak[1]:
                self._peak = (step, probability)
