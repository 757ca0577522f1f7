"""Containers, checksums, export records, voices and the choice of a checkpoint, against loudkit."""

import copy
import hashlib
import importlib.util
import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import SafetensorError

from loudr_core.errors import BundleError, ConfigError
from loudr_core.speech.checksums import check_tree, parse_sums
from loudr_core.speech.loudr1.checkpoint import choose_checkpoint, read_manifest
from loudr_core.speech.loudr1.container import encode_container, payload_sha256
from loudr_core.speech.loudr1.export_record import check_export_record
from loudr_core.speech.loudr1.voice import read_voice, write_voice
from loudr_core.speech.loudr1.voice_folder import voice_in_folder

loudkit = pytest.importorskip("loudkit", reason="the reference engine is not installed")

import loudkit.checksums as reference_checksums  # noqa: E402
import loudkit.release as reference_release  # noqa: E402
from loudkit.backends import check_export_record as reference_record  # noqa: E402
from loudkit.backends import production_algorithm  # noqa: E402
from loudkit.checkpoint import Checkpoint  # noqa: E402
from loudkit.checkpoint import payload_sha256 as reference_digest  # noqa: E402
from loudkit.errors import VoiceNotFoundError  # noqa: E402
from loudkit.voice import VoiceProfile  # noqa: E402

_spec = importlib.util.spec_from_file_location(
    "minimal_loudr1", Path(__file__).parents[1] / "bundle" / "minimal_loudr1.py"
)
assert _spec and _spec.loader
minimal = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(minimal)

REFUSALS = (ValueError, TypeError, OSError, OverflowError, RecursionError, SafetensorError)
REFUSED = object()
A = "a" * 64


def theirs(call: Callable[[], object]) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except REFUSALS:
            return REFUSED


def ours(call: Callable[[], object]) -> object:
    try:
        return call()
    except BundleError as error:
        assert "\n" not in error.message
        return REFUSED


# Containers.

DTYPES = {
    "BOOL": 1, "U8": 1, "I8": 1, "U16": 2, "I16": 2, "F16": 2, "BF16": 2, "U32": 4, "I32": 4,
    "F32": 4, "U64": 8, "I64": 8, "F64": 8, "F8_E4M3": 1, "F8_E5M2": 1,
}  # fmt: skip
META = {"manifest": json.dumps({"format": "loudkit-checkpoint", "format_version": 1})}


@st.composite
def containers(draw: st.DrawFn) -> bytes:
    """Draw a container of small tensors; often with something wrong about it."""
    header: dict[str, Any] = {"__metadata__": dict(META)}
    at = 0
    for name in draw(st.lists(st.text(max_size=3), max_size=4, unique=True)):
        dtype = draw(st.sampled_from(sorted(DTYPES)))
        shape = draw(st.lists(st.integers(0, 3), max_size=3))
        end = at + DTYPES[dtype] * int(np.prod(shape, dtype=int))
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, end]}
        at = end
    tensors = [entry for name, entry in header.items() if name != "__metadata__"]
    wrong = draw(st.sampled_from(["", "", "", "entry", "size", "meta", "text"]))
    if wrong == "entry" and tensors:
        entry = draw(st.sampled_from(tensors))
        key = draw(st.sampled_from(["dtype", "shape", "data_offsets"]))
        junk = [None, 5, "F4", "x", [], [0], [1, 2], [0, 8], [-1, 4], [0.0, 4.0], [2**63], {}]
        entry[key] = draw(st.sampled_from(junk))
        if draw(st.booleans()):
            entry["more"] = 1
    if wrong == "meta":
        header["__metadata__"] = draw(
            st.sampled_from(
                [None, [], 5, {}, {"manifest": 5}, {**META, "x": None}, {**META, "y": ""}]
            )
        )
    text = json.dumps(header).encode()
    if wrong == "text":
        cut = draw(st.integers(0, len(text)))
        text = draw(st.sampled_from([text[:cut], text + b"  ", text[:cut] + b"\xff" + text[cut:]]))
    payload = draw(st.binary(min_size=at, max_size=at))
    if wrong == "size":
        payload = draw(st.sampled_from([payload[:-1], payload + b"x", b""]))
    return len(text).to_bytes(8, "little") + text + payload


@settings(max_examples=100, deadline=None)
@given(st.lists(containers(), min_size=8, max_size=8))
def test_containers(tmp_path_factory: pytest.TempPathFactory, batch: list[bytes]) -> None:
    """100 examples of 8: 800 files; manifests and payload digests are equal, or both refused."""
    path = tmp_path_factory.mktemp("container") / "x.safetensors"
    for content in batch:
        path.write_bytes(content)
        wanted = theirs(lambda: Checkpoint.open(path).manifest)
        assert ours(lambda: read_manifest(path)[0]) == wanted
        if wanted is not REFUSED:
            assert ours(lambda: payload_sha256(path)) == theirs(lambda: reference_digest(path))


# The choice of a checkpoint.

NAMES = ["loudr-1", "loudr-1-turbo", "ve", ".hidden", "mine", "yours", "other"]
ROLES = [None, "synthesis", "synthesis", "enrollment", "something", 5, "junk", "newer"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from(NAMES), st.sampled_from(ROLES), max_size=4),
        min_size=5,
        max_size=5,
    )
)
def test_which_checkpoint(
    tmp_path_factory: pytest.TempPathFactory, batch: list[dict[str, Any]]
) -> None:
    """60 examples of 5: 300 folders."""
    for files in batch:
        folder = tmp_path_factory.mktemp("choose")
        for name, role in files.items():
            path = folder / f"{name}.safetensors"
            manifest = {"format": "loudkit-checkpoint", "format_version": 1, "artifact_role": role}
            if role == "junk":
                path.write_bytes(b"junk")
            elif role == "newer":
                minimal.write_checkpoint(path, {**manifest, "format_version": 3}, {})
            else:
                minimal.write_checkpoint(path, manifest, {})
        wanted = theirs(lambda folder=folder: reference_release._only_checkpoint_in(folder))
        assert ours(lambda folder=folder: choose_checkpoint(folder)) == wanted
        shutil.rmtree(folder)


# SHA256SUMS.

PARTS = st.sampled_from(
    ["a", "b.bin", "voices", "x.safetensors", "..", ".", "", "C:", "c:x", "a b", "ś", "a\\b", " "]
)
LINE_NAMES = st.lists(PARTS, min_size=1, max_size=3).map("/".join)
DIGESTS = st.sampled_from([A, A, A, "b" * 64, "A" * 64, "a" * 63, "g" * 64, ""])
LINES = st.builds(
    "{}{}{}{}".format,
    DIGESTS,
    st.sampled_from(["  ", "  ", "  ", " ", "   ", " *", "\t"]),
    LINE_NAMES,
    st.sampled_from(["\n", "\n", "\r\n", "", "\n\n", "\r", "\v\n", "\x85\n", "\u2028"]),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.lists(LINES, max_size=4).map("".join), min_size=10, max_size=10))
def test_lines_of_sums(tmp_path_factory: pytest.TempPathFactory, batch: list[str]) -> None:
    """80 examples of 10: 800 files."""
    path = tmp_path_factory.mktemp("sums") / "SHA256SUMS"
    for text in batch:
        path.write_text(text, encoding="utf-8", newline="")
        wanted = theirs(lambda: reference_checksums._parse_sha256sums(path))
        assert ours(lambda: parse_sums(path)) == wanted


TREE_NAMES = [
    "a.bin", "loudr-1.safetensors", "voices/v.safetensors", "voices/w.safetensors", "notes.txt",
    ".gitattributes", ".loudkit-release.json", ".cache/x", "sub/.cache/y", "sub/SHA256SUMS",
    "release.json",
]  # fmt: skip
RELEASES = [
    '{"profile": "full-0.1", "verified": true}',
    '{"profile": "turbo-0.1", "verified": true}',
    '{"profile": "turbo-0.1", "verified": 1}',
    '{"profile": "x", "verified": true}',
    "[]",
    "{",
]


@st.composite
def trees(draw: st.DrawFn) -> tuple[dict[str, bytes], str | None]:
    """Draw files, and a SHA256SUMS that lists most of them, some wrongly, and some others."""
    names = draw(st.lists(st.sampled_from(TREE_NAMES), max_size=6, unique=True))
    files = {name: draw(st.sampled_from([b"1", b"2"])) for name in names}
    if "release.json" in files:
        release = draw(st.one_of(st.just(RELEASES[0]), st.sampled_from(RELEASES)))
        files["release.json"] = release.encode()
    if draw(st.integers(0, 9)) == 0:
        return files, None
    listed = {
        name: hashlib.sha256(content).hexdigest()
        for name, content in files.items()
        if draw(st.integers(0, 7))
    }
    for name in draw(st.lists(st.sampled_from(TREE_NAMES), max_size=1)):
        listed[name] = hashlib.sha256(b"1").hexdigest()
    return files, "".join(f"{digest}  {name}\n" for name, digest in listed.items())


@settings(max_examples=80, deadline=None)
@given(st.lists(trees(), min_size=4, max_size=4))
def test_trees(
    tmp_path_factory: pytest.TempPathFactory, batch: list[tuple[dict[str, bytes], str | None]]
) -> None:
    """80 examples of 4 trees, each by both rules: 640 comparisons."""
    for files, sums in batch:
        folder = tmp_path_factory.mktemp("tree")
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        if sums is not None:
            (folder / "SHA256SUMS").write_text(sums)
        for official, repo in ((False, "me/x"), (True, "LoudReader/x")):
            wanted = theirs(
                lambda folder=folder, repo=repo: reference_checksums._verify_sha256sums(
                    folder, repo=repo
                )
            )
            found = ours(
                lambda folder=folder, official=official: all(
                    file.ok for file in check_tree(folder, official=official)
                )
            )
            assert (found is True) == (wanted is None), (files, sums, official)
        shutil.rmtree(folder)


# Export records.

MEMBERS = [f"{name}.onnx" for name in minimal.GRAPHS]
VALUES = st.sampled_from([None, True, 1, 2, 2.0, "x", "", [], {}, 10**30])
COMPARED = ["checkpoint_sha256", "algorithm_fingerprint", "euler_steps", "estimator_sha256"]


@st.composite
def record_changes(draw: st.DrawFn) -> Callable[[dict[str, Any]], object]:
    """Draw what happens to a record's graphs: to one, to all, to the set."""
    kind = draw(st.sampled_from(["none", "one", "all", "drop", "add", "entry", "block"]))
    key, value = draw(st.sampled_from(COMPARED)), draw(VALUES)
    member = draw(st.sampled_from(MEMBERS))
    drop = draw(st.booleans())

    def change(record: dict[str, Any]) -> None:
        graphs = record["graphs"]
        if kind in ("one", "all"):
            for name in [member] if kind == "one" else MEMBERS:
                graphs[name].pop(key) if drop else graphs[name].update({key: value})
        elif kind == "drop":
            del graphs[member]
        elif kind == "add":
            graphs["old.onnx"] = {**graphs[member], **({key: value} if drop else {})}
        elif kind == "entry":
            graphs[member] = value
        elif kind == "block":
            record["graphs"] = value

    return change


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str | None, Checkpoint]:
    """Return checkpoints without tensors, by the estimator that their manifests name."""
    found: dict[str | None, Checkpoint] = {}
    for estimator in (None, "e" * 64):
        folder = tmp_path_factory.mktemp("recorded")
        sources = {"flow": {"role": "estimator", "sha256": estimator}} if estimator else {}
        manifest = {**minimal.MANIFEST, "sources": sources}
        path = minimal.write_checkpoint(folder / "loudr-1.safetensors", manifest, {})
        found[estimator] = Checkpoint.open(path)
    return found


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(record_changes(), st.sampled_from([None, "e" * 64, "f" * 64]), st.booleans()),
        min_size=8,
        max_size=8,
    )
)
def test_export_records(
    tmp_path_factory: pytest.TempPathFactory,
    recorded: dict[str | None, Checkpoint],
    batch: list[tuple[Callable[[dict[str, Any]], object], str | None, bool]],
) -> None:
    """80 examples of 8: 640 records."""
    folder = tmp_path_factory.mktemp("record")
    for change, traced, packed in batch:
        estimator = "e" * 64 if packed else None
        checkpoint = recorded[estimator]
        algorithm = production_algorithm(checkpoint)
        digest = hashlib.sha256(Path(checkpoint.path).read_bytes()).hexdigest()
        entry = {
            "checkpoint_sha256": digest,
            "algorithm_fingerprint": algorithm.fingerprint(),
            "euler_steps": 2,
            "estimator_sha256": traced,
        }
        record = {"graphs": {name: copy.copy(entry) for name in MEMBERS}}
        change(record)
        (folder / "export.json").write_text(json.dumps(record))
        wanted = theirs(
            lambda checkpoint=checkpoint, algorithm=algorithm: reference_record(
                folder, checkpoint, algorithm, block="graphs", members=MEMBERS, tool="t"
            )
        )
        found = ours(
            lambda digest=digest, algorithm=algorithm, estimator=estimator: check_export_record(
                folder,
                MEMBERS,
                checkpoint_sha256=digest,
                fingerprint=algorithm.fingerprint(),
                euler_steps=2,
                estimator_sha256=estimator,
            )
        )
        assert found == wanted, record


# Voices.

TEXT_JUNK = st.sampled_from([None, True, 5, [], {}, "", "x", "pl", "x" * 300, "ś"])
NUMBER_JUNK = st.sampled_from(
    [None, True, "1", [], 0, 1, 1.0, 2, 1.5, -1, 16000, 1e300, float("nan"), float("inf")]
)
VOICE_KEYS: dict[str, st.SearchStrategy[Any]] = {
    "format_version": NUMBER_JUNK,
    "source_sample_rate": NUMBER_JUNK,
    "name": TEXT_JUNK,
    "language": TEXT_JUNK,
    "enrolment": st.one_of(st.sampled_from(["first-10s", "first-10s-pause"]), TEXT_JUNK),
    "emotion": NUMBER_JUNK,
}
FLOATS = st.sampled_from([0.0, 1e-9, 1.0, -3.0, float("nan"), float("inf"), 1e-5])


@st.composite
def voices(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw a voice's header and tensors, with at most one thing changed in each."""
    header: dict[str, Any] = {"format_version": 1, "name": "n"}
    if draw(st.booleans()):
        key = draw(st.sampled_from(sorted(VOICE_KEYS)))
        header[key] = draw(VOICE_KEYS[key])
    profile = minimal.profile()
    arrays = {
        name: np.array(getattr(profile, name))
        for name in (
            "speaker_embedding", "flow_embedding", "prompt_tokens", "prompt_mel",
            "cond_prompt_tokens",
        )
    }  # fmt: skip
    name = draw(st.sampled_from(sorted(arrays)))
    match draw(st.sampled_from(["", "", "shape", "value", "all", "absent", "type"])):
        case "shape":
            shape = draw(st.lists(st.sampled_from([0, 1, 2, 80, 192, 256]), max_size=2))
            arrays[name] = np.ones(shape, arrays[name].dtype)
        case "value" if arrays[name].dtype == np.int64:
            arrays[name][3] = draw(st.integers(-2, 9000))
        case "value":
            arrays[name].flat[5] = draw(FLOATS)
        case "all" if arrays[name].dtype == np.float32:
            arrays[name][...] = draw(FLOATS)
        case "absent":
            del arrays[name]
        case "type":
            kind = arrays[name].dtype.kind
            types = ["f2", "f4", "f8"] if kind == "f" else ["i8", "i4", "u2", "u8"]
            arrays[name] = arrays[name].astype(draw(st.sampled_from(types)))
    return header, arrays


@settings(max_examples=100, deadline=None)
@given(st.lists(voices(), min_size=8, max_size=8))
def test_voices(
    tmp_path_factory: pytest.TempPathFactory,
    batch: list[tuple[dict[str, Any], dict[str, Any]]],
) -> None:
    """100 examples of 8: 800 profiles."""
    path = tmp_path_factory.mktemp("voice") / "stem.safetensors"
    for header, arrays in batch:
        path.write_bytes(encode_container(arrays, {"voice": json.dumps(header)}))
        wanted = theirs(lambda: VoiceProfile.load(path))
        found = ours(lambda: read_voice(path))
        if wanted is REFUSED:
            assert found is REFUSED
            continue
        assert found is not REFUSED
        for name in ("name", "language", "enrolment"):
            assert getattr(found, name) == getattr(wanted, name)
        assert found.source_sample_rate_hz == wanted.source_sample_rate  # type: ignore[attr-defined]
        assert found.sha256 == wanted.source_sha256  # type: ignore[attr-defined]
        for name, array in arrays.items():
            assert np.array_equal(getattr(found, name), getattr(wanted, name).astype(array.dtype))


def test_a_written_voice_is_the_file_that_the_reference_writes(tmp_path: Path) -> None:
    written = write_voice(minimal.profile("Ada", language="pl"), tmp_path / "ours.safetensors")
    VoiceProfile.load(tmp_path / "ours.safetensors").save(tmp_path / "theirs.safetensors")
    content = (tmp_path / "theirs.safetensors").read_bytes()
    assert (tmp_path / "ours.safetensors").read_bytes() == content
    assert written.sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("name", ["ada", "basia", "ada.b", "Ada", "zzz", "../ada"])
def test_voices_are_found_by_the_same_names(tmp_path: Path, name: str) -> None:
    (tmp_path / "voices").mkdir()
    for each in ("ada", "basia", "ada.b", "../ada"):
        write_voice(minimal.profile(each), tmp_path / "voices" / f"{each}.safetensors")
    try:
        wanted = reference_release._voice_in_tree(tmp_path, str(tmp_path), f"{name}.safetensors")
    except VoiceNotFoundError:
        with pytest.raises(ConfigError):
            voice_in_folder(tmp_path, name)
    else:
        digest = hashlib.sha256(Path(wanted).read_bytes()).hexdigest()
        assert voice_in_folder(tmp_path, name).sha256 == digest
