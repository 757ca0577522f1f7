"""What a command loads before the engine processes are started, and what it loads at all."""

import subprocess
import sys

import pytest

HEAVY = ("av", "ebooklib", "num2words", "onnx", "onnxruntime", "prefect", "pyarrow", "scipy")


def loaded(*modules: str) -> set[str]:
    """Return which heavy packages a fresh interpreter has after importing modules."""
    program = (
        f"import sys, {', '.join(modules)}\n"
        f"print(*(name for name in {HEAVY!r} + ('boto3', 'scipy.signal') if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    return set(done.stdout.split())


@pytest.mark.slow
def test_engines_are_started_before_a_books_stages_are_imported() -> None:
    until_then = loaded("flows.cli", "flows.commands.render", "flows.execution.local")
    assert until_then <= {"ebooklib"}, "reading a folder of books names their kinds"


@pytest.mark.slow
def test_a_render_without_prefect_imports_neither_it_nor_what_only_engines_need() -> None:
    needed = loaded("flows.commands.render", "flows.execution.inline", "loudr_core.render.book")
    assert needed == {"av", "ebooklib", "num2words", "pyarrow"}
