"""A book of two chapters spoken by the tiny Koko bundle, to the M4B."""

from pathlib import Path
from typing import Any

import pytest
from koko import write_bundle

pytestmark = pytest.mark.slow


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "koko-tts")


def test_a_book_is_rendered_and_rendered_again_from_its_takes(
    rendered_twice: Any, bundle: Path
) -> None:
    rendered_twice(
        *("--bundle", bundle, "--voice", "koko:046"),
        engine="koko",
        voice="koko:046",
        sample_rate_hz=24_000,
    )


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
    arguments: tuple[str, ...], code: int, said: str, inline: Any, ferry_book: Path, bundle: Path
) -> None:
    other = write_bundle(ferry_book.parent / "other", flaw="no-cfg")
    filled = [each.format(bundle=bundle, other=other) for each in arguments]
    found = inline.with_(LOUDR_WORKERS="1")("render", ferry_book, "--engine", "koko", *filled)
    found.refuses(code, said)
