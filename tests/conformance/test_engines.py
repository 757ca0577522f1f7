from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from loudr_core.speech.protocol import Engine
from loudr_core.speech.registry import open_engine
from loudr_core.testing import EngineConformance


@pytest.fixture(scope="class")
def engine(request: pytest.FixtureRequest, loudr1_bundles: Callable[..., Path]) -> Engine:
    suite = request.cls
    if issubclass(suite, _WithBundle):
        suite.arguments = {**suite.arguments, "bundle": str(loudr1_bundles(**suite.bundle))}
    return open_engine(**suite.arguments)


class _WithBundle(EngineConformance):
    """The arguments get the folder of a bundle that is written for the suite."""

    bundle: ClassVar[dict[str, Any]]


class TestFakeEngine(EngineConformance):
    arguments: ClassVar[dict[str, Any]] = {"name": "fake"}


class TestFakeEngineInBatches(EngineConformance):
    arguments: ClassVar[dict[str, Any]] = {"name": "fake", "batch": 3}


class TestEmbeddedEngine(EngineConformance):
    arguments: ClassVar[dict[str, Any]] = {"name": "embedded"}


@pytest.mark.slow
class TestLoudr1(_WithBundle):
    arguments: ClassVar[dict[str, Any]] = {"name": "loudr1"}
    bundle: ClassVar[dict[str, Any]] = {"turbo": False}


@pytest.mark.slow
class TestLoudr1Turbo(_WithBundle):
    arguments: ClassVar[dict[str, Any]] = {"name": "loudr1", "threads": 2}
    bundle: ClassVar[dict[str, Any]] = {"turbo": True}
