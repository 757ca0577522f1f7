"""Manifests of loudr-1: every rule of section 3.8 has its error, and the error names the key."""

import importlib.util
import json
import math
from pathlib import Path
from typing import Any

import pytest

from loudr_core.errors import BundleError
from loudr_core.speech.loudr1.algorithm import UNSET, Algorithm
from loudr_core.speech.loudr1.algorithm_checks import algorithm_faults
from loudr_core.speech.loudr1.fingerprint import algorithm_fingerprint, canonical_form
from loudr_core.speech.loudr1.manifest import (
    algorithm_from_manifest,
    check_declaration,
    parse_algorithm,
    production_fill,
)
from loudr_core.speech.loudr1.runnable import runnable_faults

_spec = importlib.util.spec_from_file_location(
    "minimal_loudr1", Path(__file__).parents[1] / "bundle" / "minimal_loudr1.py"
)
assert _spec and _spec.loader
minimal = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(minimal)

MANIFEST: dict[str, Any] = minimal.MANIFEST
ABSENT = minimal.ABSENT
NAN, INF, HUGE = math.nan, math.inf, 10**400


def with_changes(changes: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = minimal.changed(MANIFEST, changes)
    return result


def test_the_published_fingerprints() -> None:
    assert algorithm_fingerprint(algorithm_from_manifest(MANIFEST)) == "7cd75498ad4e7531"
    turbo = with_changes(minimal.TURBO)
    assert algorithm_fingerprint(algorithm_from_manifest(turbo)) == "e5303ba243087222"


def test_vectors_of_fingerprints(test_data: Path) -> None:
    vectors = json.loads((test_data / "specs/loudr1/vectors/fingerprint.json").read_text("utf-8"))
    base = vectors["base_manifest"]
    assert canonical_form(parse_algorithm(base)) == vectors["base_canonical_form"]
    turbo = {**base, "format_version": 2, "decode": {"mode": "fusion_mtp2"}, "n_cfm_timesteps": 1}
    assert canonical_form(parse_algorithm(turbo)) == vectors["turbo_canonical_form"]
    assert len(vectors["variants"]) > 60
    for variant in vectors["variants"]:
        changes = {k: ABSENT if v == "__del__" else v for k, v in variant["change"].items()}
        manifest = minimal.changed(base, changes)
        if variant["ok"]:
            found = algorithm_fingerprint(parse_algorithm(manifest))
            assert found == variant["fingerprint"], variant["name"]
        else:
            with pytest.raises(BundleError):
                parse_algorithm(manifest)
    for bundle in vectors["fake_bundles"].values():
        found = algorithm_fingerprint(algorithm_from_manifest(bundle["manifest"]))
        assert found in json.dumps(bundle)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"recipe_version": "loudkit-2"}, "recipe_version"),
    ({"recipe_version": None}, "recipe_version"),
    ({"decode": 5}, "decode"),
    ({"decode": {"mode": "triple"}}, "decode.mode"),
    ({"decode": {"mode": None}}, "decode.mode"),
    ({"guidance": "x"}, "guidance"),
    ({"guidance": "cfg_dual_path"}, "guidance_rate"),
    ({"guidance_rate": 0.5}, "guidance_rate"),
    ({"guidance_rate": False}, "guidance_rate"),
    ({"n_cfm_timesteps": 0}, "n_cfm_timesteps"),
    ({"n_cfm_timesteps": 2.5}, "n_cfm_timesteps"),
    ({"n_cfm_timesteps": True}, "n_cfm_timesteps"),
    ({"n_cfm_timesteps": INF}, "n_cfm_timesteps"),
    ({"euler_grid": "01"}, "euler_grid"),
    ({"euler_grid": [0, 1]}, "euler_grid"),
    ({"euler_grid": [0, 0, 1]}, "euler_grid"),
    ({"euler_grid": [0, NAN, 1]}, "euler_grid"),
    ({"euler_grid": [0, 0.5, 0.9]}, "euler_grid"),
    ({"euler_grid": [0, "x", 1]}, "euler_grid[1]"),
    ({"euler_grid": [0, HUGE, 1]}, "euler_grid[1]"),
    ({"edge_fade_seconds": 0.2}, "edge_fade_seconds"),
    ({"edge_fade_seconds": NAN}, "edge_fade_seconds"),
    ({"edge_fade_seconds": "0.02"}, "edge_fade_seconds"),
    ({"edge_fade_seconds": HUGE}, "edge_fade_seconds"),
    ({"sample_rate": 0}, "sample_rate"),
    ({"sample_rate": None}, "sample_rate"),
    ({"token_rate_hz": 0}, "token_rate_hz"),
    ({"token_rate_hz": "25"}, "token_rate_hz"),
    ({"speech_vocab_size": 0}, "speech_vocab_size"),
    ({"speech_tokens": []}, "speech_tokens"),
    ({"speech_tokens": {"stop": 9000}}, "speech_tokens.stop"),
    ({"speech_tokens": {"start": -1}}, "speech_tokens.start"),
    ({"speech_tokens": {"stop": 6561}}, "speech_tokens.stop"),
    ({"silence_token_ids": "123"}, "silence_token_ids"),
    ({"silence_token_ids": None}, "silence_token_ids"),
    ({"silence_token_ids": [1, 1.5]}, "silence_token_ids[1]"),
    ({"silence_render_ids": {}}, "silence_render_ids"),
    ({"quiet_render_ids": [True]}, "quiet_render_ids[0]"),
    ({"sampling_defaults": None}, "sampling_defaults"),
    ({"sampling_defaults": {"temperature": 0}}, "sampling_defaults.temperature"),
    ({"sampling_defaults": {"temperature": 4.01}}, "sampling_defaults.temperature"),
    ({"sampling_defaults": {"temperature": NAN}}, "sampling_defaults.temperature"),
    ({"sampling_defaults": {"temperature": HUGE}}, "sampling_defaults.temperature"),
    ({"sampling_defaults": {"repetition_penalty": 0.9}}, "sampling_defaults.repetition_penalty"),
    ({"sampling_defaults": {"min_p": 1.0}}, "sampling_defaults.min_p"),
    ({"sampling_defaults": {"min_p": -0.1}}, "sampling_defaults.min_p"),
    ({"sampling_defaults": {"max_new_tokens": 0}}, "sampling_defaults.max_new_tokens"),
    ({"sampling_defaults": {"max_new_tokens": 256}}, "sampling_defaults.max_new_tokens"),
    ({"eos_floor": None}, "eos_floor"),
    ({"eos_floor": {"min_tokens_floor": -1}}, "eos_floor.min_tokens_floor"),
    ({"eos_floor": {"min_tokens_text_ratio": -1}}, "eos_floor.min_tokens_text_ratio"),
    ({"window": [1]}, "window"),
    ({"window": {"max_speech_tokens": None}}, "window.max_speech_tokens"),
    ({"window": {"static_length": 200}}, "window.static_length"),
    ({"window": {"static_length": "255"}}, "window.static_length"),
    ({"window": {"static_prompt_tokens": 0}}, "window.static_prompt_tokens"),
    ({"window": {"pad_token_id": True}}, "window.pad_token_id"),
    ({"chunking": None}, "chunking"),
    ({"chunking": {"enabled": 0}}, "chunking.enabled"),
    ({"chunking": {"max_tokens": 300}}, "chunking.max_tokens"),
    ({"chunking": {"max_tokens": 1, "prefix_tokens": 0}}, "chunking.max_tokens"),
    ({"chunking": {"prefix_tokens": 255}}, "chunking.prefix_tokens"),
    ({"chunking": {"prefix_tokens": -1}}, "chunking.prefix_tokens"),
    ({"chunking": {"split_on": ". "}}, "chunking.split_on"),
    ({"chunking": {"split_on": []}}, "chunking.split_on"),
    ({"chunking": {"split_on": [". ", 5]}}, "chunking.split_on[1]"),
    ({"chunking": {"abbreviations": "Mr"}}, "chunking.abbreviations"),
    ({"chunking": {"abbreviations": [""]}}, "chunking.abbreviations"),
    ({"chunking": {"cap_resplit": "x"}}, "chunking.cap_resplit"),
    ({"chunking": {"mid_sentence_period": None}}, "chunking.mid_sentence_period"),
    ({"chunking": {"first_chunk_max_tokens": 0}}, "chunking.first_chunk_max_tokens"),
    ({"chunking": {"first_chunk_max_tokens": 256}}, "chunking.first_chunk_max_tokens"),
    ({"postprocess": []}, "postprocess"),
    ({"postprocess": {"mode": "cut"}}, "postprocess.mode"),
    ({"postprocess": {"silence_render_ids": [1]}}, "postprocess.silence_render_ids"),
    ({"postprocess": {"quiet_render_ids": []}}, "postprocess.quiet_render_ids"),
    ({"postprocess": {"repetition_resume": 5}}, "postprocess.repetition_resume"),
    ({"postprocess": {"repetition_silence": "x"}}, "postprocess.repetition_silence"),
    ({"postprocess": {"stall_run_tokens": 0}}, "postprocess.stall_run_tokens"),
    ({"postprocess": {"stall_run_tokens": True}}, "postprocess.stall_run_tokens"),
    ({"postprocess": {"stall_run_tokens": "25"}}, "postprocess.stall_run_tokens"),
    ({"postprocess": {"retry_max_attempts": 8}}, "postprocess.retry_max_attempts"),
    ({"postprocess": {"repetition_min_cycles": 1}}, "postprocess.repetition_min_cycles"),
    ({"postprocess": {"repetition_max_period": 0}}, "postprocess.repetition_max_period"),
    ({"postprocess": {"repetition_min_span": 2}}, "postprocess.repetition_min_span"),
    (
        {"postprocess": {"ceiling_speech_per_text_token": 0}},
        "postprocess.ceiling_speech_per_text_token",
    ),
    (
        {"postprocess": {"desperation_speech_per_text_token": 4.0}},
        "postprocess.desperation_speech_per_text_token",
    ),
    (
        {"postprocess": {"desperation_min_keep_per_text_token": 3}},
        "postprocess.desperation_min_keep_per_text_token",
    ),
    ({"postprocess": {"trailing_filler_threshold": 1.5}}, "postprocess.trailing_filler_threshold"),
    ({"postprocess": {"filler_min_eos_probability": 1}}, "postprocess.filler_min_eos_probability"),
    ({"postprocess": {"ended_tail_keep": -1}}, "postprocess.ended_tail_keep"),
    (
        {"postprocess": {"echo_weak_min_position_pct": 101}},
        "postprocess.echo_weak_min_position_pct",
    ),
    ({"postprocess": {"pacing_tolerance": INF}}, "postprocess.pacing_tolerance"),
]


@pytest.mark.parametrize(("changes", "key"), REFUSED, ids=lambda value: str(value)[:60])
def test_a_broken_rule_is_refused_by_its_key(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(BundleError) as refused:
        algorithm_from_manifest(
            with_changes(changes)
            if "decode" not in changes
            else with_changes({**changes, "format_version": 2}),
            path=Path("some/loudr-1.safetensors"),
        )
    error = refused.value
    assert error.context["key"] == key
    assert error.context["path"] == "some/loudr-1.safetensors"
    assert f"some/loudr-1.safetensors: manifest key {key!r} " in error.message
    assert "\n" not in error.message
    assert len(error.message) < 250


DECLARATIONS: list[tuple[dict[str, Any], str]] = [
    ({"format": ABSENT}, "format"),
    ({"format": "x"}, "format"),
    ({"format_version": ABSENT}, "format_version"),
    ({"format_version": None}, "format_version"),
    ({"format_version": [1]}, "format_version"),
    ({"format_version": "1.0"}, "format_version"),
    ({"format_version": INF}, "format_version"),
    ({"format_version": 0}, "format_version"),
    ({"format_version": 3}, "format_version"),
    ({"decode": {"mode": "fusion_mtp2"}}, "format_version"),
]


@pytest.mark.parametrize(("changes", "key"), DECLARATIONS, ids=str)
def test_a_manifest_of_something_else_is_refused(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(BundleError) as refused:
        check_declaration(with_changes(changes))
    assert refused.value.context["key"] == key


@pytest.mark.parametrize("version", [1, "1", " 2 ", 1.0, True])
def test_a_version_may_be_spelled_in_ways_that_int_reads(version: object) -> None:
    check_declaration(with_changes({"format_version": version}))


def test_older_packs_are_filled_by_key_not_by_null() -> None:
    old = with_changes({"window": ABSENT, "eos_floor": ABSENT})
    assert algorithm_from_manifest(old) == algorithm_from_manifest(MANIFEST)
    assert algorithm_from_manifest(with_changes({"window": None})).window.static_length is None
    empty = algorithm_from_manifest(with_changes({"eos_floor": {}})).sampling
    assert (empty.min_tokens_floor, empty.min_tokens_text_ratio) == (0, 0.0)
    assert production_fill({"window": None})["window"] is None


def test_whole_numbers_may_be_written_with_a_point_and_ids_keep_their_order() -> None:
    algorithm = parse_algorithm(
        {"n_cfm_timesteps": 3.0, "silence_token_ids": [9.0, 2, 2], "token_rate_hz": 25}
    )
    assert algorithm.euler_steps == 3
    assert type(algorithm.euler_steps) is int
    assert algorithm.sampling.silence_token_ids == (9, 2, 2)
    assert type(algorithm.token_rate_hz) is float


def test_an_empty_manifest_is_the_defaults_of_the_specification() -> None:
    assert parse_algorithm({}) == Algorithm()
    assert not list(algorithm_faults(Algorithm()))


def test_an_explicit_null_differs_from_an_absent_first_budget() -> None:
    absent = parse_algorithm(MANIFEST)
    null = parse_algorithm(with_changes({"chunking": {"first_chunk_max_tokens": None}}))
    assert absent.chunking.first_chunk_max_tokens is UNSET
    assert null.chunking.first_chunk_max_tokens is None
    assert '"first_chunk_max_tokens":null' in canonical_form(null)
    assert "first_chunk_max_tokens" not in canonical_form(absent)


def test_the_canonical_form_is_ascii_with_floats_as_strings() -> None:
    form = canonical_form(
        parse_algorithm({"euler_grid": [0, 0.5, 1], "sampling_defaults": {"temperature": 1}})
    )
    assert form.isascii()
    assert "\\u015bw" in form
    assert '"euler_grid":["0.0","0.5","1.0"]' in form
    assert '"temperature":"1.0"' in form
    assert "edge_fade_seconds" not in form
    assert json.loads(form)["schema"] == 1


NOT_RUN: list[tuple[dict[str, Any], str]] = [
    ({"window": None}, "window"),
    ({"window": {**MANIFEST["window"], "static_prompt_tokens": 100}}, "window"),
    (
        {"window": {**MANIFEST["window"], "max_speech_tokens": 300, "static_length": 300}},
        "window",
    ),
    ({"guidance": "cfg_dual_path", "guidance_rate": 0.7}, "guidance"),
    ({"sample_rate": 48000}, "token_rate_hz"),
    ({"token_rate_hz": NAN}, "token_rate_hz"),
    ({"sample_rate": HUGE}, "sample_rate"),
    ({"sampling_defaults": {"repetition_penalty": NAN}}, "sampling_defaults.repetition_penalty"),
    ({"eos_floor": {"min_tokens_text_ratio": INF}}, "eos_floor.min_tokens_text_ratio"),
    ({"eos_floor": {"min_tokens_floor": HUGE}}, "eos_floor.min_tokens_floor"),
    ({"n_cfm_timesteps": 10**6}, "n_cfm_timesteps"),
    ({"speech_vocab_size": 9000}, "speech_vocab_size"),
    ({"window": {**MANIFEST["window"], "pad_token_id": None}}, "window.pad_token_id"),
    ({"window": {**MANIFEST["window"], "pad_token_id": 6561}}, "window.pad_token_id"),
    ({"silence_token_ids": [8194]}, "silence_token_ids"),
    ({"silence_render_ids": [-1]}, "silence_render_ids"),
    ({"quiet_render_ids": [10**30]}, "quiet_render_ids"),
]


@pytest.mark.parametrize(("changes", "key"), NOT_RUN, ids=str)
def test_what_is_valid_and_cannot_run_here_is_named(changes: dict[str, Any], key: str) -> None:
    faults = list(runnable_faults(parse_algorithm(with_changes(changes))))
    assert faults[0].key == key
    assert len(faults[0].problem) < 200


def test_the_released_algorithms_run() -> None:
    assert not list(runnable_faults(algorithm_from_manifest(MANIFEST)))
    turbo = algorithm_from_manifest(with_changes(minimal.TURBO))
    assert not list(runnable_faults(turbo))
    fast = with_changes({"sample_rate": 48000, "token_rate_hz": 50})
    assert not list(runnable_faults(algorithm_from_manifest(fast)))
