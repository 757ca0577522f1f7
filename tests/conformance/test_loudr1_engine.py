"""The whole engine on tiny bundles: tokens, mel and audio have the reference engine's bytes."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loudr_core.errors import SynthesisError
from loudr_core.speech.cancelling import SynthesisCancelled, poll_of
from loudr_core.speech.loudr1.bundle import Bundle, open_bundle
from loudr_core.speech.loudr1.model import Loudr1
from loudr_core.speech.loudr1.passage import Passage
from loudr_core.speech.loudr1.sampler import Sampler
from loudr_core.speech.loudr1.windowing import eos_floor, token_cap

pytest.importorskip("loudkit", reason="the reference engine is not installed")

from loudkit.config import ExecutionConfig
from loudkit.engine import Engine
from loudkit.errors import CancelledError
from loudkit.sampler import LRSamplerV1
from loudkit.voice import VoiceProfile

STOP = 6562
SENTENCES = (
    "Our train left the coast well before sunrise.",
    "When the hills came into view, all of us stood up.",
    "Dr. Kay counted the boats: seven, one without a mast.",
    "Nobody said a word; the light was on the water!",
)
LONG = (
    "ramblado ramblado the sea was calm and the boats lay still upon it all that long "
    "and windless day and nobody came down to it."
)
"""Its row fills the window."""
TIGHT = {
    "enabled": True,
    "max_tokens": 110,
    "prefix_tokens": 6,
    "split_on": [". ", "! ", "? ", "; ", ", "],
}
"""Chunks of 55 characters instead of 127, so that many windows are made in little time."""

Case = tuple[str, str, dict[str, Any]]


def _case(text: str, voice: str = "ada", seed: int = 7, **options: Any) -> Case:
    return (text, voice, {"seed": seed, **options})


CASES = (
    _case("Hello there."),
    _case("No.", seed=0),
    _case("Who is there?", "cleo", seed=2**64 - 1),
    _case("The quick brown fox jumps over the lazy dog.", seed=4242),
    _case("Wait, was that a knock?", "cleo", seed=-5),
    _case("Zażółć gęślą jaźń.", seed=3, language="pl"),
    _case("Über den Dächern lag Schnee.", "bob", seed=2**70 + 1),
    _case("It rained.", speed=0.5),
    _case("The lamp went out.", speed=1.3),
    _case("She laughed.", "cleo", speed=2.0),
    _case(SENTENCES[0], previous_tokens=[10, 20, 30, 40, 50, 60, 71]),
    _case("It was late.", previous_tokens=[6560]),
    _case(SENTENCES[1], "cleo", previous_tokens=[5, 6, 7, 8]),
    _case("Seven boats.", previous_tokens=[], seed=99),
    _case(SENTENCES[2], single_window=True),
    _case("breakado breakado the end came soon."),
    _case("loopado loopado round and round.", seed=11),
    _case("hushado hushado the house was quiet.", seed=13),
    _case("ramblado ramblado on and on.", seed=12),
    _case(LONG),
)
TIGHT_CASES = (
    _case("Hello there, you.", seed=31),
    _case(SENTENCES[3], "cleo", seed=32, previous_tokens=[1, 2, 3]),
    _case(" ".join(SENTENCES[:2]), seed=33),
    _case(" ".join(SENTENCES[1:3]), "bob", seed=34, language="en", speed=0.9),
    _case(" ".join(SENTENCES[:3]), "cleo", seed=35),
    _case(" ".join(SENTENCES), seed=36),
    _case(f"hushado {' '.join(SENTENCES)} The end.", seed=37),
)

SHORT = (
    "Come in.", "It is late.", "Not yet!", "Why?", "She nodded.", "Rain again.", "He ran; I hid.",
    "The door stood open.", "St. John left.", "All was still.", "Go on, then.", "Who knows?",
    "Ten past nine.", "A gull cried.", "They slept.",
)  # fmt: skip
"""Said once each, by the voices in turn."""
MIDDLING = (
    "The tide was out, and the sand lay bare.",
    "At noon a bell rang twice in the village.",
    "Mr. Low sold maps; Mrs. Low sold ink.",
    "I had a letter, but no stamp for it!",
    "Could it be that the road was closed?",
    "Then, at last, the wind began to fall.",
)
MORE_CASES = tuple(
    _case(text, ("ada", "bob", "cleo")[place % 3], seed=1000 + place)
    for place, text in enumerate(SHORT)
)
MORE_TIGHT_CASES = (
    *(
        _case(text, ("ada", "bob", "cleo")[place % 3], seed=2000 + place)
        for place, text in enumerate(MIDDLING)
    ),
    _case(" ".join(MIDDLING[:2]), "bob", seed=51, previous_tokens=[9, 8, 7, 6, 5]),
    _case(" ".join(MIDDLING[2:4]), seed=52, speed=1.2),
)


@dataclass(frozen=True)
class Pair:
    """Both engines on one bundle."""

    bundle: Bundle
    ours: Loudr1
    theirs: Any

    def voice(self, name: str) -> Any:
        return VoiceProfile.load(str(self.bundle.folder / "voices" / f"{name}.safetensors"))


def _pair(folder: Path) -> Pair:
    bundle = open_bundle(folder)
    theirs = Engine.from_checkpoint(
        str(bundle.checkpoint),
        device="onnx",
        execution=ExecutionConfig(num_threads=1, onnx_provider="cpu"),
    )
    return Pair(bundle, Loudr1(bundle, text_funnel="loudkit"), theirs)


@pytest.fixture(scope="module", params=[False, True], ids=["loudr-1", "loudr-1-turbo"])
def turbo(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def pair(turbo: bool, loudr1_bundles: Callable[..., Path]) -> Pair:
    return _pair(loudr1_bundles(turbo=turbo))


@pytest.fixture(scope="module")
def tight_pair(turbo: bool, loudr1_bundles: Callable[..., Path]) -> Pair:
    return _pair(loudr1_bundles(turbo=turbo, manifest={"chunking": TIGHT}))


def _same(found: Passage, expected: Any) -> None:
    assert list(found.tokens) == [int(token) for token in expected.tokens]
    assert [(v.keep, v.reason, v.suspect) for v in found.verdicts] == [
        (v.keep, v.reason, v.suspect) for v in expected.inspections
    ]
    assert found.hit_token_cap == expected.hit_token_cap
    assert found.mel.dtype == expected.mel.dtype
    assert found.mel.tobytes() == expected.mel.tobytes()
    assert found.audio.dtype == expected.audio.dtype
    assert found.audio.tobytes() == expected.audio.tobytes()
    assert [(c.text, c.start, c.end, c.tokens) for c in found.chunks] == [
        (c.text, c.start, c.end, c.tokens) for c in expected.chunks
    ]
    assert [(w.word, w.start, w.end) for c in found.chunks for w in c.words] == [
        (w.text, w.start, w.end) for c in expected.chunks for w in c.words
    ]


def _both(pair: Pair, case: Case) -> Passage:
    text, name, options = case
    expected = pair.theirs.synthesize(text, pair.voice(name), **options)
    found = pair.ours.synthesize(text, pair.bundle.voice(name), **options)
    _same(found, expected)
    return found


@pytest.mark.slow
def test_passages_have_the_same_bytes(pair: Pair) -> None:
    found = [_both(pair, case) for case in (*MORE_CASES, *CASES)]
    windows = [window for passage in found for window in passage.windows]
    assert sum(window.attempts - 1 for window in windows) >= 3  # rows were drawn again
    assert len(found[-1].windows) == 2  # one chunk, cut in half
    assert len({window.verdict.reason for window in windows}) >= 3
    assert any(passage.suspect for passage in found)


@pytest.mark.slow
def test_passages_of_several_windows_have_the_same_bytes(tight_pair: Pair) -> None:
    cases = (*TIGHT_CASES, *MORE_TIGHT_CASES)
    counts = {len(_both(tight_pair, case).windows) for case in cases}
    assert counts >= {1, 2, 3, 4, 5}


def test_fifty_texts_are_compared() -> None:
    cases = (*CASES, *MORE_CASES, *TIGHT_CASES, *MORE_TIGHT_CASES)
    assert len({text for text, _, _ in cases}) >= 50


def test_a_stream_is_the_same_window_by_window(tight_pair: Pair) -> None:
    text = " ".join(SENTENCES[:2])
    theirs = list(tight_pair.theirs.stream(text, tight_pair.voice("ada"), seed=41))
    ours = list(tight_pair.ours.stream(text, tight_pair.bundle.voice("ada"), seed=41))
    for found, expected in zip(ours, theirs, strict=True):
        _same(found, expected)
        assert found.seed == expected.seed % 2**64
    whole = tight_pair.ours.synthesize(text, tight_pair.bundle.voice("ada"), seed=41)
    assert np.array_equal(whole.audio, np.concatenate([each.audio for each in ours]))


@pytest.mark.parametrize("prefix", [[], [5, 6, 7], [5, 6, 7, 8, 9, 10]])
def test_rows_and_stop_peaks_are_the_same(pair: Pair, prefix: list[int]) -> None:
    algorithm = pair.ours.algorithm
    ids = pair.ours.encode("the lamp was lit", "en")
    floor, cap = eos_floor(len(ids), algorithm), token_cap(len(ids), algorithm)
    theirs = LRSamplerV1(pair.theirs.algorithm.sampling, seed=99, stop_token=STOP, eos_floor=floor)
    ours = Sampler(algorithm.sampling, seed=99, stop_token=STOP, eos_floor=floor)
    expected = pair.theirs.token_generator.generate(
        ids, pair.voice("cleo"), sampler=theirs, max_new_tokens=cap, prefix=prefix
    )
    found = pair.ours.generate(
        ids,
        pair.bundle.voice("cleo"),
        sampler=ours,
        eos_floor=floor,
        max_tokens=cap,
        prefix=prefix,
        poll=poll_of(None),
    )
    assert found == [int(token) for token in expected]
    assert ours.eos_peak == theirs.eos_peak


def test_tokens_are_rendered_the_same(pair: Pair) -> None:
    tokens = [1, 2, 3, 4254, 6405, 100, 200]
    expected = pair.theirs.synthesize_tokens(tokens, pair.voice("cleo"), seed=3)
    found = pair.ours.synthesize_tokens(tokens, pair.bundle.voice("cleo"), seed=3)
    assert found.mel.tobytes() == expected.mel.tobytes()
    assert found.audio.tobytes() == expected.audio.tobytes()


def test_what_fits_no_window_is_refused_by_both(pair: Pair) -> None:
    with pytest.raises(ValueError, match="window"):
        pair.theirs.synthesize(LONG, pair.voice("ada"), seed=7, single_window=True)
    with pytest.raises(SynthesisError, match="fill the window of 255"):
        pair.ours.synthesize(LONG, pair.bundle.voice("ada"), seed=7, single_window=True)


@pytest.mark.parametrize("asked", [0, 1, 5, 12])
def test_a_cancelled_passage_stops_in_both(pair: Pair, asked: int) -> None:
    for synthesize, voice, kind in (
        (pair.theirs.synthesize, pair.voice("ada"), CancelledError),
        (pair.ours.synthesize, pair.bundle.voice("ada"), SynthesisCancelled),
    ):
        times = itertools.count()
        with pytest.raises(kind):
            synthesize(
                "The lamp was lit at dusk.",
                voice,
                seed=1,
                should_cancel=lambda times=times: next(times) >= asked,
            )
        assert next(times) <= asked + 2  # heard at once
