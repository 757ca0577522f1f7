"""A book of two chapters spoken by the tiny loudr-1 and loudr-1-turbo bundles, to the M4B."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("turbo", [False, True], ids=["loudr-1", "loudr-1-turbo"])
def test_a_book_is_rendered_and_rendered_again_from_its_takes(
    turbo: bool, rendered_twice: Any, loudr1_bundles: Callable[..., Path]
) -> None:
    rendered_twice(
        *("--bundle", loudr1_bundles(turbo=turbo), "--voice", "ada"),
        engine="loudr1",
        voice="ada",
        sample_rate_hz=24_000,
        may_retry=True,
    )


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 3, "engine 'loudr1' needs the model's folder"),
        (("--bundle", "nowhere"), 5, "nowhere"),
    ],
)
def test_a_missing_bundle_is_one_line(
    arguments: tuple[str, ...], code: int, said: str, inline: Any, ferry_book: Path
) -> None:
    found = inline.with_(LOUDR_WORKERS="1")("render", ferry_book, "--engine", "loudr1", *arguments)
    found.refuses(code, said)


def test_an_unknown_voice_is_answered_with_the_nearest(
    inline: Any, ferry_book: Path, loudr1_bundle: Path
) -> None:
    found = inline.with_(LOUDR_WORKERS="1")(
        *("render", ferry_book, "--engine", "loudr1", "--bundle", loudr1_bundle, "--voice", "adda")
    )
    found.refuses(3, "ada")
