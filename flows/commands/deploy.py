"""`loudr deploy`: register every deployment for a process work pool at `PREFECT_API_URL`."""

import os
import sys
import warnings
from typing import Any

from flows import prefect_environment
from flows.commands.serve import SERVING, ServeOptions, environment_of, when, wishes_of
from flows.configuration import Settings
from flows.home import make_home
from flows.named_server import asking_server, reach_server
from flows.output import console, print_json, results
from flows.serving import refuse_taken
from loudr_core.errors import ConfigError

__all__ = ["run"]


def run(settings: Settings, options: ServeOptions, *, work_pool: str, json_out: bool) -> None:
    """Create or update the work pool, the deployments and the heartbeat automation.

    Raises
    ------
    ConfigError
        `PREFECT_API_URL` names no server, an option is wrong, or the pool is of another kind.
    DeviceError
        The server does not answer or refuses.
    """
    url = os.environ.get("PREFECT_API_URL")
    if not url:
        raise ConfigError(
            "set PREFECT_API_URL to the server whose workers are to run this; on one machine "
            "`loudr serve` needs no server"
        )
    wishes = wishes_of(options, settings)
    reach_server(url, otherwise="set PREFECT_API_URL to another")
    for name, value in SERVING.items():
        os.environ.setdefault(name, value)
    prefect_environment.apply(make_home(settings.home))
    with asking_server():
        made = _register(wishes, work_pool, environment_of(options))
    if json_out:
        print_json({"work_pool": work_pool, "deployments": made})
        return
    for entry in made:
        results.print(f"  {entry['name']:32} {entry['schedule']}", highlight=False)
    console.print(
        f"start a worker on each machine, or one for each GPU: {_prefect()} worker start "
        f"--pool {work_pool} --type process --limit 1",
        markup=False,
    )


def _register(wishes: Any, work_pool: str, environment: dict[str, str]) -> list[dict[str, str]]:
    from flows.deployments import chosen, to_prefect
    from flows.heartbeat import ensure_automation

    entries = chosen(wishes, served=False)
    names = [entry.name for entry in entries]
    refuse_taken(names, url=os.environ["PREFECT_API_URL"], pools=False)
    _ensure_pool(work_pool)
    variables = {"env": {**SERVING, **environment}}
    made = []
    for entry in entries:
        deployment = to_prefect(entry, work_pool=work_pool, job_variables=variables)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what Prefect will change some day
            deployment.apply()
        made.append({"name": entry.full_name, "schedule": when(entry.schedule)})
    ensure_automation(names)
    return made


def _ensure_pool(name: str) -> None:
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import WorkPoolCreate
    from prefect.exceptions import ObjectNotFound
    from prefect.workers.process import ProcessWorker

    with get_client(sync_client=True) as client:
        try:
            kind = client.read_work_pool(name).type
        except ObjectNotFound:
            template = ProcessWorker.get_default_base_job_template()
            client.create_work_pool(
                WorkPoolCreate(name=name, type="process", base_job_template=template)
            )
            return
    if kind != "process":
        raise ConfigError(
            f"work pool {name!r} is of type {kind!r}: name another by --pool, which is made of "
            "type process if it is not there",
            pool=name,
        )


def _prefect() -> str:
    return f"{sys.executable} -m prefect"
