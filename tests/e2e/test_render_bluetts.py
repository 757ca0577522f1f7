"""A book of two chapters spoken by the tiny BlueTTS bundle, to the M4B."""

from pathlib import Path
from typing import Any

import pytest
from bluetts import write_bundle

pytestmark = pytest.mark.slow


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "BlueTTS2.5-onnx", manifest=True)


def _profile(folder: Path, **options: object) -> Path:
    path = folder / "profile.toml"
    lines = [f"{key} = {value!r}".replace("'", '"') for key, value in options.items()]
    path.write_text("\n".join(["[options]", *lines, ""]), encoding="utf-8")
    return path


def test_a_book_is_rendered_and_rendered_again_from_its_takes(
    rendered_twice: Any, bundle: Path, programs: str, tmp_path: Path
) -> None:
    profile = _profile(tmp_path, phonemizer="espeak-ng", n_steps=4)
    rendered_twice(
        *("--bundle", bundle, "--voice", "bruno", "--profile", profile),
        engine="bluetts",
        voice="bruno",
        sample_rate_hz=44_100,
        PATH=programs,
    )


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
    arguments: tuple[str, ...], code: int, said: str, inline: Any, ferry_book: Path, bundle: Path
) -> None:
    other = write_bundle(ferry_book.parent / "other", flaw="z-ref")
    filled = [each.format(bundle=bundle, other=other) for each in arguments]
    found = inline.with_(LOUDR_WORKERS="1")("render", ferry_book, "--engine", "bluetts", *filled)
    found.refuses(code, said)
