"""Speech tokens to mel, mel to samples: a fixed window, whatever it holds.

The flow is integrated by Euler's method from a seeded prior (loudr-1 specification, section 14);
the vocoder is driven by seeded noise and phases (section 15).
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from loudr_core.arrays import Mono
from loudr_core.errors import BundleError
from loudr_core.speech.loudr1.algorithm import (
    MEL_BINS,
    MEL_FRAMES,
    PROMPT_FRAMES,
    SAMPLES_PER_FRAME,
    VOCODER_FRAMES,
    VOCODER_SAMPLES,
    Algorithm,
)
from loudr_core.speech.loudr1.bundle import Weights
from loudr_core.speech.loudr1.graphs import Graph
from loudr_core.speech.loudr1.noise import flow_prior, vocoder_noise, vocoder_phases
from loudr_core.speech.loudr1.voice import VoiceProfile
from loudr_core.speech.loudr1.windowing import frame_window, time_grid

__all__ = ["Renderer"]


class Renderer:
    """The graphs after the tokens.

    Parameters
    ----------
    graphs : mapping of str to Graph
        `flow_encoder`, `flow_estimator`, `vocoder`.
    weights : Weights
    algorithm : Algorithm
    """

    def __init__(self, graphs: dict[str, Graph], weights: Weights, algorithm: Algorithm) -> None:
        self._encoder, self._estimator = graphs["flow_encoder"], graphs["flow_estimator"]
        self._vocoder = graphs["vocoder"]
        self._weights = weights
        self._algorithm = algorithm

    def decode(
        self, tokens: Sequence[int], voice: VoiceProfile, *, seed: int
    ) -> NDArray[np.float32]:
        """Return the mel of a window.

        Parameters
        ----------
        tokens : sequence of int
            1 to 255 acoustic ids.
        voice : VoiceProfile
        seed : int
            Of the flow's prior.

        Returns
        -------
        float32 [80, 2 n]

        Raises
        ------
        SynthesisError
            More tokens than the window holds, or a graph failed.
        BundleError
            A graph yields another size.
        """
        window = frame_window(self._algorithm, tokens, voice)
        (mu,) = self._encoder.run({"prompt_token": window.prompt, "speech_tokens": window.query})
        mu = self._as_window(mu, self._encoder)
        speaker = self._speaker_vector(voice)
        x = flow_prior(seed)[None]
        for start, end in pairwise(time_grid(self._algorithm)):
            feeds = {
                "x": x,
                "mu": mu,
                "t": np.array([start], np.float32),
                "spks": speaker,
                "cond": window.cond,
            }
            (velocity,) = self._estimator.run(feeds)
            x = x + np.float32(end - start) * self._as_window(velocity, self._estimator)
        frames = slice(PROMPT_FRAMES, PROMPT_FRAMES + 2 * window.n_tokens)
        return np.ascontiguousarray(x[0, :, frames])

    def vocode(self, mel: NDArray[np.float32], *, seed: int) -> Mono:
        """Return the samples of a mel.

        Parameters
        ----------
        mel : float32 [80, frames]
            Frames beyond 510 are not used.
        seed : int
            Of noise and phases.

        Returns
        -------
        float32 [480 frames]

        Raises
        ------
        SynthesisError
            The graph failed.
        BundleError
            The graph yields fewer samples.
        """
        frames = min(mel.shape[1], VOCODER_FRAMES)
        padded = np.zeros((1, MEL_BINS, VOCODER_FRAMES), np.float32)
        padded[0, :, :frames] = mel[:, :frames]
        (samples,) = self._vocoder.run(
            {"mel": padded, "phase": vocoder_phases(seed), "noise": vocoder_noise(seed)[None]}
        )
        if samples.size != VOCODER_SAMPLES:
            raise _wrong_size(self._vocoder, samples, VOCODER_SAMPLES)
        cut: Mono = samples.reshape(-1)[: frames * SAMPLES_PER_FRAME].copy()
        return cut

    def _speaker_vector(self, voice: VoiceProfile) -> NDArray[np.float32]:
        """Return the affine image of the unit flow embedding, float32 [1, 80]."""
        embedding = np.asarray(voice.flow_embedding, np.float32)
        embedding = embedding / np.linalg.norm(embedding)
        vector: NDArray[np.float32] = self._weights.spk_weight @ embedding + self._weights.spk_bias
        return vector[None].astype(np.float32)

    def _as_window(self, values: NDArray[np.float32], graph: Graph) -> NDArray[np.float32]:
        if values.size != MEL_BINS * MEL_FRAMES:
            raise _wrong_size(graph, values, MEL_BINS * MEL_FRAMES)
        return values.reshape(1, MEL_BINS, MEL_FRAMES)


def _wrong_size(graph: Graph, values: NDArray[np.float32], expected: int) -> BundleError:
    return BundleError(
        f"graph {graph.name} yields {values.size} numbers, expected {expected}: "
        "fetch the bundle again",
        key=graph.name,
    )
