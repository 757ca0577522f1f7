"""Which algorithms this engine runs: those that the exported graphs are static for.

The reference refuses the first group below when it opens a backend (loudr-1 specification,
sections 3.7 and 3.8). The second group it accepts, and fails or runs endlessly later; a number
that is not finite, an id that no table has and a million Euler steps end here instead.
"""

import math
from collections.abc import Iterator

from loudr_core.speech.loudr1.algorithm import SAMPLES_PER_TOKEN, Algorithm
from loudr_core.speech.loudr1.algorithm_checks import Fault

__all__ = ["runnable_faults"]

_QUERY, _PROMPT = 255, 238
_VOCABULARY = 8194
_RATE_TOLERANCE_HZ = 1e-9
_MOST_EULER_STEPS = 1000
_MOST_SAMPLE_RATE_HZ = 384_000
_MOST_COUNT = 1 << 31


def runnable_faults(algorithm: Algorithm) -> Iterator[Fault]:
    """Yield everything that keeps an otherwise valid algorithm from being run here."""
    yield from _graphs(algorithm)
    yield from _numbers(algorithm)
    yield from _ids(algorithm)


def _graphs(algorithm: Algorithm) -> Iterator[Fault]:
    window = algorithm.window
    if (window.static_length, window.static_prompt_tokens) != (_QUERY, _PROMPT):
        yield Fault(
            "window",
            f"must be static at {_QUERY} query and {_PROMPT} prompt tokens, as the graphs are, "
            f"found {window.static_length} and {window.static_prompt_tokens}",
        )
    if algorithm.guidance != "single_path":
        yield Fault("guidance", f"must be 'single_path' for ONNX, found {algorithm.guidance!r}")
    if not algorithm.sample_rate_hz <= _MOST_SAMPLE_RATE_HZ:
        yield Fault("sample_rate", f"must be at most {_MOST_SAMPLE_RATE_HZ}")
        return
    made = algorithm.sample_rate_hz / SAMPLES_PER_TOKEN
    if not abs(made - algorithm.token_rate_hz) <= _RATE_TOLERANCE_HZ:
        yield Fault(
            "token_rate_hz",
            f"must be {made}, as a token is {SAMPLES_PER_TOKEN} samples of "
            f"{algorithm.sample_rate_hz} Hz, found {algorithm.token_rate_hz}",
        )


def _numbers(algorithm: Algorithm) -> Iterator[Fault]:
    sampling = algorithm.sampling
    for key, value in (
        ("sampling_defaults.repetition_penalty", sampling.repetition_penalty),
        ("eos_floor.min_tokens_text_ratio", sampling.min_tokens_text_ratio),
    ):
        if not math.isfinite(value):
            yield Fault(key, f"must be finite, found {value}")
    if algorithm.euler_steps > _MOST_EULER_STEPS:
        yield Fault("n_cfm_timesteps", f"must be at most {_MOST_EULER_STEPS}")
    if sampling.min_tokens_floor > _MOST_COUNT:
        yield Fault("eos_floor.min_tokens_floor", f"must be at most {_MOST_COUNT}")
    if algorithm.window.max_speech_tokens > _QUERY:
        yield Fault(
            "window.max_speech_tokens",
            f"must be at most {_QUERY}, found {algorithm.window.max_speech_tokens}",
        )


def _ids(algorithm: Algorithm) -> Iterator[Fault]:
    if algorithm.speech_vocab_size != _VOCABULARY:
        yield Fault("speech_vocab_size", f"must be {_VOCABULARY}, as the graphs' logits are")
    pad = algorithm.window.pad_token_id
    if pad is None or not 0 <= pad < algorithm.start_speech_token:
        yield Fault("window.pad_token_id", "must be an acoustic token")
    for key, ids in (
        ("silence_token_ids", algorithm.sampling.silence_token_ids),
        ("silence_render_ids", algorithm.detectors.silence_render_ids),
        ("quiet_render_ids", algorithm.detectors.quiet_render_ids),
    ):
        if any(not 0 <= each < _VOCABULARY for each in ids):
            yield Fault(key, f"must hold ids 0 to {_VOCABULARY - 1}")
