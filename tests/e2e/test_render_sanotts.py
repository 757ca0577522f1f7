"""A book of two chapters spoken by the stand-in voice of Root A, to the M4B."""

from pathlib import Path
from typing import Any

import pytest
from sanotts_package import phoneme_config, write_package


@pytest.mark.parametrize("phoneme_type", ["text", "espeak"])
def test_a_book_is_rendered_and_rendered_again_from_its_takes(
    phoneme_type: str, rendered_twice: Any, tmp_path: Path
) -> None:
    if phoneme_type == "espeak":
        pytest.importorskip("piper.phonemize_espeak", reason="the extra espeak is not installed")
    voice = write_package(tmp_path / "voice", phonemes=phoneme_config(phoneme_type=phoneme_type))
    rendered_twice("--bundle", voice, engine="sanotts", voice="wren", sample_rate_hz=22_050)


def test_what_is_wrong_is_one_line(inline: Any, ferry_book: Path, tmp_path: Path) -> None:
    voice = write_package(tmp_path / "voice")
    german = write_package(tmp_path / "german", language="de")
    (voice / "weights.fp16.bin").write_bytes(b"short")
    for bundle, code, said in (
        ((), 3, "engine 'sanotts' needs the voice's folder"),
        (("--bundle", voice), 5, "has 5 bytes, the manifest says"),
        (("--bundle", german), 4, "en"),
    ):
        found = inline.with_(LOUDR_WORKERS="1")(
            *("render", ferry_book, "--engine", "sanotts", *bundle)
        )
        found.refuses(code, said)
