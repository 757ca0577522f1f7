"""Write a tiny, complete BlueTTS bundle; the same bytes each time.

    python tests/bundle/bluetts.py OUT [--flaw NAME]

Graphs, names and shapes are those of the release (BlueTTS specification, sections 1, 2 and 8);
inside they are a few operators, and the flow has a closed form: with g = u + cfg (c - u),
x_n = g + (x_0 - g)(1 - 1/n)^n. Each symbol is a tone of its own, 0.0464 s long.
"""

import argparse
import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

__all__ = ["FLAWS", "SYMBOLS", "VOICES", "style_of", "tables_of", "vocab_of", "write_bundle"]

SYMBOLS = {
    " ": 3, "!": 4, "'": 5, ",": 8, "-": 9, ".": 10, ":": 11, ";": 12, "?": 13,
    **{letter: 14 + place for place, letter in enumerate("abcdefhijklmnopqrstuvwxyz")},
    "\u0327": 140, "ç": 40, "ð": 41, "ŋ": 44, "ɐ": 50, "ɑ": 51, "ɔ": 54, "ə": 59, "ɛ": 61,
    "ɡ": 66, "ɪ": 74, "ɹ": 88, "ʃ": 96, "ʊ": 100, "ʌ": 102, "ʒ": 108, "ˈ": 120, "ˌ": 121,
    "ː": 122, "æ": 39, "θ": 126, "ɵ": 60, "ʲ": 119, "g": 154, "0": 130, "1": 131, "T": 176,
    "A": 157, "B": 158, "ʤ": 182, "ʧ": 184, "ʦ": 185, "ʣ": 186, "↗": 190,
}  # fmt: skip
VOICES = {"anna": 1, "bruno": 2}
FLAWS = (
    "cfg-inside",  # guidance baked into the vector estimator: no flaw, another generation
    "folds-inside",  # a vocoder of 144 channels: another generation too
    "z-ref",  # a duration predictor that wants reference latents
    "vocoder-80",  # another model's vocoder
    "no-style",  # another model's text encoder
    "int-step",  # steps as whole numbers
    "batch",  # takes texts of one length only
    "small-table",  # knows fewer ids than the vocabulary gives
    "nan",  # numbers that are none, after all steps
    "short-audio",  # a frame of samples is missing
    "endless",  # every symbol lasts seconds
    "silent",  # no sound at all
    "loud",  # peaks above full scale
)
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
FRAME, LEVEL, STD, SCALE, MEAN = 3072, 240.0, 0.25, 0.25, 0.01
QUIET = frozenset(" !,-.:;?'ˈˌː")
TAIL, LEAD = 7, 3
"""Symbols' lengths of silence after and before the text."""


def write_bundle(
    folder: Path,
    *,
    flaw: str = "",
    voices: Sequence[str] = tuple(VOICES),
    in_onnx: bool = False,
    manifest: bool = False,
) -> Path:
    """Write a bundle into a folder and return the folder.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    flaw : str
        One of `FLAWS`, or none.
    voices : sequence of str
        Names.
    in_onnx : bool
        Whether all but the voices lies in `onnx/`.
    manifest : bool
        Whether a `manifest.json` with digests is written.
    """
    if flaw and flaw not in FLAWS:
        raise ValueError(f"no flaw {flaw!r}: there are {', '.join(FLAWS)}")
    place = folder / "onnx" if in_onnx else folder
    (folder / "voices").mkdir(parents=True, exist_ok=True)
    place.mkdir(exist_ok=True)
    _write(_text_encoder(flaw), place / "text_encoder.onnx")
    _write(_duration(flaw), place / "duration_predictor_style.onnx")
    _write(_vector_estimator(flaw), place / "vector_estimator.onnx")
    _write(_vocoder(flaw), place / "vocoder.onnx")
    (place / "vocab.json").write_text(json.dumps(vocab_of(SYMBOLS), ensure_ascii=False), "utf-8")
    (place / "tts.json").write_text(json.dumps(TTS), "utf-8")
    stats, unconditional = tables_of()
    write_npz(place / "stats.npz", stats)
    write_npz(place / "uncond.npz", unconditional)
    for name in voices:
        text = json.dumps(style_of(VOICES.get(name, len(name))))
        (folder / "voices" / f"{name}.json").write_text(text, "utf-8")
    if manifest:
        write_manifest(place)
    return folder


TTS = {
    "ae": {"sample_rate": 44100, "base_chunk_size": 512},
    "ttl": {"latent_dim": 24, "chunk_compress_factor": 6, "normalizer": {"scale": SCALE}},
}


def vocab_of(symbols: dict[str, int]) -> dict[str, Any]:
    """Return a vocabulary file's content."""
    return {"pad_id": 0, "bos_id": 1, "eos_id": 2, "vocab_size": 256, "char_to_id": symbols}


def tables_of() -> tuple[dict[str, NDArray[np.float32]], dict[str, NDArray[np.float32]]]:
    """Return the arrays of `stats.npz` and `uncond.npz`."""
    channels = np.arange(144, dtype=np.float32)[None, :, None]
    stats = {
        "mean": (MEAN * np.sin(channels)).astype(np.float32),
        "std": np.full((1, 144, 1), STD, np.float32),
        "normalizer_scale": np.array([SCALE], np.float32),
    }
    unconditional = {
        "u_text": np.zeros((1, 256, 1), np.float32),
        "u_ref": np.full((1, 50, 256), 0.01, np.float32),
    }
    return stats, unconditional


def style_of(number: int) -> dict[str, Any]:
    """Return a voice file's content; short numbers keep it small."""
    rng = np.random.Generator(np.random.PCG64(number))
    style = np.round(rng.standard_normal((1, 50, 256)) * 0.06, 2)
    pace = np.round(rng.standard_normal((1, 8, 16)) * 0.06, 2)
    return {
        "style_ttl": {"data": style.tolist(), "dims": [1, 50, 256]},
        "style_dp": {"data": pace.tolist(), "dims": [1, 8, 16]},
        "metadata": {"name": str(number)},
    }


def write_npz(path: Path, arrays: dict[str, Any]) -> None:
    """Write arrays without the time of day, which numpy would put into the file."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.asarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue())


def write_manifest(place: Path) -> None:
    """Write the digests of what lies in a folder."""
    import hashlib

    files = {
        path.name: {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        for path in sorted(place.iterdir())
        if path.is_file() and path.name != "manifest.json"
    }
    document = {"checkpoint": {"ckpt_step_748000.pt": "0" * 64}, "files": files}
    (place / "manifest.json").write_text(json.dumps(document), "utf-8")


class _Graph:
    """Collects nodes, constants, inputs and outputs of one graph."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, shape: Sequence[int | str], kind: int = FLOAT) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        return name

    def output(self, name: str, value: str, shape: Sequence[int | str]) -> None:
        self.outputs.append(helper.make_tensor_value_info(name, FLOAT, list(shape)))
        self.nodes.append(helper.make_node("Identity", [value], [name]))

    def constant(self, value: Any, kind: type[np.generic] = np.float32) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, kind), name))
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def mean(self, value: str) -> str:
        """Return the mean of all but the first axis, [1]."""
        return self.node("ReduceMean", value, axes=[1, 2], keepdims=0)

    def nothing(self, value: str) -> str:
        """Return a zero that depends on a value, so that every input is used."""
        return self.node("Mul", value, self.constant(0.0))


def _text_encoder(flaw: str) -> _Graph:
    graph = _Graph()
    ids = graph.input("text_ids", (1, 12 if flaw == "batch" else "T"), INT64)
    mask = graph.input("text_mask", (1, 1, "T"))
    rows = np.zeros((256, 256), np.float32)
    for symbol, number in SYMBOLS.items():
        rows[number, number] = 0.0 if symbol in QUIET else 1.0
    if flaw == "small-table":
        rows = rows[:100]
    text = graph.node("Gather", graph.constant(rows), ids)
    if flaw != "no-style":
        style = graph.input("style_ttl", (1, 50, 256))
        text = graph.node("Add", text, graph.nothing(graph.mean(style)))
    text = graph.node("Transpose", text, perm=[0, 2, 1])
    graph.output("text_emb", graph.node("Mul", text, mask), (1, 256, "T"))
    return graph


def _duration(flaw: str) -> _Graph:
    graph = _Graph()
    ids = graph.input("text_ids", (1, "T"), INT64)
    mask = graph.input("text_mask", (1, 1, "T"))
    if flaw == "z-ref":
        style = graph.input("z_ref", (1, 144, "R"))
        graph.input("ref_mask", (1, 1, "R"))
    else:
        style = graph.input("style_dp", (1, 8, 16))
    pace = 3.0 if flaw == "endless" else 0.0464
    total = graph.node("Mul", _sum(graph, mask), graph.constant(pace))
    most = 15.0 if flaw != "endless" else 1e9
    total = graph.node("Min", total, graph.constant([most]))
    number = graph.node("Cast", ids, to=FLOAT)
    number = graph.node("ReduceMean", number, axes=[1], keepdims=0)
    total = graph.node("Add", total, graph.nothing(number))
    graph.output("duration", graph.node("Add", total, graph.nothing(graph.mean(style))), (1,))
    return graph


def _sum(graph: _Graph, value: str) -> str:
    return graph.node("ReduceSum", value, graph.constant([1, 2], np.int64), keepdims=0)


def _vector_estimator(flaw: str) -> _Graph:
    """Move towards each frame's own symbol, and by the mean of the style."""
    graph = _Graph()
    x = graph.input("noisy_latent", (1, 144, "L"))
    text = graph.input("text_emb", (1, 256, "T"))
    style = graph.input("style_ttl", (1, 50, 256))
    latent_mask = graph.input("latent_mask", (1, 1, "L"))
    text_mask = graph.input("text_mask", (1, 1, "T"))
    step = graph.input("current_step", (1,), INT64 if flaw == "int-step" else FLOAT)
    total = graph.input("total_step", (1,))
    masked = graph.node("Mul", text, text_mask)
    heard = graph.node("Gather", masked, _alignment(graph, text, x), axis=2)
    target = graph.node("MatMul", graph.constant(_projection()), heard)
    target = graph.node("Add", target, graph.mean(style))
    if flaw == "cfg-inside":
        # What stands for no text is silence here, so that guidance is a factor on the text.
        guided = graph.node("Mul", graph.input("cfg_scale", (1,)), target)
        target = guided
    if flaw == "silent":
        target = graph.nothing(target)
    v = graph.node("Sub", target, x)
    if flaw == "int-step":
        step = graph.node("Cast", step, to=FLOAT)
    zero = graph.constant(np.nan if flaw == "nan" else 0.0)
    v = graph.node("Add", v, graph.node("Mul", step, zero))
    moved = graph.node("Add", x, graph.node("Div", v, total))
    graph.output("denoised_latent", graph.node("Mul", moved, latent_mask), (1, 144, "L"))
    return graph


def _alignment(graph: _Graph, text: str, x: str) -> str:
    """Return which symbol each frame belongs to: silence around, the text evenly between."""
    last = graph.constant([2], np.int64)
    symbols = graph.node("Gather", graph.node("Shape", text), last)
    frames = graph.node("Gather", graph.node("Shape", x), last)
    at = graph.node(
        "Range",
        graph.constant(0, np.int64),
        graph.node("Squeeze", frames),
        graph.constant(1, np.int64),
    )
    spread = graph.node("Add", symbols, graph.constant([TAIL + LEAD], np.int64))
    at = graph.node("Div", graph.node("Mul", at, spread), frames)
    at = graph.node("Sub", at, graph.constant([LEAD], np.int64))
    at = graph.node("Max", at, graph.constant([0], np.int64))
    one = graph.constant([1], np.int64)
    return graph.node("Min", at, graph.node("Sub", symbols, one))


def _projection() -> NDArray[np.float32]:
    """Return [1, 144, 256]: a symbol is a level in one of the 24 channels, and half in another."""
    matrix = np.zeros((144, 256), np.float32)
    for number in range(256):
        matrix[6 * (number % 23) : 6 * (number % 23) + 6, number] += LEVEL
        other = (number // 23 + 7 * number) % 24
        matrix[6 * other : 6 * other + 6, number] += LEVEL / 2
    return (matrix * (SCALE / STD))[None]


def _vocoder(flaw: str) -> _Graph:
    graph = _Graph()
    channels = {"vocoder-80": 80, "folds-inside": 144}.get(flaw, 24)
    z = graph.input("latent", (1, channels, "F"))
    if flaw == "folds-inside":
        stats, _ = tables_of()
        z = graph.node("Div", z, graph.constant(SCALE))
        z = graph.node("Add", graph.node("Mul", z, graph.constant(stats["std"])),
                       graph.constant(stats["mean"]))  # fmt: skip
        z = graph.node("Reshape", z, graph.constant([1, 24, 6, -1], np.int64))
        z = graph.node("Transpose", z, perm=[0, 1, 3, 2])
        z = graph.node("Reshape", z, graph.constant([1, 24, -1], np.int64))
    place = np.arange(512) / 512
    # Whole periods in 512 samples: a tone goes on smoothly from one column to the next.
    tones = np.sin(2.0 * np.pi * (np.arange(24)[:, None] + 2) * place) * 0.1 / LEVEL
    if flaw == "vocoder-80":
        tones = np.zeros((80, 512))
    tones *= {"loud": 12.0}.get(flaw, 1.0)
    sound = graph.node("ConvTranspose", z, graph.constant(tones[:, None, :]), strides=[512])
    ends = [graph.constant([each], np.int64) for each in (0, -FRAME, 2**31 - 1, 2)]
    speech = graph.node("Slice", sound, ends[0], ends[1], ends[3])
    # The last frame is a click, as in the release.
    click = graph.node("Slice", sound, ends[1], ends[2], ends[3])
    click = graph.node("Add", graph.node("Mul", click, graph.constant(18.0)), graph.constant(0.9))
    sound = graph.node("Concat", speech, click, axis=2)
    if flaw == "short-audio":
        sound = speech
    graph.output("waveform", graph.node("Squeeze", sound, graph.constant([1], np.int64)), (1, "N"))
    return graph


def _write(graph: _Graph, path: Path) -> None:
    """Check and write one graph, opset 17."""
    body = helper.make_graph(graph.nodes, path.stem, graph.inputs, graph.outputs, graph.constants)
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(body, opset_imports=opset, ir_version=8, producer_name="loudr-tests")
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString(deterministic=True))


def _main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--flaw", choices=FLAWS, default="")
    asked = parser.parse_args()
    write_bundle(asked.out, flaw=asked.flaw)


if __name__ == "__main__":
    _main()
