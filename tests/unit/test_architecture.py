"""The lines of CONVENTIONS: which way imports point, and who alone may touch a foreign library."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("flows", "tasks", "loudr_core")

BOOK_SIDE = {"loudr_core.book", "loudr_core.text", "loudr_core.jobs"}
CLOSED = {
    "loudr_core": {"flows", "tasks", "prefect", "typer", "argparse"},
    "loudr_core/book": {"loudr_core.text", "loudr_core.jobs", "loudr_core.speech"},
    "loudr_core/text": {"loudr_core.jobs", "loudr_core.speech", "loudr_core.audio"},
    "loudr_core/speech": BOOK_SIDE,
    "loudr_core/audio": BOOK_SIDE | {"loudr_core.speech"},
    "loudr_core/store": BOOK_SIDE | {"loudr_core.speech", "loudr_core.audio"},
    "tasks": {"flows"},
}
"""Folder to what no file under it imports, in a function or at the top."""

SOLE_IMPORTER = {
    "onnxruntime": "loudr_core/speech/session.py",
    "tokenizers": "loudr_core/speech/loudr1/text_tokens.py",
    "loudkit": "loudr_core/speech/loudr1/funnel.py",
    "hibari": "loudr_core/speech/embedded_voice.py",
    "boto3": "loudr_core/store/s3.py",
    "botocore": "loudr_core/store/s3.py",
    "ebooklib": "loudr_core/book/package.py",
    "lxml": "loudr_core/book/parse.py",
    "markdown_it": "loudr_core/book/tokens.py",
    "sentencex": "loudr_core/text/sentences.py",
    "num2words": "loudr_core/text/foreign.py",
    "piper": "loudr_core/speech/espeak.py",
    "prometheus_client": "flows/metrics.py",
    "pydub": "loudr_core/audio/clips.py",
    "soxr": "loudr_core/audio/resample.py",
}
BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}


def sources(folder: str = ".") -> list[Path]:
    """Return our own modules under a folder, as paths from the root."""
    tops = PACKAGES if folder == "." else (folder,)
    return sorted(f.relative_to(ROOT) for top in tops for f in (ROOT / top).rglob("*.py"))


def imported(path: Path, text: str) -> set[str]:
    """Return every module that a file names in an import, with the packages above it.

    `from a import b` counts as `a` and `a.b`, since `b` may be a module; relative imports are
    resolved; `import_module("a.b")` and `__import__("a.b")` count too.
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import():
                names |= {alias.name for alias in node.names}
            case ast.ImportFrom():
                base = _base(path, node)
                names |= {f"{base}.{alias.name}" for alias in node.names}
            case ast.Call(args=[ast.Constant(value=str(name)), *_]) if _called(node) in {
                "import_module",
                "__import__",
            }:
                names.add(name)
    return {prefix for name in names for prefix in _prefixes(name)}


def _base(path: Path, node: ast.ImportFrom) -> str:
    package = path.parent.parts[: len(path.parent.parts) - node.level + 1] if node.level else ()
    return ".".join((*package, *filter(None, [node.module])))


def _called(node: ast.Call) -> str:
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _prefixes(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[: count + 1]) for count in range(len(parts)))


def read(path: Path) -> str:
    """Return a module's text."""
    return (ROOT / path).read_text("utf-8")


@pytest.mark.parametrize("folder", CLOSED)
def test_imports_point_inwards(folder: str) -> None:
    files = sources(folder)
    assert files, f"{folder} holds no module; take it off the list"
    hits = {str(f): sorted(imported(f, read(f)) & CLOSED[folder]) for f in files}
    assert not {name: hit for name, hit in hits.items() if hit}


@pytest.mark.parametrize("library", SOLE_IMPORTER)
def test_a_foreign_library_has_one_importer(library: str) -> None:
    importers = {str(f) for f in sources() if library in imported(f, read(f))}
    assert importers <= {SOLE_IMPORTER[library]}


def test_the_core_reads_neither_arguments_nor_environment() -> None:
    forbidden = {("sys", "argv"), ("os", "environ"), ("os", "getenv")}
    found = []
    for path in sources("loudr_core"):
        for node in ast.walk(ast.parse(read(path))):
            match node:
                case ast.Attribute(value=ast.Name(id=owner), attr=name):
                    used = (owner, name)
                case ast.ImportFrom(module=str(owner), names=aliases):
                    used = next(
                        ((owner, a.name) for a in aliases if (owner, a.name) in forbidden),
                        (owner, ""),
                    )
                case _:
                    continue
            if used in forbidden:
                found.append(f"{path}:{node.lineno} {'.'.join(used)}")
    # The worker is a program: what to open comes to it over its command line or its pipe.
    assert not [line for line in found if not line.startswith("loudr_core/speech/worker.py")]


def test_no_module_is_named_for_nothing() -> None:
    named = {part for f in sources() for part in f.with_suffix("").parts}
    assert not named & BANNED_NAMES


def test_no_package_under_tests() -> None:
    assert not list((ROOT / "tests").rglob("__init__.py"))


def test_no_flow_hides_an_installed_or_standard_module() -> None:
    names = {f.stem for f in (ROOT / "flows").glob("*.py")} - {"__init__"}
    assert not names & set(sys.stdlib_module_names)


def test_every_package_is_listed_for_the_wheel() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    listed = set(settings["tool"]["setuptools"]["packages"])
    packages = {".".join(f.parent.parts) for f in sources() if f.name == "__init__.py"}
    folders = {".".join(f.parent.parts) for f in sources()}
    assert packages <= listed
    assert folders == packages, "a folder of modules without __init__.py would not be installed"
    data = {name for name in listed if name.startswith(("loudr_core.configs", "loudr_core.manif"))}
    assert listed - data == packages


def test_imports_inside_functions_and_by_name_are_seen() -> None:
    text = (
        "import a.b\n"
        "def f():\n    from c import d\n    from . import e\n    from ..g import h\n"
        "    import_module('i.j')\n"
    )
    found = imported(Path("p/q/r.py"), text)
    assert found == {
        "a", "a.b", "c", "c.d", "p", "p.q", "p.q.e", "p.g", "p.g.h", "i", "i.j",
    }  # fmt: skip
