"""Changes to ONNX graphs before a session is opened."""

from pathlib import Path

import onnx

from loudr_core.errors import BundleError

__all__ = ["before_split"]


def before_split(model: Path, *, outputs: tuple[str, ...], name: str) -> bytes | None:
    """Let a model yield an array that it would transpose and split into outputs.

    Parameters
    ----------
    model : Path
        A model whose outputs are parts along axis 1 of an array of shape (1, parts, n), made by one
        Transpose of (1, n, parts) and one Split in the order of `outputs`.
    outputs : tuple of str
        The parts, which the changed model no longer has.
    name : str
        Of the output that takes their place, shape (1, n, parts).

    Returns
    -------
    bytes or None
        The changed model, or None when its end is built in another way.

    Raises
    ------
    BundleError
        The file cannot be read.
    """
    try:
        changed = onnx.load(model, load_external_data=False)
    except Exception as error:
        reason = " ".join(str(error).split())
        raise BundleError(f"cannot read model {model}: {reason}", path=str(model)) from error
    graph = changed.graph
    makers = {made: node for node in graph.node for made in node.output}
    split = makers.get(outputs[0])
    if split is None or split.op_type != "Split" or tuple(split.output) != outputs:
        return None
    transpose = makers.get(split.input[0])
    if transpose is None or transpose.op_type != "Transpose" or _perm(transpose) != [0, 2, 1]:
        return None
    readers = [node for node in graph.node if transpose.output[0] in node.input]
    if len(readers) != 1:
        return None
    maker = makers.get(transpose.input[0])
    if maker is None or sum(transpose.input[0] in node.input for node in graph.node) != 1:
        return None
    maker.output[list(maker.output).index(transpose.input[0])] = name
    for node in (split, transpose):
        graph.node.remove(node)
    for value in [each for each in graph.output if each.name in outputs]:
        graph.output.remove(value)
    shape = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
    graph.output.append(shape)
    return bytes(changed.SerializeToString())


def _perm(node: onnx.NodeProto) -> list[int]:
    return [axis for each in node.attribute if each.name == "perm" for axis in each.ints]
