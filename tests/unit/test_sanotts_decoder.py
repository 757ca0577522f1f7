"""The decoder against the formulas in double precision, and its graph against itself in numpy."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import sanotts_formulas as formulas
from sanotts_package import configs, write_package

from loudr_core.errors import BundleError
from loudr_core.speech.sanotts import decoder_graph
from loudr_core.speech.sanotts.decoder import decode
from loudr_core.speech.sanotts.decoder_graph import GraphDecoder, context_frames, decoder_model
from loudr_core.speech.sanotts.package import Package, open_package

VARIANTS: dict[str, dict[str, Any]] = {
    "whole": {},
    "partial": {"branches": [[0, 2], [1], [2, 0]]},
    "partial of the teacher": {"branches": [[2], [0, 2], [1, 2]], "scale_mode": "teacher"},
    "post filter": {"post_filter": 2},
    "all at once": {"branches": [[1, 2], [0, 1], [2]], "post_filter": 3},
}


def _package(folder: Path, **options: Any) -> tuple[Package, dict[str, Any]]:
    made = configs(singing=False, **options)
    return open_package(write_package(folder, singing=False, components=made)), made["decoder"]


def _latent(frames: int, seed: int = 3) -> Any:
    return np.random.default_rng(seed).standard_normal((24, frames)).astype(np.float32)


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
def test_samples_are_those_of_the_formula(options: dict[str, Any], tmp_path: Path) -> None:
    package, config = _package(tmp_path, **options)
    for frames in (1, 4):
        z = _latent(frames)
        found = decode(z, package.tensors["decoder"], package.decoder)
        assert found.dtype == np.float32
        assert found.shape == (256 * frames,)
        exact = formulas.decoder(z.astype(float), package.tensors["decoder"], config)
        np.testing.assert_allclose(found, exact, atol=1e-5)
        assert np.abs(exact).max() > 0.02


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
def test_the_graph_equals_the_numpy_decoder(options: dict[str, Any], tmp_path: Path) -> None:
    package, _ = _package(tmp_path, **options)
    tensors, config = package.tensors["decoder"], package.decoder
    graph = GraphDecoder(tensors, config, path=tmp_path)
    worst = 0.0
    for frames, seed in itertools.product((1, 2, 7, 40, 173), range(3)):
        z = _latent(frames, seed)
        found, exact = graph.decode(z), decode(z, tensors, config)
        assert found.shape == exact.shape
        worst = max(worst, float(np.abs(found - exact).max()))
    assert worst < 1e-5


@pytest.mark.parametrize(
    ("options", "context"), [({}, 11), ({"post_filter": 2}, 11), ({"branches": [[0]] * 3}, 11)]
)
def test_a_long_row_in_pieces_is_the_same_as_at_once(
    options: dict[str, Any], context: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, _ = _package(tmp_path, **options)
    tensors, config = package.tensors["decoder"], package.decoder
    assert context_frames(config) == context
    graph = GraphDecoder(tensors, config, path=tmp_path)
    for frames in (1, 12, 13, 24, 25, 26, 100):
        z = _latent(frames)
        monkeypatch.setattr(decoder_graph, "PIECE_FRAMES", 12)
        pieces = graph.decode(z)
        monkeypatch.setattr(decoder_graph, "PIECE_FRAMES", 10_000)
        np.testing.assert_allclose(pieces, graph.decode(z), atol=1e-6)
        assert pieces.shape == (256 * frames,)


def test_no_sample_depends_on_frames_beyond_the_context(tmp_path: Path) -> None:
    package, _ = _package(tmp_path, post_filter=2)
    z = _latent(60)
    changed = z.copy()
    changed[:, 30] += 5
    before, after = (
        decode(each, package.tensors["decoder"], package.decoder) for each in (z, changed)
    )
    moved = np.flatnonzero(before != after) // 256
    reach = context_frames(package.decoder)
    assert 30 - reach <= moved.min() < 30 - reach + 2
    assert 30 + reach - 2 < moved.max() <= 30 + reach


def test_the_graph_is_a_valid_model_with_the_weights_inside(tmp_path: Path) -> None:
    package, _ = _package(tmp_path, post_filter=2)
    model = onnx.load_from_string(decoder_model(package.tensors["decoder"], package.decoder))
    onnx.checker.check_model(model, full_check=True)
    names = {each.name for each in model.graph.initializer}
    weights = {name for name in package.tensors["decoder"] if name.endswith(("weight", "bias"))}
    assert weights <= names
    assert decoder_model(package.tensors["decoder"], package.decoder) == (model.SerializeToString())


def test_trap_branches_are_counted_by_place_not_by_number(tmp_path: Path) -> None:
    package, _ = _package(tmp_path, branches=[[2], [0, 2], [1]])
    tensors = package.tensors["decoder"]
    assert tensors["res0.0.blocks.0.conv1.weight"].shape == (8, 8, 7)
    assert tensors["res1.0.blocks.1.conv2.weight"].shape == (4, 4, 7)
    assert tensors["res2.0.blocks.0.conv1.weight"].shape == (2, 2, 5)
    assert "res0.0.blocks.2.conv1.weight" not in tensors


def test_trap_kept_and_teacher_divide_by_other_counts(tmp_path: Path) -> None:
    samples = []
    for mode in ("kept", "teacher"):
        package, _ = _package(tmp_path / mode, branches=[[0], [0], [0]], scale_mode=mode)
        samples.append(decode(_latent(3), package.tensors["decoder"], package.decoder))
    assert not np.allclose(*samples, atol=1e-4)


def test_trap_the_last_slope_is_a_tenth_of_the_others(tmp_path: Path) -> None:
    package, _ = _package(tmp_path)
    tensors = {name: np.zeros_like(a) for name, a in package.tensors["decoder"].items()}
    tensors["up2.bias"][:] = -1.0  # so that -1 reaches the last projection
    tensors["post.weight"][0, 0, 3] = 1.0
    found = decode(_latent(1), tensors, package.decoder)
    np.testing.assert_allclose(found, np.tanh(-0.01), rtol=1e-6)
    graph = GraphDecoder(tensors, package.decoder, path=tmp_path)
    np.testing.assert_allclose(graph.decode(_latent(1)), np.tanh(-0.01), rtol=1e-5)


def test_trap_rank_ratio_has_no_effect(tmp_path: Path) -> None:
    plain, _ = _package(tmp_path / "a")
    made = configs(singing=False)
    del made["decoder"]["rank_ratio"]
    made["decoder"] |= {"fsd_dim": 72, "istft_n_fft": 512, "stage3_branches": [0], "wavehax": 1}
    other = open_package(write_package(tmp_path / "b", singing=False, components=made))
    assert other.decoder == plain.decoder
    assert other.parameters == plain.parameters


def test_trap_the_scale_of_a_post_filter_is_a_quarter_when_its_key_is_missing(
    tmp_path: Path,
) -> None:
    made = configs(singing=False, post_filter=2)
    del made["decoder"]["post_filter_scale"]
    package = open_package(write_package(tmp_path, singing=False, components=made))
    exact = formulas.decoder(
        _latent(2).astype(float),
        package.tensors["decoder"],
        {**made["decoder"], "post_filter_scale": 0.25},
    )
    found = decode(_latent(2), package.tensors["decoder"], package.decoder)
    np.testing.assert_allclose(found, exact, atol=1e-5)


def test_trap_a_frame_is_256_samples_inside_full_scale_though_tanh_is_approximated(
    tmp_path: Path,
) -> None:
    package, _ = _package(tmp_path)
    graph = GraphDecoder(package.tensors["decoder"], package.decoder, path=tmp_path)
    samples = graph.decode(1000 * _latent(5))
    assert samples.shape == (5 * 256,)
    assert np.abs(samples).max() <= 1


def test_a_graph_that_onnxruntime_does_not_take_names_the_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, _ = _package(tmp_path)
    monkeypatch.setattr(
        "loudr_core.speech.sanotts.decoder_graph.decoder_model", lambda *_: b"no model"
    )
    with pytest.raises(BundleError, match=r"weights\.fp16\.bin: the decoder cannot be opened"):
        GraphDecoder(
            package.tensors["decoder"], package.decoder, path=tmp_path / "weights.fp16.bin"
        )
