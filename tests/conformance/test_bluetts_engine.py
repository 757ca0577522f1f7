"""BlueTTS passes the suite that every engine passes, on stand-in bundles of each generation."""

from pathlib import Path
from typing import Any, ClassVar

import pytest
from bluetts import write_bundle

from loudr_core.speech.protocol import Engine
from loudr_core.speech.registry import open_engine
from loudr_core.testing import EngineConformance


@pytest.fixture(scope="class")
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    suite = request.cls
    folder = write_bundle(tmp_path_factory.mktemp("blue") / "BlueTTS2.5-onnx", **suite.bundle)
    options = {"phonemizer": "ipa", "n_steps": 4, **suite.options}
    suite.arguments = {"name": "bluetts", **options, "bundle": str(folder)}
    return open_engine(**suite.arguments)


class _Blue(EngineConformance):
    """The arguments get the folder of a bundle that is written for the suite."""

    bundle: ClassVar[dict[str, Any]] = {}
    options: ClassVar[dict[str, Any]] = {}
    texts: ClassVar[tuple[str, ...]] = (
        "ðə lˈæmp wɛnt ˈaʊt.",
        "nˈoʊbɑdi spˈoʊk, ænd ðə ɹˈeɪn kˈeɪm dˈaʊn ɔn ðə ɹˈuːf əbˈʌv ðɛm.",
        "hˈuː ɪz ðˈɛɹ?",
        "sˈɛvən smˈɔl bˈoʊts lˈeɪ ɪn ðə hˈɑɹbɚ, wˈeɪtɪŋ fɔɹ ə wˈɪnd.".replace("ɚ", "əɹ"),
    )


class TestBlueTTS(_Blue):
    def test_it_has_the_rate_and_the_voices_of_the_bundle(self, engine: Engine) -> None:
        assert [voice.name for voice in engine.voices()] == ["anna", "bruno"]
        assert engine.sample_rate_hz == 44_100
        assert engine.limits.languages == {"de", "en", "es", "he", "it", "ru", "yi"}


class TestBlueTTSWithGuidanceInside(_Blue):
    bundle: ClassVar[dict[str, Any]] = {"flaw": "cfg-inside", "in_onnx": True}
    options: ClassVar[dict[str, Any]] = {"unknown": "lenient", "threads": 2}


class TestBlueTTSThatFoldsInside(_Blue):
    bundle: ClassVar[dict[str, Any]] = {"flaw": "folds-inside", "manifest": True}
    options: ClassVar[dict[str, Any]] = {"cfg": 1.0, "pace_blend": 0.3, "pad_spaces": False}


def test_the_bundle_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    first, second = (write_bundle(tmp_path / name, manifest=True) for name in ("a", "b"))
    files = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert len(files) == 11
    for name in files:
        assert (first / name).read_bytes() == (second / name).read_bytes()
    assert sum((first / name).stat().st_size for name in files) < 816_000
