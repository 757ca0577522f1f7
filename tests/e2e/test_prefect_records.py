"""What a person finds in Prefect after a render, and that nothing outside is asked for anything."""

import json
import sqlite3
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

# Loaded by every Python of the command: each writes down whom it wants to reach.
WITNESS = """
    import os, socket, sys
    log = os.open(os.environ["ASKED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    def reaches(event, args):
        if event == "socket.getaddrinfo":
            who = args[0]
        elif event in ("socket.gethostbyname", "socket.gethostbyaddr"):
            who = args[0]
        elif event in ("socket.connect", "socket.sendto") and args[0].family != socket.AF_UNIX:
            who = args[1][0]
        else:
            return
        os.write(log, (event + " " + str(who) + "\\n").encode())
    sys.addaudithook(reaches)
    os.write(log, b"started -\\n")
"""
LOOPBACK = {"127.0.0.1", "::1", "localhost", "None", "-", "0.0.0.0"}
DEPLOYED = """
import json, sys
from flows.render_book import render_book
from flows.request import RenderRequest
book, dest, profile = sys.argv[1:]
print(json.dumps(render_book(RenderRequest(book=book, dest=dest, profile=profile))))
"""


def of_flow(runs: list[dict[str, Any]]) -> dict[str, Any]:
    return {"flow_runs": {"id": {"any_": [run["id"] for run in runs]}}}


def test_a_render_is_on_the_server(
    loudr: Any, api: Any, ask: Callable[..., Any], tone_book: Callable[..., Path], tmp_path: Path
) -> None:
    book = tone_book(chapters=3, paragraphs=15, title="Recorded")
    book = book.rename(book.with_name("recorded.md"))
    calls = loudr.with_(PREFECT_API_URL=api.url)
    said = calls("render", book, "-o", tmp_path / "out", "--store", tmp_path / "store", "--json")
    result = said.json
    assert "Traceback" not in said.err

    (run,) = ask("flow_runs/filter", flow_runs={"name": {"any_": ["render recorded"]}})
    assert run["state"]["type"] == "COMPLETED"
    assert run["parameters"]["request"]["book"] == str(book)
    tasks = ask("task_runs/filter", **of_flow([run]))
    assert {task["state"]["type"] for task in tasks} == {"COMPLETED"}
    names = sorted(task["name"] for task in tasks)
    assert "plan recorded" in names
    assert "master recorded" in names
    assert "publish recorded" in names
    assert any(name.startswith("speak shard 000 of recorded: c001-s0001..c00") for name in names)
    assert [n for n in names if n.startswith("measure")] == [
        f"measure chapter {number} of recorded" for number in (1, 2, 3, 4)
    ]
    assert {tag for task in tasks for tag in task["tags"]} == {
        "plan", "speak", "measure", "master", "publish", "report",
    }  # fmt: skip

    artifacts = ask("artifacts/filter", artifacts={"flow_run_id": {"any_": [run["id"]]}})
    of_key = {str(each["key"]).rpartition("-")[2]: each for each in artifacts}
    (progress,) = [each for each in artifacts if each["type"] == "progress"]
    assert float(progress["data"]) == 100.0
    total = result["segments"]["total"]
    assert f"{total} of {total} segments" in progress["description"]
    chapters = json.loads(of_key["chapters"]["data"])
    assert [row["title"] for row in chapters] == ["Recorded", "Part One", "Part Two", "Part Three"]
    assert json.loads(of_key["findings"]["data"])
    assert "Recorded.m4b" in of_key["summary"]["data"]


def test_a_failed_render_is_a_failed_run_with_its_cause(
    loudr: Any, api: Any, ask: Callable[..., Any], tone_book: Callable[..., Path], tmp_path: Path
) -> None:
    book = tone_book(chapters=1, paragraphs=3, extra="\n\nThe fakeerror stood at the pier.\n")
    book = book.rename(book.with_name("failed.md"))
    calls = loudr.with_(PREFECT_API_URL=api.url)
    said = calls("render", book, "-o", tmp_path / "out", "--store", tmp_path / "store")
    assert said.code == 8
    assert "Traceback" not in said.err
    assert "fakeerror was in the text" in said.err.splitlines()[-1]
    (run,) = ask("flow_runs/filter", flow_runs={"name": {"any_": ["render failed"]}})
    assert run["state"]["type"] == "FAILED"
    assert "fakeerror was in the text" in run["state"]["message"]
    logs = ask("logs/filter", logs={"flow_run_id": {"any_": [run["id"]]}})
    assert any("fakeerror" in log["message"] for log in logs), "the server keeps what was hidden"


def test_the_flow_runs_without_the_command_line(
    loudr: Any, api: Any, ask: Callable[..., Any], tone_book: Callable[..., Path], tmp_path: Path
) -> None:
    """As a deployment calls it: parameters only, its own engine processes, its own store."""
    book = tone_book(chapters=2, paragraphs=4, title="Deployed")
    book = book.rename(book.with_name("deployed.md"))
    profile = tmp_path / "mine.toml"
    profile.write_text(f'engine = "fake"\nworkers = 1\nstore = "{tmp_path / "store"}"\n')
    calls = loudr.with_(PREFECT_API_URL=api.url, PREFECT_HOME=str(tmp_path / "prefect"))
    done = calls.start_program(
        sys.executable, "-c", DEPLOYED, book, tmp_path / "out", profile
    ).finish()
    assert done.code == 0, done.err
    result = json.loads(done.out.splitlines()[-1])
    assert Path(result["files"][0]["path"]) == tmp_path / "out" / "Deployed.m4b"
    assert (tmp_path / "out" / "Deployed.m4b").stat().st_size == result["files"][0]["bytes"]
    assert result["segments"]["rendered"] == result["segments"]["total"] > 8
    (run,) = ask("flow_runs/filter", flow_runs={"name": {"any_": ["render deployed"]}})
    assert run["state"]["type"] == "COMPLETED"


def test_offline_and_complete_with_a_server_of_its_own(
    loudr: Any, home: Path, test_sample: Path, tmp_path: Path
) -> None:
    """No process of the command looks up or reaches a name outside; every record is kept."""
    modules, asked = tmp_path / "modules", tmp_path / "asked"
    modules.mkdir()
    (modules / "sitecustomize.py").write_text(textwrap.dedent(WITNESS), encoding="utf-8")
    calls = loudr.with_(PYTHONPATH=str(modules), ASKED=str(asked), LOUDR_ENGINE="embedded")
    said = calls(
        "render", test_sample, "--chapters", "1", "-o", tmp_path / "out",
        "--store", tmp_path / "store", "--json",
    )  # fmt: skip
    result = said.json
    lines = [line.split(" ", 1) for line in asked.read_text().splitlines()]
    events = [event for event, _ in lines]
    assert events.count("started") >= 4, "the command, the server and two engine processes"
    assert "socket.connect" in events, "the witness sees what is reached"
    assert {who for _, who in lines} <= LOOPBACK

    database = home / "prefect" / "prefect.db"
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        runs = connection.execute(
            "select id, state_type from flow_run where name = ?", (f"render {test_sample.stem}",)
        ).fetchall()
        assert [state for _, state in runs] == ["COMPLETED"]
        tasks = connection.execute(
            "select name, state_type from task_run where flow_run_id = ?", (runs[0][0],)
        ).fetchall()
    connection.close()
    assert {state for _, state in tasks} == {"COMPLETED"}
    assert len(tasks) >= 5, "plan, a shard, a chapter, master, publish"
    assert result["files"][0]["chapters"] == 1


def test_a_server_of_its_own_hears_of_a_failure_before_it_stops(
    loudr: Any, home: Path, tone_book: Callable[..., Path], tmp_path: Path
) -> None:
    """Nothing of Prefect's own troubles stands behind the one line of an error."""
    book = tone_book(chapters=1, paragraphs=1, extra="\n\nThe fakeerror stood at the pier.\n")
    book = book.rename(book.with_name("unheard.md"))
    said = loudr("render", book, "-o", tmp_path / "out", "--store", tmp_path / "store")
    assert said.code == 8
    assert "fakeerror was in the text" in said.err.splitlines()[-1]
    assert "Error logging" not in said.err
    assert "connection attempts" not in said.err
    with sqlite3.connect(f"file:{home / 'prefect' / 'prefect.db'}?mode=ro", uri=True) as connection:
        kept = connection.execute(
            "select log.message from log join flow_run on flow_run.id = log.flow_run_id "
            "where flow_run.name = 'render unheard'"
        ).fetchall()
    connection.close()
    assert any("fakeerror" in message for (message,) in kept)
