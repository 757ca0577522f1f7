"""Two commands that render one book on the same machines, and every other way to render it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loudr_core.store.open import open_store

SHARD_S = 60.0


def test_two_parents_on_one_book(
    farm: Any,
    bucket: str,
    loudr: Callable[..., Any],
    watcher: Callable[..., Any],
    tone_book: Callable[..., Path],
    tmp_path: Path,
) -> None:
    """Started at once: hardly a segment is spoken twice, and there is one finished file."""
    book = tone_book(chapters=2, paragraphs=20, title="Parents")
    store, out, trace = f"s3://{bucket}/store", f"s3://{bucket}/out", tmp_path / "trace"
    watch = watcher(store, "audio/")
    options = {
        "LOUDR_EXECUTOR": "pool",
        "PREFECT_API_URL": farm.api.url,
        "LOUDR_OPTIONS": json.dumps({"sleep_s": 0.25, "trace": str(trace)}),
        "LOUDR_POOL__SHARD_AUDIO_S": str(SHARD_S),
    }
    command = ("render", book, "--store", store, "-o", out, "--json")
    parents = [loudr(*command, home=name, **options) for name in ("first", "second")]
    one, two = (parent.finish().json for parent in parents)

    assert one["pcm_sha256"] == two["pcm_sha256"]
    assert one["files"] == two["files"]
    total = one["segments"]["total"]
    assert total == two["segments"]["total"] == 43
    lines = trace.read_text(encoding="utf-8").splitlines()
    assert len(set(lines)) == total
    a_segment_s = 217.6 / 43
    assert len(lines) - total <= SHARD_S / a_segment_s, "no more than one shard"
    watch.stop()
    assert set(watch.versions.values()) == {1}
    assert [entry.key for entry in open_store(out).entries("")] == ["Parents.m4b"]

    runs = farm.runs_of("render-shard")
    ours = farm.ended(*(run["id"] for run in runs if one["book_id"] in run["tags"]))
    assert {run["state_type"] for run in ours} <= {"COMPLETED", "CANCELLED"}
    assert ours[0]["name"].startswith(f"{one['book_id']} shard 00")

    ways: list[dict[str, str]] = [
        {"LOUDR_EXECUTOR": "inline"},
        {"LOUDR_EXECUTOR": "local", "PREFECT_API_URL": farm.api.url},
    ]
    for way in ways:
        here = loudr(
            "render", book, "--store", tmp_path / way["LOUDR_EXECUTOR"], "-o", tmp_path / "out",
            "--json", home="here", LOUDR_OPTIONS=options["LOUDR_OPTIONS"], **way,
        ).finish()  # fmt: skip
        assert here.json["pcm_sha256"] == one["pcm_sha256"]
        assert here.json["files"][0]["sha256"] == one["files"][0]["sha256"]
