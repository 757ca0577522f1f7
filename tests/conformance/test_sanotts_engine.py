"""Root A keeps the promises of the engine protocol, with letters as phonemes and with espeak-ng."""

from pathlib import Path
from typing import Any, ClassVar

import pytest
from sanotts_package import configs, phoneme_config, write_package

from loudr_core.speech.protocol import Engine
from loudr_core.speech.registry import open_engine
from loudr_core.testing import EngineConformance


@pytest.fixture(scope="class")
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    suite = request.cls
    if suite.needs_piper:
        pytest.importorskip("piper.phonemize_espeak", reason="the extra espeak is not installed")
    folder: Path = write_package(tmp_path_factory.mktemp("voice"), **suite.package)
    suite.arguments = {**suite.arguments, "bundle": str(folder)}
    return open_engine(**suite.arguments)


class _RootA(EngineConformance):
    arguments: ClassVar[dict[str, Any]] = {"name": "sanotts"}
    package: ClassVar[dict[str, Any]] = {}
    needs_piper: ClassVar[bool] = False
    seed_matters = False  # there is no noise anywhere in the voice


class TestRootA(_RootA):
    pass


class TestRootAInNumpy(_RootA):
    arguments: ClassVar[dict[str, Any]] = {"name": "sanotts", "decoder": "numpy"}


class TestRootAThroughPiper(_RootA):
    arguments: ClassVar[dict[str, Any]] = {"name": "sanotts", "phonemizer": "piper"}
    package: ClassVar[dict[str, Any]] = {
        "phonemes": phoneme_config(phoneme_type="espeak", espeak_voice="en-us"),
        "components": configs(post_filter=2, branches=[[0, 1], [2], [1, 2]]),
        "length_scale": 1.08,
    }
    needs_piper: ClassVar[bool] = True
