"""Seeds, prefixes, caps, retries, halves and joins of whole passages, against the reference engine.

Both engines get the same scripted model, so nothing but their own decisions can differ: which rows
they draw with which seed, cap, floor and prefix, what they render, and how they join it.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from loudr_core.errors import SynthesisError
from loudr_core.speech.cancelling import Poll, SynthesisCancelled, poll_of
from loudr_core.speech.loudr1.algorithm import Algorithm
from loudr_core.speech.loudr1.manifest import algorithm_from_manifest
from loudr_core.speech.loudr1.passage import PassageOrder, speak, speak_windows
from loudr_core.speech.loudr1.sampler import Sampler
from loudr_core.speech.loudr1.voice import VoiceProfile

loudkit = pytest.importorskip("loudkit", reason="the reference engine is not installed")

from loudkit.config import AlgorithmConfig  # noqa: E402
from loudkit.engine import Engine as ReferenceEngine  # noqa: E402
from loudkit.errors import CancelledError  # noqa: E402
from loudkit.frontend.speechtext import speech_text  # noqa: E402
from loudkit.voice import VoiceProfile as ReferenceVoice  # noqa: E402

VOCABULARY, START, STOP = 48, 40, 41
SILENCE, QUIET, RENDERED = (7, 8, 9), (10, 11), (8, 12)
TEXT = (
    "a lamp stood by the door, and nobody came. who is there? it rained; the boats lay still! "
    "Dr. Kay said so. harbour-master antidisestablishmentarianism to be"
)

Draw = Callable[[NDArray[np.float32], int, NDArray[np.bool_]], int]
Forced = Callable[[random.Random], list[int]]


def _some(rng: random.Random, low: int, high: int) -> list[int]:
    return [rng.randrange(13, 38) for _ in range(rng.randint(low, high))]


def _run(rng: random.Random) -> list[int]:
    return [rng.choice((*SILENCE, *QUIET, *RENDERED))] * rng.randint(3, 45)


FORCED: dict[str, Forced] = {
    "drawn": lambda rng: [],
    "drawn late": lambda rng: _some(rng, 5, 40),
    "dropout": lambda rng: [*_some(rng, 1, 12), STOP],
    "empty": lambda rng: [STOP],
    "stall": lambda rng: [*_some(rng, 5, 20), *_run(rng), *_some(rng, 0, 20)],
    "loop": lambda rng: [
        *_some(rng, 3, 15),
        *(_some(rng, 1, 5) * rng.randint(5, 30)),
        *_some(rng, 0, 9),
        STOP,
    ],
    "silent end": lambda rng: [*_some(rng, 20, 50), *_run(rng), *_some(rng, 0, 3), STOP],
    "marks": lambda rng: [*_some(rng, 5, 25), START, 42, 47, *_some(rng, 5, 25), STOP],
    "only marks": lambda rng: [START, 42, 43, STOP],
    "full": lambda rng: _some(rng, 80, 120),
    "silence": lambda rng: [rng.choice(RENDERED) for _ in range(120)],
}


@dataclass
class Script:
    """A model that answers by a seeded script, and writes down what it is asked."""

    seed: int
    kinds: tuple[str, ...]
    stop_slope: float
    drawn: list[tuple[Any, ...]] = field(default_factory=list)
    rendered: list[tuple[Any, ...]] = field(default_factory=list)
    vocoded: list[int] = field(default_factory=list)

    def encode(self, text: str, language: str) -> NDArray[np.int64]:
        return np.arange(len(text), dtype=np.int64)

    def row(
        self, n_text: int, cap: int, floor: int, prefix: Sequence[int], draw: Draw
    ) -> list[int]:
        number = len(self.drawn)
        rng = random.Random(f"{self.seed}/{number}/{n_text}")
        forced = FORCED[rng.choice(self.kinds)](rng)
        logits = np.random.default_rng([self.seed, number]).normal(0, 3, (cap, VOCABULARY))
        logits[:, STOP] = -9 + self.stop_slope * np.arange(cap)
        rows = logits.astype(np.float32)
        seen = np.zeros(VOCABULARY, np.bool_)
        seen[list(prefix)] = True
        out: list[int] = []
        while len(out) < cap:
            step = len(out)
            if step < floor:
                rows[step, STOP] = -np.inf
            if step < len(forced):
                token = forced[step]
                if step % 4 == 0:  # the sampler watches the stop token
                    draw(rows[step], step, seen)
            else:
                token = draw(rows[step], step, seen)
            out.append(token)
            if token == STOP:
                break
            seen[token] = True
        return out

    def mel(self, tokens: Sequence[int], seed: int) -> NDArray[np.float32]:
        self.rendered.append((tuple(int(token) for token in tokens), seed))
        return np.repeat(np.asarray(tokens, np.float32), 2)[None].repeat(80, axis=0)

    def wave(self, mel: NDArray[np.float32], seed: int) -> NDArray[np.float32]:
        self.vocoded.append(seed)
        return np.repeat(mel[0], 12) / np.float32(64.0)


@dataclass
class OurStages(Script):
    algorithm: Algorithm = field(default_factory=Algorithm)

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
        poll()
        out = self.row(
            len(text_ids),
            max_tokens,
            eos_floor,
            prefix,
            lambda logits, step, seen: sampler.draw(logits, step=step, seen=seen),
        )
        self.drawn.append((len(text_ids), sampler._seed, max_tokens, eos_floor, tuple(prefix)))
        return out

    def decode(
        self, tokens: Sequence[int], voice: VoiceProfile, *, seed: int
    ) -> NDArray[np.float32]:
        return self.mel(tokens, seed)

    def vocode(self, mel: NDArray[np.float32], *, seed: int) -> NDArray[np.float32]:
        return self.wave(mel, seed)


@dataclass
class ReferenceStages(Script):
    config: Any = None

    def generate(
        self,
        text_tokens: Any,
        voice: Any,
        *,
        sampler: Any,
        max_new_tokens: int,
        prefix: Any = None,
        should_cancel: Any = None,
    ) -> list[int]:
        if should_cancel is not None and should_cancel():
            raise CancelledError("scripted")
        prefix = [] if prefix is None else [int(token) for token in prefix]
        floor = sampler._eos_floor
        out = self.row(
            len(text_tokens),
            max_new_tokens,
            floor,
            prefix,
            lambda logits, step, seen: int(sampler(logits, step=step, seen=seen)),
        )
        seed = int(sampler.seed) % 2**64
        self.drawn.append((len(text_tokens), seed, max_new_tokens, floor, tuple(prefix)))
        return out

    def decode(self, tokens: Any, voice: Any, *, seed: int) -> NDArray[np.float32]:
        return self.mel(tokens, seed)

    def synthesize(self, mel: NDArray[np.float32], voice: Any, *, seed: int) -> Any:
        return self.wave(mel, seed)


VOICE: dict[str, Any] = {
    "name": "scripted",
    "speaker_embedding": np.ones(256, np.float32),
    "flow_embedding": np.ones(192, np.float32),
    "prompt_tokens": np.arange(20, dtype=np.int64),
    "prompt_mel": np.zeros((80, 40), np.float32),
    "cond_prompt_tokens": np.arange(20, dtype=np.int64),
    "language": "en",
    "enrolment": "first-10s",
}


@st.composite
def manifests(draw: st.DrawFn) -> dict[str, Any]:
    size = draw(st.sampled_from((40, 64, 90)))
    turbo = draw(st.booleans())
    chunking: dict[str, Any] = {
        "enabled": draw(st.integers(0, 9)) > 0,
        "max_tokens": draw(st.integers(size // 2, size)),
        "prefix_tokens": draw(st.sampled_from((0, 1, 3, 6, 6, 6))),
        "cap_resplit": draw(st.sampled_from(("word", "word", "word", "off"))),
        "mid_sentence_period": draw(st.sampled_from(("hold", "break"))),
    }
    if draw(st.booleans()):
        chunking["first_chunk_max_tokens"] = draw(st.sampled_from((None, 12, 20)))
    return {
        "format": "loudkit-checkpoint",
        "format_version": 2,
        "recipe_version": "loudkit-1",
        **({"decode": {"mode": "fusion_mtp2"}} if turbo else {}),
        "edge_fade_seconds": 0.005,
        "speech_vocab_size": VOCABULARY,
        "speech_tokens": {"start": START, "stop": STOP},
        "silence_token_ids": list(SILENCE),
        "silence_render_ids": draw(st.sampled_from(([], list(RENDERED)))),
        "quiet_render_ids": list(QUIET),
        "sampling_defaults": {
            "temperature": draw(st.sampled_from((0.5, 0.8, 1.3))),
            "repetition_penalty": 1.2,
            "min_p": 0.05,
            "max_new_tokens": draw(st.sampled_from((size, size, size - 3))),
        },
        "eos_floor": {
            "min_tokens_floor": draw(st.sampled_from((0, 4, 10))),
            "min_tokens_text_ratio": draw(st.sampled_from((0.0, 0.3, 1.2))),
        },
        "window": {
            "max_speech_tokens": size,
            "static_length": size,
            "pad_token_id": 5,
            "static_prompt_tokens": 30,
        },
        "chunking": chunking,
        "postprocess": {
            "mode": draw(st.sampled_from(("trim", "trim", "trim", "report", "off"))),
            "ceiling_speech_per_text_token": draw(st.sampled_from((1.5, 4.0))),
            "ceiling_slack_tokens": draw(st.sampled_from((5, 40))),
            "retry_max_attempts": draw(st.integers(0, 3)),
            "repetition_resume": draw(st.sampled_from(("condemn", "cut"))),
            "desperation_min_text_tokens": draw(st.sampled_from((10, 40))),
        },
    }


words = st.sampled_from(TEXT.split())
texts = st.sampled_from((1, 4, 10, 18, 26)).flatmap(
    lambda count: st.lists(words, min_size=count, max_size=count).map(" ".join)
)
scripts = st.tuples(
    st.integers(0, 2**32 - 1),
    st.lists(st.sampled_from(sorted(FORCED)), min_size=2, max_size=6).map(tuple),
    st.sampled_from((0.0, 0.1, 0.3, 0.6)),
)
seeds = st.one_of(st.integers(-(2**65), 2**65), st.sampled_from((0, 7, 2**64 - 1)))
carried = st.one_of(st.none(), st.lists(st.integers(0, START), max_size=9))


def _ours(result: Any) -> tuple[Any, ...]:
    return (
        tuple(result.tokens),
        result.audio.tobytes(),
        result.mel.tobytes(),
        result.hit_token_cap,
        result.suspect,
        [(v.keep, v.reason, v.suspect) for v in result.verdicts],
        [
            (c.text, c.start, c.end, c.tokens, [(w.word, w.start, w.end) for w in c.words])
            for c in result.chunks
        ],
        int(result.seed) % 2**64,
    )


def _theirs(result: Any) -> tuple[Any, ...]:
    return (
        tuple(int(token) for token in result.tokens),
        np.asarray(result.audio).tobytes(),
        np.asarray(result.mel).tobytes(),
        result.hit_token_cap,
        result.suspect,
        [(v.keep, v.reason, v.suspect) for v in result.inspections],
        [
            (c.text, c.start, c.end, c.tokens, [(w.text, w.start, w.end) for w in c.words])
            for c in result.chunks
        ],
        int(result.seed) % 2**64,
    )


def _answer(call: Callable[[], Any], kinds: tuple[type[Exception], ...]) -> Any:
    try:
        return call()
    except kinds:
        return "refused"


@settings(max_examples=1000, deadline=None)
@given(
    manifest=manifests(),
    script=scripts,
    text=texts,
    seed=seeds,
    previous=carried,
    mode=st.sampled_from(("passage",) * 6 + ("stream",) * 2 + ("single",)),
)
def test_decisions_are_those_of_the_reference(
    manifest: dict[str, Any],
    script: tuple[int, tuple[str, ...], float],
    text: str,
    seed: int,
    previous: list[int] | None,
    mode: str,
) -> None:
    ours = OurStages(*script, algorithm=algorithm_from_manifest(manifest))
    theirs = ReferenceStages(*script, config=AlgorithmConfig.from_manifest(manifest))
    reference = ReferenceEngine(
        frontend=theirs,
        token_generator=theirs,
        mel_decoder=theirs,
        vocoder=theirs,
        algorithm=theirs.config,
    )
    order = PassageOrder(
        text=text,
        voice=VoiceProfile(**VOICE, source_sample_rate_hz=24_000, sha256="0" * 64),
        seed=seed,
        previous_tokens=previous,
        single_window=mode == "single",
    )
    voice = ReferenceVoice(**VOICE)
    never = poll_of(None)

    def we_speak() -> Any:
        if mode == "stream":
            return [_ours(each) for each in speak_windows(ours, order, speech_text, poll=never)]
        return _ours(speak(ours, order, speech_text, poll=never))

    def they_speak() -> Any:
        if mode == "stream":
            stream = reference.stream(text, voice, seed=seed, previous_tokens=previous)
            return [_theirs(each) for each in stream]
        single = mode == "single"
        return _theirs(
            reference.synthesize(
                text, voice, seed=seed, previous_tokens=previous, single_window=single
            )
        )

    found = _answer(we_speak, (SynthesisError, ValueError))
    expected = _answer(they_speak, (ValueError,))
    assert found == expected
    assert ours.drawn == theirs.drawn
    if expected != "refused":
        assert ours.rendered == theirs.rendered
        assert ours.vocoded == theirs.vocoded


def test_a_passage_that_is_cancelled_raises_and_is_not_a_value_error() -> None:
    ours = OurStages(1, ("drawn",), 0.3, algorithm=Algorithm())
    order = PassageOrder(
        text="a lamp",
        voice=VoiceProfile(**VOICE, source_sample_rate_hz=24_000, sha256="0" * 64),
        seed=1,
    )
    with pytest.raises(SynthesisCancelled):
        speak(ours, order, speech_text, poll=poll_of(lambda: True))
