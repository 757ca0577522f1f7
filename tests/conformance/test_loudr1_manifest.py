"""Manifests, algorithms and fingerprints, against the reference engine.

What one refuses the other refuses, and what both accept has one canonical form. Left out are the
differences that `manifest` names: separators and abbreviations that are not lists of strings.
"""

import importlib.util
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.errors import BundleError
from loudr_core.speech.loudr1.checkpoint import read_manifest
from loudr_core.speech.loudr1.fingerprint import algorithm_fingerprint, canonical_form
from loudr_core.speech.loudr1.manifest import algorithm_from_manifest, parse_algorithm

loudkit = pytest.importorskip("loudkit", reason="the reference engine is not installed")

from loudkit.backends import production_algorithm  # noqa: E402
from loudkit.checkpoint import Checkpoint  # noqa: E402
from loudkit.checkpoint import read_manifest as reference_manifest  # noqa: E402
from loudkit.config import AlgorithmConfig  # noqa: E402

_spec = importlib.util.spec_from_file_location(
    "minimal_loudr1", Path(__file__).parents[1] / "bundle" / "minimal_loudr1.py"
)
assert _spec and _spec.loader
minimal = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(minimal)

ABSENT = minimal.ABSENT
JUNK = st.sampled_from([None, True, False, "", "x", "1", [], {}, [1], {"a": 1}, 10**400])
NEAR = st.sampled_from([-1, -0.0, 0, 0.0, 1, 1.0, 2, 2.0, 0.5, 1.5, 4, 4.0, 4.5, 8, 100, 101])
EXTREME = st.sampled_from([math.nan, math.inf, -math.inf, 1e308, 5e-324, 2**63, -(2**63), 10**30])
NUMBER = st.one_of(st.floats(-1, 8), st.floats(-1, 8), st.integers(-2, 300), NEAR, EXTREME, JUNK)
WHOLE = st.one_of(
    st.integers(-2, 300), st.integers(0, 30), st.integers(0, 300).map(float), NEAR, EXTREME, JUNK
)
IDS = st.one_of(
    st.lists(st.integers(0, 8193), max_size=6),
    st.lists(st.one_of(st.integers(-2, 9000), st.just(7.0), EXTREME, JUNK), max_size=4),
    JUNK,
)
TEXTS = st.one_of(
    st.lists(st.text(max_size=4), max_size=4), st.sampled_from([None, True, 5, "", "Mr", []])
)
TIDY = st.floats(0, 1, exclude_min=True, exclude_max=True)
GRID = st.one_of(
    st.lists(TIDY, max_size=2, unique=True).map(lambda inner: [0, *sorted(inner), 1]),
    st.lists(st.one_of(st.floats(-1e-5, 1.00001), JUNK), max_size=4),
    st.sampled_from([[0, 1], [0, 0.5, 1], [1e-6, 0.5, 1], [0, 0.5, 1.000001], [0, 0.3, 1 - 1e-6]]),
    JUNK,
)


def word(*words: str) -> st.SearchStrategy[Any]:
    return st.one_of(st.sampled_from(words), st.sampled_from(words), JUNK)


RATIOS = (
    "ceiling_speech_per_text_token", "trailing_filler_threshold", "desperation_band_ratio",
    "filler_min_eos_probability", "desperation_speech_per_text_token",
    "desperation_min_keep_per_text_token", "echo_strong_eos_probability",
    "echo_weak_eos_probability", "pacing_tolerance",
)  # fmt: skip
COUNTS = (
    "ceiling_slack_tokens", "trailing_silence_run_tokens", "desperation_band_floor",
    "desperation_min_text_tokens", "ended_tail_silence_run", "ended_tail_blip_max",
    "ended_tail_word_max", "filler_max_speech_after_run", "ended_tail_keep",
    "echo_strong_max_tail", "echo_strong_min_position_pct", "echo_weak_max_tail",
    "echo_weak_min_position_pct", "retry_max_attempts", "repetition_max_period",
    "repetition_min_cycles", "repetition_min_span", "dropout_min_tokens", "stall_run_tokens",
)  # fmt: skip
DETECTORS: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(RATIOS, NUMBER),
    **dict.fromkeys(COUNTS, WHOLE),
    "mode": word("trim", "report", "off"),
    "repetition_resume": word("condemn", "cut"),
    "repetition_silence": word("acoustic", "sampling"),
    "silence_render_ids": IDS,
    "calibrated_on": st.just("loudr-1"),
}
BLOCKS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "sampling_defaults": {
        "temperature": NUMBER,
        "repetition_penalty": NUMBER,
        "min_p": NUMBER,
        "max_new_tokens": WHOLE,
        "silence_token_ids": IDS,
    },
    "eos_floor": {"min_tokens_floor": WHOLE, "min_tokens_text_ratio": NUMBER},
    "window": {
        "max_speech_tokens": WHOLE,
        "static_length": WHOLE,
        "pad_token_id": WHOLE,
        "static_prompt_tokens": WHOLE,
    },
    "chunking": {
        "enabled": st.sampled_from([True, False, None, 0, 1, "true"]),
        "max_tokens": WHOLE,
        "prefix_tokens": WHOLE,
        "split_on": TEXTS,
        "abbreviations": TEXTS,
        "cap_resplit": word("word", "off"),
        "mid_sentence_period": word("hold", "break"),
        "first_chunk_max_tokens": WHOLE,
        "unknown": JUNK,
    },
    "postprocess": DETECTORS,
    "speech_tokens": {"start": WHOLE, "stop": WHOLE},
    "decode": {"mode": word("single", "fusion_mtp2")},
}
TOP: dict[str, st.SearchStrategy[Any]] = {
    "recipe_version": word("loudkit-1", "loudkit-2"),
    "guidance": word("single_path", "cfg_dual_path"),
    "guidance_rate": NUMBER,
    "n_cfm_timesteps": WHOLE,
    "euler_grid": GRID,
    "edge_fade_seconds": st.one_of(st.floats(0, 0.06), st.sampled_from([0.005, 0.02]), NUMBER),
    "sample_rate": st.one_of(st.sampled_from([24000, 24000.0, 48000, 960]), WHOLE),
    "token_rate_hz": st.one_of(st.sampled_from([25, 25.0, 50, 12.5]), NUMBER),
    "speech_vocab_size": st.one_of(st.integers(6560, 8200), WHOLE),
    "silence_token_ids": IDS,
    "silence_render_ids": IDS,
    "quiet_render_ids": IDS,
    "format": word("loudkit-checkpoint"),
    "format_version": st.one_of(st.sampled_from([1, 2, "1", " 2 ", 1.5, 3, 0]), NUMBER),
    "name": JUNK,
}


@st.composite
def changes(draw: st.DrawFn) -> dict[str, Any]:
    """Draw one to three changed keys: at the top, inside a block, or a whole block that is none."""
    found: dict[str, Any] = {}
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.integers(0, 3)) == 0:
            key = draw(st.sampled_from(sorted(TOP)))
            found[key] = draw(st.one_of(TOP[key], TOP[key], TOP[key], st.just(ABSENT)))
            continue
        key = draw(st.sampled_from(sorted(BLOCKS)))
        fields = BLOCKS[key]
        names = draw(st.lists(st.sampled_from(sorted(fields)), max_size=3, unique=True))
        block = {name: draw(fields[name]) for name in names}
        found[key] = draw(st.one_of(*[st.just(block)] * 5, JUNK, st.just(ABSENT)))
    return found


BASES = [{}, minimal.MANIFEST, {**minimal.MANIFEST, **minimal.TURBO}]


def manifests(batch: int) -> st.SearchStrategy[list[dict[str, Any]]]:
    one = st.builds(minimal.changed, st.sampled_from(BASES), changes())
    return st.lists(one, min_size=batch, max_size=batch)


def reference(manifest: dict[str, Any]) -> AlgorithmConfig | None:
    try:
        return AlgorithmConfig.from_manifest(manifest)
    except (ValueError, TypeError, OverflowError):
        return None


@settings(max_examples=180, deadline=None)
@given(manifests(12))
def test_algorithms_of_manifests_are_equal_or_both_refused(batch: list[dict[str, Any]]) -> None:
    """180 examples of 12: 2,160 manifests."""
    for manifest in batch:
        wanted = reference(manifest)
        try:
            found = parse_algorithm(manifest)
        except BundleError as error:
            assert wanted is None, error.message
            assert "\n" not in error.message
            continue
        assert wanted is not None, manifest
        assert canonical_form(found) == wanted.canonical_form()
        assert algorithm_fingerprint(found) == wanted.fingerprint()


@settings(max_examples=40, deadline=None)
@given(manifests(8))
def test_checkpoints_are_read_and_filled_alike(
    tmp_path_factory: pytest.TempPathFactory, batch: list[dict[str, Any]]
) -> None:
    """40 examples of 8: 320 checkpoint files."""
    path = tmp_path_factory.mktemp("manifest") / "x.safetensors"
    for manifest in batch:
        minimal.write_checkpoint(path, manifest, {})
        try:
            wanted = production_algorithm(Checkpoint.open(path)).canonical_form()
        except (ValueError, TypeError, OverflowError):
            wanted = None
        try:
            found = canonical_form(algorithm_from_manifest(read_manifest(path)[0], path=path))
        except BundleError:
            found = None
        assert found == wanted


def test_vectors_of_manifests(test_data: Path, tmp_path: Path) -> None:
    vectors = test_data / "specs/loudr1/vectors/manifest_container.json"
    path = tmp_path / "x.safetensors"
    for case in json.loads(vectors.read_text("utf-8"))["cases"]:
        manifest = case["manifest"]
        text = "{" if case["name"] == "bad json" else manifest
        minimal.write_checkpoint(
            path, json.dumps(manifest) if isinstance(manifest, list) else text, {}
        )
        if case["ok"]:
            assert (
                sorted(read_manifest(path)[0]) == case["keys"] == sorted(reference_manifest(path))
            )
        else:
            with pytest.raises(BundleError):
                read_manifest(path)
