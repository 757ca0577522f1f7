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
from loudr_core.speech.loudr1.generator import mask_stop
from loudr_core.speech.loudr1.graphs import (
    PAST_NAMES,
    PREFILL_KV_NAMES,
    PRESENT_NAMES,
    Graph,
)
from loudr_core.speech.loudr1.prompt import Conditioning, PromptRows
from loudr_core.speech.loudr1.sampler import Sampler
from loudr_core.speech.loudr1.voice import VoiceProfile
from loudr_core.speech.session import Resident

__all__ = ["FusedGenerator"]


class FusedGenerator:
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
        self._prefill, self._step = graphs["t3_prefill"], graphs["t3_pair_step"]
        self._head = graphs["t3_head2"]
        self._conditioning = Conditioning(graphs["t3_cond"])
        self._rows = PromptRows(weights, start_token=algorithm.start_speech_token)
        self._stop = algorithm.stop_speech_token
        self._vocabulary = algorithm.speech_vocab_size

    def prompt(
        self, text_ids: NDArray[np.int64], voice: VoiceProfile, prefix: Sequence[int]
    ) -> NDArray[np.float32]:
        """Return the prompt, float32 [1, S, 1024], with a prefix of whole pairs.

        Raises
        ------
        SynthesisError, BundleError
            As `PromptRows.opening` and `PromptRows.pairs`.
        """
        rows = self._rows.opening(self._conditioning.rows(voice), text_ids)
        if prefix:
            rows.append(self._rows.pairs(prefix, first_position=1))
        return np.concatenate(rows)[None]

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
        (all_logits, hidden), cache = self._prefill.run_resident(
            {"embeds": prompt, "positions": np.arange(n_rows)},
            {},
            fetch=("logits", "hidden"),
            keep=PREFILL_KV_NAMES,
        )
        logits = all_logits[0, -1]
        seen = np.zeros(self._vocabulary, np.bool_)
        seen[prefix] = True
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
