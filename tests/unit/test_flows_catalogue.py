"""One catalogue: every entry point is there, its form is the one declared, and its ranges hold."""

import inspect
import json
import subprocess
import sys
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prefect import Flow
from pydantic import BaseModel, ValidationError

from flows.catalogue import CATALOGUE, Cron, Deployment, Every, Wishes, find, flow_of
from flows.commands.serve import ServeOptions, environment_of, when, wishes_of
from flows.configuration import Settings
from flows.deployments import chosen, to_prefect
from flows.heartbeat import heartbeat_automation
from flows.places import refuse_relative
from flows.plain_failure import plain_failure
from loudr_core.errors import BookError, ConfigError

NAMES = [entry.name for entry in CATALOGUE]
Entry = pytest.mark.parametrize("entry", CATALOGUE, ids=NAMES)


def test_what_is_offered() -> None:
    assert NAMES == [
        "render-book", "nightly", "drop-folder", "render-dropped", "rerender", "approve", "prune",
        "render-shard",
    ]  # fmt: skip


@Entry
def test_every_entry_point_is_a_flow_of_that_name(entry: Deployment) -> None:
    flow: Flow[Any, Any] = flow_of(entry)
    assert isinstance(flow, Flow)
    assert flow.name == entry.name
    assert entry.entrypoint == f"{flow.fn.__module__}.{flow.fn.__name__}"
    assert entry.says


@Entry
def test_a_flow_takes_the_request_that_is_declared(entry: Deployment) -> None:
    body = inspect.unwrap(flow_of(entry).fn)
    assert list(inspect.signature(body).parameters) == ["request"]
    assert typing.get_type_hints(body)["request"] is entry.request


@Entry
def test_forms_explain_themselves_and_refuse_what_they_do_not_know(entry: Deployment) -> None:
    assert entry.request.model_config["extra"] == "forbid"
    schema = entry.request.model_json_schema()
    assert schema["additionalProperties"] is False
    for definition in schema.get("$defs", {}).values():
        if definition["type"] == "object":
            assert definition["additionalProperties"] is False
    assert set(entry.needs) <= set(entry.request.model_fields)


@Entry
def test_deployments_are_what_the_catalogue_says(entry: Deployment) -> None:
    made = to_prefect(entry)
    assert made.entrypoint == entry.entrypoint
    assert made.full_name == entry.full_name
    assert made.enforce_parameter_schema
    schema = made._parameter_openapi_schema.model_dump(exclude_unset=True)
    assert schema["additionalProperties"] is False
    assert list(schema["properties"]) == ["request"]
    assert schema["definitions"][entry.request.__name__]["additionalProperties"] is False
    json.dumps(schema)


FORMS: list[tuple[str, dict[str, Any], dict[str, list[Any]]]] = [
    (
        "nightly",
        {},
        {
            "until": ["24:00", "6:0", "", 6],
            "manifests": ["", "x" * 1025, None],
            "timezone": ["", None],
            "nope": [1],
        },
    ),
    (
        "drop-folder",
        {"watch": "in", "dest": "out"},
        {
            "watch": ["", None],
            "settle_s": [-1, 86_401, "soon"],
            "stale_min": [-1, 10_081],
            "attempts": [0, 11, 1.5],
        },
    ),
    (
        "rerender",
        {"book_id": "x"},
        {
            "seed": ["-1", "1.5", "", "seven", 5, "1" * 21],
            "chapter": [0, -1, 10_000, "one"],
            "segments": ["c001-s0001", [""], [3]],
            "findings": ["maybe"],
        },
    ),
    (
        "approve",
        {"book": "x.epub"},
        {"chapter": [0], "wait_days": [0, 91], "book": ["", None]},
    ),
    (
        "prune",
        {},
        {"older_than_days": [0, 0.5, 4000, "all"], "runs_older_than_days": [0], "dry_run": ["x"]},
    ),
    (
        "render-book",
        {"book": "x.epub"},
        {"chapters": [[0], ["a"]], "book": ["", None], "voice": [""]},
    ),
]


@pytest.mark.parametrize(("name", "good", "bad"), FORMS, ids=[form[0] for form in FORMS])
def test_every_range_holds(name: str, good: dict[str, Any], bad: dict[str, list[Any]]) -> None:
    request = find(name).request
    assert request.model_validate(good)
    for field, values in bad.items():
        for value in values:
            with pytest.raises(ValidationError):
                request.model_validate({**good, field: value})


def described(model: type[BaseModel]) -> list[str]:
    return [name for name, field in model.model_fields.items() if not field.description]


@pytest.mark.parametrize("name", [n for n in NAMES if n != "render-shard"])
def test_every_field_says_what_it_is_for(name: str) -> None:
    assert described(find(name).request) == []


def test_an_unknown_name_is_said() -> None:
    with pytest.raises(ValueError, match="no deployment 'nighty': there are render-book, nightly"):
        find("nighty")


# --- what an operator chooses


def test_without_a_word_nothing_runs_by_itself_but_prune() -> None:
    wishes = wishes_of(ServeOptions(), Settings())
    schedules = {entry.name: entry.schedule for entry in chosen(wishes, served=True)}
    assert schedules.pop("prune") == Cron("0 12 * * 0")
    assert set(schedules.values()) == {None}
    assert "render-shard" not in schedules


def test_options_come_to_parameters_and_schedules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text("")
    options = ServeOptions(
        profile="mine.toml",
        store="s3://bucket/loudr",
        dest="out",
        drop="in",
        manifests="books",
        nightly_at="23:30",
        until="5:15",
        timezone="Europe/Berlin",
        voice="high",
    )
    entries = {e.name: e for e in chosen(wishes_of(options, Settings()), served=True)}
    nightly, drop = entries["nightly"], entries["drop-folder"]
    assert nightly.schedule == Cron("30 23 * * *", "Europe/Berlin")
    assert nightly.parameters["manifests"] == str(tmp_path / "books")
    assert nightly.parameters["base"] == str(tmp_path)
    assert drop.schedule == Every(120)
    assert drop.parameters["watch"] == str(tmp_path / "in")
    assert drop.parameters["dest"] == str(tmp_path / "out")
    assert drop.parameters["voice"] == "high"
    assert environment_of(options) == {
        "LOUDR_STORE": "s3://bucket/loudr",
        "LOUDR_PROFILE": str(tmp_path / "mine.toml"),
    }
    made = to_prefect(nightly)
    assert made.schedules is not None
    assert made.schedules[0].schedule.cron == "30 23 * * *"  # type: ignore[union-attr]
    for entry in (nightly, drop):
        entry.request.model_validate(dict(entry.parameters))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (ServeOptions(drop="in"), "needs a place for the finished files"),
        (ServeOptions(drop="in", dest="in/out"), "lies in the drop folder"),
        (ServeOptions(drop="in", dest="out", store="in/store"), "lies in the drop folder"),
        (ServeOptions(manifests="m", nightly_at="25:00"), "no time of a clock"),
        (ServeOptions(manifests="m", until="noon"), "no time of a clock"),
        (ServeOptions(manifests="m", timezone="Middle/Earth"), "no time zone"),
    ],
)
def test_a_wrong_option_has_one_line(options: ServeOptions, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        wishes_of(options, Settings())


def test_a_parameter_that_the_flow_would_refuse_is_refused_at_once() -> None:
    wishes = Wishes(parameters={"drop-folder": {"watch": "a", "dest": "b", "settle_s": -1}})
    with pytest.raises(ConfigError, match="drop-folder: settle_s = -1"):
        chosen(wishes, served=True)


def test_schedules_in_words() -> None:
    assert when(None) == "when asked"
    assert when(Every(120)) == "every 120 s"
    assert when(Cron("30 23 * * *", "Europe/Berlin")) == "daily at 23:30 Europe/Berlin"
    assert when(Cron("0 12 * * 0")) == "Sundays at 12:00 UTC"


def test_one_machine_renders_one_book_at_a_time_and_a_pool_as_many_as_it_can() -> None:
    served = {e.name: e.concurrency for e in chosen(Wishes(), served=True)}
    pooled = {e.name: e.concurrency for e in chosen(Wishes(), served=False)}
    assert served["render-book"] == served["render-dropped"] == 1
    assert pooled["render-book"] is pooled["render-dropped"] is pooled["render-shard"] is None
    assert served["nightly"] == pooled["nightly"] == 1


def test_the_automation_watches_only_our_flows() -> None:
    said = heartbeat_automation(["nightly", "prune"]).model_dump(mode="json")
    assert said["trigger"]["match_related"]["prefect.resource.name"] == ["nightly", "prune"]
    assert said["trigger"]["posture"] == "Proactive"
    assert said["actions"][0]["state"] == "CRASHED"


# --- what a run does with a fact of the world


def test_a_fact_of_the_world_is_one_line_and_a_bug_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def body(request: str) -> str:
        if request == "bug":
            raise RuntimeError("a bug")
        raise BookError("no such book")

    run: Callable[[str], Any] = plain_failure(body)
    with pytest.raises(BookError):
        run("x")
    monkeypatch.setenv("PREFECT__RUNTIME__DEPLOYMENT__ID", "a-deployment")
    state = run("x")
    assert (state.type.value, state.message) == ("FAILED", "no such book")
    with pytest.raises(RuntimeError):
        run("bug")
    assert inspect.signature(run) == inspect.signature(body)


def test_a_relative_path_is_refused_where_nobody_knows_where_it_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refuse_relative(book="a.epub")
    monkeypatch.setenv("PREFECT__RUNTIME__DEPLOYMENT__ID", "a-deployment")
    refuse_relative(book="/a.epub", destination=None, watch="s3://bucket/in", base="~/books")
    with pytest.raises(ConfigError, match=r"destination 'out' is a relative path"):
        refuse_relative(destination="out")


@pytest.mark.slow
def test_no_prefect_before_its_environment_is_set() -> None:
    """Prefect reads its settings when it is first imported; the commands must come before that."""
    script = (
        "import sys\n"
        "import flows.cli, flows.catalogue, flows.commands.serve, flows.commands.deploy\n"
        "import flows.commands.prune\n"
        "assert 'prefect' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
