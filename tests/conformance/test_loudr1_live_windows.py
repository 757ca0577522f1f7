"""Carry, framing, grids, floors and ceilings against the reference engine."""

from random import Random
from typing import Any

import numpy as np
import pytest
from distinct_cases import distinct_cases

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


@distinct_cases(1500, kinds={"one at a time": 700, "in pairs": 700})
def test_carry(draws: Random) -> tuple[Any, ...]:
    """Tokens of the window before; more and fewer than wanted, and odd numbers of them."""
    kind = draws.choice(["one at a time", "in pairs"])
    ours, theirs = BOTH[kind == "in pairs"]
    tokens = [draws.randrange(6561) for _ in range(draws.randint(1, 40))]
    wanted = draws.choice([draws.randrange(46), len(tokens) + draws.randint(-3, 3), 6])
    wanted = max(wanted, 0)
    expected = reference_window.carry_pair_aligned(theirs, tokens, wanted)
    assert carry(ours, tokens, wanted) == list(expected)
    return (kind, kind, tokens, wanted)


@distinct_cases(500, kinds={"some stripped": 250, "none": 50})
def test_strip(draws: Random) -> tuple[Any, ...]:
    ours, theirs = BOTH[0]
    tokens = [
        draws.choice([draws.randrange(6561), draws.randrange(8194), draws.randint(6558, 6565)])
        for _ in range(draws.randint(1, 12))
    ]
    expected = list(reference_window.strip_specials(theirs, tokens))
    assert strip_specials(ours, tokens) == expected
    return ("none" if expected == tokens else "some stripped", tokens)


def any_token(draws: Random) -> Any:
    """Return a token, or what only looks like one."""
    token = draws.randrange(6561)
    return draws.choice(
        [
            token, token, token, token, float(token),
            6561 + draws.randint(-2, 2),
            draws.randint(-2, 2),
            draws.random() < 0.5,
            draws.uniform(-1, 7000),
            draws.randint(-(2**70), 2**70),
        ]
    )  # fmt: skip


@distinct_cases(600, kinds={"refused": 250, "taken": 150})
def test_token_checks(draws: Random) -> tuple[Any, ...]:
    tokens = [any_token(draws) for _ in range(draws.randint(1, 4))]
    try:
        reference_window.validate_speech_tokens(tokens, limit=6561)
    except ValueError:
        with pytest.raises(ValueError, match="is no speech token"):
            check_speech_tokens(tokens, 6561)
        return ("refused", tokens)
    assert check_speech_tokens(tokens, 6561) == [int(token) for token in tokens]
    return ("taken", tokens)


@distinct_cases(200, kinds={"loudr-1": 80, "loudr-1-turbo": 80})
def test_framing(draws: Random) -> tuple[Any, ...]:
    """Windows of either model; prompts shorter and longer than the 238 tokens there are for one."""
    turbo = draws.random() < 0.5
    ours, theirs = BOTH[turbo]
    rng = np.random.default_rng(draws.getrandbits(64))
    n_tokens = draws.choice([draws.randrange(256), 254, 255])
    n_prompt = draws.choice([draws.randrange(301), draws.randint(236, 240)])
    n_frames = draws.choice([draws.randrange(601), 2 * n_prompt + draws.randint(-2, 2)])
    tokens = [draws.randrange(6561) for _ in range(n_tokens)]
    parts: dict[str, Any] = {
        "name": "random",
        "speaker_embedding": np.ones(256, np.float32),
        "flow_embedding": np.ones(192, np.float32),
        "prompt_tokens": rng.integers(0, 6561, n_prompt),
        "prompt_mel": rng.standard_normal((80, max(n_frames, 0)), dtype=np.float32),
        "cond_prompt_tokens": rng.integers(0, 8194, 3),
    }
    found = frame_window(ours, tokens, VoiceProfile(**parts))
    wanted = windowing.frame_windows(theirs, tokens, ReferenceVoice(**parts))
    row = np.concatenate([found.prompt, found.query], axis=1)
    assert row.dtype == wanted.row.dtype
    np.testing.assert_array_equal(row, wanted.row)
    assert found.cond.tobytes() == wanted.cond.tobytes()
    assert found.cond.dtype == wanted.cond.dtype
    assert found.cond.shape == wanted.cond.shape
    assert found.n_tokens == wanted.n
    kind = "loudr-1-turbo" if turbo else "loudr-1"
    return (kind, kind, tokens, parts["prompt_tokens"], parts["prompt_mel"])


@distinct_cases(400, kinds={"the bundle's own": 250})
def test_grids(draws: Random) -> tuple[Any, ...]:
    """Grids of points that a bundle names, and of up to 60 steps that it only counts."""
    described: dict[str, Any] = {"n_cfm_timesteps": draws.randint(1, 60)}
    if named := draws.random() < 0.9:
        weights = [draws.uniform(0.001, 1.0) for _ in range(draws.randint(2, 9))]
        inner = (np.cumsum(weights) / np.sum(weights))[:-1].tolist()
        described = {"n_cfm_timesteps": len(weights), "euler_grid": [0.0, *inner, 1.0]}
    wanted = windowing.time_grid(AlgorithmConfig.from_manifest(manifest(**described)))
    found = time_grid(algorithm_from_manifest(manifest(**described)))
    assert [time.hex() for time in found] == [float(time).hex() for time in wanted]
    return ("the bundle's own" if named else "even", described)


@distinct_cases(600)
def test_floors_and_ceilings(draws: Random) -> tuple[Any, ...]:
    """A floor and a ceiling for each length; most lengths are below what fills a window."""
    described = manifest(
        eos_floor={
            "min_tokens_floor": draws.randrange(61),
            "min_tokens_text_ratio": draws.choice([1.2, draws.uniform(0, 9)]),
        },
        postprocess={
            "ceiling_speech_per_text_token": draws.choice([4.0, draws.uniform(0.01, 4.4)]),
            "ceiling_slack_tokens": draws.choice([40, draws.randrange(91)]),
        },
    )
    n_text = draws.choice([draws.randrange(90), draws.randrange(90), draws.randrange(3001)])
    ours = algorithm_from_manifest(described)
    theirs = AlgorithmConfig.from_manifest(described)
    assert eos_floor(n_text, ours) == windowing.eos_floor(n_text, theirs)
    wanted = ceiling_for(n_text, config=theirs.postprocess, window=255)
    assert length_ceiling(n_text, ours) == wanted
    return ("length", n_text, described["eos_floor"], described["postprocess"])
