"""One window of speech: drawn, judged, drawn again where it is condemned, cut, rendered.

Only what moves a token or a sample is here, in the order of the loudr-1 specification, section 12;
the model itself stands behind `Stages`, so that tests can put a scripted one in its place.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from loudr_core.arrays import Mono
from loudr_core.errors import SynthesisError
from loudr_core.speech.cancelling import Poll
from loudr_core.speech.loudr1.algorithm import Algorithm
from loudr_core.speech.loudr1.carry import carry, strip_specials
from loudr_core.speech.loudr1.chunking import split_in_half
from loudr_core.speech.loudr1.detectors import Verdict, dead_air, inspect
from loudr_core.speech.loudr1.fade import fade_edges
from loudr_core.speech.loudr1.generator import Generator
from loudr_core.speech.loudr1.sampler import Sampler
from loudr_core.speech.loudr1.seeds import (
    attempt_seed,
    flow_seed,
    second_half_seed,
    vocoder_seed,
)
from loudr_core.speech.loudr1.stretch import time_stretch
from loudr_core.speech.loudr1.voice import VoiceProfile
from loudr_core.speech.loudr1.windowing import eos_floor, token_cap

__all__ = [
    "RenderedWindow",
    "Stages",
    "WindowOrder",
    "WindowTokens",
    "chunk_windows",
    "draw_window",
    "render_window",
]


class Stages(Generator, Protocol):
    """The model: a tokenizer, a generator, a mel decoder and a vocoder that belong together."""

    @property
    def algorithm(self) -> Algorithm:
        """The constants that all of them follow."""
        ...

    def encode(self, text: str, language: str) -> NDArray[np.int64]:
        """Return text tokens, int64 [n]; SynthesisError for a language it does not know."""
        ...

    def decode(
        self, tokens: Sequence[int], voice: VoiceProfile, *, seed: int
    ) -> NDArray[np.float32]:
        """Return a mel, float32 [80, 2 n]."""
        ...

    def vocode(self, mel: NDArray[np.float32], *, seed: int) -> Mono:
        """Return samples, float32 [480 frames]."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowOrder:
    """What a window is to say.

    Parameters
    ----------
    text : str
        As the text funnel left it.
    language : str
        A language of the tokenizer.
    voice : VoiceProfile
    seed : int
        The window's: tokens, flow and vocoder derive theirs from it.
    prefix : tuple of int
        Speech tokens carried in from the window before.
    terminal : bool
        Whether the passage ends with this window.
    """

    text: str
    language: str
    voice: VoiceProfile
    seed: int
    prefix: tuple[int, ...] = ()
    terminal: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowTokens:
    """What came of an order, before it is rendered.

    Parameters
    ----------
    tokens : tuple of int
        Acoustic ids, cut as the verdict says.
    n_text : int
        Text tokens, the language tag among them.
    n_generated : int
        Tokens drawn by the attempt that counts, the stop token aside.
    attempts : int
        Rows drawn in all.
    verdict : Verdict
        Of the attempt that counts.
    hit_cap : bool
        The row was stopped by its length limit.
    hit_window : bool
        The row filled the window.
    """

    order: WindowOrder
    tokens: tuple[int, ...]
    n_text: int
    n_generated: int
    attempts: int
    verdict: Verdict
    hit_cap: bool
    hit_window: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RenderedWindow:
    """A window as it is heard.

    Parameters
    ----------
    mel : float32 [80, 2 n]
        At the voice's own pace.
    audio : float32 [samples]
        At the pace asked for, edges faded.
    """

    drawn: WindowTokens
    mel: NDArray[np.float32]
    audio: Mono


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One attempt: ids without the stop token, what was said of them, how much is dead air."""

    ids: list[int]
    verdict: Verdict
    hit_cap: bool
    hit_window: bool
    silent: int


def chunk_windows(stages: Stages, order: WindowOrder, *, poll: Poll) -> Iterator[WindowTokens]:
    """Yield the windows of a chunk: one, or two halves when the whole filled the window.

    Halves are not cut again. A chunk without an inner word boundary stays whole, and the flag
    `hit_window` says that its end is missing.

    Raises
    ------
    SynthesisError
        As `draw_window`.

    References
    ----------
    loudr-1 specification, section 12.3.
    """
    whole = draw_window(stages, order, poll=poll)
    chunking = stages.algorithm.chunking
    halves = None
    if whole.hit_window and chunking.cap_resplit == "word":
        halves = split_in_half(order.text)
    if halves is None:
        yield whole
        return
    first = draw_window(stages, replace(order, text=halves[0], terminal=False), poll=poll)
    yield first
    # Without a carry the second half follows what the whole chunk followed.
    prefix = order.prefix
    if chunking.prefix_tokens:
        prefix = tuple(carry(stages.algorithm, first.tokens, chunking.prefix_tokens))
    second = replace(order, text=halves[1], seed=second_half_seed(order.seed), prefix=prefix)
    yield draw_window(stages, second, poll=poll)


def draw_window(stages: Stages, order: WindowOrder, *, poll: Poll) -> WindowTokens:
    """Draw the tokens of a window, again with another seed while the detectors condemn them.

    A good row counts at once. When none comes, the row with the least dead air counts, the
    earliest of equals, with its own verdict.

    Raises
    ------
    SynthesisError
        No token that has a sound was drawn, or a graph failed.
    SynthesisCancelled
        `poll` said so.

    References
    ----------
    loudr-1 specification, sections 12.1 and 12.2.
    """
    algorithm = stages.algorithm
    text_ids = stages.encode(order.text, order.language)
    best: _Row | None = None
    attempt = 0
    while True:
        row = _draw_row(stages, order, text_ids, attempt, poll)
        attempt += 1
        if not row.verdict.condemned or algorithm.detectors.mode == "off":
            best = row
            break
        if best is None or row.silent < best.silent:
            best = row
        if attempt > algorithm.detectors.retry_max_attempts:
            break
    kept = best.ids
    if algorithm.detectors.mode == "trim":
        kept = kept[: best.verdict.keep]
    tokens = strip_specials(algorithm, kept)
    if not tokens:
        raise SynthesisError(
            f"no speech came of {len(text_ids)} text tokens in {attempt} attempts: "
            "try another seed or another text"
        )
    return WindowTokens(
        order=order,
        tokens=tuple(tokens),
        n_text=len(text_ids),
        n_generated=len(best.ids),
        attempts=attempt,
        verdict=best.verdict,
        hit_cap=best.hit_cap,
        hit_window=best.hit_window,
    )


def _draw_row(
    stages: Stages, order: WindowOrder, text_ids: NDArray[np.int64], attempt: int, poll: Poll
) -> _Row:
    algorithm = stages.algorithm
    n_text = len(text_ids)
    floor, cap = eos_floor(n_text, algorithm), token_cap(n_text, algorithm)
    sampler = Sampler(
        algorithm.sampling,
        seed=attempt_seed(order.seed, attempt),
        stop_token=algorithm.stop_speech_token,
        eos_floor=floor,
        observe=algorithm.detectors.mode != "off",
    )
    ids = stages.generate(
        text_ids,
        order.voice,
        sampler=sampler,
        eos_floor=floor,
        max_tokens=cap,
        prefix=order.prefix,
        poll=poll,
    )
    ended = bool(ids) and ids[-1] == algorithm.stop_speech_token
    if ended:
        ids = ids[:-1]
    hit_cap = not ended and len(ids) >= cap
    silence = frozenset(algorithm.sampling.silence_token_ids)
    at, probability = sampler.eos_peak
    verdict = inspect(
        ids,
        n_text=n_text,
        floor=floor,
        eos_peak_at=at,
        eos_peak_probability=probability,
        ended=ended,
        terminal=order.terminal,
        hit_ceiling=hit_cap,
        silence=silence,
        detectors=algorithm.detectors,
    )
    return _Row(
        ids=ids,
        verdict=verdict,
        hit_cap=hit_cap,
        hit_window=not ended and len(ids) >= algorithm.window.max_speech_tokens,
        silent=dead_air(ids, silence=silence, detectors=algorithm.detectors),
    )


def render_window(
    stages: Stages, drawn: WindowTokens, *, speed: float, poll: Poll
) -> RenderedWindow:
    """Render the tokens of a window, change its pace, fade its edges.

    Raises
    ------
    ValueError
        The speed is outside 0.5 to 2.
    SynthesisError
        A graph failed.
    SynthesisCancelled
        `poll` said so.

    References
    ----------
    loudr-1 specification, sections 12.4, 16 and 17.
    """
    algorithm, order = stages.algorithm, drawn.order
    poll()
    mel = stages.decode(drawn.tokens, order.voice, seed=flow_seed(order.seed))
    poll()
    audio = stages.vocode(mel, seed=vocoder_seed(order.seed))
    audio = time_stretch(audio, sample_rate_hz=algorithm.sample_rate_hz, speed=speed)
    audio = fade_edges(
        audio, sample_rate_hz=algorithm.sample_rate_hz, seconds=algorithm.edge_fade_seconds
    )
    poll()
    return RenderedWindow(drawn=drawn, mel=mel, audio=audio)
