"""A whole book against a bucket, by the command line: plan, takes, pieces, the finished file."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3.session
import pytest

from loudr_core.store.open import open_store


@pytest.fixture
def objects(s3_environment: str) -> Callable[[str], dict[str, dict[str, Any]]]:
    """Return a way to see what lies in a bucket, past our own store."""

    def look(bucket: str) -> dict[str, dict[str, Any]]:
        client = boto3.session.Session().client("s3", endpoint_url=s3_environment)
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket)
        found = {item["Key"]: item for page in pages for item in page.get("Contents", ())}
        uploads = client.list_multipart_uploads(Bucket=bucket).get("Uploads", [])
        client.close()
        assert uploads == [], "an upload was left half done"
        return found

    return look


def test_a_book_in_a_bucket_is_the_book_in_a_folder(
    inline: Any,
    tone_book: Callable[..., Path],
    bucket: str,
    objects: Callable[[str], dict[str, dict[str, Any]]],
    tmp_path: Path,
) -> None:
    book = tone_book(chapters=2, paragraphs=5)
    loudr = inline.with_(**{k: v for k, v in os.environ.items() if k.startswith("AWS_")})
    folder = ("--store", tmp_path / "store")
    cloud = ("--store", f"s3://{bucket}/store")
    here = loudr("render", book, *folder, "-o", tmp_path / "out", "--json").json
    there = loudr("render", book, *cloud, "-o", f"s3://{bucket}/out", "--json").json

    assert there["pcm_sha256"] == here["pcm_sha256"]
    assert there["plan_id"] == here["plan_id"]
    assert there["segments"] == here["segments"]
    (file,), (local,) = there["files"], here["files"]
    assert file["path"] == f"s3://{bucket}/out/Tones.m4b"
    assert (file["sha256"], file["bytes"]) == (local["sha256"], local["bytes"])
    data = open_store(f"s3://{bucket}/out").get("Tones.m4b")
    assert data == Path(local["path"]).read_bytes()
    assert data is not None
    assert hashlib.sha256(data).hexdigest() == file["sha256"]

    before = objects(bucket)
    store = tmp_path / "store"
    kept = {path.relative_to(store).as_posix() for path in store.rglob("*") if path.is_file()}
    names = {key.removeprefix("store/") for key in before if key.startswith("store/")}
    assert _without_results(names) == _without_results(kept)
    assert {key for key in before if not key.startswith("store/")} == {"out/Tones.m4b"}

    again = loudr("render", book, *cloud, "-o", f"s3://{bucket}/out", "--json").json
    assert again["segments"]["rendered"] == 0
    assert again["files"] == there["files"]
    after = objects(bucket)
    written = ("render.json", "gain.json", "pieces.json")
    for key, item in before.items():
        if not key.endswith(written):
            assert after[key]["LastModified"] == item["LastModified"], f"{key} was written again"

    status = loudr("status", *cloud, "--json").json
    assert [(row["state"], row["files"][0]["path"]) for row in status["books"]] == [
        ("finished", f"s3://{bucket}/out/Tones.m4b")
    ]
    secret = os.environ["AWS_SECRET_ACCESS_KEY"].encode()
    for key in after:
        assert secret not in (open_store(f"s3://{bucket}").get(key) or b""), key
    for log in (loudr.home / "logs").glob("*.log"):
        assert secret not in log.read_bytes(), log


def test_a_book_in_a_bucket_is_rendered_again_from_there(
    inline: Any, tone_book: Callable[..., Path], bucket: str, tmp_path: Path
) -> None:
    book = tone_book(chapters=1, paragraphs=2)
    loudr = inline.with_(**{k: v for k, v in os.environ.items() if k.startswith("AWS_")})
    cloud = ("--store", f"s3://{bucket}")
    first = loudr("render", book, *cloud, "-o", tmp_path, "--json").json
    book.unlink()
    options = ("--chapter", "1", *cloud, "-o", f"s3://{bucket}/out", "--json")
    second = loudr("rerender", first["book_id"], *options).json
    assert second["plan_id"] == first["plan_id"]
    assert second["pcm_sha256"] != first["pcm_sha256"]
    assert second["files"][0]["path"] == f"s3://{bucket}/out/Tones.m4b"


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--store", "s3://{bucket}-not-there/x"), 9, "there is no bucket {bucket}-not-there"),
        (("-o", "s3://{bucket}-not-there"), 9, "there is no bucket {bucket}-not-there"),
        (("--store", "s3://AKIAKEY:hush@{bucket}/x"), 3, "does not hold credentials"),
    ],
)
def test_a_bucket_that_will_not_do_is_one_line_at_the_start(
    inline: Any,
    tone_book: Callable[..., Path],
    bucket: str,
    options: tuple[str, str],
    code: int,
    words: str,
) -> None:
    loudr = inline.with_(**{k: v for k, v in os.environ.items() if k.startswith("AWS_")})
    said = loudr("render", tone_book(chapters=1), *(each.format(bucket=bucket) for each in options))
    assert said.code == code, said.err
    assert words.format(bucket=bucket) in said.err
    assert len(said.err.strip().splitlines()) == 1
    assert "hush" not in said.err + said.out
    assert "AKIAKEY" not in said.err + said.out


def _without_results(names: set[str]) -> set[str]:
    """Leave out the result rows: their files are named after the run."""
    return {name for name in names if "/results/" not in name}
