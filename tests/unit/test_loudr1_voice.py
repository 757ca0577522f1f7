"""Voice profiles: every rule of section 5 has its error, and what is written is what is read."""

import dataclasses
import hashlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loudr_core.errors import BundleError
from loudr_core.speech.loudr1.container import encode_container
from loudr_core.speech.loudr1.voice import read_voice, write_voice

_spec = importlib.util.spec_from_file_location(
    "minimal_loudr1", Path(__file__).parents[1] / "bundle" / "minimal_loudr1.py"
)
assert _spec and _spec.loader
minimal = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(minimal)

ABSENT = minimal.ABSENT
HEADER = {"format_version": 1, "name": "n"}
ARRAYS = (
    "speaker_embedding", "flow_embedding", "prompt_tokens", "prompt_mel", "cond_prompt_tokens",
)  # fmt: skip


def tensors(**changes: Any) -> dict[str, Any]:
    profile = minimal.profile()
    values = {name: getattr(profile, name) for name in ARRAYS}
    result: dict[str, Any] = minimal.changed(values, changes)
    return result


def write(path: Path, header: object = HEADER, **changes: Any) -> Path:
    text = header if isinstance(header, str) else json.dumps(header)
    path.write_bytes(encode_container(tensors(**changes), {"voice": text}))
    return path


def test_a_profile_comes_back_with_the_digest_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "ada.safetensors"
    wanted = minimal.profile("Ada ś", language="pl", enrolment="first-10s-pause")
    written = write_voice(wanted, path)
    found = read_voice(path)
    for profile in (written, found):
        assert profile.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        for field in dataclasses.fields(profile):
            if field.name in ARRAYS:
                ours, theirs = getattr(profile, field.name), getattr(wanted, field.name)
                assert ours.dtype == theirs.dtype
                assert np.array_equal(ours, theirs)
                assert not ours.flags.writeable
            elif field.name != "sha256":
                assert getattr(profile, field.name) == getattr(wanted, field.name)
    assert [each.name for each in tmp_path.iterdir()] == ["ada.safetensors"]


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (write_voice(minimal.profile(), tmp_path / name) for name in "ab")
    assert first.sha256 == second.sha256


def test_the_defaults_of_a_header(tmp_path: Path) -> None:
    voice = read_voice(write(tmp_path / "stem.safetensors", {"format_version": 1.0, "emotion": 5}))
    assert (voice.name, voice.language, voice.enrolment) == ("stem", "en", "first-10s")
    assert voice.source_sample_rate_hz == 24_000


def test_a_long_name_is_cut_and_an_empty_language_stays(tmp_path: Path) -> None:
    header = {"format_version": 1, "name": "x" * 300, "language": ""}
    voice = read_voice(write(tmp_path / "v.safetensors", header))
    assert (len(voice.name), voice.language) == (200, "")


def test_arrays_are_converted_and_empty_prompts_allowed(tmp_path: Path) -> None:
    voice = read_voice(
        write(
            tmp_path / "v.safetensors",
            speaker_embedding=np.ones(256, np.float64),
            flow_embedding=np.ones(192, np.float16),
            prompt_tokens=np.zeros(0, np.int64),
            prompt_mel=np.zeros((80, 0), np.float32),
            cond_prompt_tokens=np.array([8193], np.int32),
        )
    )
    assert voice.speaker_embedding.dtype == voice.flow_embedding.dtype == np.float32
    assert voice.prompt_tokens.dtype == voice.cond_prompt_tokens.dtype == np.int64
    assert (voice.prompt_tokens.size, voice.prompt_mel.shape) == (0, (80, 0))


def of(array: Any, index: Any, value: Any) -> Any:
    changed = np.array(array)
    changed[index] = value
    return changed


WRONG_HEADERS: list[tuple[object, str]] = [
    ({}, "format_version"),
    ({"format_version": 0}, "format_version"),
    ({"format_version": 2}, "format_version"),
    ({"format_version": True}, "format_version"),
    ({"format_version": "1"}, "format_version"),
    ({"format_version": None}, "format_version"),
    ({**HEADER, "name": 5}, "name"),
    ({**HEADER, "language": None}, "language"),
    ({**HEADER, "enrolment": "last-10s"}, "enrolment"),
    ({**HEADER, "enrolment": None}, "enrolment"),
    ({**HEADER, "source_sample_rate": 0}, "source_sample_rate"),
    ({**HEADER, "source_sample_rate": 16000.5}, "source_sample_rate"),
    ({**HEADER, "source_sample_rate": "24000"}, "source_sample_rate"),
]


@pytest.mark.parametrize(("header", "key"), WRONG_HEADERS, ids=str)
def test_a_wrong_header_is_refused_by_its_key(tmp_path: Path, header: object, key: str) -> None:
    path = write(tmp_path / "v.safetensors", header)
    with pytest.raises(BundleError, match="voice header key") as refused:
        read_voice(path)
    assert refused.value.context == {"path": str(path), "key": key}


@pytest.mark.parametrize("text", ["{", "null", "[]", "[" * 99999])
def test_a_header_that_is_no_object_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BundleError, match="the voice header"):
        read_voice(write(tmp_path / "v.safetensors", text))


def test_no_header_is_version_zero(tmp_path: Path) -> None:
    path = tmp_path / "v.safetensors"
    path.write_bytes(encode_container(tensors(), {}))
    with pytest.raises(BundleError, match="'format_version' is 0"):
        read_voice(path)


MEL = np.zeros((80, 4), np.float32)
WRONG_TENSORS: list[tuple[str, Any]] = [
    ("speaker_embedding", np.ones(255, np.float32)),
    ("speaker_embedding", np.ones((1, 256), np.float32)),
    ("speaker_embedding", np.zeros(256, np.float32)),
    ("speaker_embedding", np.full(256, 9e-7 / 16, np.float32)),
    ("speaker_embedding", of(np.ones(256, np.float32), 7, np.inf)),
    ("speaker_embedding", np.full(256, 1e300)),
    ("speaker_embedding", np.ones(256, np.int64)),
    ("flow_embedding", np.ones(256, np.float32)),
    ("flow_embedding", of(np.ones(192, np.float32), 0, np.nan)),
    ("prompt_tokens", np.array([6561])),
    ("prompt_tokens", np.array([-1])),
    ("prompt_tokens", np.zeros((1, 3), np.int64)),
    ("prompt_tokens", np.array(5)),
    ("prompt_tokens", np.array([1.5], np.float32)),
    ("prompt_tokens", np.array([2**63 + 1], np.uint64)),
    ("prompt_mel", np.zeros((81, 4), np.float32)),
    ("prompt_mel", np.zeros(80, np.float32)),
    ("prompt_mel", of(MEL, (3, 2), np.nan)),
    ("cond_prompt_tokens", np.array([8194])),
    ("cond_prompt_tokens", np.array([-2])),
    *[(name, ABSENT) for name in ARRAYS],
]


@pytest.mark.parametrize(("name", "values"), WRONG_TENSORS, ids=range(len(WRONG_TENSORS)))
def test_a_wrong_tensor_is_refused_by_its_name(tmp_path: Path, name: str, values: Any) -> None:
    path = write(tmp_path / "v.safetensors", **{name: values})
    with pytest.raises(BundleError) as refused:
        read_voice(path)
    assert refused.value.context["key"] == name
    assert str(path) in refused.value.message
    assert "\n" not in refused.value.message


def test_a_file_above_eight_mebibytes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "v.safetensors"
    with path.open("wb") as file:
        file.truncate((8 << 20) + 1)
    with pytest.raises(BundleError, match="8 MiB"):
        read_voice(path)


def test_a_missing_voice_is_one_line(tmp_path: Path) -> None:
    for path in (tmp_path / "nobody.safetensors", tmp_path / ("x" * 300), tmp_path):
        with pytest.raises(BundleError, match="cannot be read"):
            read_voice(path)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"speaker_embedding": np.zeros(256, np.float32)}, "norm"),
        ({"prompt_tokens": np.array([7000])}, "ids 0 to 6560"),
        ({"prompt_mel": np.zeros((80, 30_000), np.float32)}, "8 MiB"),
        ({"source_sample_rate_hz": 0}, "above 0"),
        ({"enrolment": "x"}, "enrolment"),
    ],
)
def test_a_profile_that_could_not_be_read_is_not_written(
    tmp_path: Path, changes: dict[str, Any], problem: str
) -> None:
    path = tmp_path / "v.safetensors"
    with pytest.raises(ValueError, match=problem):
        write_voice(minimal.profile(**changes), path)
    assert not list(tmp_path.iterdir())
