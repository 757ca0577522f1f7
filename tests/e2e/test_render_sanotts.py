"""A book of two chapters spoken by the stand-in voice of Root A, to the M4B."""

from pathlib import Path
from typing import Any

import pytest
from sanotts_package import phoneme_config, write_package

from loudr_core.audio.takefile import decode_take

BOOK = """# The Ferry

The ferry left at noon, and nobody waved from the shore. It was a calm day; the water lay still.

"Who is that on the pier?" asked the boy. His aunt did not answer him at once.

# The Far Shore

They came to the far shore before the lamps were lit, and seven boats lay there without a mast.

The boy counted them twice, and then he slept.
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "ferry.md"
    path.write_text(BOOK, encoding="utf-8")
    return path


@pytest.mark.parametrize("phoneme_type", ["text", "espeak"])
def test_a_book_is_rendered_and_rendered_again_from_its_takes(
    phoneme_type: str, inline: Any, shelf: Any, book: Path, tmp_path: Path
) -> None:
    if phoneme_type == "espeak":
        pytest.importorskip("piper.phonemize_espeak", reason="the extra espeak is not installed")
    voice = write_package(tmp_path / "voice", phonemes=phoneme_config(phoneme_type=phoneme_type))
    store, out = tmp_path / "store", tmp_path / "out"
    arguments = (
        *("render", book, "--engine", "sanotts", "--bundle", voice),
        *("--store", store, "-o", out, "--json"),
    )
    inline = inline.with_(LOUDR_WORKERS="1")
    result = inline(*arguments).json
    (file,) = result["files"]
    assert Path(file["path"]).stat().st_size == file["bytes"]
    assert file["chapters"] == 2
    segments = result["segments"]
    assert segments["failed"] == 0
    assert segments["retried"] == 0
    assert segments["rendered"] == segments["total"] >= 4
    for job in shelf(store).jobs:
        assert (job.engine, job.voice) == ("sanotts", "wren")
        take = decode_take((store / "audio" / job.job_key[:2] / f"{job.job_key}.flac").read_bytes())
        assert take.sample_rate_hz == 22_050
        assert len(take.pcm) > 6_000
    again = inline(*arguments).json
    assert again["segments"]["rendered"] == 0
    assert again["pcm_sha256"] == result["pcm_sha256"]


def test_what_is_wrong_is_one_line(inline: Any, book: Path, tmp_path: Path) -> None:
    voice = write_package(tmp_path / "voice")
    german = write_package(tmp_path / "german", language="de")
    (voice / "weights.fp16.bin").write_bytes(b"short")
    for bundle, code, said in (
        ((), 3, "engine 'sanotts' needs the voice's folder"),
        (("--bundle", voice), 5, "has 5 bytes, the manifest says"),
        (("--bundle", german), 4, "en"),
    ):
        found = inline.with_(LOUDR_WORKERS="1")("render", book, "--engine", "sanotts", *bundle)
        assert found.code == code, found.err
        assert said in found.err
        assert "Traceback" not in found.err
