"""The official token vectors, spoken by a real bundle: `LOUDR_BUNDLE` names its folder.

The voice they were made with, `testvoice`, is no voice of a release: it is looked for in the
bundle's `voices/` and beside the fixtures.
"""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest

from loudr_core.speech.cancelling import poll_of
from loudr_core.speech.loudr1.bundle import Bundle, open_bundle
from loudr_core.speech.loudr1.model import Loudr1
from loudr_core.speech.loudr1.voice import VoiceProfile, read_voice
from loudr_core.speech.loudr1.window import WindowOrder, draw_window

VECTORS = {"single": "vectors.json", "fusion_mtp2": "vectors_fusion_mtp2.json"}


@pytest.fixture(scope="module")
def folder(test_data: Path) -> Path:
    """Return the folder of the fixtures, or skip."""
    path = test_data / "fixtures" / "loudkit"
    if not path.is_dir():
        pytest.skip(f"no official fixtures at {path}")
    return path


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    """Return the real bundle, or skip."""
    named = os.environ.get("LOUDR_BUNDLE")
    if not named:
        pytest.skip("needs the weights of a release: set LOUDR_BUNDLE to its folder")
    return open_bundle(Path(named))


@pytest.fixture(scope="module")
def vectors(bundle: Bundle, folder: Path) -> dict[str, Any]:
    """Return the vectors of the bundle's family."""
    text = (folder / VECTORS[bundle.algorithm.decode_mode]).read_text("utf-8")
    data: dict[str, Any] = json.loads(text)
    assert bundle.fingerprint == data["algorithm"]["fingerprint"]
    return data


@pytest.fixture(scope="module")
def voice(bundle: Bundle, folder: Path) -> VoiceProfile:
    """Return the voice of the vectors, or skip."""
    places = [
        bundle.folder / "voices" / "testvoice.safetensors",
        folder / "testvoice.voice.safetensors",
    ]
    for path in places:
        if path.is_file():
            return read_voice(path)
    return pytest.skip(f"needs the voice of the vectors at {places[0]} or {places[1]}")


@pytest.fixture(scope="module")
def model(bundle: Bundle) -> Loudr1:
    """Return the bundle, loaded, with the funnel that the vectors went through."""
    pytest.importorskip("loudkit", reason="the extra loudkit-text is not installed")
    return Loudr1(bundle, text_funnel="loudkit")


def test_tokens_of_sentences(model: Loudr1, voice: VoiceProfile, vectors: dict[str, Any]) -> None:
    for case in vectors["end_to_end"]:
        passage = model.synthesize(
            case["text"], voice, seed=case["seed"], language=case["language"]
        )
        assert list(passage.tokens) == case["tokens"], case["name"]
        assert passage.mel.shape == tuple(case["mel"]["shape"])
        assert len(passage.audio) == case["wav"]["samples"]


def test_tokens_of_a_long_passage(
    model: Loudr1, voice: VoiceProfile, vectors: dict[str, Any]
) -> None:
    """Each chunk follows the prefix that is written with it; see `check_prefix` of the fixtures."""
    for case in vectors["long_form"]["cases"]:
        last = len(case["chunks"]) - 1
        for chunk in case["chunks"]:
            drawn = draw(model, voice, case, chunk, terminal=chunk["index"] == last)
            assert drawn == chunk["tokens"], (case["name"], chunk["index"])
        if model.algorithm.decode_mode == "single":
            passage = model.synthesize(
                case["text"], voice, seed=case["seed"], language=case["language"]
            )
            assert list(passage.tokens) == case["public_tokens"]


def test_tokens_of_halved_windows(
    bundle: Bundle, voice: VoiceProfile, vectors: dict[str, Any]
) -> None:
    for case in vectors["resplit"]["cases"]:
        size, algorithm = case["window"], bundle.algorithm
        narrow = dataclasses.replace(
            algorithm,
            window=dataclasses.replace(algorithm.window, max_speech_tokens=size),
            sampling=dataclasses.replace(algorithm.sampling, max_new_tokens=size),
            chunking=dataclasses.replace(algorithm.chunking, max_tokens=size),
        )
        model = Loudr1(dataclasses.replace(bundle, algorithm=narrow))
        for number, window in enumerate(case["windows"]):
            last = number == len(case["windows"]) - 1
            drawn = draw(model, voice, case, window, terminal=last)
            assert drawn == window["tokens"], (case["name"], number)


def draw(
    model: Loudr1,
    voice: VoiceProfile,
    case: dict[str, Any],
    window: dict[str, Any],
    *,
    terminal: bool,
) -> list[int]:
    """Return the tokens of one window of a vector."""
    order = WindowOrder(
        text=window["text"],
        language=case["language"],
        voice=voice,
        seed=int(window["seed"], 16),
        prefix=tuple(window["prefix"]),
        terminal=terminal,
    )
    return list(draw_window(model, order, poll=poll_of(None)).tokens)


def test_tokens_of_the_reference_package(
    bundle: Bundle, model: Loudr1, voice: VoiceProfile, folder: Path
) -> None:
    if bundle.algorithm.decode_mode != "single":
        pytest.skip("reference_meta.json was made with loudr-1, and the bundle is loudr-1-turbo")
    for case in json.loads((folder / "reference_meta.json").read_text("utf-8")).values():
        passage = model.synthesize(case["text"], voice, seed=case["seed"], language="en")
        assert list(passage.tokens) == case["speech_tokens"]
