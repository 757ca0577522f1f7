"""What a run of render-shard is asked for."""

from typing import Any

import pytest
from pydantic import ValidationError

from flows.configuration import load
from flows.engines import spec_here
from flows.shard_request import ShardRequest

GOOD: dict[str, Any] = {
    "store": "s3://bucket/store",
    "engine": {"engine": "loudr1", "bundle": "/models/loudr-1", "options": {"slots": 4}},
    "owner": "abc123",
    "book_id": "moby-dick-12345678",
    "plan_id": "0123456789abcdef",
    "shard": 7,
    "attempt": 2,
    "fingerprint": "f" * 64,
}


def test_a_request_names_its_run_and_its_place() -> None:
    request = ShardRequest.model_validate(GOOD)
    assert request.key == "0123456789abcdef:7:2:abc123"
    assert request.run_name == "moby-dick-12345678 shard 007, try 2"
    assert request.folder == "books/moby-dick-12345678/plans/0123456789abcdef"
    assert request.spec.bundle == "/models/loudr-1"
    assert ShardRequest.model_validate(request.model_dump(mode="json")) == request


def test_without_a_book_an_engine_is_described() -> None:
    request = ShardRequest.model_validate({**GOOD, "book_id": "", "plan_id": ""})
    assert request.folder.startswith("engines/")
    assert request.run_name == "describe loudr1, try 2"
    other = {**GOOD, "book_id": "", "plan_id": "", "engine": {"engine": "embedded"}}
    assert ShardRequest.model_validate(other).folder != request.folder


@pytest.mark.parametrize(
    "change",
    [
        {"plan_id": ""},
        {"shard": -1},
        {"shard": 10_000},
        {"attempt": 0},
        {"owner": "a/b"},
        {"owner": ""},
        {"store": ""},
        {"engine": {"engine": ""}},
        {"engine": {"engine": "fake", "sleep": 1}},
        {"chapter": 3},
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ShardRequest.model_validate({**GOOD, **change})


@pytest.mark.parametrize(
    ("voice", "variables", "bundle"),
    [
        ("", {}, "/models/loudr-1"),
        ("", {"LOUDR_BUNDLE": "/here"}, "/here"),
        ("", {"LOUDR_VOICES__AUNT__BUNDLE": "/there"}, "/models/loudr-1"),
        ("aunt", {"LOUDR_BUNDLE": "/here"}, "/models/loudr-1"),
        ("aunt", {"LOUDR_VOICES__AUNT__BUNDLE": "/there", "LOUDR_BUNDLE": "/here"}, "/there"),
    ],
)
def test_a_worker_knows_where_its_models_lie(
    voice: str, variables: dict[str, str], bundle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    request = ShardRequest.model_validate({**GOOD, "engine": {**GOOD["engine"], "voice": voice}})
    assert (" by loudr1," in request.run_name) == bool(voice)
    assert spec_here(request, load()).bundle == bundle
    bare = ShardRequest.model_validate({**GOOD, "engine": {"engine": "embedded"}})
    assert spec_here(bare, load()).bundle is None, "an engine without a model has none here either"
