"""Each module says what it offers: `__all__` is its public names, no more and no less."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    str(path.relative_to(ROOT))
    for top in ("flows", "tasks", "loudr_core")
    for path in (ROOT / top).rglob("*.py")
    if not path.name.startswith("__")
)


def defined_names(tree: ast.Module) -> set[str]:
    """Return every name that a module defines or takes from others at its top."""
    names: set[str] = set()
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                stored = (each for target in targets for each in ast.walk(target))
                names |= {each.id for each in stored if isinstance(each, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.ImportFrom(names=aliases):
                names |= {alias.asname or alias.name for alias in aliases}
    return names


def public_names(tree: ast.Module) -> set[str]:
    """Return the functions and classes without a leading underscore.

    Constants and aliases that a module keeps to itself may go without the underscore, and so may a
    function that is handed to a registry, such as a command of `app`.
    """
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not any(ast.unparse(d).startswith("app.") for d in node.decorator_list)
    }


def declared(tree: ast.Module) -> list[str] | None:
    """Return `__all__`, or None when the module has none."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                names = ast.literal_eval(value)
                return [str(name) for name in names]
    return None


@pytest.mark.parametrize("module", MODULES)
def test_all_is_what_is_public(module: str) -> None:
    tree = ast.parse((ROOT / module).read_text("utf-8"))
    names = declared(tree)
    assert names is not None, "no __all__"
    assert len(names) == len(set(names))
    assert not [name for name in names if name.startswith("_")]
    assert public_names(tree) <= set(names), "public by its name, and not in __all__"
    assert set(names) <= defined_names(tree), "in __all__, and not there"
