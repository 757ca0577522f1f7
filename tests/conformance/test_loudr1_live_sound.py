"""Edge fades, speeds and timelines, bit for bit against the reference engine."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.speech.loudr1.fade import fade_edges
from loudr_core.speech.loudr1.stretch import check_speed, stretched_length, time_stretch
from loudr_core.speech.loudr1.timeline import ChunkSpan, timeline

pytest.importorskip("loudkit", reason="the reference engine is not installed")

from loudkit import timing
from loudkit.models import timestretch
from loudkit.window import _fade_edges

BATCH = 10
DRAWS = st.integers(0, 2**32 - 1)


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


KINDS = st.sampled_from(
    ["noise", "speech", "speech", "periodic", "square", "gaps", "clicks", "quiet", "falling",
     "silence"]
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    KINDS,
    st.one_of(st.integers(0, 700), st.integers(600, 6000), st.integers(600, 6000)),
    st.lists(st.one_of(st.sampled_from([0.5, 1.0, 2.0]), st.floats(0.5, 2.0)),
             min_size=5, max_size=5),
    DRAWS,
)  # fmt: skip
def test_speeds(kind: str, n: int, speeds: list[float], draws: int) -> None:
    """300 signals at a speed each."""
    audio = signal_of(kind, np.random.default_rng(draws), n)
    for speed in speeds:
        found = time_stretch(audio, sample_rate_hz=24_000, speed=speed)
        wanted = timestretch.time_stretch(audio, sample_rate=24_000, speed=speed)
        assert found.dtype == np.float32
        assert found.tobytes() == np.asarray(wanted).tobytes()
        assert len(found) == timestretch.stretched_length(n, speed)


@pytest.mark.parametrize("speed", [0.7, 1.3])
def test_speed_of_a_whole_window(speed: float) -> None:
    audio = signal_of("speech", np.random.default_rng(1), 60_000)
    found = time_stretch(audio, sample_rate_hz=24_000, speed=speed)
    wanted = timestretch.time_stretch(audio, sample_rate=24_000, speed=speed)
    assert found.tobytes() == wanted.tobytes()


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.floats(0.5, 2.0), st.floats()),
             min_size=BATCH, max_size=BATCH)
)  # fmt: skip
def test_lengths_and_limits(cases: list[tuple[int, float, float]]) -> None:
    """400 lengths and 400 speeds."""
    for n, speed, any_speed in cases:
        assert stretched_length(n, speed) == timestretch.stretched_length(n, speed)
        try:
            wanted = timestretch.validate_speed(any_speed)
        except ValueError:
            with pytest.raises(ValueError, match="outside"):
                check_speed(any_speed)
        else:
            assert check_speed(any_speed) == wanted


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(st.sampled_from([0.0, 0.005, 0.02]), st.floats(0, 0.05)),
    st.one_of(st.sampled_from([24_000]), st.integers(8_000, 48_000)),
    st.lists(st.integers(0, 3000), min_size=BATCH, max_size=BATCH),
    DRAWS,
)
def test_fades(seconds: float, rate: int, lengths: list[int], draws: int) -> None:
    """600 arrays."""
    rng = np.random.default_rng(draws)
    for n in lengths:
        audio = rng.standard_normal(n).astype(np.float32)
        found = fade_edges(audio, sample_rate_hz=rate, seconds=seconds)
        wanted = _fade_edges(audio, sample_rate=rate, seconds=seconds)
        assert found.tobytes() == wanted.tobytes()
        assert (found is audio) == (wanted is audio)


TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=30),
    st.lists(st.text("abcśż.,", min_size=1, max_size=9), max_size=8).map(" ".join),
)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(TEXTS, st.integers(0, 300_000), st.integers(0, 255)), max_size=6),
        min_size=BATCH,
        max_size=BATCH,
    ),
    st.sampled_from([24_000, 22_050, 48_000]),
)
def test_timelines(cases: list[list[tuple[str, int, int]]], rate: int) -> None:
    """400 passages."""
    for spans in cases:
        found = timeline([ChunkSpan(*span) for span in spans], sample_rate_hz=rate)
        wanted = timing.timeline([timing.ChunkSpan(*span) for span in spans], sample_rate=rate)
        assert len(found) == len(wanted)
        for ours, theirs in zip(found, wanted, strict=True):
            assert (ours.text, ours.tokens) == (theirs.text, theirs.tokens)
            assert (ours.start.hex(), ours.end.hex()) == (theirs.start.hex(), theirs.end.hex())
            assert [(w.word, w.start.hex(), w.end.hex()) for w in ours.words] == [
                (w.text, w.start.hex(), w.end.hex()) for w in theirs.words
            ]
