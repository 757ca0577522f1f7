from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from loudr_core.errors import BundleError, SynthesisError
from loudr_core.speech.loudr1.algorithm import Algorithm
from loudr_core.speech.loudr1.bundle import open_bundle
from loudr_core.speech.loudr1.graphs import Graph, Signature, open_graphs, signatures
from loudr_core.speech.session import Port

WANTED = Signature(
    (Port("x", "tensor(float)", (1, None, 4)), Port("n", "tensor(int64)", (1,))),
    (Port("y", "tensor(float)", (1, None, 4)), Port("grown", "tensor(float)", (1, None, 4))),
)

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a graph that doubles x and appends it to itself, with changes to what it declares."""

    def build(**changes: Any) -> Path:
        declared: dict[str, tuple[int, list[Any]]] = {
            "x": (TensorProto.FLOAT, [1, "seq", 4]),
            "n": (TensorProto.INT64, [1]),
            "y": (TensorProto.FLOAT, [1, "seq", 4]),
            "grown": (TensorProto.FLOAT, [1, "twice", 4]),
        }
        for name, (kind, shape) in changes.pop("ports", {}).items():
            declared[name] = (kind, shape)
        renamed = changes.pop("renamed", {})
        value = {
            name: helper.make_tensor_value_info(renamed.get(name, name), *parts)
            for name, parts in declared.items()
        }
        x, y, n = (renamed.get(name, name) for name in ("x", "y", "n"))
        nodes = [
            helper.make_node("Cast", [n], ["cast"], to=declared["x"][0]),
            helper.make_node("Mul", [x, "cast"], [y]),
            helper.make_node("Concat", [x, x], ["grown"], axis=1),
        ]
        inputs = [value["x"], value["n"], *changes.pop("more", [])]
        outputs = [value["grown"], value["y"]]
        for name in changes.pop("surplus", ()):
            nodes.append(helper.make_node("Identity", [x], [name]))
            outputs.append(helper.make_tensor_value_info(name, *declared["x"]))
        graph = helper.make_graph(nodes, "g", inputs, outputs)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        path = tmp_path / "double.onnx"
        onnx.save(model, path)
        return path

    return build


def test_outputs_come_in_the_order_of_the_signature(write: Write) -> None:
    graph = Graph("double", write(), WANTED)
    x = np.arange(8, dtype=np.float32).reshape(1, 2, 4)
    y, grown = graph.run({"x": x, "n": np.array([3], np.int64)})
    assert np.array_equal(y, x * 3)
    assert np.array_equal(grown, np.concatenate([x, x], axis=1))


def test_values_left_with_the_provider_are_fed_back(write: Write) -> None:
    graph = Graph("double", write(), WANTED)
    x = np.arange(8, dtype=np.float32).reshape(1, 2, 4)
    n = np.array([2], np.int64)
    (y,), (kept,) = graph.run_resident({"x": x, "n": n}, {}, fetch=("y",), keep=("grown",))
    assert np.array_equal(y, 2 * x)
    for length in (8, 16):
        (y,), (kept,) = graph.run_resident({"n": n}, {"x": kept}, fetch=("y",), keep=("grown",))
        assert kept.shape() == [1, length, 4]
    assert np.array_equal(y, np.concatenate([2 * x] * 4, axis=1))


FLOAT, DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"renamed": {"x": "embeds"}}, "has an input 'embeds' that nothing is known of"),
        ({"renamed": {"y": "z"}}, "has an output 'z' that nothing is known of"),
        ({"surplus": ["hidden"]}, "has an output 'hidden' that nothing is known of"),
        (
            {"ports": {"x": (DOUBLE, [1, "s", 4]), "y": (DOUBLE, None), "grown": (DOUBLE, None)}},
            "has input 'x' of tensor(double), expected tensor(float)",
        ),
        (
            {"ports": {"x": (FLOAT, [1, "s", 5]), "y": (FLOAT, None), "grown": (FLOAT, None)}},
            "has input 'x' of shape [1, any, 5], expected [1, any, 4]",
        ),
        (
            {"ports": {"x": (FLOAT, ["s", 4]), "y": (FLOAT, None), "grown": (FLOAT, None)}},
            "has input 'x' of shape [any, 4], expected [1, any, 4]",
        ),
        (
            {"more": [helper.make_tensor_value_info("mask", FLOAT, [1])]},
            "has an input 'mask' that nothing is known of",
        ),
    ],
)
def test_another_signature_is_refused(write: Write, changes: dict[str, Any], said: str) -> None:
    path = write(**changes)
    with pytest.raises(BundleError) as caught:
        Graph("double", path, WANTED)
    assert said in caught.value.message
    assert "graph double" in caught.value.message
    assert caught.value.context == {"path": str(path), "key": "double"}


def test_an_output_that_is_missing_is_named(write: Write) -> None:
    wanted = Signature(WANTED.inputs, (*WANTED.outputs, Port("hidden", "tensor(float)", ())))
    with pytest.raises(BundleError, match="graph double has no output 'hidden'"):
        Graph("double", write(), wanted)


@pytest.mark.parametrize(
    ("turbo", "said"),
    [
        (False, "graph t3_prefill has an output 'hidden' that nothing is known of"),
        (True, "graph t3_prefill has no output 'hidden'"),
    ],
)
def test_the_prefill_of_the_other_decode_mode_is_refused(
    turbo: bool, said: str, loudr1_bundles: Callable[..., Path]
) -> None:
    own, foreign = loudr1_bundles(turbo=turbo), loudr1_bundles(turbo=not turbo)
    bundle = open_bundle(own)
    other = foreign / "onnx" / "t3_prefill.onnx"
    with pytest.raises(BundleError) as caught:
        open_graphs({**bundle.graphs, "t3_prefill": other}, bundle.algorithm)
    assert said in caught.value.message
    assert caught.value.context == {"path": str(other), "key": "t3_prefill"}
    assert open_graphs(bundle.graphs, bundle.algorithm).keys() == bundle.graphs.keys()


def test_a_run_that_fails_names_the_graph_in_one_line(write: Write) -> None:
    graph = Graph("double", write(), WANTED)
    wrong = {"x": np.zeros((1, 2, 5), np.float32), "n": np.array([1], np.int64)}
    for run in (
        lambda: graph.run(wrong),
        lambda: graph.run_resident(wrong, {}, fetch=("y",), keep=("grown",)),
    ):
        with pytest.raises(SynthesisError, match="graph double failed") as caught:
            run()
        assert "\n" not in caught.value.message


def test_a_missing_graph_is_named(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="no graph t3_step, which decode mode 'single' needs"):
        open_graphs(
            {name: tmp_path / name for name in signatures(Algorithm()) if name != "t3_step"},
            Algorithm(),
        )


def test_each_decode_mode_has_its_graphs() -> None:
    single = signatures(Algorithm())
    fused = signatures(Algorithm(decode_mode="fusion_mtp2"))
    assert single.keys() - fused.keys() == {"t3_step"}
    assert fused.keys() - single.keys() == {"t3_pair_step", "t3_head2"}
    assert len(single["t3_step"].inputs) == 34
    assert len(single["t3_step"].outputs) == len(single["t3_prefill"].outputs) == 33
    assert [port.name for port in single["t3_step"].inputs][2:5] == [
        "past_k_0",
        "past_v_0",
        "past_k_1",
    ]
    assert len(fused["t3_prefill"].outputs) == len(fused["t3_pair_step"].outputs) == 34
