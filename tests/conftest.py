"""Fixtures that every test may ask for."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def test_data() -> Path:
    """Return the folder of books and fixtures that do not lie in the repository, or skip."""
    path = Path(os.environ.get("LOUDR_TEST_DATA", ROOT.parent / "shared"))
    if not path.is_dir():
        pytest.skip(f"no test data at {path}; set LOUDR_TEST_DATA to run this test")
    return path
