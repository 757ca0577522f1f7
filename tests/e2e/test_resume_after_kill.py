"""Killed at any instant, the same command goes on: nothing is spoken twice, nothing is lost."""

import hashlib
import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

# Loaded by every Python of the command: each engine process writes down what it speaks.
LISTENER = """
    import os, sys
    if "loudr_core.speech.worker" in sys.orig_argv:
        import json
        from loudr_core.testing import FakeEngine
        speak = FakeEngine._speak
        def heard(engine, request):
            line = json.dumps([request.text, str(request.seed)]) + "\\n"
            log = os.open(os.environ["SPOKEN"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(log, line.encode())
            os.close(log)
            return speak(engine, request)
        FakeEngine._speak = heard
"""


class Spoken:
    """What the engine processes were asked to speak, over all runs."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "spoken.jsonl"
        self.path.touch()
        modules = folder / "modules"
        modules.mkdir()
        (modules / "sitecustomize.py").write_text(textwrap.dedent(LISTENER), encoding="utf-8")
        self.variables = {"PYTHONPATH": str(modules), "SPOKEN": str(self.path)}

    def lines(self) -> list[tuple[str, str]]:
        rows = (json.loads(line) for line in self.path.read_text().splitlines())
        return [(text, seed) for text, seed in rows]


@pytest.fixture
def spoken(tmp_path: Path) -> Spoken:
    return Spoken(tmp_path)


@pytest.fixture
def profile(tmp_path: Path) -> str:
    path = tmp_path / "slow.toml"
    path.write_text('engine = "fake"\n[options]\nsleep_s = 0.03\n', encoding="utf-8")
    return str(path)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_killed_three_times_it_is_the_same_book(
    loudr: Any,
    inline: Any,
    shelf: Any,
    spoken: Spoken,
    profile: str,
    tone_book: Callable[..., Path],
    tmp_path: Path,
) -> None:
    book, out = tone_book(chapters=4, paragraphs=30), tmp_path / "out"
    store = shelf(tmp_path / "store")
    command = ["render", book, "-o", out, "--store", store.path, "--profile", profile, "--json"]
    file = out / "Tones.m4b"
    killed = loudr.with_(**spoken.variables)
    finished: dict[str, tuple[int, int]] = {}
    boundaries: list[tuple[int, set[str]]] = []

    def kill_when(true: Callable[[], bool]) -> None:
        run = killed.start(*command)
        run.until(true)
        run.watch()
        run.kill()
        assert run.kinds == {"flows.api_server_child", "loudr_core.speech.worker"}
        assert len(run.family) >= 4, "the command, its server and two engine processes"
        assert run.left() == []
        run.process.communicate()
        takes = store.takes
        assert {key: takes.get(key) for key in finished} == finished, "a finished take was touched"
        finished.update(takes)
        boundaries.append((len(spoken.lines()), set(takes)))

    def share(part: float) -> Callable[[], bool]:
        def reached() -> bool:
            keys = {job.job_key for job in store.jobs}
            return bool(keys) and len(store.takes) >= part * len(keys)

        return reached

    kill_when(share(0.3))
    kill_when(share(0.6))
    for _ in range(5):
        kill_when(lambda: store.pieces > 0)
        if not file.exists():
            break
        # The poll came too late, on a machine that is very busy: once more from before the mux.
        file.unlink()
        for piece in store.path.glob("aac/*/*"):
            piece.unlink()
    assert not file.exists(), "half a file lies under the final name"

    last = killed(*command).json
    total = len(store.jobs)
    assert last["segments"] == {
        "total": total,
        "rendered": 0,
        "reused": total,
        "retried": 0,
        "failed": 0,
    }
    assert store.takes == finished
    assert store.choices == store.rows, "each choice has its row, whatever was lost at a kill"
    assert len(store.choices) == len({job.job_key for job in store.jobs})
    assert [path.name for path in out.iterdir()] == ["Tones.m4b"]
    assert last["files"][0]["sha256"] == sha256(file)

    # A take that lay in the store at a kill is never spoken again; only what was in flight is.
    keys = {(job.spoken, str(job.seed)): job.job_key for job in store.jobs}
    lines = [keys[line] for line in spoken.lines()]
    for place, (length, takes) in enumerate(boundaries):
        assert takes.isdisjoint(lines[length:]), f"spoken twice after kill {place + 1}"
    assert len(lines) - len(keys.values()) <= 2 * 2 * len(boundaries), "more than was in flight"

    whole = inline.with_(LOUDR_WORKERS="1")(
        "render", book, "-o", tmp_path / "whole", "--store", tmp_path / "other",
        "--profile", profile, "--json",
    ).json  # fmt: skip
    assert whole["segments"]["rendered"] == total
    assert whole["pcm_sha256"] == last["pcm_sha256"]
    assert sha256(tmp_path / "whole" / "Tones.m4b") == sha256(file)


def test_killed_while_its_processes_start_nothing_is_left(
    loudr: Any, tone_book: Callable[..., Path], tmp_path: Path
) -> None:
    """The engines have not loaded, and the server does not answer: they leave all the same."""
    run = loudr.start(
        "render", tone_book(chapters=1), "-o", tmp_path / "out", "--store", tmp_path / "store"
    )

    def all_there() -> bool:
        run.watch()
        return len(run.family) >= 4 and len(run.kinds) == 2

    run.until(all_there)
    run.kill()
    assert run.left() == []
    run.process.communicate()


@pytest.mark.parametrize(
    ("executor", "stop"),
    [("inline", "interrupt"), ("local", "interrupt"), ("inline", "ask"), ("local", "ask")],
)
def test_interrupted_it_says_how_to_go_on_and_does(
    loudr: Any,
    inline: Any,
    shelf: Any,
    profile: str,
    tone_book: Callable[..., Path],
    tmp_path: Path,
    executor: str,
    stop: str,
    request: pytest.FixtureRequest,
) -> None:
    book, out = tone_book(chapters=2, paragraphs=60), tmp_path / "out"
    store = shelf(tmp_path / "store")
    command = ["render", book, "-o", out, "--store", store.path, "--profile", profile]
    calls = inline
    if executor == "local":
        calls = loudr.with_(PREFECT_API_URL=request.getfixturevalue("api").url)
    run = calls.with_(LOUDR_OPTIONS='{"sleep_s": 0.2}').start(*command)
    run.until(lambda: len(store.takes) >= 5)
    if executor == "local":  # the stop is to reach a flow with task runs at work
        ask = request.getfixturevalue("ask")
        at_work = {"tags": {"all_": ["speak"]}, "state": {"type": {"any_": ["RUNNING"]}}}
        run.until(lambda: ask("task_runs/count", task_runs=at_work) > 0)
    run.watch()
    run.interrupt() if stop == "interrupt" else run.process.terminate()
    said = run.finish()
    assert said.code == 130, said.err
    assert "the same command goes on" in said.err
    assert "Traceback" not in said.err
    assert run.left() == []
    assert not list(out.glob("*.m4b"))
    before = store.takes
    resumed = inline(*command, "--json").json
    assert resumed["segments"]["rendered"] == resumed["segments"]["total"] - len(before)
    assert {key: store.takes[key] for key in before} == before
