"""The tiny bundles are complete, small, the same each time, and lead a real engine everywhere."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from loudr1 import REMOVED, TRIGGERS, checkpoint_name, write_bundle
from loudr1_language import STOP

from loudr_core.errors import BundleError
from loudr_core.speech.bundles import verify_bundle
from loudr_core.speech.loudr1.bundle import open_bundle

PUBLISHED = {"loudr-1": "7cd75498ad4e7531", "loudr-1-turbo": "e5303ba243087222"}
KINDS = ("loudr-1", "loudr-1-turbo")


def _sums(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def _session(folder: Path, graph: str) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    path = folder / "onnx" / f"{graph}.onnx"
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def test_an_empty_path_is_told_as_what_it_stands_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BundleError, match=r"^the current folder is no bundle of a family"):
        list(verify_bundle(Path()))


@pytest.mark.parametrize("kind", KINDS)
def test_two_builds_are_the_same_bytes(
    kind: str, loudr1_bundles: Callable[..., Path], tmp_path: Path
) -> None:
    turbo = kind == "loudr-1-turbo"
    first = loudr1_bundles(turbo=turbo)
    again = write_bundle(tmp_path / "again", turbo=turbo)
    assert _sums(again) == _sums(first)


@pytest.mark.parametrize("kind", KINDS)
def test_a_bundle_is_complete_and_small(kind: str, loudr1_bundles: Callable[..., Path]) -> None:
    folder = loudr1_bundles(turbo=kind == "loudr-1-turbo", enrolment=True)
    assert sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) < 60e6
    found = open_bundle(folder)
    assert found.fingerprint == PUBLISHED[kind]
    assert not found.findings
    assert set(found.enrolment_graphs) == {"s3_tokenizer", "camp", "voice_encoder"}
    assert found.voice_names() == ("ada", "bob", "cleo")
    listed = dict(
        reversed(line.split("  ")) for line in (folder / "SHA256SUMS").read_text().splitlines()
    )
    present = _sums(folder)
    del present["SHA256SUMS"]
    assert listed == present


def test_keys_of_the_manifest_are_replaced_and_removed(tmp_path: Path) -> None:
    changed = {"eos_floor": {"min_tokens_floor": 0}, "postprocess": REMOVED}
    found = open_bundle(write_bundle(tmp_path, manifest=changed, voices=["eve"]))
    assert found.algorithm.sampling.min_tokens_floor == 0
    assert "postprocess" not in found.manifest
    assert found.fingerprint not in PUBLISHED.values()
    assert found.voice_names() == ("eve",)
    record = json.loads((tmp_path / "onnx" / "export.json").read_text())
    assert {e["algorithm_fingerprint"] for e in record["graphs"].values()} == {found.fingerprint}


def test_a_step_is_the_next_row_of_the_prefill(loudr1_bundle: Path) -> None:
    prefill, step = (_session(loudr1_bundle, name) for name in ("t3_prefill", "t3_step"))
    rows = np.random.default_rng(1).standard_normal((1, 60, 1024), np.float32) * np.float32(0.5)
    whole = prefill.run(None, {"embeds": rows, "positions": np.arange(60)})
    start = prefill.run(None, {"embeds": rows[:, :59], "positions": np.arange(59)})
    feeds: dict[str, Any] = {"embeds": rows[:, 59:], "position": np.array([59])}
    for place, cache in enumerate(start[1:]):
        feeds[f"past_{'kv'[place % 2]}_{place // 2}"] = cache
    stepped = step.run(None, feeds)
    np.testing.assert_allclose(stepped[0], whole[0][:, -1], atol=1e-4)
    for grown, cache in zip(stepped[1:], whole[1:], strict=True):
        np.testing.assert_allclose(grown, cache, atol=1e-5)


@pytest.mark.parametrize("layer", [0, 7, 15])
@pytest.mark.parametrize("kind", ["k", "v"])
def test_every_cache_moves_the_logits(loudr1_bundle: Path, layer: int, kind: str) -> None:
    step = _session(loudr1_bundle, "t3_step")
    rng = np.random.default_rng(2)
    feeds: dict[str, Any] = {
        each.name: rng.standard_normal((1, 4, 30, 64), np.float32)
        for each in step.get_inputs()
        if each.name.startswith("past")
    }
    feeds["embeds"] = rng.standard_normal((1, 1, 1024), np.float32)
    feeds["position"] = np.array([30])
    before = step.run(["logits"], feeds)[0]
    feeds[f"past_{kind}_{layer}"] = feeds[f"past_{kind}_{layer}"] * np.float32(1.5)
    after = step.run(["logits"], feeds)[0]
    feeds["position"] = np.array([31])
    moved = step.run(["logits"], feeds)[0]
    assert np.abs(after - before).max() > 1e-3
    assert np.abs(moved - after).max() > 1e-3


@pytest.fixture(scope="module", params=KINDS)
def reference(request: pytest.FixtureRequest, loudr1_bundles: Callable[..., Path]) -> Any:
    """Return the reference engine on a tiny bundle, and a voice."""
    engine = pytest.importorskip("loudkit.engine", reason="the reference engine is not installed")
    from loudkit.config import ExecutionConfig
    from loudkit.voice import VoiceProfile

    turbo = request.param == "loudr-1-turbo"
    folder = loudr1_bundles(turbo=turbo)
    opened = engine.Engine.from_checkpoint(
        str(folder / checkpoint_name(turbo=turbo)),
        device="onnx",
        execution=ExecutionConfig(num_threads=1, onnx_provider="cpu"),
    )
    voice = VoiceProfile.load(str(folder / "voices" / "ada.safetensors"))
    return lambda text, seed=0: opened.synthesize(text, voice, seed=seed)


def test_a_sentence_is_a_natural_length_and_level(reference: Any) -> None:
    text = "The lamp was lit at dusk, and the keeper went up."
    found = [reference(text, seed) for seed in range(2)]
    assert all(60 <= len(each.tokens) < 240 for each in found)
    assert not any(each.suspect for each in found)
    for each in found:
        assert len(each.audio) == 960 * len(each.tokens)
        assert -29 < 20 * np.log10(np.sqrt(np.mean(each.audio**2))) < -22
        assert 0.05 < np.abs(each.audio).max() < 0.5
        assert abs(each.audio.mean()) < 1e-3
    assert STOP not in found[0].tokens


def test_other_words_seeds_and_tokens_sound_otherwise(reference: Any) -> None:
    one, other = reference("One bell rang."), reference("Two dogs slept.")
    length = min(len(one.audio), len(other.audio))
    assert one.tokens != other.tokens
    assert np.corrcoef(one.audio[:length], other.audio[:length])[0, 1] < 0.5


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("loopado loopado loopado.", "repetition"),
        ("hushado hushado hushado.", "stall"),
        ("A ramblado ramblado boat.", "desperation"),
    ],
)
def test_words_call_the_detectors(reference: Any, text: str, reason: str) -> None:
    said = (reference(text, seed).inspections[0].reason for seed in range(6))
    assert reason in said


def test_a_rambling_text_fills_the_window_and_is_halved(reference: Any) -> None:
    text = f"ramblado ramblado {'on and ' * 7}on."
    found = reference(text)
    assert len(found.chunks) == 2
    assert found.hit_token_cap


def test_there_is_a_word_for_each_flag() -> None:
    assert sorted(TRIGGERS.values()) == list(range(len(TRIGGERS)))
