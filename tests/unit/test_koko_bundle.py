import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from koko import tokenizer_document, write_bundle
from onnx import TensorProto, helper

from loudr_core.errors import BundleError, ConfigError, DeviceError
from loudr_core.speech.bundles import describe_bundle, family_of, verify_bundle
from loudr_core.speech.graph_facts import gather_rows, side_files
from loudr_core.speech.koko.bundle import open_koko_bundle
from loudr_core.speech.koko.graphs import KokoGraph, open_koko_graphs
from loudr_core.speech.koko.probe import frame_multiple, speaker_count
from loudr_core.speech.registry import open_engine


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a whole bundle that no test changes."""
    return write_bundle(tmp_path_factory.mktemp("koko") / "koko-tts", half="both")


@pytest.fixture
def flawed(tmp_path: Path) -> Callable[[str], Path]:
    return lambda flaw: write_bundle(tmp_path / flaw, flaw=flaw)


def test_graphs_are_found_below_onnx_and_at_the_top(bundle: Path, tmp_path: Path) -> None:
    found = open_koko_bundle(bundle)
    assert {name: path.name for name, path in found.graphs.items()} == {
        "text_encoder": "text_encoder.onnx",
        "flow_step": "flow_step.onnx",
        "vocoder": "vocoder.onnx",
    }
    assert found.half_graphs == ()
    flat = write_bundle(tmp_path / "flat", at_top=True)
    assert open_koko_bundle(flat).graphs["vocoder"] == flat / "vocoder.onnx"
    for part in ("tokenizer.json", "onnx/vocoder.onnx"):
        assert open_koko_bundle(bundle / part).folder == bundle
    assert open_koko_bundle(flat / "vocoder.onnx").folder == flat


@pytest.mark.parametrize(
    "name", ["tokenizer.json", "onnx/text_encoder.onnx", "onnx/flow_step.onnx", "onnx/vocoder.onnx"]
)
def test_a_missing_file_is_named(name: str, tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "b")
    (folder / name).unlink()
    with pytest.raises(BundleError, match=f"b has no {name}: fetch the bundle again") as caught:
        open_engine("koko", bundle=folder)
    assert caught.value.context == {"path": str(folder), "key": name}


def test_all_missing_files_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"no tokenizer.json, no onnx/text_.*, no .*vocoder.onnx"):
        open_koko_bundle(tmp_path)
    with pytest.raises(BundleError, match=r"no bundle folder .*nowhere"):
        open_koko_bundle(tmp_path / "nowhere")


def test_trap_half_precision_only_on_request(bundle: Path, tmp_path: Path) -> None:
    assert open_koko_bundle(bundle).graphs["flow_step"].name == "flow_step.onnx"
    half = open_koko_bundle(bundle, precision="float16")
    assert half.half_graphs == ("flow_step", "vocoder")
    assert half.graphs["text_encoder"].name == "text_encoder.onnx"
    only = write_bundle(tmp_path / "only", half="only")
    with pytest.raises(BundleError, match=r"only flow_step_fp16.onnx: ask .* precision = float16"):
        open_koko_bundle(only)
    mixed = write_bundle(tmp_path / "mixed", half="both")
    (mixed / "onnx" / "vocoder_fp16.onnx").unlink()
    assert open_koko_bundle(mixed, precision="float16").half_graphs == ("flow_step",)
    (mixed / "onnx" / "flow_step_fp16.onnx").unlink()
    with pytest.raises(BundleError, match="has no graph in half precision"):
        open_koko_bundle(mixed, precision="float16")
    with pytest.raises(ConfigError, match="'int8' is not one of float32, float16"):
        open_koko_bundle(bundle, precision="int8")


@pytest.mark.parametrize("half", ["both", "single-io"])
def test_trap_feeds_are_cast_to_what_the_graph_declares(half: str, tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / half, half=half)
    graphs = open_koko_graphs(open_koko_bundle(folder, precision="float16"))
    mel = np.linspace(-1, 1, 700).reshape(1, 100, 7)
    one = np.ones(1)
    feeds = {"x": mel, "mu": 0 * mel, "spk_emb": np.zeros((1, 256)), "t": one, "dt": one / 4}
    (moved,) = graphs["flow_step"].run({**feeds, "cfg": one})
    assert moved.dtype == np.float32
    np.testing.assert_allclose(moved, 0.75 * mel, atol=2e-3)
    if half == "both":
        assert (moved != np.float32(0.75) * mel.astype(np.float32)).any()  # halves were fed


def test_trap_another_models_flow_step_is_named(flawed: Callable[[str], Path]) -> None:
    with pytest.raises(BundleError) as caught:
        open_engine("koko", bundle=flawed("no-cfg"))
    assert caught.value.message.endswith(
        "flow_step.onnx: inputs are [x, mu, spk_emb, t, dt]; a Koko flow step needs "
        "[x, mu, spk_emb, t, dt, cfg] - is this another model's export?"
    )
    assert caught.value.context["found"] == ["x", "mu", "spk_emb", "t", "dt"]


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        ("mel-80", r"flow_step.onnx: input 'x' has shape \[1, 80, any\], expected \[1, 100, any\]"),
        ("fixed-length", r"'input_ids' has shape \[1, 12\], expected \[1, any\]"),
        ("flat-durations", r"output 'log_dur' has shape \[any\], expected \[1, any\]"),
        (
            "small-table",
            "has ids up to 66, text_encoder.onnx knows 20: they are not of one ",
        ),
        ("never", "flow_step.onnx runs on no number of frames: with 5 frames, flow_step.onnx fail"),
    ],
)
def test_a_graph_that_does_not_fit_is_refused(
    flaw: str, said: str, flawed: Callable[[str], Path]
) -> None:
    with pytest.raises(BundleError, match=said) as caught:
        open_engine("koko", bundle=flawed(flaw))
    assert "\n" not in caught.value.message
    assert caught.value.context["path"]


def test_inputs_of_other_types_are_refused(bundle: Path, tmp_path: Path) -> None:
    model = onnx.load(bundle / "onnx" / "vocoder.onnx")
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.STRING
    model.graph.node.clear()
    value = helper.make_tensor("value", TensorProto.FLOAT, (1, 1), [0.0])
    model.graph.node.append(helper.make_node("Constant", [], ["audio"], value=value))
    del model.graph.initializer[:]
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("audio", TensorProto.FLOAT, None))
    path = tmp_path / "vocoder.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(BundleError, match=r"input 'mel' is tensor\(string\), expected one of"):
        KokoGraph("vocoder", path)
    path.write_bytes(b"no graph")
    with pytest.raises(BundleError, match=r"cannot load model .*vocoder.onnx"):
        KokoGraph("vocoder", path)


@pytest.mark.parametrize(
    ("flaw", "multiple"), [("", 1), ("odd", 2), ("shrinks", 2), ("quad", 4), ("nan", 1)]
)
def test_trap_a_unet_takes_multiples_of_frames(
    flaw: str, multiple: int, flawed: Callable[[str], Path]
) -> None:
    graphs = open_koko_graphs(open_koko_bundle(flawed(flaw)))
    assert frame_multiple(graphs["flow_step"]) == multiple


def test_speakers_are_counted_in_the_graph(tmp_path: Path) -> None:
    for count in (1, 9, 128):
        folder = write_bundle(tmp_path / str(count), speakers=count)
        assert speaker_count(open_koko_bundle(folder)) == count
        assert len(open_engine("koko", bundle=folder).voices()) == count


def encoder(path: Path, *nodes: onnx.NodeProto, tables: dict[str, tuple[int, ...]]) -> Path:
    """Write a graph of some nodes that end in `out`, for a look at its tables only."""
    given = [helper.make_tensor_value_info("spk_id", TensorProto.INT64, [1])]
    made = [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)]
    stored = [
        helper.make_tensor(name, TensorProto.FLOAT, shape, np.zeros(shape).ravel())
        for name, shape in tables.items()
    ]
    body = helper.make_graph(list(nodes), "g", given, made, stored)
    path.write_bytes(helper.make_model(body).SerializeToString())
    return path


def test_a_table_is_seen_through_what_passes_it_on(tmp_path: Path) -> None:
    node = helper.make_node
    cast = node("Cast", ["spk_id"], ["id"], to=TensorProto.INT32)
    single = node("Cast", ["half"], ["table"], to=TensorProto.FLOAT)
    gather = node("Gather", ["table", "id"], ["out"])
    path = tmp_path / "t.onnx"
    encoder(path, cast, single, gather, tables={"half": (17, 4)})
    assert gather_rows(path, indices="spk_id") == 17
    assert gather_rows(path, indices="input_ids") is None
    encoder(path, node("Gather", ["w", "spk_id"], ["out"], axis=1), tables={"w": (3, 5)})
    assert gather_rows(path, indices="spk_id") is None
    encoder(path, node("Neg", ["spk_id"], ["id"]), gather, tables={"table": (7, 2)})
    assert gather_rows(path, indices="spk_id") is None
    two = node("Gather", ["b", "spk_id"], ["other"])
    encoder(path, cast, gather, two, tables={"table": (7, 2), "b": (5, 2)})
    assert gather_rows(path, indices="spk_id") == 5
    value = helper.make_tensor("v", TensorProto.FLOAT, (4, 1), [0.0] * 4)
    encoder(path, node("Constant", [], ["table"], value=value), cast, gather, tables={})
    assert gather_rows(path, indices="spk_id") == 4


def test_without_a_table_in_sight_there_are_128_speakers(bundle: Path, tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "b")
    path = folder / "onnx" / "text_encoder.onnx"
    model = onnx.load(path)
    (gather,) = [each for each in model.graph.node if "spk_id" in each.input]
    model.graph.node.insert(0, helper.make_node("Abs", ["spk_id"], ["hidden"]))
    gather.input[1] = "hidden"
    path.write_bytes(model.SerializeToString())
    assert speaker_count(open_koko_bundle(folder)) == 128


def test_trap_weights_beside_a_graph_are_part_of_it(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "b", external=True)
    path, side = (folder / "onnx" / f"text_encoder.onnx{end}" for end in ("", ".data"))
    assert side_files(path) == (side,)
    first = open_engine("koko", bundle=folder)
    files = describe_bundle(folder).files
    assert files["onnx/text_encoder.onnx.data"] == side.stat().st_size > 100_000
    data = bytearray(side.read_bytes())
    data[-3] ^= 1
    side.write_bytes(data)
    assert open_engine("koko", bundle=folder).fingerprint() != first.fingerprint()
    side.unlink()
    for call in (lambda: describe_bundle(folder), lambda: open_engine("koko", bundle=folder)):
        with pytest.raises(BundleError, match=r"text_encoder\.onnx needs .*\.data beside it"):
            call()


def test_weights_outside_the_folder_are_refused(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "b", external=True)
    path = folder / "onnx" / "text_encoder.onnx"
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = "../elsewhere.data"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(BundleError, match=r"names weights '../elsewhere.data' outside its folder"):
        side_files(path)
    path.write_bytes(b"\xff\xff")
    with pytest.raises(BundleError, match="cannot read model"):
        side_files(path)


def test_a_missing_provider_is_not_replaced(bundle: Path) -> None:
    with pytest.raises((DeviceError, ConfigError)):
        open_engine("koko", bundle=bundle, provider="cuda")
    with pytest.raises(ConfigError, match="no provider 'tpu'"):
        open_engine("koko", bundle=bundle, provider="tpu")


def test_the_family_is_recognised(bundle: Path, tmp_path: Path) -> None:
    assert family_of(bundle) == "koko"
    assert family_of(bundle / "onnx" / "vocoder.onnx") == "koko"
    for gone in ("onnx/flow_step.onnx", "onnx/text_encoder.onnx", "tokenizer.json"):
        folder = write_bundle(tmp_path / gone.replace("/", "-"))
        (folder / gone).unlink()
        assert family_of(folder) == "koko"


def test_verify_makes_every_check(bundle: Path) -> None:
    found = {check.what: check for check in verify_bundle(bundle)}
    assert all(check.good for check in found.values())
    assert found["text_encoder, float32"].detail == "text_encoder.onnx, 128 speakers"
    assert found["flow_step, float16"].detail == "flow_step_fp16.onnx, frames by 1"
    assert found["tokenizer"].detail == "65 characters, unknown is 1"
    assert {"trial, float32", "trial, float16", "vocoder, float16", "release"} <= found.keys()
    official = {check.what: check for check in verify_bundle(bundle, official=True)}
    assert [what for what, check in official.items() if not check.good] == ["release"]


@pytest.mark.parametrize(
    ("flaw", "bad"),
    [
        ("no-cfg", ["flow_step, float32", "trial, float32"]),
        ("nan", ["trial, float32"]),
        ("short-audio", ["trial, float32"]),
        ("endless", ["trial, float32"]),
        ("small-table", ["tokenizer", "trial, float32"]),
    ],
)
def test_verify_names_what_is_wrong(
    flaw: str, bad: list[str], flawed: Callable[[str], Path]
) -> None:
    found = [check for check in verify_bundle(flawed(flaw)) if not check.good]
    assert [check.what for check in found] == bad
    assert all(check.detail and "\n" not in check.detail for check in found)


def test_verify_compares_checksums_where_there_are_any(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "b")
    names = ("tokenizer.json", "onnx/vocoder.onnx")
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    (folder / "SHA256SUMS").write_text("".join(f"{each}  {name}\n" for name, each in sums.items()))
    assert all(check.good for check in verify_bundle(folder))
    (folder / "tokenizer.json").write_text("{}")
    found = {check.what: check for check in verify_bundle(folder) if not check.good}
    assert found["tokenizer.json"].state == "mismatch"
    (folder / "onnx" / "flow_step.onnx").unlink()
    assert (
        "has no onnx/flow_step.onnx" in {c.what: c for c in verify_bundle(folder)}["files"].detail
    )


def test_describe_tells_what_was_found_out(bundle: Path, flawed: Callable[[str], Path]) -> None:
    found = describe_bundle(bundle)
    assert (found.family, found.name, len(found.voices)) == ("koko", "koko-tts", 128)
    assert found.facts["precisions"] == ["float32", "float16"]
    assert found.facts["half_graphs"] == ["flow_step", "vocoder"]
    assert found.facts["frame_multiple"] == 1
    assert found.files["onnx/flow_step.onnx"] == (bundle / "onnx/flow_step.onnx").stat().st_size
    assert [finding.code for finding in found.findings] == ["bundle-no-published-checksums"]
    assert describe_bundle(flawed("quad")).facts["frame_multiple"] == 4
    with pytest.raises(BundleError, match="knows 20"):
        describe_bundle(flawed("small-table"))


def test_a_tokenizer_that_is_none_stops_the_engine(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "b")
    document = tokenizer_document("flat")
    (folder / "tokenizer.json").write_text(str(document))
    with pytest.raises(BundleError, match=r"tokenizer.json: the tokenizer is not JSON"):
        open_engine("koko", bundle=folder)


@pytest.mark.parametrize("name", ["text_encoder", "flow_step", "vocoder"])
def test_a_graph_that_is_cut_short_is_one_line(name: str, tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "b")
    path = folder / "onnx" / f"{name}.onnx"
    content = path.read_bytes()
    for part in range(20):
        path.write_bytes(content[: len(content) * part // 20])
        with pytest.raises(BundleError) as caught:
            open_engine("koko", bundle=folder)
        assert path.name in caught.value.message
        assert "\n" not in caught.value.message
        assert not all(check.good for check in verify_bundle(folder))
