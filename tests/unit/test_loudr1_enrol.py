"""From a recording to a profile: what comes out, and what a wrong bundle or recording gets."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from loudr_core.errors import BundleError, ConfigError, LoudrError
from loudr_core.speech.loudr1.bundle import open_bundle
from loudr_core.speech.loudr1.enrol import Enroller
from loudr_core.speech.loudr1.voice import read_voice, write_voice

RATE = 24_000
ARRAYS = (
    "speaker_embedding", "flow_embedding", "prompt_tokens", "prompt_mel", "cond_prompt_tokens",
)  # fmt: skip


def voice(seconds: float, seed: int = 1, rate: int = RATE) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    t = np.arange(int(seconds * rate)) / rate
    tone = 0.2 * np.sin(2 * np.pi * (120 + 40 * seed) * t) * (np.sin(2 * np.pi * 0.7 * t) > -0.6)
    return (tone + 0.003 * rng.standard_normal(len(t))).astype(np.float32)


@pytest.fixture(scope="module")
def enroller(loudr1_bundle: Path) -> Enroller:
    return Enroller(open_bundle(loudr1_bundle).enrolment_graphs)


@pytest.mark.parametrize(
    ("seconds", "tokens", "cond"), [(1, 25, 25), (4.5, 112, 113), (10, 250, 150), (30, 250, 150)]
)
def test_sizes(enroller: Enroller, seconds: float, tokens: int, cond: int) -> None:
    profile = enroller.enrol(voice(seconds), RATE, name="me", language="DE")
    assert len(profile.prompt_tokens) == tokens
    assert profile.prompt_mel.shape == (80, 2 * tokens)
    assert abs(len(profile.cond_prompt_tokens) - cond) <= 1
    assert (profile.name, profile.language, profile.enrolment) == ("me", "de", "first-10s")
    assert np.linalg.norm(profile.speaker_embedding) == pytest.approx(1, abs=1e-6)


def test_what_comes_after_ten_seconds_moves_the_speaker_only(enroller: Enroller) -> None:
    audio = voice(20)
    whole = enroller.enrol(audio, RATE, name="a")
    cut = enroller.enrol(audio[: 10 * RATE], RATE, name="a")
    for name in ("flow_embedding", "prompt_tokens", "prompt_mel", "cond_prompt_tokens"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(cut, name))
    assert (whole.speaker_embedding != cut.speaker_embedding).any()


def test_a_pause_is_in_the_profile(enroller: Enroller) -> None:
    profile = enroller.enrol(voice(9), RATE, name="a", pause=True)
    assert profile.enrolment == "first-10s-pause"
    quiet = profile.prompt_mel[:, -10:].mean() - profile.prompt_mel[:, :-40].mean()
    assert quiet < -1
    assert len(profile.prompt_tokens) == int((8.0 + 0.4) * 25)


def test_a_written_profile_is_read_again(enroller: Enroller, tmp_path: Path) -> None:
    profile = enroller.enrol(voice(3, rate=44_100), 44_100, name="Ann B", language="pl")
    written = write_voice(profile, tmp_path / "ann.safetensors")
    read = read_voice(tmp_path / "ann.safetensors")
    assert read.sha256 == written.sha256
    assert (read.name, read.language, read.source_sample_rate_hz) == ("Ann B", "pl", 44_100)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(read, name), getattr(profile, name))
        assert getattr(read, name).dtype == getattr(profile, name).dtype


@pytest.mark.parametrize(
    ("audio", "language", "part"),
    [
        (voice(0.9), "en", "a voice needs 1 s"),
        (voice(31), "en", "at most 30 s"),
        (voice(2) * np.float32(1e-5), "en", "silent"),
        (np.full(RATE, np.nan, np.float32), "en", "NaN"),
        (voice(2), "xx", "'xx'"),
        (voice(2), "", "the languages are"),
    ],
)
def test_what_is_refused(
    enroller: Enroller, audio: NDArray[np.float32], language: str, part: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        enroller.enrol(audio, RATE, name="a", language=language)
    assert part in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(("pause", "start_s"), [(False, 10.1), (True, 9.7)])
def test_a_silent_prompt_is_refused(enroller: Enroller, pause: bool, start_s: float) -> None:
    audio = np.zeros(13 * RATE, np.float32)
    audio[int(start_s * RATE) :][: 2 * RATE] = voice(2)
    with pytest.raises(ConfigError, match=r"^the prompt \(first 10 s\) of recording is silent"):
        enroller.enrol(audio, RATE, name="a", pause=pause)


@pytest.mark.parametrize("missing", ["s3_tokenizer", "camp", "voice_encoder"])
def test_a_bundle_without_a_graph(loudr1_bundle: Path, missing: str) -> None:
    graphs = dict(open_bundle(loudr1_bundle).enrolment_graphs)
    del graphs[missing]
    with pytest.raises(BundleError) as caught:
        Enroller(graphs)
    assert f"onnx/{missing}.onnx" in caught.value.message
    assert caught.value.context["key"] == missing


def graph(
    path: Path, into: str, shape: list[Any], out: str, values: NDArray[Any], kind: int
) -> Path:
    """Write a model that ignores its input and gives these values."""
    constant = helper.make_node(
        "Constant", [], [out], value=helper.make_tensor("v", kind, values.shape, values.flatten())
    )
    model = helper.make_model(
        helper.make_graph(
            [constant],
            "g",
            [helper.make_tensor_value_info(into, TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(out, kind, list(values.shape))],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=9,
    )
    onnx.save(model, path)
    return path


Maker = Callable[[Path], tuple[str, Path]]
INT64, INT32, FLOAT = TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT


def tokens(values: list[float], kind: int) -> Maker:
    def make(folder: Path) -> tuple[str, Path]:
        path = folder / "s3_tokenizer.onnx"
        return "s3_tokenizer", graph(path, "mel", [1, 128, "t"], "tokens", np.array(values), kind)

    return make


def flow(values: NDArray[np.float32]) -> Maker:
    def make(folder: Path) -> tuple[str, Path]:
        return "camp", graph(folder / "camp.onnx", "fbank", [1, 80, "f"], "out", values, FLOAT)

    return make


def speaker(values: NDArray[np.float32]) -> Maker:
    def make(folder: Path) -> tuple[str, Path]:
        path = folder / "voice_encoder.onnx"
        return "voice_encoder", graph(path, "partials", ["n", 160, 40], "out", values, FLOAT)

    return make


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (tokens([5, 6561], INT64), "tokens 5 to 6561, expected 0 to 6560"),
        (tokens([-1, 3], INT32), "tokens -1 to 3"),
        (tokens([1.0], FLOAT), "float32 values, expected whole numbers"),
        (flow(np.ones((1, 191), np.float32)), "191 values, expected 192"),
        (flow(np.zeros((1, 192), np.float32)), "embedding of norm 0"),
        (flow(np.full((1, 192), np.nan, np.float32)), "norm nan"),
        (speaker(np.ones((1, 255), np.float32)), "255 values for 1 stretches"),
        (speaker(np.zeros((1, 256), np.float32)), "embedding of norm 0"),
    ],
)
def test_a_graph_that_gives_no_voice(
    loudr1_bundle: Path, tmp_path: Path, make: Maker, part: str
) -> None:
    name, path = make(tmp_path)
    graphs = {**open_bundle(loudr1_bundle).enrolment_graphs, name: path}
    with pytest.raises(BundleError) as caught:
        Enroller(graphs).enrol(voice(1), RATE, name="a")
    assert part in caught.value.message
    assert caught.value.context["key"] == name


def test_tokens_may_be_int32_and_of_any_shape(loudr1_bundle: Path, tmp_path: Path) -> None:
    values = np.arange(30).reshape(1, 30, 1)
    path = graph(tmp_path / "s.onnx", "mel", [1, 128, "t"], "tokens", values, INT32)
    graphs = {**open_bundle(loudr1_bundle).enrolment_graphs, "s3_tokenizer": path}
    profile = Enroller(graphs).enrol(voice(1), RATE, name="a")
    assert profile.prompt_tokens.tolist() == list(range(25))
    assert profile.cond_prompt_tokens.tolist() == list(range(30))
    assert profile.prompt_tokens.dtype == np.int64


@pytest.mark.parametrize(
    ("into", "shape", "out"),
    [("mels", [1, 128, "t"], "tokens"), ("mel", [1, 80, "t"], "tokens"), ("mel", [1, 128, 9], "t")],
)
def test_a_graph_of_another_signature(
    loudr1_bundle: Path, tmp_path: Path, into: str, shape: list[Any], out: str
) -> None:
    path = graph(tmp_path / "s.onnx", into, shape, out, np.arange(9), INT64)
    graphs = {**open_bundle(loudr1_bundle).enrolment_graphs, "s3_tokenizer": path}
    with pytest.raises(BundleError, match="graph s3_tokenizer has"):
        Enroller(graphs)


def test_a_file_that_is_no_graph(loudr1_bundle: Path, tmp_path: Path) -> None:
    path = tmp_path / "camp.onnx"
    path.write_bytes(b"no model")
    graphs = {**open_bundle(loudr1_bundle).enrolment_graphs, "camp": path}
    with pytest.raises(LoudrError) as caught:
        Enroller(graphs)
    assert isinstance(caught.value, BundleError)
