"""Root A beside the reference package `sanotts`, on the same stand-in packages, as both run.

The reference numbers the tensors of a partial bank by the branch, and not by its place as released
weights do; for those packages it is given the same tensors under its own names.
Of packages it reads float16 only, and phonemes of espeak only.
"""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sanotts_package import configs, phoneme_config, write_package

from loudr_core.speech.json_values import Section
from loudr_core.speech.sanotts.configs import read_decoder
from loudr_core.speech.sanotts.decoder import decode
from loudr_core.speech.sanotts.decoder_graph import GraphDecoder
from loudr_core.speech.sanotts.package import Package, open_package
from loudr_core.speech.sanotts.students import durations, latent
from loudr_core.speech.sanotts.voice import RootA

reference = pytest.importorskip("sanotts.models", reason="the package sanotts is not installed")

VARIANTS: dict[str, dict[str, Any]] = {
    "whole": {},
    "partial": {"branches": [[0, 2], [1], [1, 2]]},
    "one branch": {"branches": [[2], [0], [1]]},
    "post filter": {"post_filter": 2},
    "partial with post filter": {"branches": [[1, 2], [0, 1], [2]], "post_filter": 3},
}
LATENT_TOLERANCE = 5e-6
SAMPLE_TOLERANCE = 1e-5
ROWS_EACH = 24


def _rows(vocabulary: int) -> list[Any]:
    rng = np.random.default_rng(11)
    lengths = [1, 2, 3, 5, 7, 121, 200, *rng.integers(4, 90, ROWS_EACH - 7)]
    return [rng.integers(0, vocabulary, length) for length in lengths]


def _by_branch(tensors: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    renamed = {name: array for name, array in tensors.items() if not name.startswith("res")}
    for stage in range(3):
        kept = config[f"stage{stage}_branches"]
        for place, part, kind in itertools.product(
            range(len(kept)), ("conv1", "conv2"), ("weight", "bias")
        ):
            prefix = f"res{stage}.0.blocks"
            name = f"{prefix}.{kept[place]}.{part}.{kind}"
            renamed[name] = tensors[f"{prefix}.{place}.{part}.{kind}"]
    return renamed


def _scalars(tensors: dict[str, Any]) -> dict[str, Any]:
    """Return the tensors with scalars as released packages have them, one number in a row."""
    return {name: np.atleast_1d(array) for name, array in tensors.items()}


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
def test_every_stage_gives_what_the_reference_gives(
    options: dict[str, Any], tmp_path: Path
) -> None:
    made = configs(singing=False, **options)
    package = open_package(write_package(tmp_path, singing=False, components=made))
    theirs = {name: _scalars(dict(package.tensors[name])) for name in made}
    theirs["decoder"] = _by_branch(theirs["decoder"], made["decoder"])
    graph = GraphDecoder(package.tensors["decoder"], package.decoder, path=tmp_path)
    rng = np.random.default_rng(5)
    for row in _rows(20):
        scale = float(rng.choice([0.5, 1.0, 1.08, 1.16, 2.0]))
        ours = durations(row, package.tensors["duration"], package.duration, length_scale=scale)
        wanted = reference.duration_forward(
            theirs["duration"], made["duration"], row, length_scale=scale
        )
        assert np.array_equal(ours, wanted)
        z = latent(row, ours, package.tensors["acoustic"], package.acoustic)
        wanted_z = reference.acoustic_forward(theirs["acoustic"], made["acoustic"], row, wanted)
        np.testing.assert_allclose(z, wanted_z, atol=LATENT_TOLERANCE)
        samples = graph.decode(z)
        wanted_w = reference.decoder_forward(theirs["decoder"], made["decoder"], wanted_z)
        np.testing.assert_allclose(samples, wanted_w, atol=SAMPLE_TOLERANCE)


def test_the_reference_divides_by_the_kept_branches_whatever_the_mode(tmp_path: Path) -> None:
    # The specification has the teacher's three there, and so has loudr.
    made = configs(singing=False, branches=[[0], [0, 1], [0]], scale_mode="teacher")
    tensors = open_package(write_package(tmp_path, singing=False, components=made)).tensors
    z = np.random.default_rng(2).standard_normal((24, 9)).astype(np.float32)
    config = made["decoder"]
    found = reference.decoder_forward(dict(tensors["decoder"]), config, z)
    kept = read_decoder(Section({**config, "res_bank_scale_mode": "kept"}))
    np.testing.assert_allclose(decode(z, tensors["decoder"], kept), found, atol=SAMPLE_TOLERANCE)
    ours = decode(z, tensors["decoder"], read_decoder(Section(config)))
    assert not np.allclose(ours, found, atol=0.01)


def _opened_by_reference(folder: Path) -> Any:
    import sanotts

    return sanotts.Synthesizer(voice_dir=str(folder), piperlite_g2p="espeak")


def test_the_reference_opens_the_same_package_and_reads_the_same_weights(tmp_path: Path) -> None:
    folder = write_package(tmp_path, seed=4, phonemes=phoneme_config(phoneme_type="espeak"))
    theirs, ours = _opened_by_reference(folder), open_package(folder)
    for name in ("duration", "acoustic", "decoder"):
        tensors = getattr(theirs, f"_{name}_tensors")
        assert set(tensors) == set(ours.tensors[name])
        for key, array in tensors.items():
            assert np.array_equal(np.squeeze(array), np.squeeze(ours.tensors[name][key])), key


def test_whole_rows_of_the_singing_voice_are_the_references(tmp_path: Path) -> None:
    phonemes = phoneme_config(phoneme_type=None)
    folder = write_package(tmp_path, length_scale=1.08, phonemes=phonemes)
    theirs = _opened_by_reference(folder)
    package = open_package(folder)
    voice = RootA(package)
    for row in _rows(package.vocabulary)[:20]:
        frames = reference.duration_forward(
            theirs._duration_tensors, theirs._duration_config, row, length_scale=1.08
        )
        z = reference.acoustic_forward(
            theirs._acoustic_tensors, theirs._acoustic_config, row, frames
        )
        wanted = reference.decoder_forward(theirs._decoder_tensors, theirs._decoder_config, z)
        found = voice.render(row)
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, atol=SAMPLE_TOLERANCE)


@pytest.mark.slow
def test_a_package_of_released_size_gives_what_the_reference_gives(tmp_path: Path) -> None:
    made = configs(singing=False, vocabulary=142)
    made["duration"] |= {"hidden": 64, "depth": 3}
    made["acoustic"] |= {"hidden": 96, "depth": 4, "token_depth": 3, "out_channels": 192}
    made["decoder"] |= {"in_channels": 192, "channels": [160, 80, 40, 20]}
    folder = write_package(
        tmp_path, singing=False, components=made, changes={"package_name": "de-thorsten-1p57m"}
    )
    package: Package = open_package(folder)
    counts = {name: sum(a.size for a in group.values()) for name, group in package.tensors.items()}
    assert counts == {"duration": 136_772, "acoustic": 697_831, "decoder": 730_721}
    assert {name: len(group) for name, group in package.tensors.items()} == {
        "duration": 20, "acoustic": 42, "decoder": 46,
    }  # fmt: skip
    assert (folder / "weights.fp16.bin").stat().st_size == 3_130_648
    voice = RootA(package)
    for row in _rows(142)[:7:2]:
        frames = reference.duration_forward(
            _scalars(dict(package.tensors["duration"])), made["duration"], row, length_scale=1.0
        )
        assert np.array_equal(voice.durations(row), frames)
        z = reference.acoustic_forward(
            _scalars(dict(package.tensors["acoustic"])), made["acoustic"], row, frames
        )
        wanted = reference.decoder_forward(dict(package.tensors["decoder"]), made["decoder"], z)
        np.testing.assert_allclose(voice.render(row), wanted, atol=SAMPLE_TOLERANCE)
