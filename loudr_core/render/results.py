"""What came of renders, kept beside their plans: filed, found again, and which plan was meant.

A plan may have been rendered whole and in part; each file of its own chapters has a document of its
own, and the one that was finished last speaks for the plan.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from loudr_core.canonical import digest
from loudr_core.errors import BookError, StoreError
from loudr_core.jobs.plan import Plan, find_plans, load_plan
from loudr_core.jobs.table import Job
from loudr_core.publish.names import chapter_list
from loudr_core.render.finish import Mastered, levels_json
from loudr_core.render.result import RenderResult
from loudr_core.store.protocol import ObjectStore

__all__ = [
    "KnownPlan",
    "file_result",
    "known_plan",
    "one_plan",
    "part_of",
    "read_result",
    "read_results",
]

_PLAIN_PART = 40


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownPlan:
    """A plan in the store.

    Parameters
    ----------
    plan : Plan
    jobs : sequence of Job
    results : sequence of mapping
        Documents of `file_result`, the one finished last at the end; empty before the first.
    """

    plan: Plan
    jobs: Sequence[Job]
    results: Sequence[Mapping[str, Any]]

    @property
    def finished_at(self) -> str:
        """When it was last rendered to the end; empty when it was not."""
        return str(self.results[-1]["finished_at"]) if self.results else ""

    @property
    def label(self) -> str:
        """How a person tells it from other plans of the book."""
        name = self.plan.profile_name or "no profile"
        when = self.finished_at[:16].replace("T", " ")
        return f"{self.plan.plan_id} ({name}, {'finished ' + when if when else 'not finished'})"


def part_of(chapters: Sequence[int] | None) -> str:
    """Return the name of a part of a book in store keys; empty for the whole book."""
    if chapters is None:
        return ""
    listed = chapter_list(chapters)
    return listed if len(listed) <= _PLAIN_PART else digest(listed)[:16]


def file_result(
    store: ObjectStore, plan: Plan, result: RenderResult, mastered: Mastered, *, dest: str | None
) -> None:
    """Keep the result and the levels of a render beside its plan.

    Parameters
    ----------
    dest : str, optional
        Where its files went, to be opened again; None for the store itself.
    """
    document = {
        "finished_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "made_by": f"loudr {version('loudr')}",
        "dest": dest,
        "result": result.as_dict(),
        "levels": levels_json(mastered),
    }
    store.put(
        _key(plan, part_of(result.chapters)), json.dumps(document, ensure_ascii=False).encode()
    )


def read_results(store: ObjectStore, plan: Plan) -> list[Mapping[str, Any]]:
    """Return the documents of a plan's renders, whole and in part, in the order they were finished.

    Raises
    ------
    StoreError
        One is damaged.
    """
    found = []
    for key in store.list(f"{plan.folder}/report/render"):
        data = store.get(key) if key.endswith(".json") else None
        if data is not None:
            found.append(_read(data, plan))
    return sorted(found, key=lambda document: str(document["finished_at"]))


def read_result(store: ObjectStore, plan: Plan) -> Mapping[str, Any] | None:
    """Return the document of the render that was finished last, None when there is none.

    Raises
    ------
    StoreError
        One is damaged.
    """
    found = read_results(store, plan)
    return found[-1] if found else None


def known_plan(store: ObjectStore, book_id: str, plan_id: str) -> KnownPlan | None:
    """Return a plan with what came of it, None when it is not there whole.

    Raises
    ------
    StoreError
        It is damaged, or of another loudr.
    """
    loaded = load_plan(store, book_id, plan_id)
    if loaded is None:
        return None
    plan, jobs = loaded
    return KnownPlan(plan=plan, jobs=jobs, results=read_results(store, plan))


def one_plan(
    store: ObjectStore, book_id: str, start: str = ""
) -> tuple[KnownPlan, list[KnownPlan]]:
    """Return the plan of a book that is meant, and the others.

    Parameters
    ----------
    start : str
        How the plan's id or its profile's name starts; the plan finished last when empty.

    Raises
    ------
    BookError
        No plan, or more than one, is called so; or nothing was finished and there are several.
    """
    found = [known_plan(store, book_id, plan_id) for plan_id in find_plans(store, book_id)]
    plans = sorted(filter(None, found), key=lambda known: known.finished_at)
    meant = [known for known in plans if _is_called(known.plan, start)]
    listed = "; ".join(known.label for known in plans)
    if not meant:
        raise BookError(f"{book_id} has no plan {start!r}: it has {listed}", book=book_id)
    if len(meant) > 1 and (start or not meant[-1].finished_at):
        raise BookError(
            f"several plans of {book_id} may be meant: {listed}; name one by --plan", book=book_id
        )
    return meant[-1], [known for known in plans if known is not meant[-1]]


def _is_called(plan: Plan, start: str) -> bool:
    return plan.plan_id.startswith(start) or plan.profile_name == start


def _key(plan: Plan, part: str) -> str:
    return f"{plan.folder}/report/render{'-' + part if part else ''}.json"


def _read(data: bytes, plan: Plan) -> Mapping[str, Any]:
    try:
        document: Mapping[str, Any] = json.loads(data)
        if missing := {"finished_at", "result", "levels"} - set(document):
            raise KeyError(min(missing))
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"the result of {plan.book_id} is damaged; render again", book=plan.book_id
        ) from error
    return document
