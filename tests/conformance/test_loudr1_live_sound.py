"""Edge fades, speeds and timelines, bit for bit against the reference engine."""

import math
from random import Random
from typing import Any

import numpy as np
import pytest
from distinct_cases import distinct_cases

from loudr_core.speech.loudr1.fade import fade_edges
from loudr_core.speech.loudr1.stretch import check_speed, stretched_length, time_stretch
from loudr_core.speech.loudr1.timeline import ChunkSpan, timeline

pytest.importorskip("loudkit", reason="the reference engine is not installed")

from loudkit import timing
from loudkit.models import timestretch
from loudkit.window import _fade_edges


def signal_of(kind: str, rng: np.random.Generator, n: int) -> np.ndarray:
    """Return samples, float32."""
    at = np.arange(n)
    match kind:
        case "noise":
            audio = rng.standard_normal(n)
        case "speech":
            audio = np.sin(at * rng.uniform(0.02, 0.2)) + 0.2 * rng.standard_normal(n)
            audio *= np.abs(np.sin(at * 0.0011)) ** 4
        case "periodic":
            audio = np.sin(2 * np.pi * at / rng.integers(2, 200))
        case "square":
            audio = np.sign(np.sin(2 * np.pi * (at + 0.5) / rng.integers(4, 200)))
        case "gaps":
            audio = rng.standard_normal(n) * (at // int(rng.integers(200, 1500)) % 2)
        case "clicks":
            audio = (rng.random(n) < 0.002).astype(float)
        case "quiet":
            audio = rng.standard_normal(n) * 10.0 ** rng.integers(-44, -20)
        case "falling":
            audio = -0.3 + 0.25 * np.cos(at * 0.001)
        case _:
            audio = np.zeros(n)
    return (0.3 * audio).astype(np.float32)


KINDS = (
    "noise", "speech", "speech", "periodic", "square", "gaps", "clicks", "quiet", "falling",
    "silence",
)  # fmt: skip


def speed_of(draws: Random) -> float:
    """Return a speed that is allowed; each tenth is an end or the middle of what is."""
    return draws.choice([0.5, 1.0, 2.0]) if draws.random() < 0.1 else draws.uniform(0.5, 2.0)


@distinct_cases(400, kinds={"stretched": 250})
def test_speeds(draws: Random) -> tuple[Any, ...]:
    """Signals shorter than a frame of the method, and up to ten frames."""
    n = draws.randint(1, 700) if draws.random() < 0.2 else draws.randint(600, 6000)
    audio = signal_of(draws.choice(KINDS), np.random.default_rng(draws.getrandbits(64)), n)
    speed = speed_of(draws)
    found = time_stretch(audio, sample_rate_hz=24_000, speed=speed)
    wanted = timestretch.time_stretch(audio, sample_rate=24_000, speed=speed)
    assert found.dtype == np.float32
    assert found.tobytes() == np.asarray(wanted).tobytes()
    assert len(found) == timestretch.stretched_length(n, speed)
    return ("the same" if found.tobytes() == audio.tobytes() else "stretched", audio, speed)


@pytest.mark.parametrize("speed", [0.7, 1.3])
def test_speed_of_a_whole_window(speed: float) -> None:
    audio = signal_of("speech", np.random.default_rng(1), 60_000)
    found = time_stretch(audio, sample_rate_hz=24_000, speed=speed)
    wanted = timestretch.time_stretch(audio, sample_rate=24_000, speed=speed)
    assert found.tobytes() == wanted.tobytes()


@distinct_cases(600, kinds={"allowed": 200, "refused": 200})
def test_lengths_and_limits(draws: Random) -> tuple[Any, ...]:
    """A length, and a speed that may be outside what is allowed, or no number."""
    n, speed = draws.randrange(10**6), draws.uniform(0.5, 2.0)
    assert stretched_length(n, speed) == timestretch.stretched_length(n, speed)
    edge = draws.choice([0.5, 2.0])
    odd = draws.choice([math.nan, math.inf, -math.inf, 0.0, -1.0, 5e-324, 1e308])
    asked = draws.choice(
        [edge, math.nextafter(edge, 0), math.nextafter(edge, 9), edge + draws.uniform(-1, 1), odd]
    )
    try:
        wanted = timestretch.validate_speed(asked)
    except ValueError:
        with pytest.raises(ValueError, match="outside"):
            check_speed(asked)
        return ("refused", n, speed, asked)
    assert check_speed(asked) == wanted
    return ("allowed", n, speed, asked)


@distinct_cases(600, kinds={"faded": 400, "shorter than its fades": 60, "no fade": 8})
def test_fades(draws: Random) -> tuple[Any, ...]:
    """Most arrays are longer than their two fades; some are just shorter or just as long."""
    seconds = draws.choice([0.005, 0.02, draws.uniform(0, 0.05), draws.uniform(0, 0.05)])
    seconds = 0.0 if draws.random() < 0.05 else seconds
    rate = draws.choice([24_000, draws.randint(8_000, 48_000)])
    both = 2 * int(seconds * rate)
    n = draws.choice([both + draws.randint(-3, 3)] + 3 * [both + draws.randrange(2000)])
    n = draws.randrange(both) if both and draws.random() < 0.1 else max(n, 1)
    audio = np.random.default_rng(draws.getrandbits(64)).standard_normal(n).astype(np.float32)
    found = fade_edges(audio, sample_rate_hz=rate, seconds=seconds)
    wanted = _fade_edges(audio, sample_rate=rate, seconds=seconds)
    assert found.tobytes() == wanted.tobytes()
    assert (found is audio) == (wanted is audio)
    if found.tobytes() != audio.tobytes():
        return ("faded", audio, seconds, rate)
    return ("shorter than its fades" if both else "no fade", audio, seconds, rate)


def spoken_of(draws: Random) -> str:
    """Return up to eight words, with marks among and after them, or any characters."""
    if draws.random() < 0.7:
        words = ["".join(draws.choices("abcśż.,", k=draws.randint(1, 9))) for _ in range(8)]
        return draws.choice([" ", " ", "  ", "\u00a0"]).join(words[: draws.randrange(9)])
    planes = (range(0xD800), range(0x20), range(0x2000, 0x2070), range(0x1F600, 0x1F610))
    return "".join(chr(draws.choice(draws.choice(planes))) for _ in range(draws.randrange(31)))


@distinct_cases(500, kinds={"words": 400})
def test_timelines(draws: Random) -> tuple[Any, ...]:
    """Passages of none to six chunks."""
    rate = draws.choice([24_000, 22_050, 48_000])
    spans = [
        (spoken_of(draws), draws.randrange(300_001), draws.randrange(256))
        for _ in range(min(draws.randint(0, 30), draws.randint(1, 6)))
    ]
    found = timeline([ChunkSpan(*span) for span in spans], sample_rate_hz=rate)
    wanted = timing.timeline([timing.ChunkSpan(*span) for span in spans], sample_rate=rate)
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert (ours.text, ours.tokens) == (theirs.text, theirs.tokens)
        assert (ours.start.hex(), ours.end.hex()) == (theirs.start.hex(), theirs.end.hex())
        assert [(w.word, w.start.hex(), w.end.hex()) for w in ours.words] == [
            (w.text, w.start.hex(), w.end.hex()) for w in theirs.words
        ]
    return ("words" if any(chunk.words for chunk in found) else "none", rate, spans)
