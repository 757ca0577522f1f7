"""A book of three engines on the farm: each shard asks a worker for the engine of its voice."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import koko
from sanotts_package import phoneme_config, write_package

CAST = """
engine = "fake"

[voices.aunt]
engine = "koko"
bundle = "{folder}/koko-tts"
voice = "koko:046"

[voices.wren]
engine = "sanotts"
bundle = "{folder}/voice"

[[cast]]
voice = "aunt"
title = "*part one"

[[cast]]
voice = "wren"
title = "*part two"
"""


def test_a_cast_is_spoken_on_the_farm(
    farm: Any,
    bucket: str,
    loudr: Callable[..., Any],
    tone_book: Callable[..., Path],
    tmp_path: Path,
) -> None:
    """The same samples and the same file as on one machine; three engines were described."""
    koko.write_bundle(tmp_path / "koko-tts")
    write_package(tmp_path / "voice", phonemes=phoneme_config(phoneme_type="text"))
    profile = tmp_path / "cast.toml"
    profile.write_text(CAST.format(folder=tmp_path), encoding="utf-8")
    book = tone_book(chapters=3, paragraphs=4, title="A Cast")
    earlier = {run["id"] for run in farm.runs_of("render-shard")}
    render = ("render", book, "--profile", profile, "--json")
    there = loudr(
        *render, "--store", f"s3://{bucket}/store", "-o", tmp_path / "there",
        LOUDR_EXECUTOR="pool", PREFECT_API_URL=farm.api.url,
    ).finish().json  # fmt: skip
    runs = [run for run in farm.runs_of("render-shard") if run["id"] not in earlier]
    asked = [run["parameters"]["request"] for run in runs]
    shards = {(each["shard"], each["engine"]["engine"]) for each in asked if each["book_id"]}
    assert len(shards) == len({number for number, _ in shards}), "a shard is of one engine"
    assert {engine for _, engine in shards} == {"fake", "koko", "sanotts"}
    described = {each["engine"]["engine"] for each in asked if not each["book_id"]}
    assert described >= {"koko", "sanotts"}

    here = loudr(
        *render, "--store", tmp_path / "store", "-o", tmp_path / "here",
        home="here", LOUDR_EXECUTOR="inline", LOUDR_WORKERS="2",
    ).finish().json  # fmt: skip
    assert there["segments"]["failed"] == here["segments"]["failed"] == 0
    assert there["pcm_sha256"] == here["pcm_sha256"]
    assert there["files"][0]["sha256"] == here["files"][0]["sha256"]
    assert [each["engine"] for each in there["voices"]] == ["fake", "koko", "sanotts"]
