import hashlib
import tomllib
from pathlib import Path

import pytest

from loudr_core.speech.declared import (
    DeclaredFile,
    check_declared,
    declared_files,
    manifest_of_family,
)

FOLDER = Path(__file__).parents[2] / "manifests" / "bundles"


@pytest.mark.parametrize("family", sorted(path.stem for path in FOLDER.glob("*.toml")))
def test_a_manifest_names_family_licence_and_files(family: str) -> None:
    manifest = manifest_of_family(family)
    assert manifest == tomllib.loads((FOLDER / f"{family}.toml").read_text("utf-8"))
    assert manifest["family"] == family
    assert manifest["licence"]
    for file in declared_files(family):
        assert not Path(file.path).is_absolute()
        assert ".." not in Path(file.path).parts
        assert file.bytes is None or file.bytes > 0
        assert file.sha256 is None or len(bytes.fromhex(file.sha256)) == 32


def test_a_family_without_one_is_a_callers_mistake() -> None:
    with pytest.raises(ValueError, match="no manifest of a family 'zzz'"):
        manifest_of_family("zzz")


def test_koko_declares_what_its_card_names_and_no_checksum() -> None:
    files = {file.path: file for file in declared_files("koko")}
    assert len(files) == 6
    assert [name for name, file in files.items() if not file.optional] == [
        "tokenizer.json",
        "onnx/text_encoder.onnx",
        "onnx/flow_step.onnx",
        "onnx/vocoder.onnx",
    ]
    assert files["onnx/vocoder.onnx"].also == ("onnx/vocoder_fp16.onnx",)
    assert not any(file.known for file in files.values())


def test_files_are_compared_as_far_as_something_is_known(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    digest = hashlib.sha256(b"abc").hexdigest()

    def states(*files: DeclaredFile, official: bool = False) -> list[tuple[str, bool]]:
        found = check_declared(tmp_path, files, official=official)
        return [(check.state, check.good) for check in found]

    good = DeclaredFile(path="a", bytes=3, sha256=digest)
    assert states(good, official=True) == [("ok", True)]
    assert states(DeclaredFile(path="a"), DeclaredFile(path="b", bytes=3)) == []
    for other in (DeclaredFile(path="a", bytes=4), DeclaredFile(path="a", sha256="0" * 64)):
        assert states(other) == [("mismatch", True)]
        assert states(other, official=True) == [("mismatch", False)]
