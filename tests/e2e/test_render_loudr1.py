"""A book of two chapters spoken by the tiny loudr-1 and loudr-1-turbo bundles, to the M4B."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loudr_core.audio.takefile import decode_take

pytestmark = pytest.mark.slow

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


@pytest.mark.parametrize("turbo", [False, True], ids=["loudr-1", "loudr-1-turbo"])
def test_a_book_is_rendered_and_rendered_again_from_its_takes(
    turbo: bool, inline: Any, shelf: Any, book: Path, loudr1_bundles: Callable[..., Path]
) -> None:
    inline = inline.with_(LOUDR_WORKERS="1")
    store, out = book.parent / "store", book.parent / "out"
    arguments = (
        *("render", book, "--engine", "loudr1", "--bundle", loudr1_bundles(turbo=turbo)),
        *("--voice", "ada", "--store", store, "-o", out, "--json"),
    )
    result = inline(*arguments).json
    (file,) = result["files"]
    assert Path(file["path"]).stat().st_size == file["bytes"]
    assert file["chapters"] == 2
    segments = result["segments"]
    assert segments["failed"] == 0
    assert segments["rendered"] >= segments["total"] >= 4
    for job in shelf(store).jobs:
        assert job.engine == "loudr1"
        assert job.voice == "ada"
        take = decode_take((store / "audio" / job.job_key[:2] / f"{job.job_key}.flac").read_bytes())
        assert take.sample_rate_hz == 24_000
        assert len(take.pcm) > 6_000
    again = inline(*arguments).json
    assert again["segments"]["rendered"] == 0
    assert again["pcm_sha256"] == result["pcm_sha256"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "engine 'loudr1' needs the model's folder"),
        (("--bundle", "nowhere"), "nowhere"),
    ],
)
def test_a_missing_bundle_is_one_line(
    arguments: tuple[str, ...], said: str, inline: Any, book: Path
) -> None:
    found = inline.with_(LOUDR_WORKERS="1")("render", book, "--engine", "loudr1", *arguments)
    assert found.code in (3, 5)
    assert said in found.err
    assert "Traceback" not in found.err


def test_an_unknown_voice_is_answered_with_the_nearest(
    inline: Any, book: Path, loudr1_bundle: Path
) -> None:
    found = inline.with_(LOUDR_WORKERS="1")(
        *("render", book, "--engine", "loudr1", "--bundle", loudr1_bundle, "--voice", "adda")
    )
    assert found.code == 3
    assert "ada" in found.err
    assert "Traceback" not in found.err
