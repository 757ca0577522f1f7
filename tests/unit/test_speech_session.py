from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from loudr_core.errors import BundleError, ConfigError, DeviceError
from loudr_core.speech.session import open_session, render_class


@pytest.fixture
def model() -> bytes:
    value = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2])
    out = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2])
    node = onnx.helper.make_node("Add", ["x", "x"], ["y"])
    graph = onnx.helper.make_graph([node], "double", [value], [out])
    built = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9
    )
    return bytes(built.SerializeToString())


def test_a_model_from_bytes_and_from_a_file_runs(model: bytes, tmp_path: Path) -> None:
    path = tmp_path / "double.onnx"
    path.write_bytes(model)
    for source in (model, path):
        (found,) = open_session(source).run(None, {"x": np.array([1.0, 2.0], np.float32)})
        assert found.tolist() == [2.0, 4.0]


def test_missing_cuda_is_an_error(model: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    with pytest.raises(DeviceError, match="'cuda' is not in this onnxruntime"):
        open_session(model, provider="cuda")
    with pytest.raises(DeviceError):
        render_class("cuda")


def test_a_silent_fall_back_to_the_cpu_is_an_error(
    model: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fallen:
        def __init__(self, *args: object, **options: object) -> None:
            pass

        def get_providers(self) -> list[str]:
            return ["CPUExecutionProvider"]

    both = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: both)
    monkeypatch.setattr(onnxruntime, "InferenceSession", Fallen)
    with pytest.raises(DeviceError, match="fell back to CPUExecutionProvider"):
        open_session(model, provider="cuda")


def test_an_unknown_provider_is_named(model: bytes) -> None:
    with pytest.raises(ConfigError, match="no provider 'gpu': choose one of cpu, cuda"):
        open_session(model, provider="gpu")


def test_bad_models_are_bundle_errors(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="no model file"):
        open_session(tmp_path / "missing.onnx")
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"not a model")
    with pytest.raises(BundleError, match=r"cannot load model .*bad\.onnx") as caught:
        open_session(bad)
    assert "\n" not in caught.value.message


def test_render_class_names_what_samples_depend_on() -> None:
    found = render_class(precision="int8-dynamic")
    assert found["numpy"] == np.__version__
    assert found["onnxruntime"] == onnxruntime.__version__
    assert found["fft"] == "scipy.fft"
    assert found["precision"] == "int8-dynamic"
    assert found["cpu"]
