"""Images, units, policies and examples under infra/: what can be known without running them.

They are parsed, and every path, command, option, variable and setting in them must be there.
"""

import inspect
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from prefect.cli.server import server_app
from prefect.cli.worker import worker_app
from prefect.events.schemas.automations import AutomationCore
from prefect.settings import Settings as PrefectSettings

from flows import events, prefect_environment
from flows.cli import app
from flows.configuration import Settings
from flows.service_cli import deploy

ROOT = Path(__file__).parents[2]
INFRA = ROOT / "infra"
DOCKERFILES = [INFRA / "Dockerfile", INFRA / "Dockerfile.cuda"]
UNITS = sorted((INFRA / "systemd").glob("*.service"))
ENVIRONMENTS = sorted((INFRA / "systemd").glob("*.env"))
AUTOMATIONS = sorted((INFRA / "automations").glob("*.yaml"))
POLICIES = sorted((INFRA / "iam").glob("*.json"))
ANY_ID = "00000000-0000-4000-8000-000000000000"

COMPOSE = yaml.safe_load((INFRA / "compose.yaml").read_text("utf-8"))
KUBERNETES = list(yaml.safe_load_all((INFRA / "k8s" / "workers.yaml").read_text("utf-8")))


def names(path: Path) -> str:
    return path.name


# ---------------------------------------------------------------- images


def instructions(path: Path) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile: name and the rest, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", path.read_text("utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines)]


@pytest.mark.parametrize("path", DOCKERFILES, ids=names)
def test_everything_copied_is_there_and_goes_to_the_builder(path: Path) -> None:
    allowed = [
        line.removeprefix("!")
        for line in path.with_name(path.name + ".dockerignore").read_text("utf-8").splitlines()
        if line.startswith("!")
    ]
    copied = [
        source
        for name, rest in instructions(path)
        if name == "COPY" and not rest.startswith("--from=")
        for source in rest.split()[:-1]
    ]
    assert {"flows", "tasks", "loudr_core", "pyproject.toml"} <= set(copied)
    for source in copied:
        assert (ROOT / source).exists(), source
        assert any(source == each or source.startswith(f"{each}/") for each in allowed), source


@pytest.mark.parametrize("path", DOCKERFILES, ids=names)
def test_every_download_is_checked_against_hashes(path: Path) -> None:
    installs = [
        rest
        for name, rest in instructions(path)
        if name == "RUN" and re.search(r"-m pip .*\binstall\b", rest)
    ]
    assert len(installs) == 2
    listed, own = installs
    assert "--require-hashes" in listed
    (requirements,) = re.findall(r"-r (\S+)", listed)
    assert (ROOT / requirements).is_file()
    assert {"--no-index", "--no-deps", "--no-build-isolation"} <= set(own.split())
    # The list for CUDA is whole; following dependencies would bring the other onnxruntime.
    assert ("--no-deps" in listed.split()) == ("gpu.txt" in listed)


@pytest.mark.parametrize("path", DOCKERFILES, ids=names)
def test_an_image_runs_as_nobody_special_in_an_empty_folder(path: Path) -> None:
    said = instructions(path)
    last = dict(said)
    assert last["USER"] == "loudr"
    assert last["WORKDIR"] == "/var/lib/loudr/work"
    assert json.loads(last["ENTRYPOINT"]) == ["loudr"]
    froms = [rest for name, rest in said if name == "FROM"]
    assert all(re.fullmatch(r"python:3\.\d+-slim-\w+( AS build)?", each) for each in froms)


@pytest.mark.parametrize("path", DOCKERFILES, ids=names)
def test_an_image_is_as_quiet_as_the_command_line(path: Path) -> None:
    set_here = dict(
        pair.split("=", 1)
        for name, rest in instructions(path)
        if name == "ENV"
        for pair in shlex.split(rest)
    )
    assert quiet_variables().items() <= set_here.items()


# ---------------------------------------------------------------- commands


def loudr_options(command: str) -> set[str]:
    """Return the options of a command of `loudr`."""
    group = typer.main.get_command(app)
    found = group.commands[command]  # type: ignore[attr-defined]
    return {name for param in found.params for name in (*param.opts, *param.secondary_opts)}


def prefect_options(*path: str) -> set[str]:
    """Return the options of `prefect server start` or `prefect worker start`."""
    command = {"server": server_app, "worker": worker_app}[path[0]][path[1]]
    return {name for each in command.assemble_argument_collection() for name in each.names}


def check_command(words: list[str]) -> None:
    """Assert that a command line names a command of loudr or Prefect and options of it."""
    program = words[0].rpartition("/")[2]
    if program == "loudr":
        known, rest = loudr_options(words[1]), words[2:]
    else:
        assert program == "prefect", words
        known, rest = prefect_options(*words[1:3]), words[3:]
    options = [word.partition("=")[0] for word in rest if word.startswith("-")]
    assert set(options) <= known, words
    if "--pool" in rest:
        default = inspect.signature(deploy).parameters["pool"].default
        assert rest[rest.index("--pool") + 1] == default


def commands() -> Iterator[tuple[str, list[str]]]:
    """Yield every command line under infra/, and where it stands."""
    for unit in UNITS:
        for line in re.findall(r"^ExecStart=(.+)$", unit.read_text("utf-8"), re.MULTILINE):
            yield unit.name, shlex.split(line)
    for name, service in COMPOSE["services"].items():
        if name in ("postgres", "s3", "bucket"):
            continue
        program = service.get("entrypoint", ["loudr"])
        yield f"compose {name}", [*program, *service["command"]]
    for document in KUBERNETES:
        if document["kind"] == "Deployment":
            for container in document["spec"]["template"]["spec"]["containers"]:
                yield "workers.yaml", container["command"]


@pytest.mark.parametrize(("where", "words"), list(commands()), ids=lambda value: str(value)[:30])
def test_commands_and_their_options_exist(where: str, words: list[str]) -> None:
    check_command(words)


@pytest.mark.parametrize("page", ["infra/README.md", "docs/OPERATIONS.md"])
def test_commands_in_the_docs_exist(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in re.sub(r"\\\n\s*", "", block).splitlines()]
    ours = [words for words in map(command_of, lines) if words[:1] == ["loudr"]]
    assert ours
    for words in ours:
        options = {word.partition("=")[0] for word in words[2:] if word.startswith("-")}
        assert options <= loudr_options(words[1]), words


def command_of(line: str) -> list[str]:
    """Return a line of a shell without what only says as whom and with which variables."""
    words = shlex.split(line, comments=True)
    if words[:1] == ["sudo"]:
        words = words[words.index("env") :] if "env" in words else words[1:]
    while words and (words[0] == "env" or re.match(r"[A-Z_0-9]+=", words[0])):
        del words[0]
    return [words[0].rpartition("/")[2], *words[1:]] if words else []


def test_each_picture_is_shown_and_small() -> None:
    text = (ROOT / "docs" / "OPERATIONS.md").read_text("utf-8")
    shown = re.findall(r"!\[[^\]]+\]\((images/[a-z-]+\.png)\)", text)
    there = sorted((ROOT / "docs" / "images").iterdir())
    assert sorted(shown) == [f"images/{path.name}" for path in there]
    for path in there:
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert path.stat().st_size < 300_000, path.name


# ---------------------------------------------------------------- environments


def quiet_variables() -> dict[str, str]:
    """Return what keeps a process of ours quiet; servers alone have the rest."""
    said = prefect_environment.quiet(Path("/var/lib/loudr"))
    servers = ("PREFECT_SERVER_SERVICES_", "PREFECT_SERVER_CONCURRENCY_", "PREFECT_LOGGING_")
    return {name: value for name, value in said.items() if not name.startswith(servers)}


def prefect_variables() -> set[str]:
    """Return every variable that Prefect reads."""
    from prefect.settings.legacy import _get_settings_fields

    return set(_get_settings_fields(PrefectSettings))


def assignments(path: Path, *, also_commented: bool) -> dict[str, str]:
    start = "#?" if also_commented else ""
    return dict(
        re.findall(rf"^{start}([A-Z][A-Z0-9_]+)=(.*)$", path.read_text("utf-8"), re.MULTILINE)
    )


def variables() -> Iterator[tuple[str, str]]:
    """Yield every variable that a file under infra/ sets, and where."""
    for path in ENVIRONMENTS:
        for name in assignments(path, also_commented=True):
            yield path.name, name
    for path in DOCKERFILES:
        for kind, rest in instructions(path):
            if kind == "ENV":
                yield from ((path.name, pair.split("=", 1)[0]) for pair in shlex.split(rest))
    for service in COMPOSE["services"].values():
        yield from (("compose.yaml", name) for name in service.get("environment", {}))
    for document in KUBERNETES:
        if document["kind"] == "ConfigMap":
            yield from (("workers.yaml", name) for name in document["data"])


def test_every_variable_of_ours_and_of_prefect_is_known() -> None:
    ours = {f"LOUDR_{name}".upper() for name in Settings.model_fields}
    prefects = prefect_variables()
    found = list(variables())
    assert len(found) > 40
    unknown = [
        (where, name)
        for where, name in found
        if (name.startswith("LOUDR_") and name not in ours)
        or (name.startswith("PREFECT_") and name not in prefects)
    ]
    assert not unknown


def test_the_units_are_as_quiet_as_the_command_line() -> None:
    loudr = assignments(INFRA / "systemd" / "loudr.env", also_commented=False)
    assert quiet_variables().items() <= loudr.items()
    server = assignments(INFRA / "systemd" / "server.env", also_commented=False)
    wanted = prefect_environment.quiet(Path("/var/lib/loudr"))
    for_server = {
        name: value
        for name, value in wanted.items()
        if name.startswith(("PREFECT_SERVER_SERVICES_", "PREFECT_SERVER_CONCURRENCY_"))
    }
    assert for_server.items() <= server.items()
    assert for_server.items() <= COMPOSE["services"]["server"]["environment"].items()


# ---------------------------------------------------------------- units


@pytest.mark.parametrize("unit", UNITS, ids=names)
def test_a_unit_is_one_that_systemd_takes(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not on this machine")
    for each in UNITS:
        text = re.sub(r"/opt/loudr/bin/\w+", "/bin/true", each.read_text("utf-8"))
        (tmp_path / each.name.replace("@.", "@0.")).write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", tmp_path / unit.name.replace("@.", "@0.")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    ours = [line for line in done.stderr.splitlines() if unit.name.partition("@")[0] in line]
    assert done.returncode == 0, done.stderr
    assert not ours


def test_each_worker_has_one_gpu_and_one_run() -> None:
    text = (INFRA / "systemd" / "loudr-worker@.service").read_text("utf-8")
    assert "Environment=CUDA_VISIBLE_DEVICES=%i\n" in text
    assert "--limit 1" in text


@pytest.mark.parametrize("unit", UNITS, ids=names)
def test_a_unit_reads_only_environments_that_there_are(unit: Path) -> None:
    files = re.findall(
        r"^EnvironmentFile=(-?)/etc/loudr/(\S+)$", unit.read_text("utf-8"), re.MULTILINE
    )
    assert ("", "loudr.env") in files
    for optional, name in files:
        assert optional or (INFRA / "systemd" / name).is_file()


# ---------------------------------------------------------------- compose and Kubernetes


def test_compose_holds_together() -> None:
    services = COMPOSE["services"]
    assert {"postgres", "server", "s3", "worker", "worker-gpu", "deploy"} <= set(services)
    for name, service in services.items():
        for other in service.get("depends_on", {}):
            assert other in services, (name, other)
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert source.startswith(("$", ".")) or source in COMPOSE["volumes"]
        if "build" in service:
            assert (INFRA / service["build"]["context"]).resolve() == ROOT
            assert (ROOT / service["build"]["dockerfile"]).is_file()
        else:
            assert re.fullmatch(r"[\w/]+:[\w.-]*\d[\w.-]*", service["image"]), "a fixed version"
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), "nothing is open to the world"


def test_compose_asks_for_what_the_example_names() -> None:
    text = (INFRA / "compose.yaml").read_text("utf-8")
    asked = set(re.findall(r"\$\{([A-Z0-9_]+)", text))
    named = set(assignments(INFRA / "compose.env.example", also_commented=True))
    assert asked == named
    assert re.search(r"^/infra/\.env$", (ROOT / ".gitignore").read_text("utf-8"), re.MULTILINE)


def test_workers_on_kubernetes() -> None:
    kinds = [document["kind"] for document in KUBERNETES]
    assert kinds == ["ConfigMap", "ServiceAccount", "Deployment"]
    pod = KUBERNETES[2]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == KUBERNETES[1]["metadata"]["name"]
    (container,) = pod["containers"]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 1


def test_the_work_pool_template_uses_exactly_its_variables() -> None:
    """As Prefect's Kubernetes worker reads it: its own variables, and ours."""
    template = json.loads((INFRA / "k8s" / "work-pool.json").read_text("utf-8"))
    used = set(re.findall(r"\{\{ (\w+) \}\}", json.dumps(template["job_configuration"])))
    assert used == set(template["variables"]["properties"])
    import prefect

    shipped = json.loads(
        (Path(prefect.__file__).parent / "server/api/collections_data/views"
         / "aggregate-worker-metadata.json").read_text("utf-8")
    )["prefect-kubernetes"]["kubernetes"]["default_base_job_configuration"]  # fmt: skip
    ours, theirs = template["job_configuration"], shipped["job_configuration"]
    assert set(ours) <= set(theirs)
    assert set(shipped["variables"]["properties"]) >= used - {"gpus"}


# ---------------------------------------------------------------- policies

NEEDS = {
    "list_objects_v2": "s3:ListBucket",
    "get_object": "s3:GetObject",
    "head_object": "s3:GetObject",
    "put_object": "s3:PutObject",
    "create_multipart_upload": "s3:PutObject",
    "upload_part": "s3:PutObject",
    "complete_multipart_upload": "s3:PutObject",
    "abort_multipart_upload": "s3:AbortMultipartUpload",
    "delete_object": "s3:DeleteObject",
}
"""Calls of the S3 client to the permission that each needs (Amazon S3, actions of IAM)."""


def calls_of_the_store() -> set[str]:
    """Return every call that the S3 store makes."""
    sources = (ROOT / "loudr_core" / "store").glob("s3*.py")
    words = "get|put|head|delete|list|copy|create|complete|abort|upload"
    what = "objects?(?:_v2)?|multipart_uploads?|part|parts|bucket"
    return {
        call
        for path in sources
        for call in re.findall(rf"[.\"]((?:{words})_(?:{what}))\b", path.read_text("utf-8"))
    }


def actions(policy: dict[str, Any]) -> set[str]:
    return {action for statement in policy["Statement"] for action in statement["Action"]}


def test_the_policy_allows_what_the_store_does_and_nothing_else() -> None:
    calls = calls_of_the_store()
    assert {"get_object", "put_object", "list_objects_v2"} <= calls
    assert calls <= set(NEEDS), "a new call: say which permission it needs"
    policy = json.loads((INFRA / "iam" / "store-policy.json").read_text("utf-8"))
    assert actions(policy) == {NEEDS[call] for call in calls}


@pytest.mark.parametrize("path", POLICIES, ids=names)
def test_a_policy_is_narrow(path: Path) -> None:
    policy = json.loads(path.read_text("utf-8"))
    assert policy["Version"] == "2012-10-17"
    for statement in policy["Statement"]:
        assert statement["Effect"] == "Allow"
        assert not [action for action in statement["Action"] if "*" in action]
        for resource in statement["Resource"]:
            assert resource.startswith("arn:aws:s3:::BUCKET")
            is_bucket = resource == "arn:aws:s3:::BUCKET"
            assert is_bucket == (statement["Action"] == ["s3:ListBucket"])
            assert resource != "arn:aws:s3:::BUCKET/*"


# ---------------------------------------------------------------- automations


@pytest.mark.parametrize("path", AUTOMATIONS, ids=names)
def test_an_automation_is_one_that_prefect_takes_and_waits_for_our_events(path: Path) -> None:
    said = yaml.safe_load(path.read_text("utf-8"))
    for action in said["actions"]:
        for field in ("deployment_id", "block_document_id"):
            if field in action:
                assert re.fullmatch(r"[\w-]+/[\w-]+", action[field])
                action[field] = ANY_ID
    automation = AutomationCore.model_validate(said)
    (expected,) = automation.trigger.expect  # type: ignore[union-attr]
    assert expected in {
        events.SEGMENT_CONDEMNED, events.BOOK_CONDEMNED, events.BOOK_DONE, events.BOOK_FAILED,
    }  # fmt: skip
    assert automation.name.startswith("loudr: ")


def test_there_is_an_automation_on_each_of_the_three() -> None:
    expected = {
        yaml.safe_load(path.read_text("utf-8"))["trigger"]["expect"][0] for path in AUTOMATIONS
    }
    assert expected == {events.SEGMENT_CONDEMNED, events.BOOK_DONE, events.BOOK_FAILED}
