"""A window of the generator and of the renderer: how long it may get, and what fills it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loudr_core.errors import SynthesisError
from loudr_core.speech.loudr1.algorithm import ACOUSTIC_TOKENS, MEL_BINS, Algorithm
from loudr_core.speech.loudr1.voice import VoiceProfile

__all__ = [
    "FramedWindow",
    "eos_floor",
    "frame_window",
    "length_ceiling",
    "time_grid",
    "token_cap",
]

_FRAMES_PER_TOKEN = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FramedWindow:
    """The inputs of the flow for one window.

    Parameters
    ----------
    prompt : int64, shape (1, 238)
        The voice's tokens, padded.
    query : int64, shape (1, 255)
        The window's tokens, padded.
    cond : float32, shape (1, 80, 986)
        The voice's mel where the prompt stands, zero elsewhere.
    n_tokens : int
        Of the query, before padding.
    """

    prompt: NDArray[np.int64]
    query: NDArray[np.int64]
    cond: NDArray[np.float32]
    n_tokens: int


def eos_floor(n_text: int, algorithm: Algorithm) -> int:
    """Return how many tokens are drawn before speech may end.

    Parameters
    ----------
    n_text : int
        Text tokens of the window, the language's among them.

    References
    ----------
    The loudr-1 specification, section 10.1, as for the two functions below.
    """
    sampling = algorithm.sampling
    return max(sampling.min_tokens_floor, int(n_text * sampling.min_tokens_text_ratio))


def length_ceiling(n_text: int, algorithm: Algorithm) -> int:
    """Return the length at which speech of so much text has run away."""
    detectors = algorithm.detectors
    expected = int(n_text * detectors.ceiling_speech_per_text_token)
    return min(algorithm.window.max_speech_tokens, expected + detectors.ceiling_slack_tokens)


def token_cap(n_text: int, algorithm: Algorithm) -> int:
    """Return how many tokens are drawn at most; the ceiling counts unless detectors are off."""
    cap = algorithm.sampling.max_new_tokens
    if algorithm.detectors.mode == "off":
        return cap
    return min(cap, length_ceiling(n_text, algorithm))


def time_grid(algorithm: Algorithm) -> tuple[float, ...]:
    """Return the times that the flow is integrated over, one more than it has steps.

    Returns
    -------
    tuple of float
        The bundle's own grid, or 1 - cos(i pi / 2K). That one ends at 0.9999999999999999.

    References
    ----------
    The loudr-1 specification, section 14, step 6.
    """
    if algorithm.euler_grid is not None:
        return tuple(float(time) for time in algorithm.euler_grid)
    steps = algorithm.euler_steps
    return tuple(1.0 - math.cos(i / steps * math.pi / 2) for i in range(steps + 1))


def frame_window(algorithm: Algorithm, tokens: Sequence[int], voice: VoiceProfile) -> FramedWindow:
    """Return tokens and voice as the flow takes them.

    Parameters
    ----------
    algorithm : Algorithm
        Of a bundle whose window has a fixed size.
    tokens : sequence of int
        Acoustic ids of the window; marks have been taken out.
    voice : VoiceProfile
        Prompt tokens and prompt mel are cut to the window each on its own.

    Raises
    ------
    SynthesisError
        More tokens than the window holds; `n_tokens` and `window` say how many.
    ValueError
        A token without a sound, or an algorithm without a fixed window.

    References
    ----------
    The loudr-1 specification, section 14, steps 1 to 3.
    """
    window = algorithm.window
    size, prompt_size = window.static_length, window.static_prompt_tokens
    if size is None or prompt_size is None or window.pad_token_id is None:
        raise ValueError("a window without a fixed size cannot be framed: see `window` in the file")
    if len(tokens) > window.max_speech_tokens:
        raise SynthesisError(
            f"{len(tokens)} speech tokens do not fit the window of {window.max_speech_tokens}: "
            "split the text",
            n_tokens=len(tokens),
            window=window.max_speech_tokens,
        )
    given = np.asarray(tokens, np.int64)
    if given.size and not (given.min() >= 0 and given.max() < ACOUSTIC_TOKENS):
        raise ValueError(
            f"tokens from {given.min()} to {given.max()}: those with a sound are "
            f"0 to {ACOUSTIC_TOKENS - 1}"
        )
    cond = np.zeros((1, MEL_BINS, _FRAMES_PER_TOKEN * (prompt_size + size)), np.float32)
    mel = voice.prompt_mel[:, : _FRAMES_PER_TOKEN * prompt_size]
    cond[0, :, : mel.shape[1]] = mel
    return FramedWindow(
        prompt=_padded(voice.prompt_tokens[:prompt_size], prompt_size, window.pad_token_id),
        query=_padded(given, size, window.pad_token_id),
        cond=cond,
        n_tokens=len(given),
    )


def _padded(tokens: NDArray[np.int64], size: int, pad: int) -> NDArray[np.int64]:
    row = np.full((1, size), pad, np.int64)
    row[0, : len(tokens)] = tokens
    return row
