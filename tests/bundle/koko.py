"""Write a tiny, complete Koko bundle; the same bytes each time.

    python tests/bundle/koko.py OUT [--flaw NAME]

Graphs, names and shapes are those of the release (Koko specification, sections 2, 3 and 6); inside
they are a few operators, so that a sentence takes milliseconds and the flow has a closed form:
x_n = mu + (x_0 - mu) prod(1 - cfg dt_i). Each character is a tone of its own, six frames long.
"""

import argparse
import json
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

__all__ = ["CHARACTERS", "FLAWS", "LAYOUTS", "tokenizer_document", "write_bundle"]

CHARACTERS = " " + string.ascii_letters + ",.;:?!'\"-" + "éЖж"
"""In the order of their ids, from 2: before them stand padding and the unknown."""
MEL, SPEAKER, HOP = 100, 256, 256
LEVEL = 240.0
"""Of a tone in the mel; the noise that the flow leaves is a few tenths."""
QUIET = frozenset(" .,;:?!'\"-")

FLAWS = (
    "no-cfg",  # another model's flow step
    "mel-80",  # another model's mel
    "nan",  # numbers that are none, after all steps
    "odd",  # fails on an odd number of frames
    "quad",  # fails on what is no multiple of four
    "never",  # fails on every number of frames
    "shrinks",  # hands back an even number of frames
    "loud",  # peaks above full scale
    "short-audio",  # a frame of samples is missing
    "endless",  # every character lasts seconds
    "fixed-length",  # takes texts of one length only
    "small-table",  # knows fewer ids than the tokenizer gives
    "flat-durations",  # log durations of another rank
)
LAYOUTS = ("word-level", "unigram", "vocab", "char-to-id", "flat")
FLOAT, HALF, INT64 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64
Layout = Literal["word-level", "unigram", "vocab", "char-to-id", "flat"]


def write_bundle(
    folder: Path,
    *,
    flaw: str = "",
    half: str = "",
    speakers: int = 128,
    layout: str = "word-level",
    at_top: bool = False,
    external: bool = False,
) -> Path:
    """Write a bundle into a folder and return the folder.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    flaw : str
        One of `FLAWS`, or none.
    half : str
        `both` adds half-precision graphs with half inputs, `single-io` such with single inputs,
        `only` writes the first kind alone.
    speakers : int
        Rows of the speakers' table.
    layout : str
        One of `LAYOUTS`, of the tokenizer.
    at_top : bool
        Whether the graphs lie beside the tokenizer instead of in `onnx/`.
    external : bool
        Whether the text encoder's weights lie beside it in `text_encoder.onnx.data`.
    """
    if flaw and flaw not in FLAWS:
        raise ValueError(f"no flaw {flaw!r}: there are {', '.join(FLAWS)}")
    graphs = folder if at_top else folder / "onnx"
    graphs.mkdir(parents=True, exist_ok=True)
    document = json.dumps(tokenizer_document(layout), ensure_ascii=False)
    (folder / "tokenizer.json").write_text(document, "utf-8")
    _write(_text_encoder(flaw, speakers), graphs / "text_encoder.onnx", external=external)
    if half != "only":
        _write(_flow_step(flaw), graphs / "flow_step.onnx")
        _write(_vocoder(flaw), graphs / "vocoder.onnx")
    if half:
        kind = FLOAT if half == "single-io" else HALF
        _write(_flow_step(flaw, kind, inner=HALF), graphs / "flow_step_fp16.onnx")
        _write(_vocoder(flaw, kind, inner=HALF), graphs / "vocoder_fp16.onnx")
    return folder


def tokenizer_document(layout: str = "word-level") -> dict[str, Any]:
    """Return a tokenizer in one of the layouts that such files have."""
    vocab = {"<pad>": 0, "<unk>": 1}
    vocab |= {symbol: place for place, symbol in enumerate(CHARACTERS, start=2)}
    match layout:
        case "word-level":
            model = {"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"}
            # Of no account: a recipe of single characters has no use for it.
            return {"version": "1.0", "normalizer": {"type": "Lowercase"}, "model": model}
        case "unigram":
            return {"model": {"type": "Unigram", "vocab": [[each, -1.5] for each in vocab]}}
        case "vocab":
            added = [{"content": each, "id": vocab.pop(each)} for each in ("<pad>", "<unk>")]
            return {"vocab": vocab, "added_tokens": added}
        case "char-to-id":
            return {"char_to_id": vocab}
        case "flat":
            return vocab
    raise ValueError(f"no layout {layout!r}: there are {', '.join(LAYOUTS)}")


class _Graph:
    """Collects nodes, constants, inputs and outputs of one graph."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, kind: int, shape: Sequence[int | str], *, cast: int = 0) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        return self.node("Cast", name, to=cast) if cast and cast != kind else name

    def output(self, name: str, value: str, shape: Sequence[int | str], kind: int = FLOAT) -> None:
        self.outputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        self.nodes.append(helper.make_node("Cast", [value], [name], to=kind))

    def constant(self, value: Any, kind: type[np.generic] = np.float32) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, kind), name))
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name


def _text_encoder(flaw: str, speakers: int) -> _Graph:
    graph = _Graph()
    ids = graph.input("input_ids", INT64, (1, 12 if flaw == "fixed-length" else "T"))
    speaker = graph.input("spk_id", INT64, (1,))
    durations, means = _tables()
    if flaw == "endless":
        durations = np.log(np.full_like(durations, 800.0))
    if flaw == "small-table":
        durations, means = durations[:20], means[:20]
    embedding = graph.node("Gather", graph.constant(_speakers(speakers)), speaker)
    log_durations = graph.node("Gather", graph.constant(durations), ids)
    tone = graph.node("Gather", graph.constant(means), ids)
    shift = graph.node("ReduceMean", embedding, axes=[1], keepdims=0)
    axes: tuple[int | str, ...] = (1, "T")
    if flaw == "flat-durations":
        log_durations = graph.node("Squeeze", log_durations, graph.constant([0], np.int64))
        axes = ("T",)
    graph.output("log_dur", log_durations, axes)
    graph.output("mu_tok", graph.node("Add", tone, shift), (1, "T", MEL))
    graph.output("spk_emb", embedding, (1, SPEAKER))
    return graph


def _tables() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return log durations and mel of every id."""
    frames = np.full(len(CHARACTERS) + 2, 6.4)
    for symbol in ".?!":  # a sentence ends in silence
        frames[2 + CHARACTERS.index(symbol)] = 20.2
    frames[2 + CHARACTERS.index("'")] = 0.3  # less than one frame
    frames[2 + CHARACTERS.index("-")] = 4.5  # half way, and exactly so in float32
    means = np.zeros((len(frames), MEL))
    for place, symbol in enumerate(CHARACTERS, start=2):
        if symbol not in QUIET:
            means[place, place * 5 % 29] = LEVEL
            means[place, 29 + place] = LEVEL / 4
    return np.log(frames).astype(np.float32), means.astype(np.float32)


def _speakers(count: int) -> NDArray[np.float32]:
    """Return embeddings whose means, which every bin gets, are a little apart."""
    rng = np.random.Generator(np.random.PCG64(5))
    table = rng.standard_normal((count, SPEAKER)) * 0.5
    return table.astype(np.float32)


def _flow_step(flaw: str, kind: int = FLOAT, *, inner: int = FLOAT) -> _Graph:
    graph = _Graph()
    mel = 80 if flaw == "mel-80" else MEL
    x = graph.input("x", kind, (1, mel, "F"), cast=inner)
    mu = graph.input("mu", kind, (1, mel, "F"), cast=inner)
    speaker = graph.input("spk_emb", kind, (1, SPEAKER), cast=inner)
    t = graph.input("t", kind, (1,), cast=inner)
    dt = graph.input("dt", kind, (1,), cast=inner)
    number = np.float16 if inner == HALF else np.float32
    zero = graph.constant(np.nan if flaw == "nan" else 0.0, number)
    rate = dt
    if flaw != "no-cfg":
        rate = graph.node("Mul", dt, graph.input("cfg", kind, (1,), cast=inner))
    step = graph.node("Mul", rate, graph.node("Sub", mu, x))
    # What has no part in the sum is added as nothing, so that every input is used.
    unused = graph.node("Add", t, graph.node("ReduceMean", speaker, axes=[1], keepdims=0))
    moved = graph.node("Add", graph.node("Add", x, step), graph.node("Mul", unused, zero))
    if flaw in ("odd", "quad", "never"):
        factor = {"odd": 2, "quad": 4, "never": 3}[flaw]
        moved = graph.node("Add", moved, graph.node("Mul", _halved(graph, x, factor), zero))
    if flaw == "shrinks":
        pooled = graph.node("AveragePool", moved, kernel_shape=[2], strides=[2])
        moved = _stretched(graph, pooled, 2)
    graph.output("x_next", moved, (1, mel, "F"), kind)
    return graph


def _halved(graph: _Graph, value: str, factor: int) -> str:
    """Go down and up again in time, as a UNet does that does not pad."""
    pooled = graph.node("AveragePool", value, kernel_shape=[factor], strides=[factor])
    return _stretched(graph, pooled, factor)


def _stretched(graph: _Graph, value: str, factor: int) -> str:
    scales = graph.constant([1.0, 1.0, float(factor)])
    return graph.node("Resize", value, "", scales, mode="nearest")


def _vocoder(flaw: str, kind: int = FLOAT, *, inner: int = FLOAT) -> _Graph:
    graph = _Graph()
    mel = graph.input("mel", kind, (1, MEL, "F"), cast=inner)
    place = np.arange(HOP) / HOP
    bins = np.arange(MEL)[:, None]
    # Whole periods in a hop: a tone goes on smoothly from frame to frame.
    basis = np.sin(2.0 * np.pi * (bins + 2) * place) * np.where(
        bins < 29 + len(CHARACTERS) + 2, 0.3 / LEVEL, 0.0
    )
    if flaw == "loud":
        basis *= 5.0
    number = np.float16 if inner == HALF else np.float32
    kernel = graph.constant(basis[:, None, :], number)
    sound = graph.node("ConvTranspose", mel, kernel, strides=[HOP])
    cut = -2 * HOP if flaw == "short-audio" else -HOP
    ends = (graph.constant([each], np.int64) for each in (0, cut, 2))
    sound = graph.node("Slice", sound, *ends)
    sound = graph.node("Squeeze", sound, graph.constant([1], np.int64))
    graph.output("audio", sound, (1, "N"), kind)
    return graph


def _write(graph: _Graph, path: Path, *, external: bool = False) -> None:
    """Check and write one graph, opset 17."""
    body = helper.make_graph(graph.nodes, path.stem, graph.inputs, graph.outputs, graph.constants)
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(body, opset_imports=opset, ir_version=8, producer_name="loudr-tests")
    onnx.checker.check_model(model)
    if external:
        side = f"{path.name}.data"
        path.with_name(side).unlink(missing_ok=True)
        onnx.external_data_helper.convert_model_to_external_data(
            model, location=side, size_threshold=256
        )
        onnx.save(model, path)
        return
    path.write_bytes(model.SerializeToString(deterministic=True))


def replace_files(folder: Path, changes: Mapping[str, bytes | None]) -> Path:
    """Write or remove files of a bundle and return its folder."""
    for name, content in changes.items():
        if content is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(content)
    return folder


def _main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--flaw", choices=FLAWS, default="")
    asked = parser.parse_args()
    write_bundle(asked.out, flaw=asked.flaw)


if __name__ == "__main__":
    _main()
