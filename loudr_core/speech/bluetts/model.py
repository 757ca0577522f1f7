"""A BlueTTS bundle that speaks: ids, seconds, latents by guided steps, samples.

References
----------
BlueTTS specification, sections 4 to 6.
"""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from loudr_core.arrays import Mono
from loudr_core.errors import BundleError, SynthesisError
from loudr_core.findings import Finding
from loudr_core.noise import gaussian_field
from loudr_core.speech.bluetts.bundle import BlueBundle
from loudr_core.speech.bluetts.graphs import open_blue_graphs
from loudr_core.speech.bluetts.recipe import (
    Recipe,
    blend_velocities,
    denormalize,
    fold,
    frame_count,
    trim_frames,
)
from loudr_core.speech.bluetts.tables import (
    CHANNELS,
    FRAME,
    TEXT_WIDTH,
    Stats,
    Unconditional,
    read_dimensions,
    read_stats,
    read_unconditional,
)
from loudr_core.speech.bluetts.vocabulary import read_vocabulary
from loudr_core.speech.bluetts.voices import BlueVoice, read_voices
from loudr_core.speech.graph_facts import gather_rows

__all__ = ["MOST_TOKENS", "BlueModel", "TooLong", "Utterance"]

MOST_TOKENS: Final = 240
"""Of one pass: the predicted length saturates near 15 s, and more words are crammed into it."""

_MOST_SECONDS: Final = 60.0
"""No pass of so few tokens lasts longer, at the slowest speed of the slowest language."""
_log = logging.getLogger(__name__)


class TooLong(SynthesisError):
    """A pass would have more than `MOST_TOKENS`; half of its text may do."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Utterance:
    """What one pass came to.

    Parameters
    ----------
    samples : float32, shape (3072 (frames - 2),)
        Edges cut; may pass full scale.
    seconds : float
        That were asked for, edges included.
    tokens : int
        Ids that were encoded.
    """

    samples: Mono
    seconds: float
    tokens: int


class BlueModel:
    """The graphs of a bundle in their order.

    Parameters
    ----------
    bundle : BlueBundle
    recipe : Recipe
    provider : str
    threads : int
        As `open_session` takes them.

    Raises
    ------
    BundleError
        A file is missing or damaged, is not of this model, or not of this export.
    DeviceError
        The provider is not there.
    """

    def __init__(
        self, bundle: BlueBundle, recipe: Recipe, *, provider: str = "cpu", threads: int = 1
    ) -> None:
        self.recipe = recipe
        scale = read_dimensions(bundle.tables["tts.json"])
        self.vocabulary = read_vocabulary(bundle.tables["vocab.json"])
        self.voices = read_voices(bundle.voices)
        bundle.check_manifest()
        self.graphs = open_blue_graphs(bundle, provider=provider, threads=threads)
        self._check_table(bundle)
        findings: tuple[Finding, ...] = ()
        self._stats: Stats | None = None
        if not self.graphs.folds_inside:
            self._stats = read_stats(_needed(bundle, "stats.npz"), configured_scale=scale)
            findings = self._stats.findings
        self._unconditional: Unconditional | None = None
        if not self.graphs.guidance_inside:
            self._unconditional = read_unconditional(_needed(bundle, "uncond.npz"))
        self.findings = findings
        for finding in findings:
            _log.warning("%s", finding.message)

    def speak(
        self,
        ids: NDArray[np.int64],
        voice: BlueVoice,
        *,
        seed: int,
        stream: int = 0,
        speed: float = 1.0,
        poll: Callable[[], None] = lambda: None,
    ) -> Utterance:
        """Speak ids in one pass.

        Parameters
        ----------
        ids : int64, shape (n,)
            Of the vocabulary.
        voice : BlueVoice
        seed : int
            Addresses the noise that the flow starts from.
        stream : int
            Even; another pass of the same unit has another one.
        speed : float
            That of the request times that of the language; divides the length.
        poll : callable
            Called between steps; may raise to give up.

        Raises
        ------
        ValueError
            There are no ids.
        TooLong
            There are more than `MOST_TOKENS`; no graph has run.
        SynthesisError
            A graph failed, or made something else than finite numbers of the right shape.
        DeviceError
            The device has no memory left.
        """
        tokens = len(ids)
        if not tokens:
            raise ValueError("no ids to speak")
        if tokens > MOST_TOKENS:
            raise TooLong(f"{tokens} tokens are more than the {MOST_TOKENS} of one pass")
        text: dict[str, NDArray[Any]] = {
            "text_ids": ids[None],
            "text_mask": np.ones((1, 1, tokens), np.float32),
        }
        seconds = self._seconds(text, voice, tokens, speed)
        embedding = self.graphs.text_encoder.run({**text, "style_ttl": voice.style})
        _expect("text encoder", embedding, (1, TEXT_WIDTH, tokens))
        frames = frame_count(seconds)
        noise = gaussian_field(seed, stream, CHANNELS, frames)[None]
        latent = self._flow(noise, embedding, voice, poll)
        return Utterance(samples=self._samples(latent), seconds=seconds, tokens=tokens)

    def _seconds(
        self, text: dict[str, NDArray[Any]], voice: BlueVoice, tokens: int, speed: float
    ) -> float:
        made = self.graphs.duration.run({**text, "style_dp": voice.pace}).reshape(-1)
        _expect("duration predictor", made, (1,))
        predicted = float(made[0])
        seconds = self.recipe.seconds(predicted, tokens, speed)
        if predicted <= 0 or seconds > _MOST_SECONDS or not math.isfinite(seconds):
            raise SynthesisError(
                f"the duration predictor says {predicted:.2f} s for {tokens} tokens, which is not "
                "speech"
            )
        return seconds

    def _flow(
        self,
        x: NDArray[np.float32],
        embedding: NDArray[np.float32],
        voice: BlueVoice,
        poll: Callable[[], None],
    ) -> NDArray[np.float32]:
        """Return the latents that the noise becomes, float32 [1, 144, frames]."""
        n, cfg = self.recipe.n_steps, float(self.recipe.cfg)
        shared: dict[str, NDArray[Any]] = {
            "latent_mask": np.ones((1, 1, x.shape[2]), np.float32),
            "total_step": np.array([n], np.float32),
        }
        with_text = {"text_emb": embedding, "style_ttl": voice.style, "text_mask": _ones(embedding)}
        without: dict[str, NDArray[Any]] | None = None
        if self.graphs.guidance_inside:
            shared["cfg_scale"] = np.array([cfg], np.float32)
        elif self._unconditional is not None and cfg != 1.0:
            blank = self._unconditional
            without = {
                "text_emb": blank.text, "style_ttl": blank.style, "text_mask": _ones(blank.text),
            }  # fmt: skip
        for step in range(n):
            moment = {"noisy_latent": x, "current_step": np.array([step], np.float32), **shared}
            moved = self._step({**moment, **with_text}, x.shape)
            if without is not None:
                unguided = self._step({**moment, **without}, x.shape)
                moved = blend_velocities(x, moved, unguided, cfg=cfg, n_steps=n)
            x = moved
            poll()
        return x

    def _step(self, feeds: dict[str, NDArray[Any]], shape: tuple[int, ...]) -> NDArray[np.float32]:
        moved = self.graphs.vector_estimator.run(feeds)
        _expect("vector estimator", moved, shape)
        return moved

    def _samples(self, latent: NDArray[np.float32]) -> Mono:
        frames = latent.shape[2]
        if self._stats is not None:
            latent = fold(denormalize(latent, self._stats))
        samples = self.graphs.vocoder.run({"latent": latent}).reshape(-1)
        _expect("vocoder", samples, (FRAME * frames,))
        return trim_frames(samples)

    def _check_table(self, bundle: BlueBundle) -> None:
        """Refuse a vocabulary with ids that the text encoder does not know, where that is seen."""
        path = bundle.graphs["text_encoder"]
        rows = gather_rows(path, indices="text_ids")
        largest = max(self.vocabulary.ids.values())
        if rows is not None and largest >= rows:
            vocabulary = bundle.tables["vocab.json"]
            raise BundleError(
                f"{vocabulary} has ids up to {largest}, {path.name} knows {rows}: they are not of "
                "one bundle",
                path=str(vocabulary),
                key="char_to_id",
            )


def _needed(bundle: BlueBundle, name: str) -> Any:
    path = bundle.tables.get(name)
    if path is None:
        raise BundleError(
            f"{bundle.folder} has no {name}, which these graphs need: fetch the bundle again",
            path=str(bundle.folder),
            key=name,
        )
    return path


def _ones(embedding: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.ones((1, 1, embedding.shape[2]), np.float32)


def _expect(what: str, found: NDArray[Any], shape: tuple[int, ...]) -> None:
    if found.shape != shape:
        raise SynthesisError(
            f"the {what} made an array of shape {list(found.shape)}, expected {list(shape)}"
        )
    if not np.isfinite(found).all():
        raise SynthesisError(f"the {what} made numbers that are not finite")
