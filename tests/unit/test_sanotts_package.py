"""Packages that are not what they should be: each refused in one line that names file and key."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sanotts_package import (
    CONFIG_NAME,
    REMOVED,
    WEIGHTS_NAME,
    change_manifest,
    configs,
    phoneme_config,
    rehash,
    write_package,
)

from loudr_core.errors import BundleError
from loudr_core.speech.bundles import describe_bundle, family_of, verify_bundle
from loudr_core.speech.registry import open_engine
from loudr_core.speech.sanotts.package import open_package


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_package(tmp_path / "wren", singing=False)


def _refusal(path: Path) -> BundleError:
    with pytest.raises(BundleError) as caught:
        open_package(path)
    assert "\n" not in caught.value.message
    assert caught.value.context["path"]
    return caught.value


def _tensor(manifest: Any, component: str, name: str) -> Any:
    return next(
        each for each in manifest["components"][component]["tensors"] if each["name"] == name
    )


def test_a_whole_package_is_opened(folder: Path) -> None:
    package = open_package(folder)
    assert (package.voice, package.name, package.language) == ("wren", "wren-stand-in", "en-US")
    assert package.length_scale == 1.0
    assert package.vocabulary == 20
    assert not package.findings
    same = open_package(folder / "manifest.json")
    assert same.weights_sha256 == package.weights_sha256


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("scalar", [(), (1,)], ids=["bare", "one number in a list"])
def test_trap_types_and_both_ways_to_write_a_scalar(
    dtype: str, scalar: tuple[int, ...], tmp_path: Path
) -> None:
    package = open_package(write_package(tmp_path, singing=False, dtype=dtype, scalar=scalar))
    scale = package.tensors["duration"]["blocks.0.scale"]
    assert scale.shape == ()
    assert scale == pytest.approx(0.1, abs=1e-4)
    assert all(a.dtype == np.float32 for group in package.tensors.values() for a in group.values())


def test_tensors_may_stand_anywhere_in_the_file(tmp_path: Path) -> None:
    folder = write_package(tmp_path, singing=False)
    before = open_package(folder).tensors
    blob = (folder / WEIGHTS_NAME).read_bytes()
    (folder / WEIGHTS_NAME).write_bytes(b"\x00" + blob)  # odd offsets, where no float16 can stand

    def moved(manifest: Any) -> None:
        for component in manifest["components"].values():
            for entry in component["tensors"]:
                entry["offset_bytes"] += 1

    change_manifest(folder, moved)
    rehash(folder)
    after = open_package(folder).tensors
    for name, group in before.items():
        assert all(np.array_equal(array, after[name][key]) for key, array in group.items())


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_whole_numbers_are_widened_too(dtype: str, folder: Path) -> None:
    values = np.arange(1, 1 + 8).astype(dtype)
    with (folder / WEIGHTS_NAME).open("ab") as file:
        start = file.tell()
        file.write(values.tobytes())

    def replaced(manifest: Any) -> None:
        entry = _tensor(manifest, "duration", "input_proj.bias")
        del entry["sha256"]
        entry.update(dtype=dtype, offset_bytes=start, nbytes=values.nbytes)

    change_manifest(folder, replaced)
    rehash(folder)
    found = open_package(folder).tensors["duration"]["input_proj.bias"]
    assert found.tolist() == list(range(1, 9))


# ---------------------------------------------------------------- files


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    assert "is not there" in _refusal(tmp_path / "none").message


def test_a_folder_without_a_manifest(tmp_path: Path) -> None:
    assert "manifest.json is not there, or no file" in _refusal(tmp_path).message


def test_a_name_that_is_too_long_for_a_file(tmp_path: Path) -> None:
    assert "cannot be read (File name too long)" in _refusal(tmp_path / ("n" * 300)).message


@pytest.mark.parametrize("name", ["manifest.json", CONFIG_NAME, WEIGHTS_NAME])
def test_a_pipe_is_not_waited_for(name: str, folder: Path) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert name in _refusal(folder).message


def test_missing_weights(folder: Path) -> None:
    (folder / WEIGHTS_NAME).unlink()
    assert f"{WEIGHTS_NAME} is missing" in _refusal(folder).message


def test_a_missing_phoneme_config(folder: Path) -> None:
    (folder / CONFIG_NAME).unlink()
    assert f"{CONFIG_NAME} is not there, or no file" in _refusal(folder).message


def test_truncated_weights_say_both_sizes(folder: Path) -> None:
    blob = (folder / WEIGHTS_NAME).read_bytes()
    (folder / WEIGHTS_NAME).write_bytes(blob[:-100])
    error = _refusal(folder)
    assert f"has {len(blob) - 100} bytes, the manifest says {len(blob)}" in error.message
    assert error.context["key"] == "weights_size_bytes"


def test_weights_with_another_digest_say_both(folder: Path) -> None:
    blob = bytearray((folder / WEIGHTS_NAME).read_bytes())
    blob[1000] ^= 1
    (folder / WEIGHTS_NAME).write_bytes(blob)
    error = _refusal(folder)
    assert hashlib.sha256(blob).hexdigest() in error.message
    assert error.context["key"] == "weights_sha256"


def test_one_tensor_with_another_digest_is_named(folder: Path) -> None:
    blob = bytearray((folder / WEIGHTS_NAME).read_bytes())
    blob[0] ^= 1
    (folder / WEIGHTS_NAME).write_bytes(blob)
    rehash(folder)
    error = _refusal(folder)
    assert "'embedding.weight'" in error.message
    assert error.context["key"] == "components.duration.tensors[0].sha256"


@pytest.mark.parametrize("text", ["", "[1, 2]", "{", "nul\x00l", '{"a": ' * 5000])
def test_a_manifest_that_is_no_object(text: str, folder: Path) -> None:
    (folder / "manifest.json").write_text(text, "utf-8")
    assert "manifest" in _refusal(folder).message


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../w.bin", "a/../../w.bin", "C:\\w.bin", "..\\w.bin", ""]
)
@pytest.mark.parametrize("key", ["weights_file", "included_config"])
def test_a_file_outside_the_package_is_refused(key: str, name: str, folder: Path) -> None:
    def changed(manifest: Any) -> None:
        (manifest if key == "weights_file" else manifest["frontend"])[key] = name

    change_manifest(folder, changed)
    error = _refusal(folder)
    assert "must name a file inside the package" in error.message
    assert str(error.context["key"]).endswith(key)


# ---------------------------------------------------------------- manifest


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"format": "roota.raw-fp16.v2"}, "format"),
        ({"format": REMOVED}, "format"),
        ({"sample_rate": 24000}, "sample_rate"),
        ({"sample_rate": "22050"}, "sample_rate"),
        ({"hop_length": 512}, "hop_length"),
        ({"weights_sha256": REMOVED}, "weights_sha256"),
        ({"weights_size_bytes": "many"}, "weights_size_bytes"),
        ({"total_parameters": 3}, "total_parameters"),
        ({"inference": {"duration_length_scale": 0}}, "inference.duration_length_scale"),
        ({"inference": {"duration_length_scale": "slow"}}, "inference.duration_length_scale"),
        ({"inference": 3}, "inference"),
        ({"components": REMOVED}, "components"),
        ({"components": {}}, "components.duration"),
        ({"voice": 3}, "voice"),
        ({"voice": "wren\nrook"}, "voice"),
        ({"package_name": "\x1b[31m"}, "package_name"),
    ],
)
def test_a_wrong_key_is_named(changes: dict[str, Any], key: str, tmp_path: Path) -> None:
    error = _refusal(write_package(tmp_path, singing=False, changes=changes))
    assert error.context["key"] == key
    assert f"{key!r}" in error.message


CONFIG_FAULTS: list[tuple[str, str, Any, str]] = [
    ("duration", "architecture", "duration_rnn", "must be 'duration_conv'"),
    ("duration", "architecture", REMOVED, "is missing"),
    ("duration", "vocab_size", 0, "must be 1 to"),
    ("duration", "vocab_size", REMOVED, "is missing"),
    ("duration", "kernel_size", 4, "must be odd"),
    ("duration", "depth", 10**9, "must be 0 to"),
    ("duration", "hidden", True, "must be a number"),
    ("duration", "max_duration", -1, "must be 1 to"),
    ("duration", "max_tokens", 3, "must be 7 to"),
    ("duration", "duration_oov_id", 20, "must be below vocab_size"),
    ("acoustic", "architecture", "transformer", "must be 'token_context' or 'calibrated'"),
    ("acoustic", "out_channels", 1.5, "must be a whole number"),
    ("decoder", "variant", "hift", "must be 'piperlite'"),
    ("decoder", "activation", "snake", "must be 'leaky_relu'"),
    ("decoder", "stage_affine", True, "must be false"),
    ("decoder", "res_layers", 2, "must be 1, found 2"),
    ("decoder", "factorized_pre_rank", 8, "must be 0, found 8"),
    ("decoder", "piper_res_factor_rank_ratio", 0.5, "must be 0"),
    ("decoder", "pre_tanh_repair_channels", 4, "must be 0"),
    ("decoder", "channels", [16, 8, 4], "must be four sizes"),
    ("decoder", "channels", [16, 8, 4, 0], "must be four sizes"),
    ("decoder", "stage1_branches", [], "must name some of the branches"),
    ("decoder", "stage1_branches", [0, 3], "must name some of the branches"),
    ("decoder", "stage2_branches", [1, 1], "must name some of the branches"),
    ("decoder", "res_bank_scale_mode", "mean", "must be 'kept' or 'teacher'"),
    ("decoder", "post_filter_kernel", 8, "must be odd"),
    ("decoder", "post_filter_scale", "big", "must be a number"),
    ("decoder", "post_filter_scale", float("nan"), "must be finite"),
]


@pytest.mark.parametrize(("component", "key", "value", "said"), CONFIG_FAULTS)
def test_a_student_of_another_shape_is_refused_by_its_key(
    component: str, key: str, value: Any, said: str, folder: Path
) -> None:
    def changed(manifest: Any) -> None:
        config = manifest["components"][component]["config"]
        if value is REMOVED:
            del config[key]
        else:
            config[key] = value

    change_manifest(folder, changed)
    error = _refusal(folder)
    assert error.context["key"] == f"components.{component}.config.{key}"
    assert said in error.message


def test_decoder_and_acoustic_student_must_meet(tmp_path: Path) -> None:
    made = configs(singing=False)
    made["decoder"]["in_channels"] = 30
    error = _refusal(write_package(tmp_path, singing=False, components=made))
    assert "is 30, but the acoustic student gives 24" in error.message


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mode": "conv"}, "must be 'affine' or"),
        ({"end_channel": 25}, "must lie above start_channel 4 and up to 24"),
        ({"start_channel": 20}, "must lie above start_channel 20"),
        ({"rank": 0}, "must be 1 to"),
    ],
)
def test_an_adapter_of_another_kind(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    made = configs(singing=False, adapter="depthwise_lowrank")
    folder = write_package(tmp_path, singing=False, components=made)

    def changed(manifest: Any) -> None:
        manifest["components"]["acoustic"]["config"]["output_adapter"] |= change

    change_manifest(folder, changed)
    assert said in _refusal(folder).message


# ---------------------------------------------------------------- tensors

TENSOR_FAULTS: list[tuple[dict[str, Any], str, str]] = [
    ({"nbytes": 7}, "nbytes", "is 7, but [8] of float16 are 16"),
    ({"offset_bytes": 10**9}, "offset_bytes", "lie outside the file of"),
    ({"offset_bytes": -2}, "offset_bytes", "lie outside the file of"),
    ({"dtype": "bfloat16"}, "dtype", "must be 'float16' or"),
    ({"dtype": "float32"}, "nbytes", "of float32 are 32"),
    ({"shape": [2, 4]}, "shape", "is [2, 4], the config asks for [8]"),
    ({"shape": [0]}, "shape", "must hold sizes above 0"),
    ({"shape": [-8]}, "shape", "must hold sizes above 0"),
    ({"shape": [1 << 62, 1 << 62]}, "shape", "must hold sizes above 0"),
    ({"shape": "8"}, "shape", "must be a list"),
    ({"name": 3}, "name", "must be a string"),
    ({"name": "input_proj.weight"}, "name", "is there twice"),
    ({"name": "adapter.scale"}, "name", "belongs to no layer that the config names"),
    ({"sha256": "0" * 64}, "sha256", "the bytes have"),
]


@pytest.mark.parametrize(("change", "key", "said"), TENSOR_FAULTS)
def test_a_wrong_entry_is_named(change: dict[str, Any], key: str, said: str, folder: Path) -> None:
    change_manifest(
        folder, lambda manifest: _tensor(manifest, "duration", "input_proj.bias").update(change)
    )
    error = _refusal(folder)
    assert said in error.message
    assert error.context["key"] == f"components.duration.tensors[2].{key}"


@pytest.mark.parametrize("key", ["name", "shape", "dtype", "offset_bytes", "nbytes"])
def test_an_entry_without_a_key(key: str, folder: Path) -> None:
    change_manifest(
        folder, lambda manifest: _tensor(manifest, "duration", "input_proj.bias").pop(key)
    )
    assert f"tensors[2].{key}' is missing" in _refusal(folder).message


def test_a_missing_tensor_is_named_with_its_shape(folder: Path) -> None:
    def changed(manifest: Any) -> None:
        del manifest["components"]["decoder"]["tensors"][5]

    change_manifest(folder, changed)
    error = _refusal(folder)
    assert "has no" in error.message
    assert error.context["key"] == "components.decoder.tensors"


def test_trap_an_adapter_beside_a_plain_student_is_refused(tmp_path: Path) -> None:
    made = configs(singing=False, adapter="affine")
    folder = write_package(tmp_path, singing=False, components=made)

    def changed(manifest: Any) -> None:
        acoustic = manifest["components"]["acoustic"]
        acoustic["config"] = acoustic["config"]["base_config"]
        for entry in acoustic["tensors"]:
            entry["name"] = entry["name"].removeprefix("base.")

    change_manifest(folder, changed)
    message = _refusal(folder).message
    assert "'adapter.scale' belongs to no layer" in message


def test_a_wrong_count_of_parameters(folder: Path) -> None:
    def changed(manifest: Any) -> None:
        manifest["components"]["acoustic"]["parameters"] += 1

    change_manifest(folder, changed)
    assert "but the tensors have" in _refusal(folder).message


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_weights_that_are_not_finite_are_named(value: float, folder: Path) -> None:
    blob = bytearray((folder / WEIGHTS_NAME).read_bytes())
    blob[:2] = np.float16(value).tobytes()
    (folder / WEIGHTS_NAME).write_bytes(blob)
    change_manifest(
        folder, lambda manifest: _tensor(manifest, "duration", "embedding.weight").pop("sha256")
    )
    rehash(folder)
    assert "'embedding.weight' holds values that are not finite" in _refusal(folder).message


# ---------------------------------------------------------------- phonemes


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"phoneme_id_map": REMOVED}, "phoneme_id_map"),
        ({"phoneme_id_map": {"_": [0], "^": [1], "$": [3]}}, "phoneme_id_map.$"),
        ({"phoneme_id_map": {"_": [0], "^": [1]}}, "phoneme_id_map.$"),
        ({"phoneme_id_map": {"_": 0, "^": [1], "$": [2]}}, "phoneme_id_map._"),
        ({"phoneme_id_map": {"_": [0], "^": [1], "$": [2], "a": [3, 4]}}, "phoneme_id_map.a"),
        ({"phoneme_id_map": {"_": [0], "^": [1], "$": [2], "a": [-3]}}, "phoneme_id_map.a"),
        ({"phoneme_id_map": {"_": [0], "^": [1], "$": [2], "a": ["x"]}}, "phoneme_id_map.a[0]"),
        ({"phoneme_id_map": []}, "phoneme_id_map"),
        ({"phoneme_type": "espeak", "espeak": {}}, "espeak.voice"),
        ({"phoneme_type": 3}, "phoneme_type"),
        ({"espeak": {"voice": "../../etc/passwd"}}, "espeak.voice"),
        ({"espeak": {"voice": "-de"}}, "espeak.voice"),
        ({"espeak": "de"}, "espeak"),
    ],
)
def test_a_wrong_phoneme_config_is_named(change: dict[str, Any], key: str, tmp_path: Path) -> None:
    config = {**phoneme_config(), **change}
    config = {name: value for name, value in config.items() if value is not REMOVED}
    error = _refusal(write_package(tmp_path, singing=False, phonemes=config))
    assert error.context["key"] == key
    assert CONFIG_NAME in error.message


def test_a_package_of_no_language(tmp_path: Path) -> None:
    folder = write_package(
        tmp_path, singing=False, language="", phonemes=phoneme_config(espeak_voice="")
    )
    assert "names no language" in _refusal(folder).message


@pytest.mark.parametrize(
    ("written", "espeak", "language", "findings"),
    [
        ("de_DE", "de", "de-DE", 0),
        ("", "de", "de", 0),
        ("German (Thorsten)", "de", "de", 0),
        ("", "en-us", "en-US", 0),
        ("", "cmn", "zh", 0),
        ("zh", "cmn", "zh", 0),
        ("no", "nb", "no", 0),
        ("", "gmw/en-GB-scotland", "", None),
        ("de", "en-us", "de", 1),
    ],
)
def test_the_language_is_the_manifests_else_the_phonemisers(
    written: str, espeak: str, language: str, findings: int | None, tmp_path: Path
) -> None:
    folder = write_package(
        tmp_path, singing=False, language=written, phonemes=phoneme_config(espeak_voice=espeak)
    )
    if findings is None:
        assert "names no language" in _refusal(folder).message
        return
    package = open_package(folder)
    assert package.language == language
    assert len(package.findings) == findings


# ---------------------------------------------------------------- taken for a package


def _nano(folder: Path) -> None:
    (folder / "meta.json").write_text('{"runtime": "snt_nano", "sample_rate": 24000}')


def _web(folder: Path) -> None:
    for name in ("front_f16.bin", "dec_f32.bin", "meta.json"):
        (folder / name).write_bytes(b"{}")


def _piper(folder: Path) -> None:
    (folder / "de.onnx").write_bytes(b"")
    (folder / "de.onnx.json").write_text("{}")


def _other_export(folder: Path) -> None:
    index = {"tensor_index": [{"name": "a", "offset": 0, "numel": 3}]}
    (folder / "manifest.json").write_text(json.dumps(index))


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (_nano, "a sanoTTS nano voice"),
        (_web, "a sanoTTS web bundle"),
        (_piper, "a Piper voice (de.onnx)"),
        (_other_export, "an export of another program (manifest key 'tensor_index'"),
    ],
)
def test_trap_what_looks_like_a_package_is_named(
    write: Callable[[Path], None], said: str, tmp_path: Path
) -> None:
    write(tmp_path)
    assert said in _refusal(tmp_path).message
    assert family_of(tmp_path) == "sanotts"
    (check,) = verify_bundle(tmp_path)
    assert not check.good
    assert said in check.detail
    with pytest.raises(BundleError, match=r"manifest\.json of format 'roota"):
        open_engine("sanotts", bundle=tmp_path)


# ---------------------------------------------------------------- verify and describe


def test_a_package_verifies_part_by_part(folder: Path) -> None:
    checks = {check.what: check for check in verify_bundle(folder)}
    assert set(checks) == {WEIGHTS_NAME, "duration", "acoustic", "decoder", CONFIG_NAME}
    assert all(check.state == "ok" for check in checks.values())
    assert "10 tensors" in checks["duration"].detail


def test_a_package_with_a_releases_name_is_held_to_its_numbers(tmp_path: Path) -> None:
    folder = write_package(tmp_path, singing=False, changes={"package_name": "de-thorsten-1p57m"})
    checks = {check.what: check for check in verify_bundle(folder)}
    assert not checks["release"].good
    assert "upstream says 1,565,324" in checks["release"].detail
    shutil.rmtree(folder)
    checks = {c.what: c for c in verify_bundle(write_package(folder), official=True)}
    assert checks["release"].state == "unlisted"


def test_a_damaged_package_verifies_as_such(folder: Path) -> None:
    (folder / WEIGHTS_NAME).write_bytes(b"short")
    (check,) = verify_bundle(folder)
    assert (check.what, check.good) == (WEIGHTS_NAME, False)


def test_a_package_is_described(folder: Path) -> None:
    found = describe_bundle(folder)
    assert (found.family, found.name) == ("sanotts", "wren-stand-in")
    assert found.facts["decoder_channels"] == [16, 8, 4, 2]
    assert found.files[WEIGHTS_NAME] == (folder / WEIGHTS_NAME).stat().st_size
    assert [voice.name for voice in found.voices] == ["wren"]
    json.dumps(found.facts)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"null", "must be a JSON object"),
        (b"[" * 100_000, "nested too deep"),
        (b"{}", "format"),
        (None, "manifest.json is not there"),
    ],
)
def test_a_package_with_a_damaged_manifest_is_still_one(
    folder: Path, content: bytes | None, said: str
) -> None:
    (folder / "manifest.json").unlink()
    if content is not None:
        (folder / "manifest.json").write_bytes(content)
    assert family_of(folder) == "sanotts"
    (check,) = verify_bundle(folder)
    assert not check.good
    assert "manifest.json" in check.detail
    assert said in check.detail
