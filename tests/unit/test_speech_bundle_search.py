"""What names and sizes tell of the bundles in a folder."""

import json
from collections.abc import Callable
from pathlib import Path

import bluetts
import koko
import pytest
from sanotts_package import write_package

from loudr_core.errors import BundleError
from loudr_core.speech.bundle_search import FoundBundle, find_bundles, look_at_bundle
from loudr_core.speech.declared import MANIFESTS, declared_files, manifest_of_family


@pytest.fixture(scope="module")
def shelf(
    tmp_path_factory: pytest.TempPathFactory, loudr1_bundle: Path, turbo_bundle: Path
) -> Path:
    """Return a folder with one bundle of each family, and things that are none."""
    folder = tmp_path_factory.mktemp("shelf")
    bluetts.write_bundle(folder / "blue")
    koko.write_bundle(folder / "koko")
    write_package(folder / "wren")
    (folder / "loudr-1").symlink_to(loudr1_bundle)
    (folder / "loudr-1-turbo").symlink_to(turbo_bundle)
    (folder / "again").symlink_to(folder / "wren")
    (folder / "photos").mkdir()
    (folder / ".cache").mkdir()
    (folder / "notes.txt").write_text("none", encoding="utf-8")
    return folder


def _named(found: list[FoundBundle]) -> dict[str, FoundBundle]:
    return {each.name: each for each in found}


def test_every_family_is_found_whole_and_once(shelf: Path) -> None:
    found = list(find_bundles([shelf, shelf / "koko", shelf / "nowhere"]))
    assert len(found) == 5
    named = _named(found)
    assert {name: each.engine for name, each in named.items()} == {
        "BlueTTS2.5-onnx": "bluetts",
        "Koko-TTS ONNX": "koko",
        "loudr-1": "loudr1",
        "loudr-1-turbo": "loudr1",
        "sanoTTS Root A": "sanotts",
    }
    assert all(each.complete for each in found), [each.missing for each in found]
    assert named["sanoTTS Root A"].version == "roota.raw-fp16.v1"
    # The stand-in's files are not of the release's size, and so not of its version.
    blue = named["BlueTTS2.5-onnx"]
    assert blue.version == ""
    assert any(each.startswith("text_encoder.onnx: ") for each in blue.other_sizes)
    assert all("in the release" in each for each in blue.other_sizes)


@pytest.mark.parametrize(
    ("write", "gone", "missing"),
    [
        (bluetts.write_bundle, "vocab.json", "vocab.json"),
        (bluetts.write_bundle, "vocoder.onnx", "vocoder.onnx"),
        (bluetts.write_bundle, "voices/*.json", "voices/*.json"),
        (koko.write_bundle, "**/vocoder*.onnx", "onnx/vocoder.onnx"),
        (koko.write_bundle, "**/text_encoder*.onnx", "onnx/text_encoder.onnx"),
        (write_package, "piper-phoneme-config.json", "piper-phoneme-config.json"),
    ],
)
def test_what_is_missing_is_named(
    tmp_path: Path, write: Callable[[Path], Path], gone: str, missing: str
) -> None:
    folder = write(tmp_path / "bundle")
    assert look_at_bundle(folder).missing == ()
    for path in list(folder.glob(gone)):
        path.unlink()
    found = look_at_bundle(folder)
    assert found.missing == (missing,)
    assert not found.complete


def test_a_file_may_lie_elsewhere_or_bear_the_name_that_a_manifest_gives(tmp_path: Path) -> None:
    blue = bluetts.write_bundle(tmp_path / "blue")
    (blue / "onnx").mkdir()
    for path in [*blue.glob("*.onnx"), *blue.glob("*.npz"), *blue.glob("*.json")]:
        path.rename(blue / "onnx" / path.name)
    assert look_at_bundle(blue).missing == ()
    package = write_package(tmp_path / "wren")
    manifest = json.loads((package / "manifest.json").read_text(encoding="utf-8"))
    (package / "weights.fp16.bin").rename(package / "own.bin")
    assert look_at_bundle(package).missing == ("weights.fp16.bin",)
    (package / "manifest.json").write_text(
        json.dumps({**manifest, "weights_file": "own.bin"}), encoding="utf-8"
    )
    assert look_at_bundle(package).missing == ()
    (package / "manifest.json").write_text(
        json.dumps({**manifest, "weights_file": ["own.bin"]}), encoding="utf-8"
    )
    assert look_at_bundle(package).missing == ("weights.fp16.bin",)


def test_files_of_the_release_s_size_are_of_its_version(tmp_path: Path) -> None:
    folder = tmp_path / "blue"
    (folder / "voices").mkdir(parents=True)
    (folder / "voices" / "a.json").write_text("{}", encoding="utf-8")
    for file in declared_files("bluetts"):
        if file.bytes is not None:
            with (folder / file.path).open("wb") as sparse:
                sparse.truncate(file.bytes)
    found = look_at_bundle(folder)
    assert found.complete
    assert found.version == "revision 468da64"
    assert found.sized == 8
    with (folder / "vocoder.onnx").open("ab") as cut:
        cut.truncate(1_000)
    found = look_at_bundle(folder)
    assert found.version == ""
    assert found.other_sizes == ("vocoder.onnx: 1000 bytes, 101411919 in the release",)


def test_a_folder_of_no_family_is_one_line(tmp_path: Path) -> None:
    assert list(find_bundles([tmp_path, tmp_path / "none"])) == []
    with pytest.raises(BundleError, match="is no bundle of a family that loudr knows"):
        look_at_bundle(tmp_path)


def test_the_manifests_tell_the_two_of_loudr1_apart() -> None:
    families = [manifest_of_family(name) for name in MANIFESTS]
    assert [each.get("engine", each["family"]) for each in families].count("loudr1") == 2
    assert families[0]["marks"]
    for each in families:
        assert each["source"]
        assert each["licence"]
    fingerprints = {each["name"]: each.get("fingerprint") for each in families}
    assert fingerprints["loudr-1"] == "7cd75498ad4e7531"
    assert fingerprints["loudr-1-turbo"] == "e5303ba243087222"
