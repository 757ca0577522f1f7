"""What an ONNX file says of itself that a session does not tell: tables, and files beside it."""

from collections.abc import Collection, Iterator
from pathlib import Path

import onnx

from loudr_core.errors import BundleError

__all__ = ["gather_rows", "side_files"]

_PASSES_ON = frozenset({"Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze"})
"""Operators that leave the values of a tensor, or the first axis of a table, as they are."""


def gather_rows(model: Path, *, indices: str) -> int | None:
    """Return how many rows a table has that a graph's input points into.

    Parameters
    ----------
    model : Path
    indices : str
        An input of whole numbers that reaches a Gather unchanged.

    Returns
    -------
    int or None
        Length of the table's first axis; the smallest, where there are several tables. None when
        no such table is seen.

    Raises
    ------
    BundleError
        The file cannot be read.
    """
    graph = _load(model).graph
    makers = {made: node for node in graph.node for made in node.output}
    lengths = {each.name: each.dims[0] for each in graph.initializer if each.dims}
    for node in graph.node:
        if node.op_type == "Constant":
            lengths.update((node.output[0], a.t.dims[0]) for a in node.attribute if a.t.dims)
    rows = [
        lengths.get(_origin(node.input[0], makers, lengths.keys()), 0)
        for node in graph.node
        if node.op_type == "Gather"
        and _axis(node) == 0
        and _origin(node.input[1], makers, {indices}) == indices
    ]
    return min(filter(None, rows), default=None)


def side_files(model: Path) -> tuple[Path, ...]:
    """Return the files beside a graph that hold its weights, names ascending.

    Parameters
    ----------
    model : Path

    Raises
    ------
    BundleError
        The graph cannot be read, a file that it names is missing, or is named outside the folder.
    """
    names = set()
    for tensor in _tensors(_load(model).graph):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            names |= {each.value for each in tensor.external_data if each.key == "location"}
    found = []
    for name in sorted(names):
        place = model.parent / name
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise BundleError(
                f"{model} names weights {name!r} outside its folder: fetch the bundle again",
                path=str(model),
            )
        if not place.is_file():
            raise BundleError(
                f"{model} needs {name} beside it, which is not there: fetch it with the graph",
                path=str(place),
            )
        found.append(place)
    return tuple(found)


def _load(model: Path) -> onnx.ModelProto:
    try:
        return onnx.load(model, load_external_data=False)
    except Exception as error:
        reason = " ".join(str(error).split())
        raise BundleError(f"cannot read model {model}: {reason}", path=str(model)) from error


def _tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """Yield every stored tensor of a graph and of the graphs inside it."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for inner in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
                yield from _tensors(inner)


def _origin(name: str, makers: dict[str, onnx.NodeProto], ends: Collection[str]) -> str:
    """Return the tensor that a value comes from, back through operators that pass it on."""
    while name not in ends and name in makers and makers[name].op_type in _PASSES_ON:
        name = makers[name].input[0]
    return name


def _axis(node: onnx.NodeProto) -> int:
    return next((int(each.i) for each in node.attribute if each.name == "axis"), 0)
