"""export.json: graphs of another checkpoint or algorithm are refused."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loudr_core.errors import BundleError
from loudr_core.findings import Finding
from loudr_core.speech.loudr1.export_record import check_export_record

SHA, FINGERPRINT = "b7" * 32, "7cd75498ad4e7531"
MEMBERS = ["t3_cond.onnx", "vocoder.onnx"]
ENTRY = {
    "checkpoint": "loudr-1.safetensors",
    "checkpoint_sha256": SHA,
    "algorithm_fingerprint": FINGERPRINT,
    "euler_steps": 2,
    "estimator_sha256": None,
}
RECORD: dict[str, Any] = {
    "format": "loudkit-onnx-export",
    "graphs": {name: dict(ENTRY) for name in MEMBERS},
}


def check(folder: Path, record: object, **expected: Any) -> Finding | None:
    text = record if isinstance(record, str) else json.dumps(record)
    (folder / "export.json").write_text(text, encoding="utf-8")
    wanted = {"checkpoint_sha256": SHA, "fingerprint": FINGERPRINT, "euler_steps": 2, **expected}
    return check_export_record(folder, MEMBERS, **wanted)


def each(**values: Any) -> dict[str, Any]:
    record = copy.deepcopy(RECORD)
    for entry in record["graphs"].values():
        entry.update(values)
    return record


def one(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    record = copy.deepcopy(RECORD)
    change(record["graphs"])
    return record


def test_a_record_that_agrees_says_nothing(tmp_path: Path) -> None:
    assert check(tmp_path, RECORD) is None
    assert check(tmp_path, one(lambda graphs: graphs.update({"old.onnx": ENTRY}))) is None


def test_no_record_is_a_warning(tmp_path: Path) -> None:
    finding = check_export_record(
        tmp_path, MEMBERS, checkpoint_sha256=SHA, fingerprint=FINGERPRINT, euler_steps=2
    )
    assert finding is not None
    assert (finding.code, finding.severity) == ("bundle-no-export-record", "warning")


BROKEN: list[tuple[object, str]] = [
    ("{", "not JSON"),
    ("\ufeff{}", "not JSON"),
    ([], "must be a JSON object"),
    ({}, "graphs must be an object"),
    ({"graphs": [1]}, "graphs must be an object"),
    ({"graphs": {}}, "t3_cond.onnx is not recorded"),
    (one(lambda graphs: graphs.pop("vocoder.onnx")), "vocoder.onnx is not recorded"),
    (one(lambda graphs: graphs.update(x=5)), "graphs.x must be an object"),
    (one(lambda graphs: graphs.update(x={})), "several exports"),
    (one(lambda graphs: graphs.update({"x\n" * 9999: 5})), "must be an object"),
    (one(lambda graphs: graphs["vocoder.onnx"].update(euler_steps=1)), "several exports"),
    (each(euler_steps=1), "euler_steps is 1, the checkpoint's is 2"),
    (each(euler_steps="2"), "is the string '2', the checkpoint's is the number 2"),
    (
        one(lambda graphs: graphs["vocoder.onnx"].update(euler_steps="2")),
        "is the string '2', another graph's is the number 2",
    ),
    (each(euler_steps=True), "must be a string or integer"),
    (each(euler_steps=2.0), "must be a string or integer"),
    (each(euler_steps=[2]), "must be a string or integer"),
    (each(euler_steps=None), "euler_steps is null"),
    (each(checkpoint_sha256="00"), "checkpoint_sha256 is 00"),
    (each(checkpoint_sha256=None), "checkpoint_sha256 is null"),
    (each(algorithm_fingerprint="e5303ba243087222"), "the checkpoint's is 7cd75498ad4e7531"),
]


@pytest.mark.parametrize(("record", "problem"), BROKEN, ids=range(len(BROKEN)))
def test_a_record_that_disagrees_is_refused(tmp_path: Path, record: object, problem: str) -> None:
    with pytest.raises(BundleError, match=problem) as refused:
        check(tmp_path, record)
    assert refused.value.context["path"] == str(tmp_path / "export.json")
    assert "\n" not in refused.value.message


def test_estimators_are_compared_when_both_are_known(tmp_path: Path) -> None:
    recorded = each(estimator_sha256="e" * 64)
    assert check(tmp_path, recorded) is None
    assert check(tmp_path, recorded, estimator_sha256="e" * 64) is None
    assert check(tmp_path, RECORD, estimator_sha256="f" * 64) is None
    with pytest.raises(BundleError, match="estimator_sha256"):
        check(tmp_path, recorded, estimator_sha256="f" * 64)


def test_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "export.json").mkdir()
    with pytest.raises(BundleError, match="cannot be read"):
        check_export_record(
            tmp_path, MEMBERS, checkpoint_sha256=SHA, fingerprint=FINGERPRINT, euler_steps=2
        )


def test_vectors(test_data: Path, tmp_path: Path) -> None:
    path = test_data / "specs/loudr1/vectors/export_record.json"
    record = json.loads(path.read_text("utf-8"))["record"]
    entry = next(iter(record["graphs"].values()))
    (tmp_path / "export.json").write_text(json.dumps(record))
    finding = check_export_record(
        tmp_path,
        record["graphs"],
        checkpoint_sha256=entry["checkpoint_sha256"],
        fingerprint=FINGERPRINT,
        euler_steps=2,
    )
    assert finding is None
