"""ONNX graphs made node by node, for models whose files hold weights and no graph."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import onnx
from numpy.typing import NDArray

__all__ = ["GraphBuilder"]

_OPSET: Final = 13
_IR_VERSION: Final = 8
"""Both old enough for any onnxruntime that loudr runs on, whatever onnx would write by itself."""


class GraphBuilder:
    """A float32 graph, made node by node in the order in which it runs.

    Parameters
    ----------
    name : str
        Of the graph.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def constant(self, value: NDArray[Any] | np.float32, *, name: str = "") -> str:
        """Add a float32 constant and return its name."""
        name = name or f"constant{len(self._constants)}"
        array = np.array(value, np.float32)
        self._constants.append(onnx.numpy_helper.from_array(array, name))
        return name

    def add(self, kind: str, inputs: Sequence[str], *, output: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its output.

        Parameters
        ----------
        kind : str
            An operator of ONNX.
        inputs : sequence of str
            Names of inputs, constants or outputs of earlier nodes.
        output : str, optional
            Its name, when one matters.
        **attributes
            Of the operator.
        """
        output = output or f"{kind.lower()}{len(self._nodes)}"
        node = onnx.helper.make_node(kind, list(inputs), [output], **attributes)
        self._nodes.append(node)
        return output

    def model(
        self,
        *,
        inputs: Mapping[str, Sequence[int | None]],
        outputs: Mapping[str, Sequence[int | None]],
    ) -> bytes:
        """Return the model; inputs and outputs are float32, None is an axis of any length."""
        read, made = (
            [
                onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, list(shape))
                for name, shape in side.items()
            ]
            for side in (inputs, outputs)
        )
        graph = onnx.helper.make_graph(self._nodes, self._name, read, made, self._constants)
        model = onnx.helper.make_model(
            graph,
            opset_imports=[onnx.helper.make_opsetid("", _OPSET)],
            ir_version=_IR_VERSION,
        )
        return bytes(model.SerializeToString())
