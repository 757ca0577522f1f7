"""The graphs of the tiny bundles, by the helper API of `onnx`: published signatures, small insides.

The generator is a language model of one layer's depth, whose sixteen caches differ by a gain: each
layer attends causally over keys that move with the position, so that a cache fed to the wrong
layer, a wrong position or a lost row changes the logits. Steps and prefill agree up to rounding.
The renderer makes a tone whose pitch follows the tokens and whose level falls at silent ones.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from loudr1_language import (
    CONTROLS,
    FLAGS,
    HIDDEN,
    SPEECH_VOCABULARY,
    Floats,
    renderer_table,
    token_controls,
)
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

__all__ = ["Weights", "enrolment_graphs", "generator_graphs", "renderer_graphs", "write_graph"]

LAYERS, HEADS, HEAD_SIZE = 16, 4, 64
KV_SIZE = HEADS * HEAD_SIZE
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
Weights = Mapping[str, Floats]
Dimensions = Sequence[int | str]


class _Graph:
    """Collects nodes, constants, inputs and outputs of one graph."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, kind: int, shape: Dimensions) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        return name

    def output(self, name: str, value: str, shape: Dimensions, kind: int = FLOAT) -> None:
        self.outputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        if name != value:
            self.nodes.append(helper.make_node("Identity", [value], [name]))

    def constant(self, value: Floats | NDArray[np.int64] | float | Sequence[int]) -> str:
        if isinstance(value, float):
            value = np.array(value, np.float32)
        array = np.array(value, np.int64) if isinstance(value, list | tuple) else np.asarray(value)
        name = f"constant_{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        if array.ndim == 0:
            self.constants[name] = numpy_helper.from_array(array, name)
        return name

    def node(self, kind: str, *inputs: str, result: str | None = None, **attributes: object) -> str:
        name = result or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def columns(self, value: str, begin: int, end: int, axis: int) -> str:
        ends = (self.constant([begin]), self.constant([end]), self.constant([axis]))
        return self.node("Slice", value, *ends)


def write_graph(graph: _Graph, path: Path) -> None:
    """Check and write one graph, opset 17."""
    constants = list(graph.constants.values())
    body = helper.make_graph(graph.nodes, path.stem, graph.inputs, graph.outputs, constants)
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(body, opset_imports=opset, ir_version=8, producer_name="loudr-tests")
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString(deterministic=True))


# ---------------------------------------------------------------- generator


def generator_graphs(
    rng: np.random.Generator, heads: Weights, speech_rows: Floats, *, turbo: bool
) -> dict[str, _Graph]:
    """Return the conditioning, prefill and step graphs of the single or of the pair decoder.

    Parameters
    ----------
    rng : numpy.random.Generator
    heads : dict
        Of `loudr1_language.heads`.
    speech_rows : float32, shape (8194, 1024)
        The table that the checkpoint holds; the pair decoder embeds a cut of it by itself.
    turbo : bool
        Whether two tokens are made a step.
    """
    turn = rng.uniform(0.02, 1.5, KV_SIZE).astype(np.float32)
    graphs = {"t3_cond": _conditioning(rng), "t3_prefill": _prefill(heads, turn, hidden=turbo)}
    if not turbo:
        return graphs | {"t3_step": _step(heads, turn)}
    table = np.concatenate([speech_rows[:, :64], token_controls()], axis=1)
    spread = rng.standard_normal((64, HIDDEN), np.float32) * np.float32(0.12)
    spread[:, FLAGS] = spread[:, CONTROLS] = 0
    return graphs | {
        "t3_pair_step": _pair_step(heads, turn, table, spread, rng),
        "t3_head2": _second_head(heads, table, spread),
    }


def _conditioning(rng: np.random.Generator) -> _Graph:
    g = _Graph()
    speaker = g.input("speaker_emb", FLOAT, [1, 256])
    prompt = g.input("prompt_tokens", INT64, [1, "prompt"])
    emotion = g.input("emotion", FLOAT, [1, 1])
    from_speaker = g.constant(rng.standard_normal((256, HIDDEN), np.float32) * np.float32(0.3))
    rows = g.constant(rng.standard_normal((1, 34, 1), np.float32))
    table = g.constant(rng.standard_normal((SPEECH_VOCABULARY, 16), np.float32))
    from_prompt = g.constant(rng.standard_normal((16, HIDDEN), np.float32) * np.float32(0.3))
    mask = np.ones(HIDDEN, np.float32)
    mask[FLAGS] = mask[CONTROLS] = 0
    voice = g.node("Mul", g.node("MatMul", speaker, from_speaker), rows)
    words = g.node("MatMul", g.node("Gather", table, prompt, axis=0), from_prompt)
    mean = g.node("ReduceMean", words, axes=[1], keepdims=1)
    both = g.node("Add", g.node("Add", voice, mean), emotion)
    g.output("t3_cond_out", g.node("Mul", both, g.constant(mask)), [1, 34, HIDDEN])
    return g


def _caches(g: _Graph, rows: str, positions: str, turn: Floats) -> tuple[str, str, str]:
    """Return query, key and value, each [1, 4, S, 64], of rows [1, S, 1024] at their positions."""
    place = g.node("Unsqueeze", g.node("Cast", positions, to=FLOAT), g.constant([0, 2]))
    turned = g.node("Sin", g.node("Mul", place, g.constant(turn)))
    moved = g.node("Mul", turned, g.constant(0.5))
    split = g.constant([1, -1, HEADS, HEAD_SIZE])

    def by_head(row: str) -> str:
        return g.node("Transpose", g.node("Reshape", row, split), perm=[0, 2, 1, 3])

    key, query = (
        by_head(g.node("Add", g.columns(rows, begin, begin + KV_SIZE, 2), moved))
        for begin in (0, 2 * KV_SIZE)
    )
    value = by_head(g.columns(rows, KV_SIZE, 2 * KV_SIZE, 2))
    return g.node("Mul", query, g.constant(1 / 8)), key, value


def _gains(layer: int) -> tuple[float, float]:
    return 0.6 + 0.05 * layer, 1.0 - 0.04 * layer


def _features(g: _Graph, rows: str, context: str, flags: str) -> str:
    """Return the hidden rows: what was attended to, the row itself, flags, classes."""
    own = g.columns(rows, FLAGS.stop, CONTROLS.start, 2)
    return g.node("Concat", context, own, flags, g.columns(rows, 1016, 1024, 2), axis=2)


def _join_heads(g: _Graph, contexts: list[str]) -> str:
    total = g.node("Sum", *contexts)
    joined = g.node("Transpose", total, perm=[0, 2, 1, 3])
    return g.node("Reshape", joined, g.constant([1, -1, KV_SIZE]))


def _logits(g: _Graph, hidden: str, heads: Weights) -> str:
    """Return logits of hidden rows [..., 1024], by the rules of `loudr1_language.heads`."""
    axis = 1 if hidden.endswith("_2d") else 2
    w = {name: g.constant(value) for name, value in heads.items()}
    body = g.columns(hidden, 0, HIDDEN - 16, axis)
    flags = g.columns(hidden, HIDDEN - 16, HIDDEN - 8, axis)
    classes = g.columns(hidden, HIDDEN - 8, HIDDEN, axis)
    base = g.node("MatMul", g.node("Tanh", g.node("MatMul", body, w["w1"])), w["w2"])
    base = g.node("Add", base, w["b"])
    gate = g.node("Add", g.node("MatMul", flags, w["gates"]), w["gate_base"])
    follow = g.node("MatMul", g.node("Mul", classes, gate), w["follow"])
    return g.node("Sum", base, g.node("MatMul", flags, w["flag_logits"]), follow)


def _prefill(heads: Weights, turn: Floats, *, hidden: bool) -> _Graph:
    g = _Graph()
    rows = g.input("embeds", FLOAT, [1, "seq", HIDDEN])
    positions = g.input("positions", INT64, ["seq"])
    query, key, value = _caches(g, rows, positions, turn)
    n_rows = g.node("Shape", positions)
    square = g.node("Expand", g.constant(-1e9), g.node("Concat", n_rows, n_rows, axis=0))
    mask = g.node("Trilu", square, g.constant(np.array(1, np.int64)), upper=1)
    contexts, caches = [], []
    for layer in range(LAYERS):
        key_gain, value_gain = _gains(layer)
        k = g.node("Mul", key, g.constant(key_gain))
        v = g.node("Mul", value, g.constant(value_gain))
        scores = g.node("MatMul", query, g.node("Transpose", k, perm=[0, 1, 3, 2]))
        weights = g.node("Softmax", g.node("Add", scores, mask), axis=-1)
        contexts.append(g.node("MatMul", weights, v))
        caches += [(f"kv_k_{layer}", k), (f"kv_v_{layer}", v)]
    flags = g.columns(rows, FLAGS.start, FLAGS.stop, 2)
    so_far = g.node("CumSum", flags, g.constant(np.array(1, np.int64)))
    feature = _features(g, rows, _join_heads(g, contexts), so_far)
    g.output("logits", _logits(g, feature, heads), [1, "seq", SPEECH_VOCABULARY])
    if hidden:
        last = g.node("Gather", feature, g.constant(np.array(-1, np.int64)), axis=1)
        g.output("hidden", last, [1, HIDDEN])
    for name, source in caches:
        g.output(name, source, [1, HEADS, "seq", HEAD_SIZE])
    return g


def _attend(g: _Graph, row: str, position: str, turn: Floats) -> tuple[str, list[tuple[str, str]]]:
    """Grow every cache by a row and attend over it; return the hidden row and the caches."""
    query, key, value = _caches(g, row, position, turn)
    contexts, caches, flags = [], [], ""
    for layer in range(LAYERS):
        grown = []
        for kind, source, gain in zip("kv", (key, value), _gains(layer), strict=True):
            past = g.input(f"past_{kind}_{layer}", FLOAT, [1, HEADS, "past", HEAD_SIZE])
            new = g.node("Mul", source, g.constant(gain))
            grown.append(g.node("Concat", past, new, axis=2))
            caches.append((f"present_{kind}_{layer}", grown[-1]))
        scores = g.node("MatMul", query, g.node("Transpose", grown[0], perm=[0, 1, 3, 2]))
        contexts.append(g.node("MatMul", g.node("Softmax", scores, axis=-1), grown[1]))
        if layer == 0:  # its gain is one: the flags of the text are counted exactly
            first = g.columns(g.columns(grown[1], 0, 1, 1), 0, 8, 3)
            total = g.node("ReduceSum", first, g.constant([2]), keepdims=0)
            flags = total
    return _features(g, row, _join_heads(g, contexts), flags), caches


def _give_caches(g: _Graph, caches: list[tuple[str, str]]) -> None:
    for name, source in caches:
        g.output(name, source, [1, HEADS, "present", HEAD_SIZE])


def _step(heads: Weights, turn: Floats) -> _Graph:
    g = _Graph()
    row = g.input("embeds", FLOAT, [1, 1, HIDDEN])
    position = g.input("position", INT64, [1])
    feature, caches = _attend(g, row, position, turn)
    flat = g.node("Reshape", feature, g.constant([1, HIDDEN]), result="hidden_2d")
    g.output("logits", _logits(g, flat, heads), [1, SPEECH_VOCABULARY])
    _give_caches(g, caches)
    return g


def _pair_step(
    heads: Weights, turn: Floats, table: Floats, spread: Floats, rng: np.random.Generator
) -> _Graph:
    g = _Graph()
    pair = g.input("pair_ids", INT64, [1, 2])
    place = g.input("speech_position", INT64, [1])
    position = g.input("position", INT64, [1])
    entries = g.node("Gather", g.constant(table), pair, axis=0)
    first, second = (g.columns(entries, each, each + 1, 1) for each in (0, 1))
    sums = g.node("Add", g.node("Tanh", g.columns(first, 0, 64, 2)), g.columns(second, 0, 64, 2))
    places = g.constant(rng.standard_normal((4100, 64), np.float32) * np.float32(0.2))
    sums = g.node("Add", sums, g.node("Gather", places, place, axis=0))
    wide = g.node("MatMul", sums, g.constant(spread[:, : CONTROLS.start]))
    row = g.node("Concat", wide, g.columns(second, 64, 72, 2), axis=2)
    feature, caches = _attend(g, row, position, turn)
    flat = g.node("Reshape", feature, g.constant([1, HIDDEN]), result="hidden_2d")
    g.output("logits", _logits(g, flat, heads), [1, SPEECH_VOCABULARY])
    g.output("hidden", flat, [1, HIDDEN])
    _give_caches(g, caches)
    return g


def _second_head(heads: Weights, table: Floats, spread: Floats) -> _Graph:
    g = _Graph()
    hidden = g.input("hidden", FLOAT, [1, HIDDEN])
    entry = g.node("Gather", g.constant(table), g.input("first_id", INT64, [1]), axis=0)
    moved = g.node("MatMul", g.columns(entry, 0, 64, 1), g.constant(spread[:, : HIDDEN - 16]))
    body = g.node("Add", g.columns(hidden, 0, HIDDEN - 16, 1), moved)
    flags = g.columns(hidden, HIDDEN - 16, HIDDEN - 8, 1)
    mixed = g.node("Concat", body, flags, g.columns(entry, 64, 72, 1), axis=1, result="mixed_2d")
    g.output("logits", _logits(g, mixed, heads), [1, SPEECH_VOCABULARY])
    return g


# ---------------------------------------------------------------- renderer


def renderer_graphs(rng: np.random.Generator) -> dict[str, _Graph]:
    """Return encoder, estimator and vocoder; the vocoder makes a tone of three harmonics."""
    return {
        "flow_encoder": _encoder(rng),
        "flow_estimator": _estimator(),
        "vocoder": _vocoder(rng),
    }


def _encoder(rng: np.random.Generator) -> _Graph:
    g = _Graph()
    prompt = g.input("prompt_token", INT64, [1, 238])
    query = g.input("speech_tokens", INT64, [1, 255])
    row = g.node("Concat", prompt, query, axis=1)
    entries = g.node("Gather", g.constant(renderer_table(rng)), row, axis=0)
    columns = g.node("Unsqueeze", g.node("Transpose", entries, perm=[0, 2, 1]), g.constant([3]))
    twice = g.node("Expand", columns, g.constant([1, 80, 493, 2]))
    frames = g.node("Reshape", twice, g.constant([1, 80, 986]))
    kernel = np.tile(np.array([0.1, 0.8, 0.1], np.float32), (80, 1, 1))
    smooth = g.node("Conv", frames, g.constant(kernel), group=80, pads=[1, 1])
    mean = g.node("ReduceMean", frames, axes=[2], keepdims=1)
    mixed = g.node("Add", smooth, g.node("Mul", mean, g.constant(0.1)))
    g.output("flow_encoder_out", mixed, [1, 80, 986])
    return g


def _estimator() -> _Graph:
    """Return a field that leads from the prior to `mu`, whether in one step or in two."""
    g = _Graph()
    x, mu = (g.input(name, FLOAT, [1, 80, 986]) for name in ("x", "mu"))
    t = g.input("t", FLOAT, [1])
    speaker = g.input("spks", FLOAT, [1, 80])
    cond = g.input("cond", FLOAT, [1, 80, 986])
    voice = g.node("Unsqueeze", speaker, g.constant([2]))
    prompt = g.node("ReduceMean", cond, axes=[2], keepdims=1)
    goal = g.node("Sum", mu, voice, g.node("Mul", prompt, g.constant(0.05)))
    pull = g.node("Sub", goal, g.node("Mul", x, g.constant(0.95)))
    grown = g.node("Mul", pull, g.node("Add", g.node("Mul", t, g.constant(0.4)), g.constant(1.0)))
    g.output("flow_estimator_out", grown, [1, 80, 986])
    return g


def _vocoder(rng: np.random.Generator) -> _Graph:
    g = _Graph()
    mel = g.input("mel", FLOAT, [1, 80, 510])
    phase = g.input("phase", FLOAT, [1, 9, 1])
    noise = g.input("noise", FLOAT, [1, 9, 244800])
    pitch, level = (
        g.node("ReduceMean", g.columns(mel, *ends, 1), axes=[1], keepdims=0)
        for ends in ((0, 40), (40, 80))
    )
    octaves = g.node("Pow", g.constant(2.0), g.node("Mul", pitch, g.constant(0.8)))
    cycles = g.node("Mul", octaves, g.constant(150 * 480 / 24000))  # a frame, around 150 Hz
    end = g.node("CumSum", cycles, g.constant(np.array(1, np.int64)))
    within = g.constant(np.arange(480, dtype=np.float32)[None, None] / np.float32(480))
    start, step = (g.node("Unsqueeze", e, g.constant([2])) for e in (end, cycles))
    turns = g.node("Add", g.node("Sub", start, step), g.node("Mul", step, within))
    angle = g.node("Mul", g.node("Reshape", turns, g.constant([1, 244800])), g.constant(2 * np.pi))
    tone = []
    for harmonic, share in ((1, 1.0), (2, 0.5), (3, 0.25)):
        thirds = g.columns(phase, 3 * harmonic - 3, 3 * harmonic, 1)
        shift = g.node("ReduceSum", thirds, g.constant([1]), keepdims=0)
        raised = g.node("Mul", angle, g.constant(float(harmonic)))
        wave = g.node("Sin", g.node("Add", raised, shift))
        tone.append(g.node("Mul", wave, g.constant(share)))
    hiss = g.node("MatMul", g.constant(rng.uniform(-0.01, 0.01, (1, 1, 9)).astype("f4")), noise)
    tone.append(g.node("Reshape", hiss, g.constant([1, 244800])))
    sound = g.node("Mul", g.node("Sum", *tone), _envelope(g, level, within))
    clipped = g.node("Clip", sound, g.constant(-0.99), g.constant(0.99))
    g.output("vocoder_out", clipped, [1, 244800])
    return g


def _envelope(g: _Graph, level: str, within: str) -> str:
    """Return the amplitude of each sample, drawn straight from one frame's level to the next's."""
    scale = g.node("Mul", g.node("Exp", level), g.constant(0.09))
    height = g.node("Min", scale, g.constant(0.15))
    before = g.node("Concat", g.columns(height, 0, 1, 1), g.columns(height, 0, 509, 1), axis=1)
    first, last = (g.node("Unsqueeze", e, g.constant([2])) for e in (before, height))
    line = g.node("Add", first, g.node("Mul", g.node("Sub", last, first), within))
    return g.node("Reshape", line, g.constant([1, 244800]))


# ---------------------------------------------------------------- enrolment


def enrolment_graphs(rng: np.random.Generator) -> dict[str, _Graph]:
    """Return the three graphs that make a voice profile from a recording's spectra."""
    return {
        "s3_tokenizer": _speech_tokenizer(rng),
        "camp": _flow_speaker(rng),
        "voice_encoder": _speaker(rng),
    }


def _speech_tokenizer(rng: np.random.Generator) -> _Graph:
    g = _Graph()
    mel = g.input("mel", FLOAT, [1, 128, "frames"])
    kernel = rng.standard_normal((16, 128, 4), np.float32) * np.float32(0.2)
    narrow = g.node("Conv", mel, g.constant(kernel), strides=[4], pads=[0, 3])
    across = g.node("Transpose", narrow, perm=[0, 2, 1])
    scores = g.node("MatMul", across, g.constant(rng.standard_normal((16, 6561), np.float32)))
    tokens = g.node("Reshape", g.node("ArgMax", scores, axis=2, keepdims=0), g.constant([-1]))
    g.output("tokens", tokens, ["tokens"], INT64)
    return g


def _flow_speaker(rng: np.random.Generator) -> _Graph:
    g = _Graph()
    mean = g.node("ReduceMean", g.node("Abs", g.input("fbank", FLOAT, [1, 80, "frames"])), axes=[2])
    flat = g.node("Reshape", mean, g.constant([1, 80]))
    g.output("out", g.node("MatMul", flat, g.constant(_gaussian(rng, 80, 192))), [1, 192])
    return g


def _speaker(rng: np.random.Generator) -> _Graph:
    g = _Graph()
    partials = g.input("partials", FLOAT, ["partials", 160, 40])
    mean = g.node("ReduceMean", g.node("Sqrt", g.node("Abs", partials)), axes=[1], keepdims=0)
    wide = g.node("Relu", g.node("MatMul", mean, g.constant(_gaussian(rng, 40, 256))))
    wide = g.node("Add", wide, g.constant(1e-3))
    norm = g.node("ReduceL2", wide, axes=[1], keepdims=1)
    g.output("out", g.node("Div", wide, norm), ["partials", 256])
    return g


def _gaussian(rng: np.random.Generator, *shape: int) -> Floats:
    return rng.standard_normal(shape, np.float32)
