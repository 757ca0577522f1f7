"""A book of two chapters spoken by the tiny BlueTTS bundle, to the M4B."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from bluetts import write_bundle

from loudr_core.audio.takefile import decode_take

pytestmark = pytest.mark.slow

BOOK = """# The Ferry

The ferry left at noon, and nobody waved from the shore. It was a calm day; the water lay still.

"Who is that on the pier?" asked the boy. His aunt did not answer him at once.

# The Far Shore

They came to the far shore before the lamps were lit, and 7 boats lay there without a mast.

The boy counted them twice, and then he slept.
"""

ESPEAK = """
import sys
if "--version" in sys.argv:
    print("eSpeak NG text-to-speech: 1.52 stand-in")
else:
    words = sys.stdin.read().lower()
    print("".join(each for each in words if each.isalpha() or each == " ").replace("g", "\\u0261"))
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "ferry.md"
    path.write_text(BOOK, encoding="utf-8")
    return path


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "BlueTTS2.5-onnx", manifest=True)


@pytest.fixture
def programs(tmp_path: Path) -> str:
    """Return a PATH with a program of espeak-ng's name, which spells words as they are written."""
    folder = tmp_path / "programs"
    folder.mkdir()
    program = folder / "espeak-ng"
    script = folder / "espeak.py"
    script.write_text(ESPEAK, encoding="utf-8")
    # A first line `#!python` could not name a folder with a space in it.
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"


def _profile(folder: Path, **options: object) -> Path:
    path = folder / "profile.toml"
    lines = [f"{key} = {value!r}".replace("'", '"') for key, value in options.items()]
    path.write_text("\n".join(["[options]", *lines, ""]), encoding="utf-8")
    return path


def test_a_book_is_rendered_and_rendered_again_from_its_takes(
    inline: Any, shelf: Any, book: Path, bundle: Path, programs: str
) -> None:
    inline = inline.with_(LOUDR_WORKERS="1", PATH=programs)
    store, out = book.parent / "store", book.parent / "out"
    profile = _profile(book.parent, phonemizer="espeak-ng", n_steps=4)
    arguments = (
        *("render", book, "--engine", "bluetts", "--bundle", bundle, "--voice", "bruno"),
        *("--profile", profile, "--store", store, "-o", out, "--json"),
    )
    result = inline(*arguments).json
    (file,) = result["files"]
    assert Path(file["path"]).stat().st_size == file["bytes"]
    assert file["chapters"] == 2
    segments = result["segments"]
    assert (segments["failed"], segments["retried"]) == (0, 0)
    assert segments["rendered"] == segments["total"] >= 4
    for job in shelf(store).jobs:
        assert (job.engine, job.voice) == ("bluetts", "bruno")
        take = decode_take((store / "audio" / job.job_key[:2] / f"{job.job_key}.flac").read_bytes())
        assert take.sample_rate_hz == 44_100
        assert len(take.pcm) > 11_000
    again = inline(*arguments).json
    assert again["segments"]["rendered"] == 0
    assert again["pcm_sha256"] == result["pcm_sha256"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 3, "engine 'bluetts' needs the model's folder"),
        (("--bundle", "nowhere"), 5, "nowhere"),
        (("--bundle", "{bundle}", "--voice", "carla"), 3, "carla"),
        (("--bundle", "{other}"), 5, "wants reference latents (z_ref)"),
    ],
)
def test_a_refusal_is_one_line(
    arguments: tuple[str, ...], code: int, said: str, inline: Any, book: Path, bundle: Path
) -> None:
    other = write_bundle(book.parent / "other", flaw="z-ref")
    filled = [each.format(bundle=bundle, other=other) for each in arguments]
    found = inline.with_(LOUDR_WORKERS="1")("render", book, "--engine", "bluetts", *filled)
    assert found.code == code
    assert said in found.err
    assert "Traceback" not in found.err
