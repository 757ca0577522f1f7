"""Opening a bundle: for each rule of sections 3 and 5 a broken bundle gets the named error."""

import hashlib
import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loudr_core.errors import BundleError, ConfigError
from loudr_core.speech.loudr1.bundle import open_bundle
from loudr_core.speech.loudr1.checkpoint import choose_checkpoint, read_manifest
from loudr_core.speech.loudr1.container import read_header

_spec = importlib.util.spec_from_file_location(
    "minimal_loudr1", Path(__file__).parents[1] / "bundle" / "minimal_loudr1.py"
)
assert _spec and _spec.loader
minimal = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(minimal)

ABSENT = minimal.ABSENT
TENSORS: dict[str, tuple[str, list[int]]] = minimal.TENSORS


@pytest.fixture
def bundle(tmp_path: Path) -> Iterator[Path]:
    folder: Path = minimal.write_minimal(tmp_path / "bundle")
    yield folder
    # Holes in files are cheap, copies of them by a later clean-up are not.
    for each in folder.glob("*.safetensors"):
        each.unlink()


def rewrite(folder: Path, **changes: Any) -> None:
    """Write the checkpoint again with other manifest keys; the export record goes."""
    path = next(folder.glob("loudr-1*.safetensors"))
    manifest, _ = read_manifest(path)
    minimal.write_checkpoint(path, minimal.changed(manifest, changes))
    (folder / "onnx" / "export.json").unlink(missing_ok=True)


def test_a_whole_bundle_opens(bundle: Path) -> None:
    opened = open_bundle(bundle)
    assert opened.checkpoint == bundle / "loudr-1.safetensors"
    assert opened.folder == bundle
    assert opened.fingerprint == "7cd75498ad4e7531"
    assert opened.checkpoint_sha256 == hashlib.sha256(opened.checkpoint.read_bytes()).hexdigest()
    assert tuple(opened.graphs) == minimal.GRAPHS
    assert all(path.is_file() for path in opened.graphs.values())
    assert not opened.enrolment_graphs
    assert opened.findings == ()
    assert opened.manifest["name"] == "minimal"
    assert opened.tokenizer_json() == minimal.TOKENIZER
    assert opened.voice_names() == ("ada", "basia")
    assert opened.voice("basia").language == "pl"


def test_a_turbo_bundle_opens_with_its_graphs_and_tables(tmp_path: Path) -> None:
    opened = open_bundle(minimal.write_minimal(tmp_path / "t", turbo=True))
    assert opened.fingerprint == "e5303ba243087222"
    assert opened.algorithm.decode_mode == "fusion_mtp2"
    assert tuple(opened.graphs) == minimal.TURBO_GRAPHS
    weights = opened.weights()
    assert weights.fuse0_weight is not None
    assert weights.fuse0_weight.shape == (1024, 2048)


def test_tables_become_float32_and_read_only(tmp_path: Path) -> None:
    folder = minimal.write_minimal(tmp_path / "b")
    path = folder / "loudr-1.safetensors"
    header = read_header(path)
    entry = header.tensors["t3.text_emb.weight"]
    values = np.array([1.5, -65504, 5.96e-08], np.float16)
    with path.open("r+b") as file:
        file.seek(header.payload + entry.start)
        file.write(values.tobytes())
    (folder / "onnx" / "export.json").unlink()
    weights = open_bundle(folder).weights()
    assert weights.text_emb.dtype == np.float32
    assert weights.text_emb[0, :3].tolist() == values.astype(np.float64).tolist()
    assert weights.fuse0_weight is None
    with pytest.raises(ValueError, match="read-only"):
        weights.text_emb[0, 0] = 1


def test_a_table_with_nan_is_refused_when_it_is_read(bundle: Path) -> None:
    path = bundle / "loudr-1.safetensors"
    header = read_header(path)
    with path.open("r+b") as file:
        file.seek(header.payload + header.tensors["t3.speech_emb.weight"].end - 2)
        file.write(np.float16("nan").tobytes())
    (bundle / "onnx" / "export.json").unlink()
    with pytest.raises(BundleError, match="NaN or infinity") as refused:
        open_bundle(bundle).weights()
    assert refused.value.context["key"] == "t3.speech_emb.weight"


def test_enrolment_graphs_are_those_that_are_there(bundle: Path) -> None:
    for name in ("s3_tokenizer", "camp"):
        (bundle / "onnx" / f"{name}.onnx").write_bytes(b"x")
    assert list(open_bundle(bundle).enrolment_graphs) == ["s3_tokenizer", "camp"]


def test_graphs_may_lie_elsewhere(bundle: Path, tmp_path: Path) -> None:
    elsewhere = (bundle / "onnx").rename(tmp_path / "graphs")
    opened = open_bundle(bundle, graphs=elsewhere)
    assert opened.graphs["vocoder"] == elsewhere / "vocoder.onnx"
    incomplete = tmp_path / "incomplete"
    incomplete.mkdir()
    with pytest.raises(BundleError, match="incomplete"):
        open_bundle(bundle, graphs=incomplete)
    elsewhere.rename(bundle / "onnx")
    assert open_bundle(bundle, graphs=incomplete).graphs["vocoder"].parent == bundle / "onnx"


def test_a_tokenizer_inside_the_checkpoint_comes_first(tmp_path: Path) -> None:
    folder = minimal.write_minimal(tmp_path / "b")
    path = folder / "loudr-1.safetensors"
    manifest, _ = read_manifest(path)
    tensors = {**TENSORS, "assets.tokenizer.json": ("U8", [5])}
    minimal.write_checkpoint(path, manifest, tensors)
    (folder / "onnx" / "export.json").unlink()
    (folder / "tokenizer.json").unlink()
    assert open_bundle(folder).tokenizer_json() == bytes(5)
    minimal.write_checkpoint(path, manifest, {**TENSORS, "assets.tokenizer.json": ("F16", [5])})
    with pytest.raises(BundleError, match="expected the bytes of a file"):
        open_bundle(folder)


def test_a_missing_export_record_is_a_finding(bundle: Path) -> None:
    (bundle / "onnx" / "export.json").unlink()
    (finding,) = open_bundle(bundle).findings
    assert (finding.code, finding.severity) == ("bundle-no-export-record", "warning")


def test_the_mirror_of_the_manifest_is_not_read(bundle: Path) -> None:
    (bundle / "manifest.json").write_text("{")
    open_bundle(bundle)


def drop_tensor(name: str) -> Callable[[Path], object]:
    def break_(folder: Path) -> None:
        path = folder / "loudr-1.safetensors"
        manifest, _ = read_manifest(path)
        minimal.write_checkpoint(
            path, manifest, {key: value for key, value in TENSORS.items() if key != name}
        )

    return break_


def other_tensor(name: str, dtype: str, shape: list[int]) -> Callable[[Path], object]:
    def break_(folder: Path) -> None:
        path = folder / "loudr-1.safetensors"
        manifest, _ = read_manifest(path)
        minimal.write_checkpoint(path, manifest, {**TENSORS, name: (dtype, shape)})

    return break_


def truncate(folder: Path) -> None:
    path = folder / "loudr-1.safetensors"
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 1000)


def manifest_text(text: str | None) -> Callable[[Path], object]:
    return lambda folder: minimal.write_checkpoint(folder / "loudr-1.safetensors", text)


def record(**values: Any) -> Callable[[Path], object]:
    def break_(folder: Path) -> None:
        path = folder / "onnx" / "export.json"
        content = json.loads(path.read_text())
        for entry in content["graphs"].values():
            entry.update(values)
        path.write_text(json.dumps(content))

    return break_


def estimators_disagree(folder: Path) -> None:
    path = folder / "loudr-1.safetensors"
    manifest, _ = read_manifest(path)
    manifest["sources"] = {"flow": {"role": "estimator", "sha256": "a" * 64}}
    minimal.write_checkpoint(path, manifest)
    minimal.write_export_record(folder / "onnx", path, manifest)
    record(estimator_sha256="b" * 64)(folder)


def change(**changes: Any) -> Callable[[Path], object]:
    return lambda folder: rewrite(folder, **changes)


WINDOW = minimal.MANIFEST["window"]
BROKEN: dict[str, tuple[Callable[[Path], object], str, str]] = {
    # name: what breaks the folder, the context's key, a part of the line
    "truncated": (truncate, "", "cut short: 1000 bytes"),
    "no manifest": (manifest_text(None), "manifest", "no manifest in its header"),
    "manifest no JSON": (manifest_text("{"), "", "manifest is not JSON"),
    "manifest a list": (manifest_text("[]"), "", "manifest must be a JSON object"),
    "manifest deep": (manifest_text("[" * 99999), "", "nested too deep"),
    "format": (change(format="x"), "format", "found 'x'"),
    "version": (change(format_version=3), "format_version", "is 3"),
    "recipe": (change(recipe_version="loudkit-2"), "recipe_version", "'loudkit-1'"),
    "fused under version 1": (
        change(decode={"mode": "fusion_mtp2"}),
        "format_version",
        "must be 2",
    ),
    "role": (change(artifact_role="enrollment"), "artifact_role", "'enrollment'"),
    "temperature": (
        change(sampling_defaults={"temperature": 9}),
        "sampling_defaults.temperature",
        "found 9",
    ),
    "window": (change(window={**WINDOW, "static_prompt_tokens": 100}), "window", "238"),
    "ragged window": (change(window=None), "window", "static"),
    "guidance": (change(guidance="cfg_dual_path", guidance_rate=1), "guidance", "single_path"),
    "rates": (change(token_rate_hz=12.5), "token_rate_hz", "25.0"),
    "silence id": (change(silence_token_ids=[9999]), "silence_token_ids", "8193"),
    "tokenizer absent": (lambda folder: (folder / "tokenizer.json").unlink(), "", "tokenizer.json"),
    "tokenizer another": (
        lambda folder: (folder / "tokenizer.json").write_text("{}"),
        "tokenizer_sha256",
        "the checkpoint wants",
    ),
    "tokenizer digest type": (change(tokenizer_sha256=5), "tokenizer_sha256", "found 5"),
    "table absent": (drop_tensor("t3.text_emb.weight"), "t3.text_emb.weight", "has no tensor"),
    "bias absent": (
        drop_tensor("s3gen.flow.spk_embed_affine_layer.bias"),
        "s3gen.flow.spk_embed_affine_layer.bias",
        "has no tensor",
    ),
    "table shape": (
        other_tensor("t3.text_emb.weight", "F16", [2454, 1025]),
        "t3.text_emb.weight",
        "(2454, 1024)",
    ),
    "table type": (
        other_tensor("t3.text_emb.weight", "U8", [2454, 1024]),
        "t3.text_emb.weight",
        "F16 or F32",
    ),
    "fused tables absent": (
        change(format_version=2, decode={"mode": "fusion_mtp2"}),
        "t3.fuse.0.weight",
        "fusion_mtp2",
    ),
    "graph absent": (
        lambda folder: (folder / "onnx" / "t3_step.onnx").unlink(),
        "t3_step",
        "lacks t3_step.onnx",
    ),
    "record no JSON": (
        lambda folder: (folder / "onnx" / "export.json").write_text("{"),
        "",
        "export record is not JSON",
    ),
    "record of another checkpoint": (
        record(checkpoint_sha256="0" * 64),
        "checkpoint_sha256",
        "0" * 64,
    ),
    "record of another algorithm": (
        record(algorithm_fingerprint="0" * 16),
        "algorithm_fingerprint",
        "7cd75498ad4e7531",
    ),
    "record of other steps": (record(euler_steps=1), "euler_steps", "is 1"),
    "record of another estimator": (estimators_disagree, "estimator_sha256", "b" * 64),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_bundle_gets_the_named_error(bundle: Path, name: str) -> None:
    break_, key, part = BROKEN[name]
    break_(bundle)
    with pytest.raises(BundleError) as refused:
        open_bundle(bundle)
    error = refused.value
    assert error.context.get("key", "") == key
    assert str(error.context["path"]).startswith(str(bundle))
    assert part in error.message
    assert "\n" not in error.message


def role(path: Path, name: str | None, version: int = 1) -> None:
    manifest = {"format": "loudkit-checkpoint", "format_version": version}
    minimal.write_checkpoint(
        path, manifest if name is None else {**manifest, "artifact_role": name}, {}
    )


CHOICES: list[tuple[dict[str, str | None], str]] = [
    ({"loudr-1": None}, "loudr-1"),
    ({"loudr-1-turbo": "synthesis", "other": "synthesis"}, "loudr-1-turbo"),
    ({"loudr-1": "junk"}, "loudr-1"),
    ({"loudr-1": "synthesis", "loudr-1-turbo": "synthesis"}, "2 checkpoints"),
    ({"loudr-1": "enrollment"}, "'artifact_role'"),
    ({"loudr-1": "other"}, "'artifact_role'"),
    ({"mine": None}, "mine"),
    ({"mine": None, "yours": None}, "2 checkpoints"),
    ({"mine": "synthesis", "yours": None}, "mine"),
    ({"mine": "enrollment", "yours": None}, "yours"),
    ({"mine": "enrollment"}, "no synthesis checkpoint"),
    ({"mine": "junk"}, "mine"),
    ({"mine": "junk", "yours": "synthesis"}, "yours"),
    ({"mine": "other", "yours": None}, "2 checkpoints"),
    ({"ve": None}, "no synthesis checkpoint"),
    ({".mine": None}, "no synthesis checkpoint"),
    ({"sub/mine": None}, "no synthesis checkpoint"),
    ({}, "no synthesis checkpoint"),
]


@pytest.mark.parametrize(("files", "wanted"), CHOICES, ids=str)
def test_which_checkpoint_of_a_folder(
    tmp_path: Path, files: dict[str, str | None], wanted: str
) -> None:
    (tmp_path / "sub").mkdir()
    for name, kind in files.items():
        path = tmp_path / f"{name}.safetensors"
        if kind == "junk":
            path.write_bytes(b"junk")
        else:
            role(path, kind)
    if wanted in files:
        assert choose_checkpoint(tmp_path) == tmp_path / f"{wanted}.safetensors"
    else:
        with pytest.raises(BundleError, match=wanted):
            choose_checkpoint(tmp_path)


def test_a_file_may_be_named_and_must_be_for_synthesis(tmp_path: Path) -> None:
    path = tmp_path / "any.safetensors"
    role(path, None)
    assert choose_checkpoint(path) == path
    role(path, "enrollment")
    with pytest.raises(BundleError, match="'artifact_role'"):
        choose_checkpoint(path)


@pytest.mark.parametrize("name", ["nowhere", "x" * 300, "a\0b"])
def test_nothing_there_is_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(BundleError) as refused:
        open_bundle(tmp_path / name)
    assert "\n" not in refused.value.message


@pytest.mark.parametrize("name", ["", ".", "..", "../ada", "ada/", "/ada", "a\\b", "ada\0", "Ada"])
def test_names_that_are_no_voice(bundle: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="no voice") as refused:
        open_bundle(bundle).voice(name)
    assert refused.value.context == {"voice": name}


def test_a_voice_that_is_not_there_has_a_suggestion(bundle: Path) -> None:
    opened = open_bundle(bundle)
    with pytest.raises(ConfigError, match="did you mean 'basia'"):
        opened.voice("basja")
    with pytest.raises(ConfigError, match="there are ada, basia"):
        opened.voice("zzz")
    with pytest.raises(ConfigError, match="there are"):
        opened.voice("x" * 100_000)
    (bundle / "voices" / ".hidden.safetensors").write_bytes(b"x")
    (bundle / "voices" / "notes.txt").write_bytes(b"x")
    assert opened.voice_names() == ("ada", "basia")
    for each in (bundle / "voices").iterdir():
        each.unlink()
    with pytest.raises(ConfigError, match="has no voice profile"):
        opened.voice("ada")
    (bundle / "voices").rmdir()
    assert opened.voice_names() == ()


def test_a_damaged_voice_is_named(bundle: Path) -> None:
    (bundle / "voices" / "ada.safetensors").write_bytes(b"damaged")
    with pytest.raises(BundleError, match=r"ada\.safetensors"):
        open_bundle(bundle).voice("ada")


@pytest.mark.parametrize("name", [None, 5, b"ada", ["ada"]])
def test_a_voices_name_is_text(bundle: Path, name: Any) -> None:
    with pytest.raises(ValueError, match=f"by its name, found a {type(name).__name__}$"):
        open_bundle(bundle).voice(name)


def test_a_voice_may_not_be_a_link_out_of_the_bundle(bundle: Path, tmp_path: Path) -> None:
    outside = tmp_path / "mine.safetensors"
    (bundle / "voices" / "ada.safetensors").rename(outside)
    (bundle / "voices" / "ada.safetensors").symlink_to(outside)
    with pytest.raises(BundleError, match="leads out of the bundle"):
        open_bundle(bundle).voice("ada")
    (bundle / "voices" / "link.safetensors").symlink_to("basia.safetensors")
    assert open_bundle(bundle).voice("link").name == "basia"


def test_a_hub_cache_is_a_release_too(tmp_path: Path) -> None:
    """A hub keeps a release as links in `snapshots` to files in `blobs`."""
    root = tmp_path / "models--loudreader--loudr-1"
    snapshot = minimal.write_minimal(root / "snapshots" / "abc")
    blobs = root / "blobs"
    blobs.mkdir()
    for number, path in enumerate(each for each in snapshot.rglob("*") if each.is_file()):
        path.rename(blobs / str(number))
        path.symlink_to(blobs / str(number))
    opened = open_bundle(snapshot)
    assert opened.folder == snapshot
    assert opened.voice("ada").name == "ada"
