"""Decode loop of loudr-1-turbo: two speech tokens a step.

A pair has one slot of the KV cache and one position; its second token is drawn from a small head
that knows the first. loudr-1 specification, section 18.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loudr_core.speech.cancelling import Poll
from loudr_core.speech.loudr1.algorithm import Algorithm
from loudr_core.speech.loudr1.bundle import Weights
from loudr_core.speech.loudr1.generator import PromptedGenerator, mask_stop
from loudr_core.speech.loudr1.graphs import PAST_NAMES, PRESENT_NAMES, Graph
from loudr_core.speech.loudr1.sampler import Sampler
from loudr_core.speech.loudr1.voice import VoiceProfile
from loudr_core.speech.session import Resident

__all__ = ["FusedGenerator"]


class FusedGenerator(PromptedGenerator):
    """The generator of loudr-1-turbo: a pair of tokens a step.

    Parameters
    ----------
    graphs : mapping of str to Graph
        `t3_cond`, `t3_prefill`, `t3_pair_step`, `t3_head2`.
    weights : Weights
        With the layers that fuse a pair.
    algorithm : Algorithm
    """

    def __init__(self, graphs: dict[str, Graph], weights: Weights, algorithm: Algorithm) -> None:
        super().__init__(graphs, weights, algorithm)
        self._step, self._head = graphs["t3_pair_step"], graphs["t3_head2"]

    def _prefix_rows(self, prefix: Sequence[int]) -> NDArray[np.float32]:
        return self._rows.pairs(prefix, first_position=1)

    def generate(
        self,
        text_ids: NDArray[np.int64],
        voice: VoiceProfile,
        *,
        sampler: Sampler,
        eos_floor: int,
        max_tokens: int,
        prefix: Sequence[int],
        poll: Poll,
    ) -> list[int]:
        """Return the ids drawn; see `Generator.generate`. A prefix of odd length loses its last."""
        if max_tokens < 1:
            raise ValueError(f"max_tokens {max_tokens} is below 1")
        prefix = list(prefix)[: len(prefix) - len(prefix) % 2]
        prompt = self.prompt(text_ids, voice, prefix)
        n_rows = prompt.shape[1]
        (all_logits, hidden), cache = self._prefilled(prompt, "logits", "hidden")
        logits = all_logits[0, -1]
        seen = self._seen(prefix)
        row: list[int] = []

        def draw(logits: NDArray[np.float32]) -> int:
            masked = mask_stop(logits, stop_token=self._stop, masked=len(row) < eos_floor)
            token = sampler.draw(masked, step=len(row), seen=seen)
            row.append(token)
            return token

        while len(row) < max_tokens:
            poll()
            first = draw(logits)
            if first == self._stop or len(row) == max_tokens:
                break
            seen[first] = True
            poll()
            (second_logits,) = self._head.run(
                {"hidden": hidden, "first_id": np.array([first], np.int64)}
            )
            second = draw(second_logits[0])
            if second == self._stop or len(row) == max_tokens:
                break
            seen[second] = True
            pair = len(row) // 2
            (last, hidden), cache = self._advance(
                (first, second), len(prefix) // 2 + pair, n_rows + pair - 1, cache
            )
            logits = last[0]
        return row

    def _advance(
        self, pair: tuple[int, int], speech_position: int, position: int, cache: list[Resident]
    ) -> tuple[list[NDArray[np.float32]], list[Resident]]:
        return self._step.run_resident(
            {
                "pair_ids": np.array([pair], np.int64),
                "speech_position": np.array([speech_position], np.int64),
                "position": np.array([position], np.int64),
            },
            dict(zip(PAST_NAMES, cache, strict=True)),
            fetch=("logits", "hidden"),
            keep=PRESENT_NAMES,
        )
