"""Decode loop of loudr-1: text tokens in, speech tokens out.

One prefill over the prompt, then one decode step a token until the stop token or `max_tokens`. The
KV cache stays with the provider between steps. loudr-1 specification, section 10.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from loudr_core.speech.cancelling import Poll
from loudr_core.speech.loudr1.algorithm import Algorithm
from loudr_core.speech.loudr1.bundle import Weights
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

__all__ = ["Generator", "PromptedGenerator", "SingleGenerator", "mask_stop"]


class Generator(Protocol):
    """What turns text tokens into a row of speech tokens; one token or a pair at a step."""

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
        """Return the ids drawn, the stop token last if it was drawn.

        Parameters
        ----------
        text_ids : int64 [n]
            Without the marks that frame them.
        voice : VoiceProfile
        sampler : Sampler
            A fresh one.
        eos_floor : int
            The stop token cannot be drawn before so many tokens.
        max_tokens : int
            At least 1.
        prefix : sequence of int
            Tokens of the speech before, which are continued and not returned.
        poll : callable
            Called before each draw.

        Raises
        ------
        ValueError
            `max_tokens` is below 1.
        SynthesisCancelled
            `poll` said so.
        SynthesisError, BundleError, DeviceError
            A graph failed, or the parts of the bundle do not fit together.
        """
        ...


def mask_stop(logits: NDArray[np.float32], *, stop_token: int, masked: bool) -> NDArray[np.float32]:
    """Return logits in which the stop token cannot be drawn, or the logits as they are."""
    if not masked:
        return logits
    copy = logits.copy()
    copy[stop_token] = -np.inf
    return copy


class PromptedGenerator(ABC):
    """Where both generators begin: a prompt, and the prefill over it.

    Parameters
    ----------
    graphs : mapping of str to Graph
        `t3_cond`, `t3_prefill`.
    weights : Weights
    algorithm : Algorithm
    """

    def __init__(self, graphs: dict[str, Graph], weights: Weights, algorithm: Algorithm) -> None:
        self._prefill = graphs["t3_prefill"]
        self._conditioning = Conditioning(graphs["t3_cond"])
        self._rows = PromptRows(weights, start_token=algorithm.start_speech_token)
        self._stop = algorithm.stop_speech_token
        self._vocabulary = algorithm.speech_vocab_size

    def prompt(
        self, text_ids: NDArray[np.int64], voice: VoiceProfile, prefix: Sequence[int]
    ) -> NDArray[np.float32]:
        """Return the prompt, float32 [1, S, 1024].

        Raises
        ------
        SynthesisError, BundleError
            As `PromptRows.opening`, and as its method for the rows of a prefix.
        """
        rows = self._rows.opening(self._conditioning.rows(voice), text_ids)
        if prefix:
            rows.append(self._prefix_rows(prefix))
        return np.concatenate(rows)[None]

    @abstractmethod
    def _prefix_rows(self, prefix: Sequence[int]) -> NDArray[np.float32]:
        """Return the rows of the speech before, which follow the start token at position 0."""

    def _prefilled(
        self, prompt: NDArray[np.float32], *fetch: str
    ) -> tuple[list[NDArray[Any]], list[Resident]]:
        return self._prefill.run_resident(
            {"embeds": prompt, "positions": np.arange(prompt.shape[1])},
            {},
            fetch=fetch,
            keep=PREFILL_KV_NAMES,
        )

    def _seen(self, prefix: Sequence[int]) -> NDArray[np.bool_]:
        seen = np.zeros(self._vocabulary, np.bool_)
        seen[list(prefix)] = True
        return seen


class SingleGenerator(PromptedGenerator):
    """The generator of loudr-1: one token a step.

    Parameters
    ----------
    graphs : mapping of str to Graph
        `t3_cond`, `t3_prefill`, `t3_step`.
    weights : Weights
    algorithm : Algorithm
    """

    def __init__(self, graphs: dict[str, Graph], weights: Weights, algorithm: Algorithm) -> None:
        super().__init__(graphs, weights, algorithm)
        self._step = graphs["t3_step"]

    def _prefix_rows(self, prefix: Sequence[int]) -> NDArray[np.float32]:
        return self._rows.speech(prefix, first_position=1)

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
        """Return the ids drawn; see `Generator.generate`."""
        if max_tokens < 1:
            raise ValueError(f"max_tokens {max_tokens} is below 1")
        prompt = self.prompt(text_ids, voice, prefix)
        n_rows = prompt.shape[1]
        (all_logits,), cache = self._prefilled(prompt, "logits")
        logits = all_logits[0, -1]
        seen = self._seen(prefix)
        row: list[int] = []
        for step in range(max_tokens):
            poll()
            logits = mask_stop(logits, stop_token=self._stop, masked=len(row) < eos_floor)
            token = sampler.draw(logits, step=step, seen=seen)
            row.append(token)
            # The step after the last token would yield logits that nobody draws from.
            if token == self._stop or len(row) == max_tokens:
                break
            seen[token] = True
            (last,), cache = self._step.run_resident(
                {
                    "embeds": self._rows.speech([token], first_position=len(prefix) + step + 1)[
                        None
                    ],
                    "position": np.array([n_rows + step], np.int64),
                },
                dict(zip(PAST_NAMES, cache, strict=True)),
                fetch=("logits",),
                keep=PRESENT_NAMES,
            )
            logits = last[0]
        return row
