"""Every deployment: its flow, parameters, schedule, work pool and concurrency. Declared only here.

`loudr serve` serves them on one machine, `loudr deploy` registers them for workers elsewhere. Entry
points are dotted modules: a path of a file would be loaded as a second copy of its module. Nothing
here imports Prefect, which reads its settings from the environment when it is first imported.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from pydantic import BaseModel

from flows.forms import (
    ApproveRequest,
    DroppedRequest,
    DropRequest,
    NightlyRequest,
    PruneRequest,
    RerenderRequest,
)
from flows.request import RenderRequest
from flows.shard_request import ShardRequest

__all__ = ["CATALOGUE", "Cron", "Deployment", "Every", "Wishes", "find", "flow_of"]

Collision = Literal["ENQUEUE", "CANCEL_NEW"]


@dataclass(frozen=True, slots=True)
class Cron:
    """At times of a clock."""

    cron: str
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Every:
    """Again after so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A flow as it is offered to people, schedules and other flows.

    Parameters
    ----------
    name : str
        Of the deployment and of its flow.
    entrypoint : str
        `package.module.function`.
    request : type of BaseModel
        The model of the flow's one parameter, `request`.
    says : str
        What it does, for the UI; Markdown.
    schedule : Cron, Every or None
    needs : tuple of str
        Fields of the request without which it cannot run by itself: without them there is no
        schedule.
    concurrency : int or None
        Runs at one time; as many as there are workers when None.
    collision : {"ENQUEUE", "CANCEL_NEW"}
        What becomes of a run beyond that.
    served : bool
        Whether `loudr serve` offers it; what only makes sense on many machines is not.
    one_machine : int or None
        Concurrency under `loudr serve`, where all runs share one machine.
    """

    name: str
    entrypoint: str
    request: type[BaseModel]
    says: str
    schedule: Cron | Every | None = None
    needs: tuple[str, ...] = ()
    concurrency: int | None = None
    collision: Collision = "ENQUEUE"
    served: bool = True
    one_machine: int | None = None
    tags: tuple[str, ...] = ("loudr",)
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        """`flow/deployment`, as the server finds it."""
        return f"{self.name}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What an operator says about the deployments.

    Parameters
    ----------
    parameters : mapping
        Name of a deployment to fields of its request.
    schedules : mapping
        Name of a deployment to its schedule in place of the catalogue's; None for no schedule.
    """

    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    schedules: Mapping[str, Cron | Every | None] = field(default_factory=dict)


CATALOGUE: tuple[Deployment, ...] = (
    Deployment(
        name="render-book",
        entrypoint="flows.render_book.render_book",
        request=RenderRequest,
        says="Render one book to an M4B. A run again goes on where the last one was.",
        one_machine=1,
    ),
    Deployment(
        name="nightly",
        entrypoint="flows.nightly.nightly",
        request=NightlyRequest,
        says="Render the books that are declared in manifests, by priority, until all are done or "
        "the window closes. What is unfinished goes on the next night.",
        schedule=Cron("0 1 * * *"),
        concurrency=1,
        collision="CANCEL_NEW",
    ),
    Deployment(
        name="drop-folder",
        entrypoint="flows.drop_folder.drop_folder",
        request=DropRequest,
        says="Look for new books in a folder or bucket, and have each rendered once.",
        schedule=Every(120),
        needs=("watch", "dest"),
        concurrency=1,
        collision="CANCEL_NEW",
    ),
    Deployment(
        name="render-dropped",
        entrypoint="flows.dropped.render_dropped",
        request=DroppedRequest,
        says="Render a book from a drop folder. Started by drop-folder, not by hand.",
        one_machine=1,
    ),
    Deployment(
        name="rerender",
        entrypoint="flows.rerender.rerender",
        request=RerenderRequest,
        says="Speak segments of a rendered book again, with a seed of your choice or a fresh one, "
        "and put the book together anew: only what changed is made.",
        one_machine=1,
    ),
    Deployment(
        name="approve",
        entrypoint="flows.approve.approve",
        request=ApproveRequest,
        says="Render one chapter, wait until somebody has listened to it, then render the book or "
        "leave it.",
        one_machine=1,
    ),
    Deployment(
        name="prune",
        entrypoint="flows.prune.prune",
        request=PruneRequest,
        says="Remove audio that no plan names any more, and records of old runs.",
        schedule=Cron("0 12 * * 0"),
        concurrency=1,
        collision="CANCEL_NEW",
    ),
    Deployment(
        name="render-shard",
        entrypoint="flows.render_shard.render_shard",
        request=ShardRequest,
        says="Speak a part of a book on whichever machine takes it. Started by `loudr render "
        "--executor pool`, not by hand.",
        served=False,
    ),
)


def find(name: str) -> Deployment:
    """Return the deployment of a name.

    Raises
    ------
    ValueError
        There is none.
    """
    for entry in CATALOGUE:
        if entry.name == name:
            return entry
    raise ValueError(f"no deployment {name!r}: there are {', '.join(e.name for e in CATALOGUE)}")


def flow_of(entry: Deployment) -> Any:
    """Return the flow of a deployment, its module imported now."""
    module, _, name = entry.entrypoint.rpartition(".")
    return getattr(import_module(module), name)
