"""Carry, framing, grids, floors and ceilings against the reference engine."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.speech.loudr1.carry import carry, check_speech_tokens, strip_specials
from loudr_core.speech.loudr1.manifest import algorithm_from_manifest
from loudr_core.speech.loudr1.voice import VoiceProfile
from loudr_core.speech.loudr1.windowing import (
    eos_floor,
    frame_window,
    length_ceiling,
    time_grid,
)

pytest.importorskip("loudkit", reason="the reference engine is not installed")

from loudkit import window as reference_window
from loudkit.config import AlgorithmConfig
from loudkit.models import windowing
from loudkit.postprocess import ceiling_for
from loudkit.voice import VoiceProfile as ReferenceVoice

BATCH = 10


def manifest(**changes: Any) -> dict[str, Any]:
    """Return the manifest of a published bundle, as far as windows are concerned."""
    return {
        "format": "loudkit-checkpoint",
        "format_version": 2,
        "window": {
            "max_speech_tokens": 255,
            "static_length": 255,
            "pad_token_id": 4254,
            "static_prompt_tokens": 238,
        },
        "eos_floor": {"min_tokens_floor": 10, "min_tokens_text_ratio": 1.2},
        "postprocess": {},
        **changes,
    }


TURBO = {"decode": {"mode": "fusion_mtp2"}, "n_cfm_timesteps": 1}
BOTH = [
    (algorithm_from_manifest(each), AlgorithmConfig.from_manifest(each))
    for each in (manifest(), manifest(**TURBO))
]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.lists(st.integers(0, 6560), max_size=40), st.integers(0, 45)),
                min_size=BATCH, max_size=BATCH))  # fmt: skip
def test_carry(cases: list[tuple[list[int], int]]) -> None:
    """1,200 rows: each of 600, one at a time and in pairs."""
    for ours, theirs in BOTH:
        for tokens, wanted in cases:
            expected = reference_window.carry_pair_aligned(theirs, tokens, wanted)
            assert carry(ours, tokens, wanted) == list(expected)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 8193), max_size=12), min_size=BATCH, max_size=BATCH))
def test_strip(cases: list[list[int]]) -> None:
    """300 rows."""
    ours, theirs = BOTH[0]
    for tokens in cases:
        expected = reference_window.strip_specials(theirs, tokens)
        assert strip_specials(ours, tokens) == list(expected)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.lists(
            st.one_of(
                st.integers(0, 6560),
                st.integers(0, 6560),
                st.integers(0, 6560).map(float),
                st.integers(-2, 2).map(lambda offset: 6561 + offset),
                st.integers(-2, 2),
                st.booleans(),
                st.floats(-1, 7000),
                st.integers(-(2**70), 2**70),
            ),
            max_size=4,
        ),
        min_size=BATCH,
        max_size=BATCH,
    )
)
def test_token_checks(cases: list[list[Any]]) -> None:
    """400 rows."""
    for tokens in cases:
        try:
            reference_window.validate_speech_tokens(tokens, limit=6561)
        except ValueError:
            with pytest.raises(ValueError, match="is no speech token"):
                check_speech_tokens(tokens, 6561)
        else:
            assert check_speech_tokens(tokens, 6561) == [int(token) for token in tokens]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 6560), max_size=255),
    st.integers(0, 300),
    st.integers(0, 600),
    st.integers(0, 2**32 - 1),
)
def test_framing(tokens: list[int], n_prompt: int, n_frames: int, draws: int) -> None:
    """60 windows."""
    rng = np.random.default_rng(draws)
    parts: dict[str, Any] = {
        "name": "random",
        "speaker_embedding": np.ones(256, np.float32),
        "flow_embedding": np.ones(192, np.float32),
        "prompt_tokens": rng.integers(0, 6561, n_prompt),
        "prompt_mel": rng.standard_normal((80, n_frames), dtype=np.float32),
        "cond_prompt_tokens": rng.integers(0, 8194, 3),
    }
    ours, theirs = BOTH[0]
    found = frame_window(ours, tokens, VoiceProfile(**parts))
    wanted = windowing.frame_windows(theirs, tokens, ReferenceVoice(**parts))
    row = np.concatenate([found.prompt, found.query], axis=1)
    assert row.dtype == wanted.row.dtype
    np.testing.assert_array_equal(row, wanted.row)
    assert found.cond.tobytes() == wanted.cond.tobytes()
    assert found.cond.dtype == wanted.cond.dtype
    assert found.cond.shape == wanted.cond.shape
    assert found.n_tokens == wanted.n


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 40), st.lists(st.floats(0.001, 1.0), max_size=8)),
                min_size=BATCH, max_size=BATCH))  # fmt: skip
def test_grids(cases: list[tuple[int, list[float]]]) -> None:
    """300 grids, some of them the bundle's own."""
    for steps, weights in cases:
        described: dict[str, Any] = {"n_cfm_timesteps": steps}
        if len(weights) > 1:
            inner = (np.cumsum(weights) / np.sum(weights))[:-1].tolist()
            described = {"n_cfm_timesteps": len(weights), "euler_grid": [0.0, *inner, 1.0]}
        try:
            wanted = windowing.time_grid(AlgorithmConfig.from_manifest(manifest(**described)))
        except ValueError:
            continue  # points that rounding made equal
        found = time_grid(algorithm_from_manifest(manifest(**described)))
        assert [time.hex() for time in found] == [float(time).hex() for time in wanted]


@settings(max_examples=30, deadline=None)
@given(
    st.floats(0, 9),
    st.integers(0, 60),
    st.floats(0.01, 4.4),
    st.integers(0, 90),
    st.lists(st.integers(0, 3000), min_size=BATCH, max_size=BATCH),
)
def test_floors_and_ceilings(
    ratio: float, floor: int, speech_per_text: float, slack: int, lengths: list[int]
) -> None:
    """300 lengths, a floor and a ceiling for each."""
    described = manifest(
        eos_floor={"min_tokens_floor": floor, "min_tokens_text_ratio": ratio},
        postprocess={
            "ceiling_speech_per_text_token": speech_per_text,
            "ceiling_slack_tokens": slack,
        },
    )
    ours = algorithm_from_manifest(described)
    theirs = AlgorithmConfig.from_manifest(described)
    for n_text in lengths:
        assert eos_floor(n_text, ours) == windowing.eos_floor(n_text, theirs)
        wanted = ceiling_for(n_text, config=theirs.postprocess, window=255)
        assert length_ceiling(n_text, ours) == wanted
