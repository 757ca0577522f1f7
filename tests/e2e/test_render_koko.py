"""A book of two chapters spoken by the tiny Koko bundle, to the M4B."""

from pathlib import Path
from typing import Any

import pytest
from koko import write_bundle

from loudr_core.audio.takefile import decode_take

pytestmark = pytest.mark.slow

BOOK = """# The Ferry

The ferry left at noon, and nobody waved from the shore. It was a calm day; the water lay still.

"Who is that on the pier?" asked the boy. His aunt did not answer him at once.

# The Far Shore

They came to the far shore before the lamps were lit, and 7 boats lay there without a mast.

The boy counted them twice, and then he slept.
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "ferry.md"
    path.write_text(BOOK, encoding="utf-8")
    return path


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "koko-tts")


def test_a_book_is_rendered_and_rendered_again_from_its_takes(
    inline: Any, shelf: Any, book: Path, bundle: Path
) -> None:
    inline = inline.with_(LOUDR_WORKERS="1")
    store, out = book.parent / "store", book.parent / "out"
    arguments = (
        *("render", book, "--engine", "koko", "--bundle", bundle, "--voice", "koko:046"),
        *("--store", store, "-o", out, "--json"),
    )
    result = inline(*arguments).json
    (file,) = result["files"]
    assert Path(file["path"]).stat().st_size == file["bytes"]
    assert file["chapters"] == 2
    segments = result["segments"]
    assert (segments["failed"], segments["retried"]) == (0, 0)
    assert segments["rendered"] == segments["total"] >= 4
    for job in shelf(store).jobs:
        assert (job.engine, job.voice) == ("koko", "koko:046")
        take = decode_take((store / "audio" / job.job_key[:2] / f"{job.job_key}.flac").read_bytes())
        assert take.sample_rate_hz == 24_000
        assert len(take.pcm) > 6_000
    again = inline(*arguments).json
    assert again["segments"]["rendered"] == 0
    assert again["pcm_sha256"] == result["pcm_sha256"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 3, "engine 'koko' needs the model's folder"),
        (("--bundle", "nowhere"), 5, "nowhere"),
        (("--bundle", "{bundle}", "--voice", "koko:128"), 3, "koko:12"),
        (("--bundle", "{other}"), 5, "inputs are [x, mu, spk_emb, t, dt]"),
    ],
)
def test_a_refusal_is_one_line(
    arguments: tuple[str, ...], code: int, said: str, inline: Any, book: Path, bundle: Path
) -> None:
    other = write_bundle(book.parent / "other", flaw="no-cfg")
    filled = [each.format(bundle=bundle, other=other) for each in arguments]
    found = inline.with_(LOUDR_WORKERS="1")("render", book, "--engine", "koko", *filled)
    assert found.code == code
    assert said in found.err
    assert "Traceback" not in found.err
