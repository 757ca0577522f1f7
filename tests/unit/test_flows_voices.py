"""`loudr voices` and `loudr voices enroll`."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from flows import cli
from loudr_core.speech.loudr1.voice import read_voice

Call = Callable[..., tuple[int, str, str]]
RATE = 22_050


@pytest.fixture
def loudr(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Call:
    """Return a caller of the command line in an empty folder: exit code, stdout, stderr."""
    for name in [name for name in os.environ if name.startswith("LOUDR_")]:
        monkeypatch.delenv(name)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("LOUDR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LOUDR_ENGINE", "fake")
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["loudr", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return call


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "me.wav"
    t = np.arange(5 * RATE) / RATE
    tone = 0.3 * np.sin(2 * np.pi * 150 * t) * (np.sin(2 * np.pi * 0.7 * t) > -0.6)
    soundfile.write(path, np.stack([tone, tone], axis=1), RATE)
    return path


def test_help_has_examples(loudr: Call) -> None:
    code, out, _ = loudr("voices", "--help")
    assert code == 0
    assert "Example" in out
    assert "loudr voices --engine" in out
    assert "enroll" in out
    code, out, _ = loudr("voices", "enroll", "--help")
    assert code == 0
    assert "loudr voices enroll me.wav" in out


def test_plain_voices_lists(loudr: Call, loudr1_bundle: Path) -> None:
    code, out, _ = loudr("voices")
    assert (code, "high" in out) == (0, True)
    code, out, _ = loudr("voices", "--engine", "loudr1", "--bundle", loudr1_bundle, "--json")
    listed: list[dict[str, Any]] = json.loads(out)["voices"]
    assert [voice["name"] for voice in listed] == ["ada", "bob", "cleo"]


def test_a_recording_becomes_a_voice(loudr: Call, recording: Path, loudr1_bundle: Path) -> None:
    code, out, err = loudr(
        "voices", "enroll", recording, "--bundle", loudr1_bundle, "-o", "me.safetensors",
        "--end-in-silence", "--language", "de",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert "voice me (de), prompt of 4.1 s" in out
    assert "recording-mixed-to-mono" in out
    profile = read_voice(Path("me.safetensors"))
    assert (profile.name, profile.language) == ("me", "de")
    assert (profile.enrolment, profile.source_sample_rate_hz) == ("first-10s-pause", RATE)


def test_json_and_options_before_the_command(
    loudr: Call, recording: Path, loudr1_bundle: Path
) -> None:
    code, out, _ = loudr(
        "voices", "--bundle", loudr1_bundle, "--json", "enroll", recording, "-o", "a.safetensors",
        "--name", "Ann B",
    )  # fmt: skip
    assert code == 0
    said = json.loads(out)
    assert said["voice"]["name"] == "Ann B"
    assert said["voice"]["sha256"] == read_voice(Path("a.safetensors")).sha256
    assert said["voice"]["source_seconds"] == 5
    assert [finding["code"] for finding in said["findings"]] == ["recording-mixed-to-mono"]


def test_the_bundle_may_come_from_the_environment(
    loudr: Call, recording: Path, loudr1_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOUDR_BUNDLE", str(loudr1_bundle))
    assert loudr("voices", "enroll", recording, "-o", "a.safetensors")[0] == 0


def test_a_voice_is_replaced_only_when_asked(
    loudr: Call, recording: Path, loudr1_bundle: Path
) -> None:
    arguments = ["voices", "enroll", recording, "--bundle", loudr1_bundle, "-o", "a.safetensors"]
    Path("a.safetensors").write_text("mine")
    code, _, err = loudr(*arguments)
    assert (code, "--overwrite" in err) == (3, True)
    assert Path("a.safetensors").read_text() == "mine"
    assert loudr(*arguments, "--overwrite")[0] == 0
    assert read_voice(Path("a.safetensors")).name == "a"


def test_what_is_wrong_is_one_line_and_leaves_no_file(
    loudr: Call, recording: Path, loudr1_bundle: Path, tmp_path: Path
) -> None:
    out = "new.safetensors"
    bundle = ["--bundle", loudr1_bundle]
    cases: list[tuple[list[str | Path], int, str]] = [
        ([recording, "-o", out], 3, "--bundle"),
        (["none.wav", "-o", out, *bundle], 3, "no recording none.wav"),
        ([recording, "-o", "new.bin", *bundle], 3, "ends in .safetensors"),
        ([recording, "-o", "no/new.safetensors", *bundle], 3, "no folder no"),
        ([recording, "-o", "x" * 4000 + ".safetensors", *bundle, "--name", "n"], 3, "name another"),
        ([recording, "-o", out, *bundle, "--language", "xx"], 3, "'xx'"),
        ([recording, "-o", out, *bundle, "--name", " "], 3, "1 to 200 characters"),
        ([recording, "-o", out, *bundle, "--name", "n" * 201], 3, "1 to 200 characters"),
        ([recording, "-o", out, "--bundle", tmp_path], 5, str(tmp_path)),
        ([recording, *bundle], 2, ""),
    ]
    for arguments, code, part in cases:
        found, _, err = loudr("voices", "enroll", *arguments)
        assert found == code, arguments
        assert "Traceback" not in err
        lines = [line for line in err.splitlines() if line.startswith("loudr: ")]
        assert len(lines) == (code != 2)
        assert part in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["me.wav"]


def test_a_recording_that_is_too_short_is_said_before_the_bundle_is_opened(
    loudr: Call, tmp_path: Path
) -> None:
    soundfile.write("short.wav", np.full(RATE // 2, 0.1), RATE)
    code, _, err = loudr(
        "voices", "enroll", "short.wav", "-o", "a.safetensors", "--bundle", "nowhere"
    )
    assert code == 3
    assert "recording short.wav is 0.50 s long" in err
