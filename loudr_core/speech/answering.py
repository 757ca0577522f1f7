"""What engines that speak one unit at a time share: the loop over requests, and its checks."""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event

from loudr_core.errors import ConfigError, LoudrError, SynthesisError
from loudr_core.speech.cancelling import SynthesisCancelled
from loudr_core.speech.json_values import shown
from loudr_core.speech.memory import is_out_of_memory
from loudr_core.speech.protocol import EngineLimits, Speech, SpeechRequest

__all__ = ["answer_each", "check_request", "check_threads", "needed_bundle"]

_SPEEDS = (0.5, 2.0)
_MOST_THREADS = 512
_LONGEST_REASON = 300


def answer_each(
    requests: Iterable[SpeechRequest],
    speak: Callable[[SpeechRequest], Speech],
    *,
    cancel: Event | None,
) -> Iterator[Speech]:
    """Speak requests one after the other, as `Engine.synthesize` promises.

    Parameters
    ----------
    speak : callable
        Answers one request; its `compute_s` is filled in here. What it raises is the error of that
        request alone, but for `SynthesisCancelled`, which ends the answers, and for a lack of
        memory, which is raised: after it the process is not to be trusted.
    """
    if cancel is not None and cancel.is_set():
        return
    for request in requests:
        started = time.perf_counter()
        try:
            speech = speak(request)
        except SynthesisCancelled:
            return
        except (LoudrError, ValueError) as error:
            if is_out_of_memory(error):
                raise
            speech = Speech(id=request.id, samples=None, error=_one_line(error))
        except Exception as error:  # one bad unit must not end the stream
            if is_out_of_memory(error):
                raise
            reason = f"the voice failed: {type(error).__name__}: {_one_line(error)}"
            speech = Speech(id=request.id, samples=None, error=reason)
        yield replace(speech, compute_s=time.perf_counter() - started)
        if cancel is not None and cancel.is_set():
            return


def check_request(request: SpeechRequest, limits: EngineLimits) -> None:
    """Refuse what no engine can speak.

    Raises
    ------
    SynthesisError
        Speed or seed are out of range, or the text is longer than one unit may be.
    """
    low, high = _SPEEDS
    if not (math.isfinite(request.speed) and low <= request.speed <= high):
        raise SynthesisError(f"speed {request.speed} is outside {low} to {high}")
    if not 0 <= request.seed < 1 << 64:
        raise SynthesisError(f"seed {request.seed} is outside 0 to 2^64 - 1")
    if len(request.text) > limits.max_characters:
        raise SynthesisError(
            f"{len(request.text)} characters are more than the {limits.max_characters} of one unit"
        )


def needed_bundle(bundle: Path | None, engine: str, *, what: str = "model") -> Path:
    """Return the folder that was given; ConfigError when there is none."""
    if bundle is None:
        raise ConfigError(
            f"engine {engine!r} needs the {what}'s folder: give it with --bundle or `bundle =` "
            "in the profile"
        )
    return bundle


def check_threads(threads: object) -> None:
    """Refuse, as a ConfigError, what is no number of threads or more than any machine has."""
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ConfigError(f"threads {threads!r} is no number of threads: 1 or more")
    if threads > _MOST_THREADS:
        raise ConfigError(
            f"threads {shown(threads)} is more than any machine has: at most {_MOST_THREADS}"
        )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:_LONGEST_REASON]
