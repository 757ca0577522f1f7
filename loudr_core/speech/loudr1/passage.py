"""A passage: a text of any length as windows that follow each other in one voice.

Prepared once, cut into chunks, each chunk continuing the tokens before it, the rendered windows
laid end to end (loudr-1 specification, sections 13 and 17).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from loudr_core.arrays import Mono
from loudr_core.errors import SynthesisError
from loudr_core.speech.cancelling import Poll
from loudr_core.speech.loudr1.carry import carry, check_speech_tokens
from loudr_core.speech.loudr1.chunking import split_text
from loudr_core.speech.loudr1.detectors import Verdict
from loudr_core.speech.loudr1.seeds import check_seed, chunk_seed
from loudr_core.speech.loudr1.stretch import check_speed
from loudr_core.speech.loudr1.timeline import ChunkSpan, ChunkTiming, timeline
from loudr_core.speech.loudr1.voice import VoiceProfile
from loudr_core.speech.loudr1.window import (
    RenderedWindow,
    Stages,
    WindowOrder,
    WindowTokens,
    chunk_windows,
    draw_window,
    render_window,
)

__all__ = [
    "Passage",
    "PassageOrder",
    "join_windows",
    "passage_windows",
    "prepare",
    "speak",
    "speak_windows",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageOrder:
    """What a passage is to say.

    Parameters
    ----------
    text : str
        Before the text funnel.
    voice : VoiceProfile
    seed : int
        Of any size and sign; its low 64 bits count.
    language : str, optional
        The voice's own when None; an empty one is refused, as every unknown one is.
    speed : float
        0.5 to 2.
    previous_tokens : sequence of int or array with one axis, optional
        Speech tokens of the passage before, which this one continues.
    single_window : bool
        Refuse a text that does not fit one window, instead of cutting it.
    """

    text: str
    voice: VoiceProfile
    seed: int
    language: str | None = None
    speed: float = 1.0
    previous_tokens: Sequence[int] | NDArray[np.integer] | None = None
    single_window: bool = False

    @property
    def spoken_language(self) -> str:
        """The language given, else the voice's, else English.

        One that is given and empty stays so, and the tokenizer refuses it.
        """
        return self.language if self.language is not None else self.voice.language or "en"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Passage:
    """A spoken passage.

    Parameters
    ----------
    audio : float32 [samples]
    tokens : tuple of int
        Speech tokens of all windows.
    mel : float32 [80, frames]
        At the voice's own pace, whatever the speed.
    seed : int
        As it was given; of a streamed window its own, from which it can be made again.
    speed : float
    sample_rate_hz : int
    windows : tuple of WindowTokens
        What each window was drawn from.
    chunks : tuple of ChunkTiming
        When each window and its words are heard.
    """

    audio: Mono
    tokens: tuple[int, ...]
    mel: NDArray[np.float32]
    seed: int
    speed: float
    sample_rate_hz: int
    windows: tuple[WindowTokens, ...]
    chunks: tuple[ChunkTiming, ...]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What the detectors say of each window."""
        return tuple(window.verdict for window in self.windows)

    @property
    def hit_token_cap(self) -> bool:
        """Whether a window was stopped by its length limit."""
        return any(window.hit_cap for window in self.windows)

    @property
    def suspect(self) -> bool:
        """Whether a window is not to be trusted."""
        return any(verdict.suspect for verdict in self.verdicts)


def prepare(order: PassageOrder, funnel: Callable[[str, str], str]) -> str:
    """Return a passage's text as it is spoken, checked.

    Raises
    ------
    ValueError
        The speed is outside 0.5 to 2, or the seed is no integer.
    SynthesisError
        There is nothing to speak, before the funnel or after it.
    """
    if not order.text.strip():
        raise SynthesisError("there is nothing to speak: the text is empty")
    check_speed(order.speed)
    check_seed(order.seed)
    text = funnel(order.text, order.spoken_language)
    if not text.strip():
        raise SynthesisError("there is nothing to speak: the text funnel leaves nothing of it")
    return text


def passage_windows(
    stages: Stages, order: PassageOrder, text: str, *, poll: Poll
) -> Iterator[RenderedWindow]:
    """Yield the windows of a passage, each rendered before the next is drawn.

    Parameters
    ----------
    stages : Stages
    order : PassageOrder
        Its `text` is not read.
    text : str
        As `prepare` returned it.
    poll : callable

    Raises
    ------
    ValueError
        A token of `previous_tokens` is none, or the speed is outside its range.
    SynthesisError
        A window cannot be spoken, or does not hold the text where it must.
    SynthesisCancelled
        `poll` said so.
    """
    algorithm = stages.algorithm
    wanted = algorithm.chunking.prefix_tokens
    chunks = [text] if order.single_window else split_text(text, algorithm.chunking)
    given = () if order.previous_tokens is None else order.previous_tokens
    before = check_speech_tokens(given, algorithm.start_speech_token)
    for number, chunk in enumerate(chunks):
        window_order = WindowOrder(
            text=chunk,
            language=order.spoken_language,
            voice=order.voice,
            seed=chunk_seed(check_seed(order.seed), number),
            prefix=tuple(carry(algorithm, before, wanted)),
            terminal=number == len(chunks) - 1,
        )
        drawn_windows: Iterable[WindowTokens]
        if order.single_window:
            drawn_windows = [_only_window(stages, window_order, poll)]
        else:
            drawn_windows = chunk_windows(stages, window_order, poll=poll)
        for drawn in drawn_windows:
            yield render_window(stages, drawn, speed=order.speed, poll=poll)
            before = list(drawn.tokens)


def _only_window(stages: Stages, order: WindowOrder, poll: Poll) -> WindowTokens:
    drawn = draw_window(stages, order, poll=poll)
    if drawn.hit_window:
        size = stages.algorithm.window.max_speech_tokens
        raise SynthesisError(
            f"{drawn.n_generated} speech tokens fill the window of {size} and the text goes on: "
            "shorten it, or let it be cut",
            tokens=drawn.n_generated,
            window=size,
        )
    return drawn


def join_windows(stages: Stages, order: PassageOrder, windows: Sequence[RenderedWindow]) -> Passage:
    """Return a passage of windows laid end to end: no pause, no cross-fade.

    Raises
    ------
    ValueError
        There is no window.
    """
    if not windows:
        raise ValueError("a passage has at least one window")
    rate = stages.algorithm.sample_rate_hz
    drawn = tuple(window.drawn for window in windows)
    spans = [
        ChunkSpan(window.drawn.order.text, len(window.audio), len(window.drawn.tokens))
        for window in windows
    ]
    return Passage(
        audio=np.concatenate([window.audio for window in windows]),
        tokens=tuple(token for window in drawn for token in window.tokens),
        mel=np.concatenate([window.mel for window in windows], axis=1),
        seed=order.seed,
        speed=order.speed,
        sample_rate_hz=rate,
        windows=drawn,
        chunks=timeline(spans, sample_rate_hz=rate),
    )


def speak(
    stages: Stages, order: PassageOrder, funnel: Callable[[str, str], str], *, poll: Poll
) -> Passage:
    """Speak a passage with any stages; see `Loudr1.synthesize`."""
    text = prepare(order, funnel)
    return join_windows(stages, order, list(passage_windows(stages, order, text, poll=poll)))


def speak_windows(
    stages: Stages, order: PassageOrder, funnel: Callable[[str, str], str], *, poll: Poll
) -> Iterator[Passage]:
    """Yield a passage window by window with any stages; see `Loudr1.stream`."""
    text = prepare(order, funnel)
    for window in passage_windows(stages, order, text, poll=poll):
        own = replace(order, seed=window.drawn.order.seed)
        yield join_windows(stages, own, [window])
