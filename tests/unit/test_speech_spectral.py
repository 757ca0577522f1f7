from pathlib import Path

import numpy as np
import onnx
import pytest
from hibari import Hibari

from loudr_core.errors import BundleError
from loudr_core.speech.embedded_voice import EmbeddedVoice
from loudr_core.speech.graph import before_split
from loudr_core.speech.session import open_session
from loudr_core.speech.spectral import BINS, HOP, render_frames


def silent(n_frames: int) -> np.ndarray:
    head = np.zeros((n_frames, 5 * BINS), np.float32)
    for level in (0, 2, 3):
        head[:, level * BINS : (level + 1) * BINS] = -40.0
    return head


def philox(key: int = 1) -> np.random.Philox:
    return np.random.Philox(key=key)


def test_the_voice_is_hibaris_but_for_the_noise() -> None:
    voice = EmbeddedVoice()
    reference = Hibari("heart", threads=1)
    phonemes = reference.phonemize("The harbour lay still, and nobody spoke a word.")[0]
    ours = voice.render(phonemes, 1.0, 5)
    theirs = reference.from_phonemes(phonemes, 1.0, 5)
    assert ours.shape == theirs.shape
    difference = 10 * np.log10(np.mean((ours - theirs) ** 2) / np.mean(theirs**2))
    assert difference < -38.0


def test_a_steady_fundamental_gives_its_harmonics() -> None:
    head = silent(160)
    head[:, : 20 * 6] = 0.0  # the lowest 120 bins of 20 Hz, at level one
    samples = render_frames(head, np.full(160, 200.0, np.float32), philox())
    assert samples.shape == (160 * HOP,)
    middle = samples[12_000:36_000] * np.hanning(24_000)
    spectrum = np.abs(np.fft.rfft(middle)) / 6_000
    # Level one is a peak of one in a frame's spectrum: 300 for a cosine of amplitude one.
    assert spectrum[200] == pytest.approx(1 / 300, rel=0.01)
    assert spectrum[1_000] == pytest.approx(1 / 300, rel=0.01)
    assert spectrum[300] < 1e-5


def test_unvoiced_frames_hold_noise_of_the_level_asked_for() -> None:
    head = silent(400)
    head[:, 2 * BINS : 3 * BINS] = 0.0
    samples = render_frames(head, np.zeros(400, np.float32), philox())
    inner = samples[1_200:-1_200].astype(np.float64)
    # Unit variance in real and imaginary part of each bin, through an inverse transform of 1,200
    # points, windowed, four frames summed and normalised by the sum of squared windows.
    expected = np.sqrt(2.0 / 1_200.0) / np.sqrt(1.5)
    assert np.sqrt(np.mean(inner**2)) == pytest.approx(expected, rel=0.03)
    kurtosis = np.mean(inner**4) / np.mean(inner**2) ** 2
    assert kurtosis == pytest.approx(3.0, abs=0.1)


def test_noise_follows_the_key_alone() -> None:
    head, f0 = silent(70), np.zeros(70, np.float32)
    head[:, 2 * BINS : 3 * BINS] = -2.0
    one = render_frames(head, f0, philox(1))
    assert np.array_equal(one, render_frames(head, f0, philox(1)))
    assert not np.array_equal(one, render_frames(head, f0, philox(2)))
    assert not np.array_equal(one, render_frames(head, f0, philox(1 + (1 << 64))))


def test_no_frames_no_samples() -> None:
    assert len(render_frames(silent(0), np.zeros(0, np.float32), philox())) == 0


@pytest.mark.parametrize("n_frames", [1, 3, 31, 32, 33])
def test_any_number_of_frames(n_frames: int) -> None:
    f0 = np.full(n_frames, 150.0, np.float32)
    samples = render_frames(silent(n_frames), f0, philox())
    assert samples.shape == (n_frames * HOP,)
    assert np.isfinite(samples).all()


def model(*, perm: tuple[int, ...] = (0, 2, 1)) -> onnx.ModelProto:
    make = onnx.helper
    info = make.make_tensor_value_info
    nodes = [
        make.make_node("Neg", ["x"], ["y"]),
        make.make_node("Transpose", ["y"], ["t"], perm=perm),
        make.make_node("Split", ["t"], ["a", "b"], axis=1),
    ]
    outputs = [info(name, onnx.TensorProto.FLOAT, None) for name in ("a", "b")]
    inputs = [info("x", onnx.TensorProto.FLOAT, [1, 3, 4])]
    graph = make.make_graph(nodes, "parts", inputs, outputs)
    return make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9)


def test_a_graph_yields_what_it_would_split(tmp_path: Path) -> None:
    path = tmp_path / "parts.onnx"
    onnx.save(model(), path)
    changed = before_split(path, outputs=("a", "b"), name="head")
    assert changed is not None
    x = np.arange(12, dtype=np.float32).reshape(1, 3, 4)
    session = open_session(changed)
    assert [each.name for each in session.get_outputs()] == ["head"]
    assert np.array_equal(session.run(["head"], {"x": x})[0], -x)


def test_a_graph_that_ends_otherwise_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "parts.onnx"
    onnx.save(model(perm=(0, 1, 2)), path)
    assert before_split(path, outputs=("a", "b"), name="head") is None
    assert before_split(path, outputs=("b", "a"), name="head") is None
    path.write_bytes(b"nonsense")
    with pytest.raises(BundleError, match="cannot read model"):
        before_split(path, outputs=("a", "b"), name="head")


def test_a_network_that_ends_otherwise_gives_the_same_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changed = EmbeddedVoice().render("həlˈO ðˈɛɹ.", 1.0, 3)
    monkeypatch.setattr("loudr_core.speech.embedded_voice.before_split", lambda *_, **__: None)
    assert np.array_equal(EmbeddedVoice().render("həlˈO ðˈɛɹ.", 1.0, 3), changed)
