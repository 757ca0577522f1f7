"""Koko passes the suite that every engine passes, on stand-in bundles of several kinds."""

from pathlib import Path
from typing import Any, ClassVar

import pytest
from koko import write_bundle

from loudr_core.speech.protocol import Engine
from loudr_core.speech.registry import open_engine
from loudr_core.testing import EngineConformance


@pytest.fixture(scope="class")
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    suite = request.cls
    folder = write_bundle(tmp_path_factory.mktemp("koko") / "koko-tts", **suite.bundle)
    suite.arguments = {"name": "koko", **suite.options, "bundle": str(folder)}
    return open_engine(**suite.arguments)


class _Koko(EngineConformance):
    """The arguments get the folder of a bundle that is written for the suite."""

    bundle: ClassVar[dict[str, Any]] = {}
    options: ClassVar[dict[str, Any]] = {}


class TestKoko(_Koko):
    def test_it_has_the_speakers_of_the_release(self, engine: Engine) -> None:
        names = [voice.name for voice in engine.voices()]
        assert (names[0], names[46], names[-1], len(names)) == (
            "koko:000", "koko:046", "koko:127", 128,
        )  # fmt: skip
        assert len({voice.sha256 for voice in engine.voices()}) == 128
        assert engine.sample_rate_hz == 24_000


class TestKokoInHalfPrecision(_Koko):
    bundle: ClassVar[dict[str, Any]] = {"half": "only"}
    options: ClassVar[dict[str, Any]] = {"precision": "float16", "n_steps": 8}


class TestKokoThatTakesEvenFramesOnly(_Koko):
    bundle: ClassVar[dict[str, Any]] = {"flaw": "odd", "layout": "unigram", "at_top": True}
    options: ClassVar[dict[str, Any]] = {"unsupported": "lenient", "threads": 2}


def test_the_bundle_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    first, second = (write_bundle(tmp_path / name, half="both") for name in ("a", "b"))
    files = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert len(files) == 6
    for name in files:
        assert (first / name).read_bytes() == (second / name).read_bytes()
    assert sum((first / name).stat().st_size for name in files) < 500_000
