import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from loudr_core.errors import BundleError, SynthesisError
from loudr_core.speech.loudr1.bundle import Weights
from loudr_core.speech.loudr1.prompt import Conditioning, PromptRows
from loudr_core.speech.loudr1.voice import VoiceProfile

WIDTH = 8


def _table(rng: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    return rng.standard_normal(shape, np.float32)


@pytest.fixture
def weights() -> Weights:
    rng = np.random.default_rng(5)
    return Weights(
        text_emb=_table(rng, 300, WIDTH),
        speech_emb=_table(rng, 50, WIDTH),
        text_pos=_table(rng, 12, WIDTH),
        speech_pos=_table(rng, 40, WIDTH),
        spk_weight=_table(rng, 80, 192),
        spk_bias=_table(rng, 80),
        fuse0_weight=_table(rng, WIDTH, 2 * WIDTH),
        fuse0_bias=_table(rng, WIDTH),
        fuse2_weight=_table(rng, WIDTH, WIDTH),
        fuse2_bias=_table(rng, WIDTH),
    )


def voice(speaker: float = 1.0, tokens: int = 3) -> VoiceProfile:
    return VoiceProfile(
        name="v",
        speaker_embedding=np.full(256, speaker, np.float32),
        flow_embedding=np.ones(192, np.float32),
        prompt_tokens=np.arange(4),
        prompt_mel=np.zeros((80, 8), np.float32),
        cond_prompt_tokens=np.arange(tokens),
    )


def test_text_is_framed_and_each_row_has_its_position(weights: Weights) -> None:
    conditioning = np.zeros((34, WIDTH), np.float32)
    ids = np.array([7, 9], np.int64)
    found = PromptRows(weights, start_token=41).opening(conditioning, ids)
    rows = np.concatenate(found)
    assert rows.shape == (34 + 4 + 1, WIDTH)
    for place, token in enumerate((255, 7, 9, 0)):
        assert np.array_equal(rows[34 + place], weights.text_emb[token] + weights.text_pos[place])
    assert np.array_equal(rows[38], weights.speech_emb[41] + weights.speech_pos[0])


def test_a_text_longer_than_the_positions_is_refused(weights: Weights) -> None:
    rows = PromptRows(weights, start_token=41)
    conditioning = np.zeros((34, WIDTH), np.float32)
    rows.opening(conditioning, np.zeros(10, np.int64))
    with pytest.raises(SynthesisError, match="11 tokens, more than the 10 of one prompt"):
        rows.opening(conditioning, np.zeros(11, np.int64))


def test_an_id_without_a_row_means_two_bundles(weights: Weights) -> None:
    with pytest.raises(BundleError, match="gives id 300, the checkpoint has 300 rows"):
        PromptRows(weights, start_token=41).opening(np.zeros((34, WIDTH)), np.array([300]))


def test_speech_rows_take_consecutive_positions(weights: Weights) -> None:
    rows = PromptRows(weights, start_token=41).speech([3, 3, 8], first_position=5)
    expected = [weights.speech_emb[t] + weights.speech_pos[5 + i] for i, t in enumerate((3, 3, 8))]
    assert np.array_equal(rows, np.array(expected))


def test_a_pair_is_its_mean_and_what_two_layers_make_of_it(weights: Weights) -> None:
    found = PromptRows(weights, start_token=41).pairs([3, 4, 8, 9], first_position=1)
    for place, (a, b) in enumerate(((3, 4), (8, 9))):
        first, second = (weights.speech_emb[each].astype(np.float64) for each in (a, b))
        assert weights.fuse0_weight is not None
        assert weights.fuse2_weight is not None
        inner = weights.fuse0_weight @ np.concatenate([first, second]) + weights.fuse0_bias
        gelu = [0.5 * x * (1 + math.erf(x / math.sqrt(2))) for x in inner]
        row = 0.5 * (first + second) + weights.fuse2_weight @ np.array(gelu) + weights.fuse2_bias
        np.testing.assert_allclose(found[place], row + weights.speech_pos[1 + place], atol=1e-5)


def test_pairs_without_their_layers_are_refused(weights: Weights) -> None:
    bare = Weights(
        **{
            name: getattr(weights, name)
            for name in (
                "text_emb",
                "speech_emb",
                "text_pos",
                "speech_pos",
                "spk_weight",
                "spk_bias",
            )
        }
    )
    with pytest.raises(BundleError, match=r"no tensor t3\.fuse\.0\.weight"):
        PromptRows(bare, start_token=41).pairs([1, 2], first_position=1)


class CountingGraph:
    def __init__(self, rows: int = 34) -> None:
        self.feeds: list[dict[str, Any]] = []
        self._rows = rows

    def run(self, feeds: dict[str, Any]) -> list[NDArray[np.float32]]:
        self.feeds.append(feeds)
        return [np.full((1, self._rows, 1024), len(self.feeds), np.float32)]


def test_a_voice_is_conditioned_once_for_its_content() -> None:
    graph = CountingGraph()
    conditioning: Any = Conditioning(graph)  # type: ignore[arg-type]
    first = conditioning.rows(voice())
    assert conditioning.rows(voice()) is first  # another object, the same content
    assert first.shape == (34, 1024)
    (feeds,) = graph.feeds
    assert feeds["speaker_emb"].shape == (1, 256)
    assert feeds["prompt_tokens"].tolist() == [[0, 1, 2]]
    assert feeds["emotion"].tolist() == [[0.5]]
    assert conditioning.rows(voice(tokens=4))[0, 0] == 2
    assert conditioning.rows(voice(speaker=2.0))[0, 0] == 3


def test_eight_voices_are_kept_and_the_least_used_goes() -> None:
    graph = CountingGraph()
    conditioning: Any = Conditioning(graph)  # type: ignore[arg-type]
    for number in range(8):
        conditioning.rows(voice(tokens=number))
    conditioning.rows(voice(tokens=0))
    conditioning.rows(voice(tokens=8))
    assert len(graph.feeds) == 9
    conditioning.rows(voice(tokens=0))
    assert len(graph.feeds) == 9
    conditioning.rows(voice(tokens=1))
    assert len(graph.feeds) == 10


def test_conditioning_of_another_shape_is_refused() -> None:
    with pytest.raises(BundleError, match="graph t3_cond yields shape"):
        Conditioning(CountingGraph(33)).rows(voice())  # type: ignore[arg-type]
