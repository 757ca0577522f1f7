"""`loudr bundle verify` and `describe`, on bundles that are whole and on ones that are not."""

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows import cli
from loudr_core.speech.bundles import FAMILIES, describe_bundle, family_of, verify_bundle
from loudr_core.speech.loudr1.container import payload_sha256, read_header

_spec = importlib.util.spec_from_file_location(
    "minimal_loudr1", Path(__file__).parents[1] / "bundle" / "minimal_loudr1.py"
)
assert _spec and _spec.loader
minimal = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(minimal)

Loudr = Callable[..., tuple[int, str, str]]


@pytest.fixture
def loudr(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Loudr:
    """Return a caller of the command line: exit code, standard output, standard error."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(name, "1")

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["loudr", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return left.value.code, out, err

    return call


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder: Path = minimal.write_minimal(tmp_path / "bundle")
    minimal.write_sums(folder)
    return folder


def checks(out: str) -> dict[str, Any]:
    return {check["what"]: check for check in json.loads(out)["checks"]}


def test_a_whole_bundle_verifies(loudr: Loudr, bundle: Path) -> None:
    code, out, err = loudr("bundle", "verify", bundle)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["OK", "loudr-1.safetensors"]
    assert "checks passed" in lines[-1]
    code, out, _ = loudr("bundle", "verify", bundle, "--json")
    answer = json.loads(out)
    assert (code, answer["ok"], answer["family"], answer["official"]) == (0, True, "loudr1", False)
    assert all(check["good"] for check in answer["checks"])
    assert {"parts", "voice ada", "weights", "payload"} <= checks(out).keys()


def test_a_changed_file_is_a_mismatch_and_exit_code_5(loudr: Loudr, bundle: Path) -> None:
    (bundle / "onnx" / "vocoder.onnx").write_bytes(b"other")
    code, out, _ = loudr("bundle", "verify", bundle)
    assert code == 5
    (line,) = [line for line in out.splitlines() if "onnx/vocoder.onnx" in line]
    assert line.startswith("mismatch")
    code, out, _ = loudr("bundle", "verify", bundle, "--json")
    assert code == 5
    assert not json.loads(out)["ok"]
    assert [what for what, check in checks(out).items() if not check["good"]] == [
        "onnx/vocoder.onnx"
    ]


def test_every_check_is_made_although_one_fails(loudr: Loudr, bundle: Path) -> None:
    (bundle / "SHA256SUMS").write_text("nonsense\n")
    (bundle / "voices" / "ada.safetensors").write_bytes(b"x")
    code, out, _ = loudr("bundle", "verify", bundle, "--json")
    found = checks(out)
    assert code == 5
    assert not found["SHA256SUMS"]["good"]
    assert not found["voice ada"]["good"]
    assert found["voice basia"]["good"]
    assert found["weights"]["good"]


def test_parts_that_do_not_fit_are_a_line(loudr: Loudr, bundle: Path) -> None:
    (bundle / "tokenizer.json").write_text("{}")
    minimal.write_sums(bundle)
    code, out, _ = loudr("bundle", "verify", bundle, "--json")
    assert code == 5
    assert "tokenizer" in checks(out)["parts"]["detail"]


def test_a_wrong_payload_digest_is_a_mismatch(loudr: Loudr, tmp_path: Path) -> None:
    folder = minimal.write_minimal(
        tmp_path / "b", manifest={"tensor_payload_sha256": "0" * 64, "sources": {}}
    )
    code, out, _ = loudr("bundle", "verify", folder, "--json")
    assert code == 5
    assert checks(out)["payload"]["state"] == "mismatch"
    assert checks(out)["SHA256SUMS"] == {
        "what": "SHA256SUMS",
        "state": "absent",
        "good": True,
        "detail": "no file could be compared",
    }
    digest = payload_sha256(folder / "loudr-1.safetensors")
    right = minimal.write_minimal(tmp_path / "c", manifest={"tensor_payload_sha256": digest})
    assert loudr("bundle", "verify", right)[0] == 0


def test_official_asks_for_more(loudr: Loudr, bundle: Path) -> None:
    code, out, _ = loudr("bundle", "verify", bundle, "--official", "--json")
    assert code == 5
    assert "release.json" in checks(out)["SHA256SUMS"]["detail"]
    (bundle / "release.json").write_text('{"profile": "full-0.1", "verified": true}')
    (bundle / "SHA256SUMS").unlink()
    minimal.write_sums(bundle)
    assert loudr("bundle", "verify", bundle, "--official")[0] == 0
    (bundle / "notes.txt").write_text("mine")
    assert loudr("bundle", "verify", bundle)[0] == 0
    assert loudr("bundle", "verify", bundle, "--official")[0] == 5


def test_describe_says_what_it_is(loudr: Loudr, bundle: Path) -> None:
    code, out, _ = loudr("bundle", "describe", bundle)
    assert code == 0
    for part in ("minimal", "7cd75498ad4e7531", "single", "24000", "temperature", "ada", "basia"):
        assert part in out
    code, out, _ = loudr("bundle", "describe", bundle, "--json")
    answer = json.loads(out)
    assert (code, answer["family"], answer["decode_mode"]) == (0, "loudr1", "single")
    assert answer["files"]["onnx/t3_step.onnx"] == len("t3_step")
    assert [voice["name"] for voice in answer["voices"]] == ["ada", "basia"]
    assert answer["temperature"] == 0.8
    assert answer["findings"] == []


def test_describe_names_damaged_voices_and_goes_on(bundle: Path) -> None:
    (bundle / "voices" / "ada.safetensors").write_bytes(b"x")
    (bundle / "onnx" / "export.json").unlink()
    found = describe_bundle(bundle)
    assert [voice.name for voice in found.voices] == ["basia"]
    assert [finding.code for finding in found.findings] == [
        "bundle-no-export-record",
        "bundle-damaged-voice",
    ]


def test_describe_of_a_broken_bundle_is_one_line_and_5(loudr: Loudr, bundle: Path) -> None:
    (bundle / "tokenizer.json").unlink()
    code, out, err = loudr("bundle", "describe", bundle)
    assert (code, out, len(err.splitlines())) == (5, "", 1)
    assert err.startswith("loudr: ")


@pytest.mark.parametrize("command", ["verify", "describe"])
def test_a_folder_of_no_family_is_one_line_and_5(
    loudr: Loudr, tmp_path: Path, command: str
) -> None:
    (tmp_path / "readme.txt").write_text("nothing")
    for name, said in (("", "give"), ("nowhere", "nothing is there"), ("readme.txt", "a file")):
        code, _, err = loudr("bundle", command, tmp_path / name)
        assert code == 5
        assert "no bundle of a family" in err
        assert said in err.partition("bluetts): ")[2]
        assert len(err.splitlines()) == 1
    code, out, _ = loudr("bundle", command, tmp_path, "--json")
    assert (code, json.loads(out)["error"]["exit_code"]) == (5, 5)


def test_every_help_of_the_group_has_an_example(loudr: Loudr) -> None:
    for command in ("verify", "describe"):
        code, out, _ = loudr("bundle", command, "--help")
        assert code == 0
        assert f"loudr bundle {command}" in out
        assert "Example" in out


def test_a_file_stands_for_its_folder(bundle: Path) -> None:
    path = bundle / "loudr-1.safetensors"
    assert family_of(path) == "loudr1"
    assert all(check.good for check in verify_bundle(path))
    assert "loudr1" in FAMILIES


def test_a_truncated_checkpoint_is_named_by_all_that_read_it(loudr: Loudr, bundle: Path) -> None:
    path = bundle / "loudr-1.safetensors"
    assert read_header(path).tensors
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 8)
    code, out, _ = loudr("bundle", "verify", bundle, "--json")
    found = checks(out)
    assert code == 5
    assert found["loudr-1.safetensors"]["state"] == "mismatch"
    assert "cut short: 8 bytes" in found["parts"]["detail"]
