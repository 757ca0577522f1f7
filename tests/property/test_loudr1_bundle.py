"""Damaged bundles, however they are damaged: a `BundleError` of one line, or they open.

No other exception, no hang, and no memory that the file's own size does not explain.
"""

import importlib.util
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loudr_core.errors import BundleError
from loudr_core.speech.checksums import check_tree
from loudr_core.speech.loudr1.bundle import open_bundle
from loudr_core.speech.loudr1.container import encode_container, payload_sha256, read_header
from loudr_core.speech.loudr1.export_record import check_export_record
from loudr_core.speech.loudr1.fingerprint import algorithm_fingerprint
from loudr_core.speech.loudr1.manifest import algorithm_from_manifest
from loudr_core.speech.loudr1.runnable import runnable_faults
from loudr_core.speech.loudr1.voice import read_voice

_spec = importlib.util.spec_from_file_location(
    "minimal_loudr1", Path(__file__).parents[1] / "bundle" / "minimal_loudr1.py"
)
assert _spec and _spec.loader
minimal = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(minimal)

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-10, 10_000),
    st.sampled_from([10**400, -(10**400), 2**63, 1 << 64]),
    st.floats(),
    st.text(st.characters(codec=None), max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=8,
)
FULL = {
    **minimal.MANIFEST,
    "decode": {"mode": "single"},
    "sampling_defaults": {"temperature": 0.8, "min_p": 0.05, "max_new_tokens": 255},
    "speech_tokens": {"start": 6561, "stop": 6562},
    "chunking": {"enabled": True, "split_on": [". "], "abbreviations": ["Mr"], "max_tokens": 255},
    "postprocess": {"mode": "trim", "stall_run_tokens": 25, "pacing_tolerance": 1.6},
    "euler_grid": [0, 0.5, 1],
    "sources": {"flow": {"role": "estimator", "sha256": "a"}},
    "tensor_payload_sha256": "0" * 64,
}


def one_line(call: Callable[[], object]) -> object:
    """Return what a call returns, or the BundleError that it raises, checked."""
    try:
        return call()
    except BundleError as error:
        assert "\n" not in error.message
        assert "\r" not in error.message
        assert len(error.message) < 2000
        return error


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a manifest with some values, at any depth, replaced by anything that JSON can hold."""
    manifest: dict[str, Any] = json.loads(json.dumps(FULL))
    for _ in range(draw(st.integers(1, 4))):
        place: Any = manifest
        key = draw(st.sampled_from(sorted(manifest)))
        while isinstance(place[key], dict) and place[key] and draw(st.booleans()):
            place = place[key]
            key = draw(st.sampled_from(sorted(place)))
        if draw(st.integers(0, 4)) == 0:
            del place[key]
            if not place:
                break
        else:
            place[key] = draw(VALUES)
    return manifest


@settings(max_examples=300, deadline=None)
@given(mutated())
def test_manifests(manifest: dict[str, Any]) -> None:
    def parse() -> object:
        algorithm = algorithm_from_manifest(manifest)
        faults = list(runnable_faults(algorithm))
        assert all("\n" not in fault.problem for fault in faults)
        return algorithm_fingerprint(algorithm)

    one_line(parse)


def damage(content: bytes, draw: st.DrawFn) -> bytes:
    """Change, cut, double or insert a few bytes."""
    found = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        # Headers come first, and they are what can be misread.
        at = draw(st.integers(0, max(0, min(len(found), 1200) - 1)))
        match draw(st.sampled_from(["flip", "cut", "insert", "drop", "digit", "length"])):
            case "flip" if found:
                found[at] ^= 1 << draw(st.integers(0, 7))
            case "cut":
                del found[draw(st.integers(0, len(found))) :]
            case "insert":
                found[at:at] = draw(st.binary(min_size=1, max_size=9))
            case "drop":
                del found[at : at + draw(st.integers(1, 9))]
            case "digit" if found:
                found[at] = draw(st.sampled_from(b'0123456789-+eE.[]{}",:'))
            case "length":
                found[:8] = draw(st.integers(0, 2**64 - 1)).to_bytes(8, "little")
    return bytes(found)


def voice_bytes() -> bytes:
    profile = minimal.profile()
    header = {"format_version": 1, "name": "n", "language": "en", "enrolment": "first-10s"}
    arrays = {
        name: getattr(profile, name)
        for name in (
            "speaker_embedding", "flow_embedding", "prompt_tokens", "prompt_mel",
            "cond_prompt_tokens",
        )
    }  # fmt: skip
    return encode_container(arrays, {"voice": json.dumps(header)})


VOICE = voice_bytes()
RECORD = json.dumps(
    {
        "graphs": {
            name: {
                "checkpoint_sha256": "a",
                "algorithm_fingerprint": "b",
                "euler_steps": 2,
                "estimator_sha256": None,
            }
            for name in ("a.onnx", "b.onnx")
        }
    }
).encode()
SUMS = b"".join(b"%064x  voices/%d.safetensors\n" % (number, number) for number in range(3))


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    return damage(content, draw)


@settings(max_examples=300, deadline=None)
@given(damaged(VOICE))
def test_voices_and_containers(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("voice") / "v.safetensors"
    path.write_bytes(content)
    one_line(lambda: read_voice(path))
    one_line(lambda: payload_sha256(path))


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(
        VALUES,
        st.builds(
            lambda key, value: {**HEADER, key: value},
            st.sampled_from(
                ["format_version", "name", "language", "enrolment", "source_sample_rate"]
            ),
            VALUES,
        ),
    )
)
def test_voice_headers(tmp_path_factory: pytest.TempPathFactory, header: object) -> None:
    path = tmp_path_factory.mktemp("voice") / "v.safetensors"
    start = len(VOICE) - PAYLOAD
    tensors = json.loads(VOICE[8:start])
    tensors["__metadata__"] = {"voice": json.dumps(header)}
    text = json.dumps(tensors).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + VOICE[start:])
    one_line(lambda: read_voice(path))


HEADER = {"format_version": 1, "name": "n"}
PAYLOAD = len(VOICE) - 8 - int.from_bytes(VOICE[:8], "little")


@settings(max_examples=150, deadline=None)
@given(st.one_of(damaged(RECORD), VALUES.map(lambda value: json.dumps(value).encode())))
def test_export_records(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("record")
    (folder / "export.json").write_bytes(content)
    one_line(
        lambda: check_export_record(
            folder, ["a.onnx"], checkpoint_sha256="a", fingerprint="b", euler_steps=2
        )
    )


@settings(max_examples=150, deadline=None)
@given(damaged(SUMS), st.booleans(), VALUES)
def test_checksums(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, official: bool, release: object
) -> None:
    folder = tmp_path_factory.mktemp("sums")
    (folder / "SHA256SUMS").write_bytes(content)
    (folder / "release.json").write_text(json.dumps(release))
    (folder / "voices").mkdir()
    (folder / "voices" / "1.safetensors").write_bytes(b"x")
    one_line(lambda: list(check_tree(folder, official=official)))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a whole bundle; its checkpoint is written anew by each case."""
    folder: Path = minimal.write_minimal(tmp_path_factory.mktemp("whole") / "bundle")
    (folder / "onnx" / "export.json").unlink()
    return folder


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_checkpoints(bundle: Path, data: st.DataObject) -> None:
    """Manifests and headers of a whole checkpoint; those that are refused are so before hashing."""
    path = bundle / "loudr-1.safetensors"
    minimal.write_checkpoint(path, data.draw(mutated()))
    if data.draw(st.booleans()):
        header = read_header(path)
        with path.open("r+b") as file:
            start = file.read(header.payload)
            changed = damage(start, data.draw)
            size = path.stat().st_size
            file.seek(0)
            file.write(changed[: header.payload])
            file.truncate(data.draw(st.sampled_from([size, size, size - 1, size + 5])))
    one_line(lambda: open_bundle(bundle))


def test_memory_is_bounded_by_the_file(tmp_path: Path) -> None:
    """Headers that claim exabytes cost what their text costs."""
    path = tmp_path / "x.safetensors"
    huge = 1 << 60
    for entry in (
        {"dtype": "F32", "shape": [huge], "data_offsets": [0, 4 * huge]},
        {"dtype": "U8", "shape": [huge], "data_offsets": [0, huge]},
        {"dtype": "F32", "shape": [0, huge], "data_offsets": [0, 0]},
    ):
        text = json.dumps({"prompt_mel": entry}).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text)
        tracemalloc.start()
        try:
            one_line(lambda: read_voice(path))
            one_line(lambda: payload_sha256(path))
            assert tracemalloc.get_traced_memory()[1] < 4 << 20
        finally:
            tracemalloc.stop()
