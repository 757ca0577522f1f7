"""What the decode loops feed to their graphs, and what they keep of it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from loudr_core.speech.cancelling import SynthesisCancelled, poll_of
from loudr_core.speech.loudr1.algorithm import Algorithm, Sampling
from loudr_core.speech.loudr1.bundle import Weights
from loudr_core.speech.loudr1.fused import FusedGenerator
from loudr_core.speech.loudr1.generator import Generator, SingleGenerator
from loudr_core.speech.loudr1.sampler import Sampler
from loudr_core.speech.loudr1.voice import VoiceProfile

START, STOP, VOCABULARY = 30, 31, 40
ALGORITHM = Algorithm(
    speech_vocab_size=VOCABULARY, start_speech_token=START, stop_speech_token=STOP
)
VOICE = VoiceProfile(
    name="v",
    speaker_embedding=np.ones(256, np.float32),
    flow_embedding=np.ones(192, np.float32),
    prompt_tokens=np.arange(4),
    prompt_mel=np.zeros((80, 8), np.float32),
    cond_prompt_tokens=np.arange(4),
)
TEXT = np.array([1, 2], np.int64)
PROMPT_ROWS = 34 + 4 + 1


class Model:
    """Graphs that lead the sampler to wanted tokens, and write down what they are fed."""

    def __init__(self, wanted: Sequence[int], *, tempting_stop: bool = False) -> None:
        self.wanted = list(wanted)
        self.tempting_stop = tempting_stop
        self.fed: dict[str, list[dict[str, Any]]] = {}
        self.given = 0

    def graphs(self) -> dict[str, Any]:
        names = ("t3_cond", "t3_prefill", "t3_step", "t3_pair_step", "t3_head2")
        return {name: _Graph(self, name) for name in names}

    def logits(self) -> NDArray[np.float32]:
        logits = np.full(VOCABULARY, -50, np.float32)
        logits[self.wanted[self.given]] = 50
        if self.tempting_stop:
            logits[STOP] = 90
        self.given += 1
        return logits


class _Graph:
    def __init__(self, model: Model, name: str) -> None:
        self._model, self._name = model, name

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        self._model.fed.setdefault(self._name, []).append(dict(feeds))
        if self._name == "t3_cond":
            return [np.zeros((1, 34, 1024), np.float32)]
        return [self._model.logits()[None]]

    def run_resident(
        self,
        feeds: Mapping[str, Any],
        kept: Mapping[str, Any],
        *,
        fetch: Sequence[str],
        keep: Sequence[str],
    ) -> tuple[list[Any], list[Any]]:
        self._model.fed.setdefault(self._name, []).append({**feeds, **kept})
        logits = self._model.logits()[None]
        if self._name == "t3_prefill":
            rows = feeds["embeds"].shape[1]
            logits = np.concatenate([np.full((rows - 1, VOCABULARY), -1.0), logits])[None]
        hidden = np.full((1, 1024), self._model.given, np.float32)
        cache = [f"{name} after {self._model.given}" for name in keep]
        return [logits.astype(np.float32), hidden][: len(fetch)], cache


@pytest.fixture(scope="module")
def weights() -> Weights:
    rng = np.random.default_rng(8)

    def table(*shape: int) -> NDArray[np.float32]:
        return rng.standard_normal(shape, np.float32)

    return Weights(
        text_emb=table(256, 1024),
        speech_emb=table(VOCABULARY, 1024),
        text_pos=table(10, 1024),
        speech_pos=table(60, 1024),
        spk_weight=table(80, 192),
        spk_bias=table(80),
        fuse0_weight=table(1024, 2048),
        fuse0_bias=table(1024),
        fuse2_weight=table(1024, 1024),
        fuse2_bias=table(1024),
    )


def _drawn(generator: Generator, *, cap: int = 20, floor: int = 0, **options: Any) -> list[int]:
    sampler = Sampler(Sampling(), seed=1, stop_token=STOP, eos_floor=floor)
    return generator.generate(
        TEXT,
        VOICE,
        sampler=sampler,
        eos_floor=floor,
        max_tokens=cap,
        prefix=options.pop("prefix", []),
        poll=options.pop("poll", poll_of(None)),
    )


def test_single_steps_feed_one_row_each_and_the_cache_of_the_step_before(weights: Weights) -> None:
    model = Model([3, 4, 5, STOP])
    found = _drawn(SingleGenerator(model.graphs(), weights, ALGORITHM), prefix=[8, 9])
    assert found == [3, 4, 5, STOP]
    (prefill,) = model.fed["t3_prefill"]
    assert prefill["embeds"].shape == (1, PROMPT_ROWS + 2, 1024)
    assert prefill["positions"].tolist() == list(range(PROMPT_ROWS + 2))
    assert np.array_equal(prefill["embeds"][0, -1], weights.speech_emb[9] + weights.speech_pos[2])
    steps = model.fed["t3_step"]
    assert len(steps) == 3
    for number, (token, fed) in enumerate(zip((3, 4, 5), steps, strict=True)):
        row = weights.speech_emb[token] + weights.speech_pos[3 + number]
        assert np.array_equal(fed["embeds"], row[None, None])
        assert fed["position"].tolist() == [PROMPT_ROWS + 2 + number]
        before = "kv" if number == 0 else "present"
        assert fed["past_v_3"] == f"{before}_v_3 after {number + 1}"


def test_a_row_at_its_limit_runs_no_step_that_nobody_draws_from(weights: Weights) -> None:
    model = Model([3, 4, 5, 6])
    assert _drawn(SingleGenerator(model.graphs(), weights, ALGORITHM), cap=3) == [3, 4, 5]
    assert len(model.fed["t3_step"]) == 2


@pytest.mark.parametrize("kind", [SingleGenerator, FusedGenerator])
def test_the_stop_token_cannot_be_drawn_before_the_floor(kind: Any, weights: Weights) -> None:
    model = Model([3, 4, 5, 6, 7], tempting_stop=True)
    assert _drawn(kind(model.graphs(), weights, ALGORITHM), floor=3) == [3, 4, 5, STOP]


def test_pairs_take_one_position_each(weights: Weights) -> None:
    model = Model([3, 4, 5, 6, 7, STOP])
    found = _drawn(FusedGenerator(model.graphs(), weights, ALGORITHM), prefix=[8, 9, 10, 11, 12])
    assert found == [3, 4, 5, 6, 7, STOP]
    (prefill,) = model.fed["t3_prefill"]
    assert prefill["embeds"].shape == (1, PROMPT_ROWS + 2, 1024)  # the odd last one left out
    first, second = model.fed["t3_pair_step"]
    assert first["pair_ids"].tolist() == [[3, 4]]
    assert second["pair_ids"].tolist() == [[5, 6]]
    assert [each["speech_position"].tolist() for each in (first, second)] == [[3], [4]]
    assert [each["position"].tolist() for each in (first, second)] == [
        [PROMPT_ROWS + 2],
        [PROMPT_ROWS + 3],
    ]
    heads = model.fed["t3_head2"]
    assert [fed["first_id"].tolist() for fed in heads] == [[3], [5], [7]]
    assert [fed["hidden"][0, 0] for fed in heads] == [1, 3, 5]  # of the prefill, then of each step


@pytest.mark.parametrize("cap", [1, 2, 3, 4])
def test_rows_of_pairs_end_at_the_limit_even_inside_a_pair(cap: int, weights: Weights) -> None:
    model = Model([3, 4, 5, 6, 7])
    assert _drawn(FusedGenerator(model.graphs(), weights, ALGORITHM), cap=cap) == [3, 4, 5, 6][:cap]
    assert len(model.fed.get("t3_head2", [])) == cap // 2
    assert len(model.fed.get("t3_pair_step", [])) == (cap - 1) // 2


@pytest.mark.parametrize("kind", [SingleGenerator, FusedGenerator])
def test_tokens_that_were_heard_are_penalised(kind: Any, weights: Weights) -> None:
    spied: list[tuple[int, set[int]]] = []

    class Spy(Sampler):
        def draw(self, logits: NDArray[np.float32], *, step: int, seen: NDArray[np.bool_]) -> int:
            spied.append((step, set(np.flatnonzero(seen).tolist())))
            return super().draw(logits, step=step, seen=seen)

    generator = kind(Model([3, 4, 3, 5, STOP]).graphs(), weights, ALGORITHM)
    generator.generate(
        TEXT,
        VOICE,
        sampler=Spy(Sampling(), seed=1, stop_token=STOP, eos_floor=0),
        eos_floor=0,
        max_tokens=9,
        prefix=[8, 9],
        poll=poll_of(None),
    )
    assert spied == [
        (0, {8, 9}),
        (1, {8, 9, 3}),
        (2, {8, 9, 3, 4}),
        (3, {8, 9, 3, 4}),
        (4, {8, 9, 3, 4, 5}),
    ]


@pytest.mark.parametrize("kind", [SingleGenerator, FusedGenerator])
def test_stopping_is_asked_before_each_token(kind: Any, weights: Weights) -> None:
    asked = iter([False, False, False, True])
    model = Model([3, 4, 5, 6, 7])
    with pytest.raises(SynthesisCancelled):
        _drawn(kind(model.graphs(), weights, ALGORITHM), poll=poll_of(lambda: next(asked)))


@pytest.mark.parametrize("kind", [SingleGenerator, FusedGenerator])
def test_a_limit_below_one_is_the_callers_mistake(kind: Any, weights: Weights) -> None:
    with pytest.raises(ValueError, match="max_tokens 0 is below 1"):
        _drawn(kind(Model([3]).graphs(), weights, ALGORITHM), cap=0)
