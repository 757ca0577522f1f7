"""Events arrive at a server, and the automations under infra/ answer to them."""

import json
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows import prefect_environment
from flows.api_server import ApiServer

ROOT = Path(__file__).parents[2]
LOUDR = Path(sysconfig.get_path("scripts")) / "loudr"
Ask = Callable[..., Any]

pytestmark = pytest.mark.integration

GOOD = "\n\n".join(f"Paragraph {n} tells of a boat that went out past the wall." for n in range(8))
SUSPECT = "\n\nThe fakesilence stood at the pier for a long while after that.\n"
BROKEN = "\n\nThe fakeerror stood at the pier for a long while after that.\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """Return a server that runs automations, as that of `loudr serve` does."""
    place = tmp_path_factory.mktemp("events-server")
    server = ApiServer(place, prefect_environment.quiet(place), lasting=True)
    server.start()
    try:
        server.wait()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def ask(server: ApiServer) -> Ask:
    """Return a way to ask it: `ask("flow_runs/filter", sort="NAME_ASC")`."""

    def post(path: str, **body: Any) -> Any:
        request = urllib.request.Request(
            f"{server.url}/{path}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        deadline = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                # A server that has just begun may find its tables locked; clients ask again.
                if error.code != 503 or time.monotonic() > deadline:
                    raise
                error.close()
                time.sleep(0.5)

    return post


@pytest.fixture(scope="module")
def variables(server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what commands know: this server, and a home of their own."""
    home = tmp_path_factory.mktemp("home")
    return {
        **prefect_environment.quiet(home),
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "PREFECT_API_URL": server.url,
        "LOUDR_HOME": str(home),
        "LOUDR_ENGINE": "fake",
        "LOUDR_WORKERS": "1",
        "LOUDR_PRICE_PER_HOUR": "3600",
        "LOUDR_CURRENCY": "EUR",
    }


def run(*command: str | Path, variables: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        list(map(str, command)), env=variables, capture_output=True, text=True, timeout=240
    )


def until(look: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Return what `look` gives as soon as it gives something."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, "it did not come in time"
        time.sleep(0.5)
    return found


def test_events_of_a_render_arrive_and_automations_answer(
    ask: Ask, variables: dict[str, str], tmp_path: Path
) -> None:
    flow = ask("flows/", name="announce")
    ask("deployments/", name="announce", flow_id=flow["id"], entrypoint="nowhere.announce")
    apply_automations(tmp_path, variables)

    good, bad = tmp_path / "good.md", tmp_path / "bad.md"
    good.write_text(f"# The *Good* Book\n\n{GOOD}{SUSPECT}", encoding="utf-8")
    bad.write_text(f"# The Bad Book\n\n{GOOD}{BROKEN}", encoding="utf-8")
    store, out = tmp_path / "store", tmp_path / "out"
    done = run(LOUDR, "render", good, bad, "--store", store, "-o", out, variables=variables)
    assert done.returncode == 8, done.stderr
    assert "Traceback" not in done.stderr

    def arrived() -> dict[str, list[dict[str, Any]]] | None:
        filter_ = {"event": {"prefix": ["loudr."]}}
        found = ask("events/filter", filter=filter_, limit=50)["events"]
        kinds: dict[str, list[dict[str, Any]]] = {}
        for event in found:
            kinds.setdefault(event["event"], []).append(event)
        return kinds if {"loudr.book.done", "loudr.book.failed"} <= set(kinds) else None

    kinds = until(arrived)
    assert set(kinds) == {"loudr.segment.condemned", "loudr.book.done", "loudr.book.failed"}
    (of_good,) = kinds["loudr.book.done"]
    (of_bad,) = kinds["loudr.book.failed"]
    said = of_good["payload"]
    (file,) = said["files"]
    assert Path(file["path"]).stat().st_size == file["bytes"]
    assert said["condemned"] == 1
    assert said["cost"] == pytest.approx(said["engine_s"], abs=0.06), "an hour costs 3600"
    assert of_bad["payload"]["code"] == "QualityError"
    assert of_bad["resource"]["loudr.retryable"] == "false"
    condemned = {event["payload"]["code"]: event for event in kinds["loudr.segment.condemned"]}
    assert len(condemned) == len(kinds["loudr.segment.condemned"]) == 2
    assert condemned["no-audio"]["payload"]["book_id"] == of_bad["payload"]["book_id"]
    (silent,) = [event for code, event in condemned.items() if code != "no-audio"]
    assert silent["payload"]["segment"] in said["condemned_segments"]
    assert int(silent["payload"]["seed"]) >= 0
    roles = {related["prefect.resource.role"] for related in silent["related"]}
    assert {"book", "flow-run"} <= roles, "which run it was is in the event, too"

    runs = until(lambda: announced(ask, 4))
    told = [run["parameters"] for run in runs]
    by_title = {each["title"]: each for each in told if "files" in each}
    assert by_title["The Good Book"]["files"] == said["files"]
    assert {each["about"] for each in told if "about" in each} == {
        silent["payload"]["segment"],
        condemned["no-audio"]["payload"]["segment"],
        of_bad["payload"]["message"],
    }


def apply_automations(folder: Path, variables: dict[str, str]) -> None:
    """Create the three automations; the two that notify run the deployment in place of that."""
    files = [ROOT / "infra" / "automations" / "done.yaml"]
    for name, about in (("condemned", "segment"), ("failed", "message")):
        said = yaml.safe_load((ROOT / f"infra/automations/{name}.yaml").read_text("utf-8"))
        said["trigger"] |= {"threshold": 1, "within": 0}
        said["actions"] = [
            {
                "type": "run-deployment",
                "source": "selected",
                "deployment_id": "announce/announce",
                "parameters": {"about": "{{ event.payload." + about + " }}"},
            }
        ]
        files.append(folder / f"{name}.yaml")
        files[-1].write_text(yaml.safe_dump(said), encoding="utf-8")
    program = ROOT / "infra" / "automations" / "apply.py"
    for word in ("created", "updated"):
        done = run(
            sys.executable, program, *files, "--deployment", "announce/announce",
            variables=variables,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.count(word) == len(files)
    wrong = run(sys.executable, program, files[0], "--deployment", "no/such", variables=variables)
    assert wrong.returncode == 1
    assert wrong.stderr.startswith(str(files[0]))
    assert wrong.stderr.count("\n") == 1


def announced(ask: Ask, count: int) -> list[dict[str, Any]]:
    found = ask("flow_runs/filter", flows={"name": {"any_": ["announce"]}})
    return list(found) if len(found) >= count else []
