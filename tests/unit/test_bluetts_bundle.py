import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bluetts import style_of, tables_of, write_bundle, write_npz
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.errors import BundleError
from loudr_core.speech.bluetts.bundle import open_blue_bundle
from loudr_core.speech.bluetts.graphs import open_blue_graphs
from loudr_core.speech.bluetts.pitch import median_pitch_hz
from loudr_core.speech.bluetts.tables import read_dimensions, read_stats, read_unconditional
from loudr_core.speech.bluetts.voices import read_voice, read_voices, voice_info
from loudr_core.speech.bundles import describe_bundle, family_of, verify_bundle
from loudr_core.speech.declared import declared_files
from loudr_core.speech.registry import open_engine


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a whole bundle that no test changes."""
    return write_bundle(tmp_path_factory.mktemp("blue") / "BlueTTS2.5-onnx", manifest=True)


@pytest.fixture
def flawed(tmp_path: Path) -> Callable[[str], Path]:
    return lambda flaw: write_bundle(tmp_path / flaw, flaw=flaw)


def _opened(folder: Path) -> Any:
    return open_engine("bluetts", bundle=folder, phonemizer="none")


def test_files_are_found_at_the_top_and_below_onnx(bundle: Path, tmp_path: Path) -> None:
    below = write_bundle(tmp_path / "b", in_onnx=True)
    assert open_blue_bundle(below).graphs["vocoder"] == below / "onnx" / "vocoder.onnx"
    for part in ("onnx/vocoder.onnx", "voices/anna.json"):
        assert open_blue_bundle(below / part).folder == below
    assert open_blue_bundle(bundle / "vocab.json").folder == bundle
    assert family_of(bundle) == family_of(below) == "bluetts"


@pytest.mark.parametrize(
    "name",
    [
        "text_encoder.onnx", "vector_estimator.onnx", "vocoder.onnx", "vocab.json", "tts.json",
        "duration_predictor_style.onnx", "stats.npz", "uncond.npz",
    ],
)  # fmt: skip
def test_a_missing_file_is_named(name: str, tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "b")
    (folder / name).unlink()
    with pytest.raises(BundleError, match=f"b has no {name}.*: fetch the bundle again") as caught:
        _opened(folder)
    assert caught.value.context == {"path": str(folder), "key": name}


def test_all_missing_files_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"no text_encoder.onnx, .*no vocab.json, .*voices/\*"):
        open_blue_bundle(tmp_path)
    with pytest.raises(BundleError, match=r"no bundle folder .*nowhere"):
        open_blue_bundle(tmp_path / "nowhere")


def test_the_older_name_of_the_duration_predictor_is_known(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "b")
    predictor = folder / "duration_predictor_style.onnx"
    predictor.rename(folder / "duration_predictor.onnx")
    with pytest.raises(BundleError, match="wants reference latents, and the release has no graph"):
        _opened(folder)
    (folder / "duration_predictor.onnx").rename(folder / "length_pred_style.onnx")
    _opened(folder)


def test_trap_the_generation_is_told_by_the_graphs(flawed: Callable[[str], Path]) -> None:
    found = {}
    for flaw in ("", "cfg-inside", "folds-inside"):
        graphs = open_blue_graphs(open_blue_bundle(flawed(flaw)))
        found[flaw] = (graphs.guidance_inside, graphs.folds_inside)
    assert found == {
        "": (False, False), "cfg-inside": (True, False), "folds-inside": (False, True),
    }  # fmt: skip


@pytest.mark.parametrize(("flaw", "unused"), [("cfg-inside", "uncond"), ("folds-inside", "stats")])
def test_a_table_that_is_not_used_may_be_missing(
    flaw: str, unused: str, flawed: Callable[[str], Path]
) -> None:
    folder = flawed(flaw)
    (folder / f"{unused}.npz").unlink()
    _opened(folder)


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        ("z-ref", r"style.onnx: it wants reference latents \(z_ref\)"),
        ("vocoder-80", r"vocoder.onnx: input 'latent' has shape \[1, 80, any\], expected \[1, 24,"),
        ("no-style", r"inputs are \[text_ids, text_mask\]; a BlueTTS text encoder needs \[text_id"),
        ("int-step", r"input 'current_step' is tensor\(int64\), expected tensor\(float\)"),
        ("batch", r"'text_ids' has shape \[1, 12\], expected \[1, any\]"),
        ("small-table", "vocab.json has ids up to 190, text_encoder.onnx knows 100"),
    ],
)
def test_a_graph_that_does_not_fit_is_refused(
    flaw: str, said: str, flawed: Callable[[str], Path]
) -> None:
    with pytest.raises(BundleError, match=said) as caught:
        _opened(flawed(flaw))
    assert "\n" not in caught.value.message
    assert caught.value.context["path"]


def test_trap_stats_of_another_export_are_noticed_by_the_manifest(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "b", manifest=True)
    stats, _ = tables_of()
    write_npz(folder / "stats.npz", {**stats, "std": stats["std"] * 2})
    with pytest.raises(BundleError, match=r"stats.npz has SHA-256 .*of another export") as caught:
        _opened(folder)
    assert caught.value.context["key"] == "stats.npz"
    states = {check.what: check.good for check in verify_bundle(folder)}
    assert states["manifest.json"] is False
    (folder / "manifest.json").unlink()
    _opened(folder)  # nothing tells


@pytest.mark.parametrize("layout", ["flat", "list", "paths"])
def test_digests_are_found_wherever_a_manifest_has_them(layout: str, tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "b")
    sha = "0123456789ABCDEF" * 4
    document: dict[str, Any] = {
        "flat": {"sha256": {"stats.npz": sha}},
        "list": {"files": [{"path": "onnx/stats.npz", "sha256": sha}, 7]},
        "paths": {"files": {"onnx/stats.npz": {"sha256": sha, "bytes": 7}}, "a": {"other.pt": sha}},
    }[layout]
    (folder / "manifest.json").write_text(json.dumps(document))
    found = open_blue_bundle(folder)
    assert found.declared == {"stats.npz": sha.lower()}
    with pytest.raises(BundleError, match="another export"):
        found.check_manifest()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"std": None}, "array 'std' is missing; there are mean, normalizer_scale"),
        ({"mean": np.zeros((1, 128, 1), np.float32)}, r"'mean' is float32 \[1, 128, 1\], expected"),
        ({"mean": np.full((1, 144, 1), np.nan, np.float32)}, "'mean' is not finite"),
        ({"mean": np.full((1, 144, 1), 1e300)}, "'mean' is not finite"),
        ({"std": np.zeros((1, 144, 1), np.float32)}, "'std' is not above 0 everywhere"),
        ({"normalizer_scale": np.float32(0)}, "'normalizer_scale' is 0, expected a number above 0"),
        ({"normalizer_scale": np.ones(3)}, r"'normalizer_scale' is no number: shape \[3\]"),
        ({"normalizer_scale": np.array("x")}, "'normalizer_scale' is no number"),
    ],
)
def test_trap_stats_are_checked(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    stats, _ = tables_of()
    arrays = {name: each for name, each in {**stats, **change}.items() if each is not None}
    write_npz(tmp_path / "stats.npz", arrays)
    with pytest.raises(BundleError, match=said):
        read_stats(tmp_path / "stats.npz")


def test_the_scale_of_the_stats_wins_and_a_missing_one_is_told_of(tmp_path: Path) -> None:
    stats, _ = tables_of()
    path = tmp_path / "stats.npz"
    write_npz(path, {**stats, "normalizer_scale": np.float32(0.5)})
    found = read_stats(path, configured_scale=0.25)
    assert found.scale == 0.5
    assert found.findings[0].message == (
        "normalizer_scale is 0.5, tts.json has 0.25: the former is believed."
    )
    write_npz(path, {"mean": stats["mean"], "std": stats["std"]})
    assert read_stats(path, configured_scale=0.3).scale == 0.3
    assert [each.code for each in read_stats(path).findings] == ["bundle-normalizer-scale"]


@pytest.mark.parametrize("content", [b"", b"no zip at all", b"PK\x03\x04broken"])
def test_a_damaged_table_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "stats.npz").write_bytes(content)
    with pytest.raises(BundleError, match="is no npz file"):
        read_stats(tmp_path / "stats.npz")
    with pytest.raises(BundleError, match="cannot be read"):
        read_stats(tmp_path / "other.npz")
    np.save(tmp_path / "one.npy", np.zeros(3))
    with pytest.raises(BundleError, match="is no npz file"):
        read_stats(tmp_path / "one.npy")


def test_the_unconditional_embeddings_are_checked(tmp_path: Path) -> None:
    _, arrays = tables_of()
    write_npz(tmp_path / "uncond.npz", {"u_text": arrays["u_text"]})
    with pytest.raises(BundleError, match="'u_ref' is missing; there are u_text"):
        read_unconditional(tmp_path / "uncond.npz")
    write_npz(tmp_path / "uncond.npz", {**arrays, "u_text": np.zeros((1, 256, 7), np.float32)})
    with pytest.raises(BundleError, match=r"u_text' is float32 \[1, 256, 7\], expected"):
        read_unconditional(tmp_path / "uncond.npz")


@pytest.mark.parametrize(
    ("section", "key", "value", "said"),
    [
        ("ae", "sample_rate", 24000, "'ae.sample_rate' must be 44100, found 24000"),
        ("ttl", "latent_dim", 32, "'ttl.latent_dim' must be 24, found 32: another model"),
        ("ttl", "chunk_compress_factor", None, "compress_factor' is missing, expected 6"),
    ],
)
def test_other_dimensions_are_refused(
    section: str, key: str, value: object, said: str, bundle: Path, tmp_path: Path
) -> None:
    document = json.loads((bundle / "tts.json").read_text())
    document[section][key] = value
    if value is None:
        del document[section][key]
    (tmp_path / "tts.json").write_text(json.dumps(document))
    with pytest.raises(BundleError, match=said):
        read_dimensions(tmp_path / "tts.json")
    assert read_dimensions(bundle / "tts.json") == 0.25


def _voice(tmp_path: Path, **changes: Any) -> Path:
    document = {**style_of(3), **changes}
    path = tmp_path / "eva.json"
    path.write_text(json.dumps(document))
    return path


def test_a_voice_is_read_nested_or_flat(tmp_path: Path) -> None:
    nested = read_voice(_voice(tmp_path))
    style = style_of(3)["style_ttl"]
    flat = np.asarray(style["data"]).reshape(-1).tolist()
    again = read_voice(_voice(tmp_path, style_ttl={"data": flat, "dims": [1, 50, 256]}))
    np.testing.assert_array_equal(nested.style, again.style)
    assert nested.style.shape == (1, 50, 256)
    assert nested.pace.shape == (1, 8, 16)
    assert nested.sha256 != again.sha256


@pytest.mark.parametrize(
    ("data", "dims", "said"),
    [
        ([0.5, -0.5] * 6400, [1, 50, 256], "deviation of 0.50, expected below 0.3: it is a style"),
        ([0.0] * 12799, [1, 50, 256], "holds 12799 numbers, dims ask 12800"),
        ([0.0] * 12800, [50, 256], r"dims' must be \[1, 50, 256\], found \[50, 256\]"),
        ([float("nan")] * 12800, [1, 50, 256], "data' is not finite"),
        ([[0.0], [0.0, 1.0]], [1, 50, 256], "must be nested lists of numbers of even lengths"),
        ([1e300] * 12800, [1, 50, 256], "data' is not finite"),
        ([10**400] * 12800, [1, 50, 256], "must be nested lists of numbers"),
        (["0.0"] * 12800, [1, 50, 256], "must be nested lists of numbers"),
        ([{}], [1, 50, 256], "must be nested lists of numbers"),
        ([], [1, 50, 256], "holds 0 numbers, dims ask 12800"),
        ("zero", [1, 50, 256], "must be a list, found 'zero'"),
    ],
)
def test_trap_a_style_of_another_checkpoint_is_refused(
    data: object, dims: list[int], said: str, tmp_path: Path
) -> None:
    with pytest.raises(BundleError, match=said) as caught:
        read_voice(_voice(tmp_path, style_ttl={"data": data, "dims": dims}))
    assert "eva.json" in caught.value.message


def test_the_voice_of_unclear_rights_is_never_the_default(tmp_path: Path) -> None:
    names = ("female", "anna", "libri_male_6209", "libri_female_1088")
    folder = write_bundle(tmp_path / "b", voices=names)
    voices = read_voices(open_blue_bundle(folder).voices)
    assert list(voices) == ["libri_male_6209", "anna", "libri_female_1088", "female"]
    infos = list(map(voice_info, voices.values()))
    assert "CC BY 4.0" in infos[0].licence
    assert "check the rights" in infos[3].licence


def test_a_bundle_is_described(bundle: Path) -> None:
    found = describe_bundle(bundle)
    assert (found.family, found.name) == ("bluetts", "BlueTTS2.5-onnx")
    assert found.facts["guidance"] == "two runs a step"
    assert found.facts["language_speeds"] == {"it": 0.7}
    assert found.files["stats.npz"] == (bundle / "stats.npz").stat().st_size
    assert [voice.name for voice in found.voices] == ["anna", "bruno"]
    assert [finding.code for finding in found.findings] == ["bundle-no-licence"]


def test_a_bundle_is_verified(bundle: Path) -> None:
    checks = list(verify_bundle(bundle))
    assert all(check.good for check in checks)
    assert {"files", "manifest.json", "model", "trial, anna", "trial, bruno"} <= {
        check.what for check in checks if check.state == "ok"
    }
    official = [check for check in verify_bundle(bundle, official=True) if not check.good]
    known = [file.path for file in declared_files("bluetts") if file.sha256]
    assert [check.what for check in official] == known
    assert len(known) == 8


@pytest.mark.parametrize("flaw", ["nan", "short-audio", "endless", "vocoder-80"])
def test_verify_tells_what_is_wrong(flaw: str, flawed: Callable[[str], Path]) -> None:
    assert any(not check.good for check in verify_bundle(flawed(flaw)))


def test_trap_a_known_voice_at_another_pitch_is_noticed(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "b", voices=["libri_male_8088"])
    (check,) = (each for each in verify_bundle(folder) if each.what.startswith("trial"))
    assert not check.good
    assert "documented are 112 Hz" in check.detail


@pytest.mark.parametrize("wanted", [70.0, 112.0, 204.0, 390.0])
def test_the_pitch_is_measured(wanted: float) -> None:
    time = np.arange(44_100) / 44_100
    voice = sum(np.sin(2 * np.pi * wanted * each * time) / each for each in (1, 2, 3, 4))
    found = median_pitch_hz(np.asarray(0.2 * voice, np.float32), 44_100)
    assert found == pytest.approx(wanted, rel=0.03)
    assert median_pitch_hz(np.zeros(44_100, np.float32), 44_100) is None
    noise = np.random.Generator(np.random.PCG64(1)).standard_normal(44_100)
    assert median_pitch_hz((0.2 * noise).astype(np.float32), 44_100) is None


@settings(max_examples=150, deadline=None)
@given(place=st.integers(0, 1859), value=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_byte_is_a_bundle_error_or_no_matter(
    place: int, value: int, cut: bool, bundle: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = bytearray((bundle / "stats.npz").read_bytes())
    content[place] = value
    path = tmp_path_factory.getbasetemp() / "damaged-stats.npz"
    path.write_bytes(content[:place] if cut else content)
    try:
        stats = read_stats(path)
    except BundleError as error:
        assert "\n" not in error.message
        assert str(path) in error.message
    else:
        assert np.isfinite(stats.mean).all()
        assert stats.scale > 0


@pytest.mark.parametrize("kind", ["dangling", "folder", "pipe"])
def test_a_voice_that_is_no_file_is_named_and_not_passed_over(kind: str, tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "b")
    voice = folder / "voices" / "anna.json"
    voice.unlink()
    if kind == "dangling":
        voice.symlink_to("nowhere.json")
    elif kind == "folder":
        voice.mkdir()
    else:
        os.mkfifo(voice)
    with pytest.raises(BundleError, match=r"anna\.json is no file, or a link to none") as caught:
        open_blue_bundle(folder)
    assert caught.value.context == {"path": str(voice), "key": "anna.json"}
    (check,) = verify_bundle(folder)
    assert not check.good
    assert "anna.json is no file" in check.detail


@pytest.mark.parametrize("engine", ["koko", "sanotts", "loudr1"])
def test_a_bundle_of_another_engine_is_told_by_its_own(engine: str, bundle: Path) -> None:
    with pytest.raises(BundleError) as caught:
        open_engine(engine, bundle=bundle)
    said = f"{bundle} is a bundle of engine 'bluetts', not of '{engine}': "
    assert caught.value.message.startswith(said)
    assert caught.value.context["path"]
