"""The ranges of an algorithm's values; loudr-1 specification, sections 3.8, 7.1 and 11.1.

Comparisons are written so that a NaN fails where the reference refuses it, and passes where the
reference lets it pass (`runnable` refuses those before anything runs).
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields

from loudr_core.speech.loudr1.algorithm import Algorithm, Chunking, Detectors, Sampling, Unset

__all__ = ["Fault", "algorithm_faults"]

_GRID_TOLERANCE = 1e-6
_FADE_SECONDS = (0.001, 0.05)
_PERCENTAGES = ("echo_strong_min_position_pct", "echo_weak_min_position_pct")
_COUNTS = (
    "ceiling_slack_tokens", "trailing_silence_run_tokens", "desperation_band_floor",
    "desperation_min_text_tokens", "ended_tail_silence_run", "ended_tail_blip_max",
    "ended_tail_word_max", "filler_max_speech_after_run", "ended_tail_keep",
    "echo_strong_max_tail", "echo_weak_max_tail", "dropout_min_tokens",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fault:
    """A value that is out of its range: the manifest's key, and what is wrong with it."""

    key: str
    problem: str


def algorithm_faults(algorithm: Algorithm) -> Iterator[Fault]:
    """Yield every value that is out of its range."""
    yield from _generator(algorithm)
    yield from _renderer(algorithm)
    yield from _sampling(algorithm.sampling)
    yield from _window(algorithm)
    yield from _chunking(algorithm.chunking, algorithm.window.max_speech_tokens)
    yield from _detectors(algorithm.detectors)


def _generator(algorithm: Algorithm) -> Iterator[Fault]:
    size = algorithm.speech_vocab_size
    if size < 1:
        yield Fault("speech_vocab_size", f"must be 1 or more, found {_n(size)}")
        return
    start, stop = algorithm.start_speech_token, algorithm.stop_speech_token
    for name, token in (("start", start), ("stop", stop)):
        if not 0 <= token < size:
            yield Fault(
                f"speech_tokens.{name}", f"must be in 0 to {_n(size - 1)}, found {_n(token)}"
            )
    if start == stop:
        yield Fault("speech_tokens.stop", f"must differ from start, both are {_n(stop)}")


def _renderer(algorithm: Algorithm) -> Iterator[Fault]:
    rate = algorithm.guidance_rate
    if algorithm.guidance == "cfg_dual_path" and rate <= 0.0:
        yield Fault("guidance_rate", f"must be above 0 for cfg_dual_path, found {rate!r}")
    if algorithm.guidance == "single_path" and rate != 0.0:
        yield Fault("guidance_rate", f"must be 0.0 for single_path, found {rate!r}")
    if algorithm.euler_steps < 1:
        yield Fault("n_cfm_timesteps", f"must be 1 or more, found {_n(algorithm.euler_steps)}")
    if algorithm.euler_grid is not None:
        yield from _grid(algorithm.euler_grid, algorithm.euler_steps)
    low, high = _FADE_SECONDS
    if not low <= algorithm.edge_fade_seconds <= high:
        yield Fault(
            "edge_fade_seconds", f"must be in {low} to {high}, found {algorithm.edge_fade_seconds}"
        )
    if algorithm.sample_rate_hz <= 0:
        yield Fault("sample_rate", f"must be above 0, found {_n(algorithm.sample_rate_hz)}")
    if algorithm.token_rate_hz <= 0.0:
        yield Fault("token_rate_hz", f"must be above 0, found {algorithm.token_rate_hz}")


def _grid(grid: tuple[float, ...], steps: int) -> Iterator[Fault]:
    if len(grid) != steps + 1:
        yield Fault("euler_grid", f"must have {_n(steps + 1)} points, found {len(grid)}")
        return
    if not all(a < b for a, b in itertools.pairwise(grid)):
        yield Fault("euler_grid", "must rise strictly from point to point")
    if not (abs(grid[0]) <= _GRID_TOLERANCE and abs(grid[-1] - 1.0) <= _GRID_TOLERANCE):
        yield Fault("euler_grid", f"must run from 0 to 1, found {grid[0]} to {grid[-1]}")


def _sampling(sampling: Sampling) -> Iterator[Fault]:
    at = "sampling_defaults"
    if not 0.0 < sampling.temperature <= 4.0:
        yield Fault(f"{at}.temperature", f"must be above 0 to 4, found {sampling.temperature}")
    if sampling.repetition_penalty < 1.0:
        yield Fault(
            f"{at}.repetition_penalty", f"must be 1 or more, found {sampling.repetition_penalty}"
        )
    if not 0.0 <= sampling.min_p < 1.0:
        yield Fault(f"{at}.min_p", f"must be 0 to below 1, found {sampling.min_p}")
    if sampling.max_new_tokens < 1:
        yield Fault(
            f"{at}.max_new_tokens", f"must be 1 or more, found {_n(sampling.max_new_tokens)}"
        )
    if sampling.min_tokens_floor < 0:
        yield Fault(
            "eos_floor.min_tokens_floor",
            f"must be 0 or more, found {_n(sampling.min_tokens_floor)}",
        )
    if sampling.min_tokens_text_ratio < 0.0:
        yield Fault(
            "eos_floor.min_tokens_text_ratio",
            f"must be 0 or more, found {sampling.min_tokens_text_ratio}",
        )


def _window(algorithm: Algorithm) -> Iterator[Fault]:
    window = algorithm.window
    most = window.max_speech_tokens
    if algorithm.sampling.max_new_tokens > most:
        yield Fault(
            "sampling_defaults.max_new_tokens",
            f"must be at most the window's {_n(most)} tokens, "
            f"found {_n(algorithm.sampling.max_new_tokens)}",
        )
    if window.static_length is not None and window.static_length < most:
        yield Fault(
            "window.static_length",
            f"must be at least max_speech_tokens {_n(most)}, found {_n(window.static_length)}",
        )
    prompt = window.static_prompt_tokens
    if prompt is not None and prompt <= 0:
        yield Fault("window.static_prompt_tokens", f"must be above 0, found {_n(prompt)}")


def _chunking(chunking: Chunking, window: int) -> Iterator[Fault]:
    most, first = chunking.max_tokens, chunking.first_chunk_max_tokens
    # Half a token a character, rounded down, must leave one character: int(max_tokens * 0.5) >= 1.
    if most < 2:
        yield Fault("chunking.max_tokens", f"must be 2 or more, found {_n(most)}")
    if chunking.enabled and most > window:
        yield Fault(
            "chunking.max_tokens",
            f"must be at most the window's {_n(window)} tokens, found {_n(most)}",
        )
    if not 0 <= chunking.prefix_tokens < most:
        yield Fault(
            "chunking.prefix_tokens",
            f"must be 0 to below max_tokens {_n(most)}, found {_n(chunking.prefix_tokens)}",
        )
    if first is not None and not isinstance(first, Unset) and not 1 <= first <= most:
        yield Fault(
            "chunking.first_chunk_max_tokens",
            f"must be null or 1 to max_tokens {_n(most)}, found {_n(first)}",
        )
    if not chunking.split_on:
        yield Fault("chunking.split_on", "must name at least one separator, found none")
    if "" in chunking.abbreviations:
        yield Fault("chunking.abbreviations", "must not hold an empty string")


def _detectors(rules: Detectors) -> Iterator[Fault]:
    values: dict[str, int | float] = {
        field.name: value
        for field in fields(rules)
        if isinstance(value := getattr(rules, field.name), int | float)
    }
    for name, value in values.items():
        if isinstance(value, float) and not math.isfinite(value):
            yield Fault(f"postprocess.{name}", f"must be a finite number, found {value}")
            return
    for name in _COUNTS:
        if values[name] < 0:
            yield Fault(f"postprocess.{name}", f"must be 0 or more, found {_n(values[name])}")
    for name in _PERCENTAGES:
        if not 0 <= values[name] <= 100:
            yield Fault(f"postprocess.{name}", f"must be 0 to 100, found {_n(values[name])}")
    for name, allowed, wanted in (
        ("retry_max_attempts", 0 <= rules.retry_max_attempts <= 7, "0 to 7"),
        ("repetition_max_period", rules.repetition_max_period >= 1, "1 or more"),
        ("repetition_min_cycles", rules.repetition_min_cycles >= 2, "2 or more"),
        ("stall_run_tokens", rules.stall_run_tokens >= 1, "1 or more"),
        ("ceiling_speech_per_text_token", rules.ceiling_speech_per_text_token > 0, "above 0"),
        ("trailing_filler_threshold", 0 < rules.trailing_filler_threshold <= 1, "above 0 to 1"),
        ("filler_min_eos_probability", 0 <= rules.filler_min_eos_probability < 1, "0 to below 1"),
        (
            "repetition_min_span",
            rules.repetition_min_span >= rules.repetition_min_cycles,
            "at least repetition_min_cycles",
        ),
        (
            "desperation_speech_per_text_token",
            rules.desperation_speech_per_text_token > rules.ceiling_speech_per_text_token,
            "above ceiling_speech_per_text_token",
        ),
        (
            "desperation_min_keep_per_text_token",
            0 <= rules.desperation_min_keep_per_text_token <= rules.desperation_band_ratio,
            "0 to desperation_band_ratio",
        ),
    ):
        if not allowed:
            yield Fault(f"postprocess.{name}", f"must be {wanted}, found {_n(values[name])}")


def _n(value: float) -> str:
    """Return a number as an error shows it; Python refuses to spell the largest integers."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    return str(value)
