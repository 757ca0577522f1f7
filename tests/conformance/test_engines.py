from typing import Any, ClassVar

import pytest

from loudr_core.speech.protocol import Engine
from loudr_core.speech.registry import open_engine
from loudr_core.testing import EngineConformance


@pytest.fixture(scope="class")
def engine(request: pytest.FixtureRequest) -> Engine:
    return open_engine(**request.cls.arguments)


class TestFakeEngine(EngineConformance):
    arguments: ClassVar[dict[str, Any]] = {"name": "fake"}


class TestFakeEngineInBatches(EngineConformance):
    arguments: ClassVar[dict[str, Any]] = {"name": "fake", "batch": 3}


class TestEmbeddedEngine(EngineConformance):
    arguments: ClassVar[dict[str, Any]] = {"name": "embedded"}
