"""What ships beside the code: requirements, manifests, profiles, the Makefile."""

import re
import tomllib
from hashlib import sha256
from importlib import metadata
from pathlib import Path

import pytest

from loudr_core.settings import Profile

ROOT = Path(__file__).parents[2]
LISTS = sorted(path.name for path in (ROOT / "requirements").glob("*.txt"))
PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)==([^ ]+)( ; [^\\]+)? \\$")


def pins(name: str) -> dict[tuple[str, str], int]:
    """Return (package, version) to the number of its hashes."""
    found: dict[tuple[str, str], int] = {}
    current = None
    for line in (ROOT / "requirements" / name).read_text("utf-8").splitlines():
        if match := PIN.match(line):
            current = (match[1], match[2])
            found[current] = 0
        elif line.startswith("    --hash=sha256:"):
            assert current is not None
            found[current] += 1
        else:
            assert line.strip().startswith("#"), f"{name}: unexpected line {line!r}"
    return found


@pytest.mark.parametrize("name", LISTS)
def test_every_requirement_is_pinned_and_hashed_and_names_no_place(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text("utf-8")
    assert "://" not in text
    assert "/opt" not in text
    assert not re.search(r"^--?[a-z]", text, re.MULTILINE)
    found = pins(name)
    assert found
    assert all(found.values())


def test_the_lists_agree_on_versions() -> None:
    base = set(pins("base.txt"))
    assert base <= set(pins("dev.txt"))
    assert base <= set(pins("asr.txt"))
    gpu = set(pins("gpu.txt"))
    differ = {name for name, _ in base ^ gpu}
    assert "onnxruntime" in differ
    assert {n for n in differ if not n.startswith(("nvidia-", "onnxruntime"))} <= {
        "cuda-pathfinder"
    }
    assert not [name for name, _ in gpu if name == "onnxruntime"]


def test_one_numpy_and_it_is_the_one_that_runs() -> None:
    versions = {v for n, v in pins("base.txt") if n == "numpy"}
    assert len(versions) == 1
    assert versions.pop().startswith("2.3.")
    assert metadata.version("numpy").startswith("2.3.")


def test_each_direct_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = {re.split(r"[^A-Za-z0-9_-]", d)[0].lower() for d in project["dependencies"]}
    assert named <= {name for name, _ in pins("base.txt")}


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.toml")), ids=lambda p: p.stem)
def test_a_shipped_profile_holds_only_known_settings(path: Path) -> None:
    Profile.model_validate(tomllib.loads(path.read_text("utf-8")))


def test_the_documented_profile_is_the_default() -> None:
    text = (ROOT / "configs" / "audiobook.toml").read_text("utf-8")
    written = tomllib.loads(text)
    assert Profile.model_validate(written) == Profile()
    for name, default in Profile().model_dump().items():
        if isinstance(default, dict) and default:
            told = {key: value for key, value in default.items() if value is not None}
            assert written[name] == told, f"[{name}] leaves something out"  # TOML knows no None


def test_the_embedded_bundle_is_as_declared() -> None:
    manifest = tomllib.loads((ROOT / "manifests/bundles/embedded.toml").read_text("utf-8"))
    distribution = metadata.distribution(manifest["package"])
    assert distribution.version == manifest["version"]
    for file in manifest["files"]:
        data = Path(str(distribution.locate_file(f"hibari/{file['path']}"))).read_bytes()
        assert (len(data), sha256(data).hexdigest()) == (file["bytes"], file["sha256"])


def test_every_make_goal_is_phony_or_a_file() -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    goals = set(re.findall(r"^([a-z][a-z-]*):", text, re.MULTILINE))
    assert {"venv", "demo", "test", "lint", "lock", "clean"} <= goals
    assert goals == set(re.findall(r"^\.PHONY: (\S+)$", text, re.MULTILINE))
