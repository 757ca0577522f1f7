"""From the catalogue to what Prefect calls deployments."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal

from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
from prefect.deployments.runner import RunnerDeployment
from prefect.schedules import Cron as PrefectCron
from prefect.schedules import Interval as PrefectInterval
from prefect.schedules import Schedule
from prefect.types.entrypoint import EntrypointType
from prefect.utilities.callables import ParameterSchema
from pydantic import ValidationError

from flows.catalogue import CATALOGUE, Cron, Deployment, Every, Wishes, flow_of
from loudr_core.errors import ConfigError

__all__ = ["chosen", "to_prefect"]


def chosen(wishes: Wishes, *, served: bool) -> list[Deployment]:
    """Return the catalogue with an operator's parameters and schedules.

    What needs a parameter that it was not given has no schedule; it can still be run from its form.

    Parameters
    ----------
    served : bool
        For `loudr serve`: one machine runs everything.

    Raises
    ------
    ConfigError
        A parameter is not what the flow takes.
    """
    entries = []
    for entry in CATALOGUE:
        if served and not entry.served:
            continue
        said = {**entry.parameters, **wishes.parameters.get(entry.name, {})}
        ready = all(said.get(name) for name in entry.needs)
        schedule = wishes.schedules.get(entry.name, entry.schedule) if ready else None
        if said and ready:
            _check(entry, said)
        limit = entry.one_machine if served and entry.one_machine else entry.concurrency
        entries.append(replace(entry, parameters=said, schedule=schedule, concurrency=limit))
    return entries


def to_prefect(
    entry: Deployment, *, work_pool: str | None = None, job_variables: Mapping[str, Any] = {}
) -> RunnerDeployment:
    """Return a catalogue entry as Prefect takes it; its module is imported now.

    Parameters
    ----------
    work_pool : str or None
        None for a deployment that is served.
    """
    limit = entry.concurrency and ConcurrencyLimitConfig(
        limit=entry.concurrency,
        collision_strategy=ConcurrencyLimitStrategy(entry.collision),
    )
    made: RunnerDeployment = RunnerDeployment.from_flow(
        flow_of(entry),
        name=entry.name,
        schedules=[_schedule(entry.schedule)] if entry.schedule else [],
        paused=False,
        concurrency_limit=limit,
        parameters={"request": dict(entry.parameters)} if entry.parameters else {},
        description=entry.says,
        tags=list(entry.tags),
        work_pool_name=work_pool,
        job_variables=dict(job_variables) or None,
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    schema = made._parameter_openapi_schema.model_dump()
    made._parameter_openapi_schema = _ClosedSchema(**schema, additionalProperties=False)
    return made


class _ClosedSchema(ParameterSchema):
    """The flow's parameters and no others: the server takes any by itself, and the run crashes."""

    additionalProperties: Literal[False]


def _schedule(schedule: Cron | Every) -> Schedule:
    if isinstance(schedule, Cron):
        return PrefectCron(schedule.cron, timezone=schedule.timezone)
    return PrefectInterval(timedelta(seconds=schedule.seconds))


def _check(entry: Deployment, said: Mapping[str, Any]) -> None:
    try:
        entry.request.model_validate(dict(said))
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(part) for part in fault["loc"])
        raise ConfigError(
            f"{entry.name}: {where} = {fault['input']!r}: {fault['msg'].lower()}",
            deployment=entry.name,
        ) from error
