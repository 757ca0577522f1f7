"""A Koko bundle that speaks: characters, durations, mel by flow steps, samples.

References
----------
Koko specification, section 4.
"""

import itertools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from loudr_core.arrays import Mono
from loudr_core.errors import SynthesisError
from loudr_core.noise import gaussian_field
from loudr_core.speech.koko.bundle import KokoBundle
from loudr_core.speech.koko.graphs import MEL_BINS, SPEAKER_WIDTH, open_koko_graphs
from loudr_core.speech.koko.probe import check_vocabulary, frame_multiple, speaker_count
from loudr_core.speech.koko.recipe import Recipe, flow_times, token_frames
from loudr_core.speech.koko.vocabulary import Vocabulary, read_vocabulary

__all__ = ["HOP", "MOST_FRAMES", "SAMPLE_RATE_HZ", "KokoModel", "TooLong", "Utterance"]

SAMPLE_RATE_HZ: Final = 24_000
HOP: Final = 256
"""Samples a mel frame."""
MOST_FRAMES: Final = 4_000
"""Of one pass, 42.7 s; the model was trained on sentences."""

_log = logging.getLogger(__name__)


class TooLong(SynthesisError):
    """A pass would have more than `MOST_FRAMES`; half of its text may do."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Utterance:
    """What one pass came to.

    Parameters
    ----------
    samples : float32, shape (256 (frames - 1),)
    frames : int
        Mel frames, the sum of all durations.
    tokens : int
        Characters that were encoded.
    """

    samples: Mono
    frames: int
    tokens: int


class KokoModel:
    """The graphs of a bundle in their order.

    Parameters
    ----------
    bundle : KokoBundle
    recipe : Recipe
    provider : str
    threads : int
        As `open_session` takes them.

    Raises
    ------
    BundleError
        A file is damaged, or is not of this model.
    DeviceError
        The provider is not there.
    """

    def __init__(
        self, bundle: KokoBundle, recipe: Recipe, *, provider: str = "cpu", threads: int = 1
    ) -> None:
        self.recipe = recipe
        self.vocabulary: Vocabulary = read_vocabulary(bundle.tokenizer)
        graphs = open_koko_graphs(bundle, provider=provider, threads=threads)
        self._encoder, self._flow_step, self._vocoder = graphs.values()
        check_vocabulary(bundle, self.vocabulary)
        self.speakers = speaker_count(bundle)
        self.frame_multiple = frame_multiple(self._flow_step)
        _log.debug("%d speakers, frames by %d", self.speakers, self.frame_multiple)

    def speak(
        self,
        text: str,
        speaker: int,
        *,
        seed: int,
        stream: int = 0,
        speed: float = 1.0,
        poll: Callable[[], None] = lambda: None,
    ) -> Utterance:
        """Speak a text in one pass.

        Parameters
        ----------
        text : str
            Characters of the vocabulary.
        speaker : int
            From 0.
        seed : int
            Addresses the noise that the flow starts from.
        stream : int
            Even; another pass of the same unit has another one.
        speed : float
            Divides every duration.
        poll : callable
            Called between steps; may raise to give up.

        Raises
        ------
        ValueError
            There is no text or no such speaker, or the speed is out of range.
        TooLong
            It would be more than `MOST_FRAMES`.
        SynthesisError
            A graph failed, or made something else than finite numbers of the right shape.
        DeviceError
            The device has no memory left.
        """
        if not text:
            raise ValueError("no text to speak")
        if not 0 <= speaker < self.speakers:  # a Gather would count a negative one from the end
            raise ValueError(f"speaker {speaker} is outside 0 to {self.speakers - 1}")
        scale = self.recipe.length_scale_at(speed)
        mu, embedding = self._encode(text, speaker, scale)
        poll()
        mel = self._flow(mu, embedding, seed, stream, poll)
        return Utterance(samples=self._samples(mel), frames=mel.shape[2], tokens=len(text))

    def _encode(
        self, text: str, speaker: int, scale: float
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the mean of the flow, float32 [1, 100, frames], and the speaker's embedding."""
        ids = self.vocabulary.encode(text)
        log_durations, means, embedding = self._encoder.run(
            {"input_ids": ids[None], "spk_id": np.array([speaker], np.int64)}
        )
        _expect("text encoder", "log_dur", log_durations, (1, len(ids)))
        _expect("text encoder", "mu_tok", means, (1, len(ids), MEL_BINS))
        _expect("text encoder", "spk_emb", embedding, (1, SPEAKER_WIDTH))
        frames = token_frames(log_durations[0], scale)
        total = int(frames.sum())
        if total > MOST_FRAMES:
            raise TooLong(
                f"{len(text)} characters would be {total * HOP / SAMPLE_RATE_HZ:.0f} s of speech, "
                f"more than the {MOST_FRAMES * HOP / SAMPLE_RATE_HZ:.0f} s of one pass"
            )
        mu = np.repeat(means[0], frames, axis=0).T[None]
        return np.ascontiguousarray(mu), embedding

    def _flow(
        self,
        mu: NDArray[np.float32],
        embedding: NDArray[np.float32],
        seed: int,
        stream: int,
        poll: Callable[[], None],
    ) -> NDArray[np.float32]:
        """Return the mel, float32 [1, 100, frames], of which the noise is the beginning.

        Guidance is inside the graph, which runs with and without the condition as one batch.
        """
        frames = mu.shape[2]
        padding = -frames % self.frame_multiple
        mu = np.pad(mu, ((0, 0), (0, 0), (0, padding)), mode="edge")
        # A number of the field depends on its own place only, so padding moves no other.
        noise = gaussian_field(seed, stream, MEL_BINS, frames + padding)
        x = noise[None] * np.float32(self.recipe.temperature)
        times = flow_times(self.recipe.n_steps, self.recipe.sway)
        fixed = {"mu": mu, "spk_emb": embedding, "cfg": np.array([self.recipe.cfg])}
        for now, then in itertools.pairwise(times):
            moment = {"t": np.array([now]), "dt": np.array([then - now])}
            (moved,) = self._flow_step.run({"x": x, **fixed, **moment})
            _expect("flow step", "x_next", moved, x.shape)
            x = moved
            poll()
        return x[:, :, :frames]

    def _samples(self, mel: NDArray[np.float32]) -> Mono:
        frames = mel.shape[2]
        if frames < 2:
            raise SynthesisError("one mel frame holds no sound: the unit is too short to speak")
        (audio,) = self._vocoder.run({"mel": mel})
        _expect("vocoder", "audio", audio, (1, HOP * (frames - 1)))
        samples: Mono = audio[0]
        return samples


def _expect(what: str, name: str, found: NDArray[Any], shape: tuple[int, ...]) -> None:
    if found.shape != shape:
        raise SynthesisError(
            f"the {what} made {name} of shape {list(found.shape)}, expected {list(shape)}"
        )
    if not np.isfinite(found).all():
        raise SynthesisError(f"the {what} made {name} that is not finite")
