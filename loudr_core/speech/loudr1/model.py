"""loudr-1 as a Python object: text and a voice in; samples, mel, tokens and times out.

The same text, voice and seed give the same bytes as the reference engine does with the same build
of onnxruntime, provider and thread count.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loudr_core.arrays import Mono
from loudr_core.errors import SynthesisError
from loudr_core.speech.cancelling import Poll, poll_of
from loudr_core.speech.loudr1.algorithm import Algorithm
from loudr_core.speech.loudr1.bundle import Bundle
from loudr_core.speech.loudr1.carry import check_speech_tokens
from loudr_core.speech.loudr1.funnel import Funnel, open_funnel
from loudr_core.speech.loudr1.fused import FusedGenerator
from loudr_core.speech.loudr1.generator import Generator, SingleGenerator
from loudr_core.speech.loudr1.graphs import open_graphs
from loudr_core.speech.loudr1.passage import Passage, PassageOrder, speak, speak_windows
from loudr_core.speech.loudr1.renderer import Renderer
from loudr_core.speech.loudr1.sampler import Sampler
from loudr_core.speech.loudr1.seeds import check_seed, flow_seed, vocoder_seed
from loudr_core.speech.loudr1.text_tokens import TextTokenizer
from loudr_core.speech.loudr1.voice import VoiceProfile

__all__ = ["Loudr1", "Rendering"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rendering:
    """Speech tokens made audible.

    Parameters
    ----------
    tokens : tuple of int
    mel : float32 [80, 2 n]
    audio : float32 [960 n]
        Edges not faded, at the voice's own pace.
    """

    tokens: tuple[int, ...]
    mel: NDArray[np.float32]
    audio: Mono


class Loudr1:
    """A loaded bundle of loudr-1 or loudr-1-turbo; one thread at a time.

    Parameters
    ----------
    bundle : Bundle
    provider : str
        `cpu` or `cuda`.
    threads : int
        Inside one operator of a graph.
    text_funnel : str
        `loudr` takes the text as it comes, `loudkit` prepares it as the reference engine does.

    Raises
    ------
    BundleError
        Graphs, tokenizer or tensors are missing, damaged or of another model.
    ConfigError
        There is no such funnel or provider.
    DeviceError
        The provider or the funnel's package is not there.
    """

    def __init__(
        self,
        bundle: Bundle,
        *,
        provider: str = "cpu",
        threads: int = 1,
        text_funnel: str = "loudr",
    ) -> None:
        self.funnel: Funnel = open_funnel(text_funnel)
        self._algorithm = bundle.algorithm
        graphs = open_graphs(bundle.graphs, bundle.algorithm, provider=provider, threads=threads)
        weights = bundle.weights()
        self._tokenizer = TextTokenizer(bundle.tokenizer_json(), n_embeddings=len(weights.text_emb))
        kind = SingleGenerator if bundle.algorithm.decode_mode == "single" else FusedGenerator
        self._generator: Generator = kind(graphs, weights, bundle.algorithm)
        self._renderer = Renderer(graphs, weights, bundle.algorithm)

    @property
    def algorithm(self) -> Algorithm:
        """The constants of the bundle."""
        return self._algorithm

    @property
    def generator(self) -> Generator:
        """The token generator, for those who drive it alone."""
        return self._generator

    def synthesize(
        self,
        text: str,
        voice: VoiceProfile,
        *,
        seed: int,
        language: str | None = None,
        speed: float = 1.0,
        previous_tokens: Sequence[int] | NDArray[np.integer] | None = None,
        single_window: bool = False,
        should_cancel: Callable[[], bool] | None = None,
    ) -> Passage:
        """Speak a passage.

        Parameters
        ----------
        text : str
        voice : VoiceProfile
        seed : int
            Of any size and sign; its low 64 bits count.
        language : str, optional
            The voice's own when None; an empty one is refused, as every unknown one is.
        speed : float
            0.5 to 2.
        previous_tokens : sequence of int or array with one axis, optional
            `Passage.tokens` of the passage that this one continues.
        single_window : bool
            Refuse a text that does not fit one window, instead of cutting it.
        should_cancel : callable, optional
            Asked at every decode step and between stages.

        Raises
        ------
        ValueError
            The speed is outside its range, the seed no integer, or a token of `previous_tokens`
            none.
        SynthesisError
            Nothing to speak, an unknown language, no window that holds the text, a failed graph.
        SynthesisCancelled
            `should_cancel` said so.
        """
        order = PassageOrder(
            text=text,
            voice=voice,
            seed=seed,
            language=language,
            speed=speed,
            previous_tokens=previous_tokens,
            single_window=single_window,
        )
        return speak(self, order, self.funnel.prepare, poll=poll_of(should_cancel))

    def stream(
        self,
        text: str,
        voice: VoiceProfile,
        *,
        seed: int,
        language: str | None = None,
        speed: float = 1.0,
        previous_tokens: Sequence[int] | NDArray[np.integer] | None = None,
        should_cancel: Callable[[], bool] | None = None,
    ) -> Iterator[Passage]:
        """Yield the windows of a passage as they are made, each with times that start at 0.

        Laid end to end they are what `synthesize` returns. The arguments are checked when the first
        window is asked for.

        Raises
        ------
        ValueError, SynthesisError, SynthesisCancelled
            As `synthesize`.
        """
        order = PassageOrder(
            text=text,
            voice=voice,
            seed=seed,
            language=language,
            speed=speed,
            previous_tokens=previous_tokens,
        )
        yield from speak_windows(self, order, self.funnel.prepare, poll=poll_of(should_cancel))

    def synthesize_tokens(
        self, tokens: Sequence[int] | NDArray[np.integer], voice: VoiceProfile, *, seed: int
    ) -> Rendering:
        """Render speech tokens as one window, without detectors, fade or change of pace.

        Raises
        ------
        ValueError
            The tokens are not in one row, an entry is no speech token, or the seed is no integer.
        SynthesisError
            There are none, or more than the window holds, or a graph failed.
        """
        checked = check_speech_tokens(tokens, self._algorithm.start_speech_token)
        seed = check_seed(seed)
        if not checked:
            raise SynthesisError("there are no speech tokens to render")
        mel = self.decode(checked, voice, seed=flow_seed(seed))
        audio = self.vocode(mel, seed=vocoder_seed(seed))
        return Rendering(tokens=tuple(checked), mel=mel, audio=audio)

    def encode(self, text: str, language: str) -> NDArray[np.int64]:
        """Return text tokens; see `Stages.encode`."""
        return self._tokenizer.encode(text, language)

    def unread(self, text: str, language: str) -> tuple[str, ...]:
        """Return the characters of a text that the tokenizer has no token for.

        Raises
        ------
        SynthesisError
            The language is none of the tokenizer's, or the funnel refuses the text.
        """
        return self._tokenizer.unread(self.funnel.prepare(text, language), language)

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
        return self._generator.generate(
            text_ids,
            voice,
            sampler=sampler,
            eos_floor=eos_floor,
            max_tokens=max_tokens,
            prefix=prefix,
            poll=poll,
        )

    def decode(
        self, tokens: Sequence[int], voice: VoiceProfile, *, seed: int
    ) -> NDArray[np.float32]:
        """Return the mel of a window; see `Renderer.decode`."""
        return self._renderer.decode(tokens, voice, seed=seed)

    def vocode(self, mel: NDArray[np.float32], *, seed: int) -> Mono:
        """Return the samples of a mel; see `Renderer.vocode`."""
        return self._renderer.vocode(mel, seed=seed)
