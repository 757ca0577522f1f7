"""The rows that the generator is prompted with: voice, text, start of speech, carried tokens.

All in float32, each sum rounded once, in the order of the loudr-1 specification, section 10.2; the
rows of token pairs are those of section 18.3.
"""

import math
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loudr_core.errors import BundleError, SynthesisError
from loudr_core.speech.loudr1.algorithm import COND_ROWS, EMOTION, TEXT_CLOSE, TEXT_OPEN
from loudr_core.speech.loudr1.bundle import Weights
from loudr_core.speech.loudr1.graphs import HIDDEN, Graph
from loudr_core.speech.loudr1.voice import VoiceProfile

__all__ = ["Conditioning", "PromptRows"]

_VOICES_KEPT = 8


class Conditioning:
    """Conditioning rows of voices, computed once for each content.

    Parameters
    ----------
    graph : Graph
        `t3_cond`.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._kept: OrderedDict[tuple[bytes, bytes], NDArray[np.float32]] = OrderedDict()

    def rows(self, voice: VoiceProfile) -> NDArray[np.float32]:
        """Return a voice's rows, float32 [34, 1024].

        Raises
        ------
        SynthesisError
            The graph fails on this voice.
        BundleError
            The graph yields another shape.
        """
        speaker = np.ascontiguousarray(voice.speaker_embedding, np.float32)
        tokens = np.ascontiguousarray(voice.cond_prompt_tokens, np.int64)
        key = (speaker.tobytes(), tokens.tobytes())
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        (rows,) = self._graph.run(
            {
                "speaker_emb": speaker[None],
                "prompt_tokens": tokens[None],
                "emotion": np.full((1, 1), EMOTION, np.float32),
            }
        )
        if rows.shape != (1, COND_ROWS, HIDDEN):
            raise BundleError(
                f"graph t3_cond yields shape {rows.shape}, expected {(1, COND_ROWS, HIDDEN)}",
                key="t3_cond",
            )
        self._kept[key] = rows[0]
        if len(self._kept) > _VOICES_KEPT:
            self._kept.popitem(last=False)
        return self._kept[key]


class PromptRows:
    """Rows built from the embedding tables of a checkpoint.

    Parameters
    ----------
    weights : Weights
    start_token : int
        Marks the start of speech; its row has position 0.
    """

    def __init__(self, weights: Weights, *, start_token: int) -> None:
        self._weights = weights
        self._start_token = start_token

    def opening(
        self, conditioning: NDArray[np.float32], text_ids: NDArray[np.int64]
    ) -> list[NDArray[np.float32]]:
        """Return the rows before any speech: voice, framed text, start token.

        Parameters
        ----------
        conditioning : float32 [34, 1024]
        text_ids : int64 [n]

        Raises
        ------
        SynthesisError
            The text is longer than the table of positions.
        BundleError
            The tokenizer gives an id that the checkpoint has no row for.
        """
        framed = np.concatenate(([TEXT_OPEN], text_ids, [TEXT_CLOSE])).astype(np.int64)
        places, rows = len(self._weights.text_pos), len(self._weights.text_emb)
        if len(framed) > places:
            raise SynthesisError(
                f"the text has {len(text_ids)} tokens, more than the {places - 2} of one prompt: "
                "let it be cut into windows"
            )
        if framed.max() >= rows or framed.min() < 0:
            raise BundleError(
                f"the tokenizer gives id {int(framed.max())}, the checkpoint has {rows} rows: "
                "they are not of one bundle",
                key="t3.text_emb.weight",
            )
        text = self._weights.text_emb[framed] + self._weights.text_pos[: len(framed)]
        return [conditioning, text, self.speech([self._start_token], first_position=0)]

    def speech(self, tokens: Sequence[int], *, first_position: int) -> NDArray[np.float32]:
        """Return rows of speech tokens at consecutive learned positions, float32 [n, 1024]."""
        ids = np.asarray(tokens, np.int64)
        places = slice(first_position, first_position + len(ids))
        rows: NDArray[np.float32] = self._weights.speech_emb[ids] + self._weights.speech_pos[places]
        return rows

    def pairs(self, tokens: Sequence[int], *, first_position: int) -> NDArray[np.float32]:
        """Return rows of token pairs at consecutive learned positions, float32 [n / 2, 1024].

        Parameters
        ----------
        tokens : sequence of int
            An even number of them.
        first_position : int

        Raises
        ------
        BundleError
            The checkpoint has no layers for pairs.
        """
        weights = self._weights
        if (
            weights.fuse0_weight is None
            or weights.fuse0_bias is None
            or weights.fuse2_weight is None
            or weights.fuse2_bias is None
        ):
            raise BundleError(
                "the checkpoint has no tensor t3.fuse.0.weight, which decode mode 'fusion_mtp2' "
                "needs: fetch the bundle again",
                key="t3.fuse.0.weight",
            )
        ids = np.asarray(tokens, np.int64).reshape(-1, 2)
        first, second = weights.speech_emb[ids[:, 0]], weights.speech_emb[ids[:, 1]]
        joined = np.concatenate([first, second], axis=1)
        inner = joined @ weights.fuse0_weight.T + weights.fuse0_bias
        outer = _gelu(inner) @ weights.fuse2_weight.T
        mean = np.float32(0.5) * (first + second)
        fused = mean + outer + weights.fuse2_bias
        places = slice(first_position, first_position + len(ids))
        rows: NDArray[np.float32] = fused + weights.speech_pos[places]
        return rows


def _gelu(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return 0.5 x (1 + erf(x / sqrt 2)), erf in float64 and everything else in float32."""
    scaled = values / np.float32(math.sqrt(2.0))
    erf = np.array([math.erf(each) for each in scaled.ravel().tolist()], np.float32)
    half: NDArray[np.float32] = np.float32(0.5) * values
    return half * (np.float32(1.0) + erf.reshape(values.shape))
