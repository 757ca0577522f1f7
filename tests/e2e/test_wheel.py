"""The built wheel works where nothing of the tree is: from an empty folder, by its own script."""

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TREE = ("flows", "tasks", "loudr_core", "configs", "manifests")
FILES = ("pyproject.toml", "README.md", "LICENSE", "NOTICE")
PACKAGES = ("flows", "tasks", "loudr_core")


def run(*command: str | Path, cwd: Path) -> str:
    """Run a program in a folder with none of our paths around it; return what it printed."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(cwd), "LANG": "C.UTF-8"}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy, so that the build leaves nothing in the tree."""
    source = tmp_path_factory.mktemp("source")
    for name in TREE:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, source / name)
    built = source / "dist"
    run(
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index",
        "--no-build-isolation", "--wheel-dir", built, source,
        cwd=source,
    )  # fmt: skip
    (path,) = built.glob("loudr-*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into an environment that sees our dependencies and not our tree.

    A path in a .pth file is added without reading the .pth files that lie there, so the editable
    install of the tree stays out.
    """
    home = tmp_path_factory.mktemp("installed") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", home, cwd=home.parent)
    (site,) = home.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    run(
        sys.executable, "-m", "pip", "--python", home / "bin" / "python", "install", "--quiet",
        "--no-deps", "--no-index", wheel,
        cwd=home.parent,
    )  # fmt: skip
    return home


def test_the_wheel_holds_the_packages_and_the_operators_files(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)
    for folder in ("configs", "manifests"):
        want = {
            f"loudr_core/{folder}/{path.relative_to(ROOT / folder)}"
            for path in (ROOT / folder).rglob("*.toml")
        }
        assert want
        assert want <= set(names)
    ours = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert ours <= set(names), "a file of the packages is not in the wheel"


def test_loudr_answers_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    assert "render" in run(installed / "bin" / "loudr", "--help", cwd=tmp_path)
    assert not [path.name for path in tmp_path.iterdir()], "--help left something behind"


def test_the_three_packages_share_one_parent(installed: Path, tmp_path: Path) -> None:
    code = (
        "import flows, tasks, loudr_core, pathlib;"
        "print(*{pathlib.Path(m.__file__).parents[1] for m in (flows, tasks, loudr_core)})"
    )
    (parent,) = run(installed / "bin" / "python", "-c", code, cwd=tmp_path).split()
    assert Path(parent).is_relative_to(installed)


def test_shipped_profiles_are_found(installed: Path, tmp_path: Path) -> None:
    code = "from flows.configuration import shipped_profiles as p; print(*p())"
    names = set(run(installed / "bin" / "python", "-c", code, cwd=tmp_path).split())
    assert names == {path.stem for path in (ROOT / "configs").glob("*.toml")}
